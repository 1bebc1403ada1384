// SPDX-License-Identifier: Apache-2.0
// What page and server say to each other (../README.md): requests, and the parser of the stream.

export type Slot = "A" | "B";
export type Value = boolean | number | string | null;
export type Values = Record<string, Value>;

export interface Parameter {
  name: string;
  kind: "flag" | "integer" | "number" | "choice";
  help: string;
  unit: string;
  allowed: string;
  group: string;
  least: number | null;
  most: number | null;
  // The only ones that are allowed; null = all between the bounds.
  numbers: number[] | null;
  choices: string[];
  optional: boolean;
  expert: boolean;
}

export interface Method {
  name: string;
  help: string;
  devices: string[];
  presets: { name: string; values: Values }[];
  parameters: Parameter[];
}

export interface Settings {
  // Empty for the map that was made elsewhere.
  method: string;
  device: string;
  threads: number;
  // Whether maps of successive frames are steadied.
  temporal: boolean;
  values: Values;
}

export interface Calibration {
  focal: number;
  centre_x: number;
  centre_y: number;
  doffs: number;
  baseline: number;
}

export interface ServerState {
  version: string;
  source: { kind: "pair" | "sequence" | "camera"; left: string; right: string; frames: number; frames_per_second: number };
  calibration: Calibration | null;
  truth: boolean;
  stored_map?: boolean;
  devices: { name: string; description: string }[];
  methods: Method[];
  statuses: string[];
  start: Settings & { preset?: string };
}

export interface Plane {
  name: string;
  type: "u8" | "u16" | "f32";
  channels: number;
  width: number;
  height: number;
  data: Uint8Array | Uint16Array | Float32Array;
}

export interface Size {
  width: number;
  height: number;
}

// Codes of disparities and row offsets: 0 = none, else lowest + (code − 1) / steps.
export interface Coding {
  lowest: number;
  steps: number;
}

export interface CodedPlane extends Coding {
  plane: Plane;
}

// What planes say of a part of a map.
export interface MapPlanes extends Coding {
  disparity: Plane;
  status: Plane;
  confidence: Plane | null;
  // Only of matchers that search rows; with the longest one.
  rowOffset: (CodedPlane & { longest: number }) | null;
  // Only where both maps are wanted: belongs to the pixels of the right picture.
  rightDisparity: CodedPlane | null;
}

function longestOf({ plane, lowest, steps }: CodedPlane): number {
  let longest = 0;
  for (const code of plane.data) if (code > 0) longest = Math.max(longest, Math.abs(lowest + (code - 1) / steps));
  return longest;
}

export function mapPlanes(message: Message): MapPlanes {
  const plane = (name: string) => message.planes.get(name) ?? null;
  const ofRows = plane("row_offset");
  const ofRight = plane("right_disparity");
  const rows = ofRows && message.row_offset ? { plane: ofRows, ...message.row_offset } : null;
  return {
    lowest: message.lowest ?? 0,
    steps: message.steps ?? 1,
    disparity: plane("disparity")!,
    status: plane("status")!,
    confidence: plane("confidence"),
    rowOffset: rows && { ...rows, longest: longestOf(rows) },
    rightDisparity: ofRight && message.right_disparity ? { plane: ofRight, ...message.right_disparity } : null,
  };
}

export type Errors = Record<string, number>;

// A message of the stream or the answer for a region; which members it has depends on its kind.
export interface Message {
  kind: string;
  planes: Map<string, Plane>;
  slot?: Slot;
  request?: number;
  frame?: number;
  name?: string;
  size?: Size;
  scale?: number;
  lowest?: number;
  steps?: number;
  truth?: Coding | null;
  row_offset?: Coding;
  right_disparity?: Coding;
  range?: { lowest: number; disparities: number };
  milliseconds?: number;
  stages?: [string, number][];
  device?: string;
  memory_bytes?: number;
  shares?: Record<string, number>;
  quantiles?: number[];
  errors?: Errors | null;
  commands?: { command_line: string; python: string; cpp: string };
  error?: string;
  playing?: boolean;
  recorded?: number | null;
}

// Everything known about a pixel, exactly.
export interface PixelValue {
  disparity?: number | null;
  depth?: number | null;
  depth_uncertainty?: number | null;
  status?: string | null;
  confidence?: number | null;
  row_offset?: number | null;
  right_disparity?: number | null;
  truth?: number | null;
  error?: number | null;
  left?: number[];
  right?: number[];
}

// Costs of all labels at a pixel, null where a label is not considered; `totals` is empty where it is the data costs.
export interface CostCurve {
  min_disparity: number;
  data_costs: (number | null)[];
  totals: (number | null)[];
}

export interface CheckReport {
  verdict: string;
  fit: boolean;
  sentence: string;
  remarks: string[];
  rows_off?: Record<string, number>;
  model?: Record<string, unknown>;
  disparities?: { lowest: number; highest: number };
  points: [number, number, number][] | number;
}

const prefixBytes = 8;
// No honest message is longer: planes have at most some 30 million values.
const longestMessage = 1 << 29;

function planeData(bytes: ArrayBuffer, at: number, plane: Plane): Plane["data"] {
  const count = plane.width * plane.height * plane.channels;
  if (plane.type === "u8") return new Uint8Array(bytes, at, count);
  if (plane.type === "u16") return new Uint16Array(bytes, at, count);
  return new Float32Array(bytes, at, count);
}

// Reads a whole message, of which `bytes` is the memory; planes stay in it.
export function parseMessage(bytes: ArrayBuffer): Message {
  const jsonBytes = new DataView(bytes).getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(bytes, prefixBytes, jsonBytes));
  const message = JSON.parse(text);
  const planes = new Map<string, Plane>();
  for (const plane of message.planes ?? [])
    planes.set(plane.name, { ...plane, data: planeData(bytes, prefixBytes + jsonBytes + plane.offset, plane) });
  return { ...message, planes };
}

// Cuts a stream of bytes, which arrive in pieces of any length, into messages.
export class MessageReader {
  private prefix = new Uint8Array(4);
  private prefixFilled = 0;
  private message: Uint8Array<ArrayBuffer> | null = null;
  private filled = 0;

  push(piece: Uint8Array, receive: (message: Message) => void): void {
    let at = 0;
    while (at < piece.length) {
      if (this.message === null) {
        const taken = Math.min(4 - this.prefixFilled, piece.length - at);
        this.prefix.set(piece.subarray(at, at + taken), this.prefixFilled);
        this.prefixFilled += taken;
        at += taken;
        if (this.prefixFilled === 4) this.begin();
      }
      if (this.message !== null) {
        const taken = Math.min(this.message.length - this.filled, piece.length - at);
        this.message.set(piece.subarray(at, at + taken), this.filled);
        this.filled += taken;
        at += taken;
        if (this.filled === this.message.length) receive(this.end(this.message));
      }
    }
  }

  private begin(): void {
    const length = new DataView(this.prefix.buffer).getUint32(0, true);
    if (length < 4 || length > longestMessage) throw new Error(`a message of ${length} bytes`);
    // The four bytes of the prefix stay in front, so that planes begin at multiples of 8.
    this.message = new Uint8Array(4 + length);
    this.message.set(this.prefix);
    this.filled = 4;
  }

  private end(message: Uint8Array<ArrayBuffer>): Message {
    this.message = null;
    this.prefixFilled = 0;
    return parseMessage(message.buffer);
  }
}

// An answer other than 200, with what the server says about it.
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

function randomName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Carries a request to the server and its answer back.
export type Carrier = (path: string, options: RequestInit) => Promise<Response>;

export class Server {
  private page = "";
  // Whether there is a matcher for this page.
  opened: Promise<unknown> = Promise.resolve();

  // `patience`: for how many milliseconds the stream may be silent; null = for ever.
  constructor(
    private readonly carry: Carrier,
    private readonly patience: number | null,
  ) {}

  state(): Promise<ServerState> {
    return this.json("/state");
  }

  // Opens a page of its own at the server. Returns when the server ends the stream, throws when it breaks off or falls
  // silent.
  async stream(receive: (message: Message) => void): Promise<void> {
    this.page = randomName();
    const abort = new AbortController();
    const asked = (this.opened = this.fetch(this.path("stream"), { signal: abort.signal }));
    const answer = await asked;
    const reader = answer.body!.getReader();
    const messages = new MessageReader();
    for (;;) {
      const silence = this.patience === null ? undefined : setTimeout(() => abort.abort(), this.patience);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      messages.push(value, receive);
    }
  }

  // `bothMaps`: the map of the right picture, too.
  settings(slot: Slot, request: number, settings: Settings | null, bothMaps: boolean): Promise<void> {
    const wanted =
      settings === null ? { method: null } : settings.method === "" ? { stored_map: true } : { ...settings, both_maps: bothMaps };
    return this.send("settings", { slot, request, ...wanted });
  }

  // Which planes of a frame come beside its left picture.
  planes(wanted: { right: boolean; truth: boolean }): Promise<void> {
    return this.send("planes", wanted);
  }

  play(request: { playing?: boolean; frame?: number }): Promise<void> {
    return this.send("play", request);
  }

  async record(): Promise<void> {
    await this.send("record", { recording: true });
  }

  // Returns the video.
  async endRecording(): Promise<Blob> {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ recording: false });
    return (await this.fetch(this.path("record"), { method: "POST", headers, body })).blob();
  }

  curve(slot: Slot, x: number, y: number): Promise<CostCurve> {
    return this.json(this.path(`curve?slot=${slot}&x=${x}&y=${y}`));
  }

  value(slot: Slot, x: number, y: number): Promise<PixelValue> {
    return this.json(this.path(`value?slot=${slot}&x=${x}&y=${y}`));
  }

  async region(slot: Slot, x: number, y: number, size: Size): Promise<Message> {
    const where = `slot=${slot}&x=${x}&y=${y}&width=${size.width}&height=${size.height}`;
    const bytes = await (await this.fetch(this.path(`region?${where}`))).arrayBuffer();
    return parseMessage(bytes);
  }

  async export(slot: Slot, name: string): Promise<Blob> {
    return (await this.fetch(this.path(`export?slot=${slot}&as=${name}`), { method: "POST" })).blob();
  }

  check(): Promise<CheckReport> {
    return this.json(this.path("check"), { method: "POST" });
  }

  private path(what: string): string {
    return `/pages/${this.page}/${what}`;
  }

  private async send(what: string, body: unknown): Promise<void> {
    const headers = { "Content-Type": "application/json" };
    const answer = await this.fetch(this.path(what), { method: "POST", headers, body: JSON.stringify(body) });
    await answer.arrayBuffer();
  }

  private async json<T>(path: string, options: RequestInit = {}): Promise<T> {
    return (await this.fetch(path, options)).json();
  }

  private async fetch(path: string, options: RequestInit = {}): Promise<Response> {
    const answer = await this.carry(path, options);
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, said.error ?? `The server answered ${answer.status} to ${path}.`);
  }
}
