// SPDX-License-Identifier: Apache-2.0
// What the page knows and shows, in one place. Whoever changes it says so with tell(); whoever shows it listens with on().
import type { CheckReport, CodedPlane, Errors, MapPlanes, Message, Plane, ServerState, Settings, Size, Slot } from "./protocol";
import { mapPlanes } from "./protocol";

export const slots: readonly Slot[] = ["A", "B"];

export interface Pictures {
  frame: number;
  name: string;
  size: Size;
  scale: number;
  left: Plane;
  // These come once a layer needs them.
  right: Plane | null;
  truth: CodedPlane | null;
}

export interface DisparityMap extends MapPlanes {
  request: number;
  frame: number;
  size: Size;
  scale: number;
  // A map that was made elsewhere has neither range, nor times, nor commands.
  range: { lowest: number; disparities: number } | null;
  milliseconds: number | null;
  stages: [string, number][];
  device: string;
  memoryBytes: number | null;
  shares: Record<string, number>;
  quantiles: number[];
  errors: Errors | null;
  commands: { command_line: string; python: string; cpp: string } | null;
}

// One of the two results that can be compared.
export interface Result {
  settings: Settings | null;
  preset: string;
  working: boolean;
  error: string;
  map: DisparityMap | null;
}

export type ScaleMode = "searched" | "quantiles" | "fixed";
export type ColourMap = "turbo" | "viridis" | "gray";
export type Combination = "single" | "wipe" | "side" | "blend" | "blink";

export interface Cursor {
  x: number;
  y: number;
}

const noResult = (): Result => ({ settings: null, preset: "", working: false, error: "", map: null });

export const state = {
  server: null as ServerState | null,
  pictures: null as Pictures | null,
  results: { A: noResult(), B: noResult() } as Record<Slot, Result>,
  // The slot whose settings and figures the panel shows.
  edited: "A" as Slot,
  view: {
    first: "left",
    second: "disparity-A",
    combination: "wipe" as Combination,
    wipe: 0.5,
    blend: 0.5,
    colours: "turbo" as ColourMap,
    scale: "searched" as ScaleMode,
    fixed: { low: 0, high: 64 },
    errorLimit: 4,
    differenceLimit: 4,
    rowsOff: true,
  },
  // In pixels of the full picture.
  cursor: null as Cursor | null,
  playing: false,
  // Frames; null while nothing is recorded.
  recorded: null as number | null,
  frame: 0,
  // What went wrong with the pictures, such as a frame that cannot be read.
  error: "",
  check: null as CheckReport | null,
};

// Forgets everything about a scene, because another one is shown. Its pictures stay until others come.
export function reset(): void {
  Object.assign(state, { results: { A: noResult(), B: noResult() }, edited: "A", cursor: null, playing: false, recorded: null, frame: 0, error: "", check: null });
  if (state.pictures !== null) state.pictures.frame = -1;
}

export type Topic =
  | "server"
  | "pictures"
  | "map-A"
  | "map-B"
  | "map"
  | "working"
  | "problem"
  | "settings"
  | "edited"
  | "view"
  | "cursor"
  | "sequence"
  | "check"
  | "theme";

const listeners = new Map<Topic, (() => void)[]>();

export function on(topics: Topic | Topic[], listener: () => void): void {
  for (const topic of [topics].flat()) listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

export function tell(topic: Topic): void {
  for (const listener of listeners.get(topic) ?? []) listener();
}

function takePictures(message: Message): void {
  const { planes } = message;
  const truth = planes.get("truth");
  // More planes of a frame that is shown come without those that are here.
  const same = state.pictures?.frame === message.frame ? state.pictures : null;
  const left = planes.get("left") ?? same?.left;
  if (!left) return;
  state.pictures = {
    frame: message.frame ?? 0,
    name: message.name ?? "",
    size: message.size!,
    scale: message.scale ?? 1,
    left,
    right: planes.get("right") ?? same?.right ?? null,
    truth: truth ? { plane: truth, lowest: message.lowest ?? 0, steps: message.steps ?? 1 } : (same?.truth ?? null),
  };
  tell("pictures");
}

function takeMap(message: Message): void {
  const result = state.results[message.slot!];
  if (result.settings === null) return;  // emptied meanwhile
  result.error = "";
  result.map = {
    ...mapPlanes(message),
    request: message.request ?? 0,
    frame: message.frame ?? 0,
    size: message.size!,
    scale: message.scale ?? 1,
    range: message.range ?? null,
    milliseconds: message.milliseconds ?? null,
    stages: message.stages ?? [],
    device: message.device ?? "",
    memoryBytes: message.memory_bytes ?? null,
    shares: message.shares ?? {},
    quantiles: message.quantiles ?? [],
    errors: message.errors ?? null,
    commands: message.commands ?? null,
  };
  tell(`map-${message.slot!}`);
  tell("map");
}

// Takes over what the stream says.
export function receive(message: Message): void {
  const result = message.slot && state.results[message.slot];
  if (message.kind === "pictures") takePictures(message);
  if (message.kind === "map") takeMap(message);
  if (message.kind === "pictures") state.error = "";
  if (message.kind === "error" && !result) {
    state.error = message.error ?? "";
    tell("problem");
  }
  if (message.kind === "sequence") {
    state.playing = message.playing ?? false;
    state.frame = message.frame ?? 0;
    state.recorded = message.recorded ?? null;
    tell("sequence");
  }
  if (result && ["working", "map", "error"].includes(message.kind)) {
    result.working = message.kind === "working";
    if (message.kind === "error") result.error = message.error ?? "";
    tell("working");
    if (message.kind === "error") tell("problem");
  }
}
