// SPDX-License-Identifier: Apache-2.0
// The viewer's server, compiled for the browser, in a worker: opens scenes of files, answers requests and matches.
import { hasThreads, hasVectors, loadModule, reserveMemory } from "../../../../javascript/engine/loader.js";
import type { ServerState } from "../protocol";
import { asReadable, netpbm } from "./decode";
import type { FrameList, FromWorker, PageAnswer, SceneFiles, ToWorker } from "./messages";

interface Module {
  _malloc(bytes: number): number;
  _free(address: number): void;
  _viewer_open(json: number): number;
  _viewer_synthesize(json: number): number;
  _viewer_ask(json: number): number;
  _viewer_wanted_frame(): number;
  _viewer_work(): number;
  _viewer_message(): number;
  onMessage(): void;
  FS: {
    mkdir(path: string): void;
    chdir(path: string): void;
    readdir(path: string): string[];
    unlink(path: string): void;
    rmdir(path: string): void;
    writeFile(path: string, bytes: Uint8Array): void;
  };
}

// What plays is looked at so often.
const pauseOfSequence = 5;
// Frames of a video that stay in memory.
const framesKept = 3;

const send = (message: FromWorker, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });
// Exceptions of C++ that nobody caught are numbers.
const tellLost = (error: unknown): void => send({ kind: "lost", error: error instanceof Error ? error.message : `exception ${error}` });
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Viewer {
  private folder = "/";
  private id = 0;
  private frames: FrameList | null = null;
  // Those whose files are not empty.
  private framesHere: number[] = [];
  private frameWanted = -1;
  private isSequence = false;
  private isWorking = false;
  private isIdle = true;

  constructor(
    private readonly module: Module,
    private readonly memory: WebAssembly.Memory,
    private readonly threads: number,
  ) {
    module.onMessage = () => this.sendMessages();
    this.enter("/pair-0");
  }

  async open({ id, scene, files, frames }: ToWorker & { kind: "open" }): Promise<void> {
    const contents: { name: string; bytes: Uint8Array }[] = [];
    for (const file of files) {
      try {
        contents.push({ name: file.name, bytes: await asReadable(file) });
      } catch {
        return send({ kind: "refused", id, error: `${file.name} cannot be read: is it a folder, or was it moved?` });
      }
    }
    this.begin(id, scene, frames, () => {
      for (const { name, bytes } of contents) this.write(name, bytes);
      if (frames) this.announceFrames(frames);
    });
  }

  openSample({ id, sample }: ToWorker & { kind: "open-sample" }): void {
    const scene = { left: "left.ppm", right: "right.ppm", calibration: ["calib.txt"], truth: "truth.pfm" };
    this.begin(id, scene, null, () => this.call("_viewer_synthesize", { ...sample, folder: "." }));
  }

  // Opens a scene in a folder of its own, because the one before stays if that fails.
  private begin(id: number, scene: SceneFiles, frames: FrameList | null, writeFiles: () => void): void {
    const before = { folder: this.folder, frames: this.frames, framesHere: this.framesHere };
    this.enter(`/pair-${id}`);
    Object.assign(this, { frames, framesHere: [] });
    writeFiles();
    const { status, content } = this.call("_viewer_open", { ...scene, threads: this.threads });
    const answer = JSON.parse(new TextDecoder().decode(content)) as ServerState & { error: string };
    if (status !== 200) {
      const { folder } = this;
      this.module.FS.chdir(before.folder);
      Object.assign(this, before);
      this.remove(folder);
      return send({ kind: "refused", id, error: answer.error });
    }
    this.remove(before.folder);
    this.id = id;
    this.frameWanted = -1;
    this.isSequence = answer.source.kind !== "pair";
    send({ kind: "opened", id, state: answer });
    this.wake();
  }

  ask({ id, request }: ToWorker & { kind: "ask" }): void {
    const answer = this.call("_viewer_ask", request);
    send({ kind: "answer", id, answer }, [answer.content.buffer]);
    this.wake();
  }

  // Frames that were not decoded leave an empty file, which is an error of that frame.
  takeFrame({ id, number, pictures }: ToWorker & { kind: "frame" }): void {
    if (id !== this.id) return;
    this.writeFrame(number, pictures);
    if (number === this.frameWanted) this.frameWanted = -1;
    this.wake();
  }

  private announceFrames({ count, names, first }: FrameList): void {
    for (let number = 0; number < count; ++number)
      for (const name of names) this.write(frameName(name, number), new Uint8Array());
    this.writeFrame(0, first);
  }

  private writeFrame(number: number, pictures: ImageData[]): void {
    this.frames!.names.forEach((name, i) => {
      if (pictures[i]) this.write(frameName(name, number), netpbm(pictures[i]));
    });
    this.framesHere.push(number);
    if (this.framesHere.length <= framesKept) return;
    const oldest = this.framesHere.shift()!;
    if (!this.framesHere.includes(oldest)) for (const name of this.frames!.names) this.write(frameName(name, oldest), new Uint8Array());
  }

  private enter(folder: string): void {
    this.folder = folder;
    this.module.FS.mkdir(folder);
    this.module.FS.chdir(folder);
  }

  private remove(folder: string): void {
    for (const name of this.module.FS.readdir(folder)) if (name !== "." && name !== "..") this.module.FS.unlink(`${folder}/${name}`);
    this.module.FS.rmdir(folder);
  }

  private write(name: string, bytes: Uint8Array): void {
    this.module.FS.writeFile(name, bytes);
  }

  private wake(): void {
    this.isIdle = false;
    if (!this.isWorking) void this.work().catch(tellLost);
  }

  // Works until nothing is left to do. Between two matches, requests come in.
  private async work(): Promise<void> {
    this.isWorking = true;
    while (!this.isIdle) {
      if (this.needsFrame()) break;
      const worked = this.module._viewer_work() === 1;
      this.isIdle = !worked && !this.isSequence;
      await wait(worked ? 0 : pauseOfSequence);
    }
    this.isWorking = false;
  }

  // Asks the page for a frame that it has to decode first.
  private needsFrame(): boolean {
    if (!this.frames) return false;
    const wanted = this.module._viewer_wanted_frame();
    if (wanted < 0 || wanted >= this.frames.count || this.framesHere.includes(wanted)) return false;
    if (wanted !== this.frameWanted) send({ kind: "frame", id: this.id, number: wanted });
    this.frameWanted = wanted;
    return true;
  }

  private sendMessages(): void {
    for (let address; (address = this.module._viewer_message()) !== 0; ) {
      const bytes = this.answerAt(address).content.buffer;
      send({ kind: "message", bytes }, [bytes]);
    }
  }

  private call(name: "_viewer_open" | "_viewer_synthesize" | "_viewer_ask", request: object): PageAnswer {
    const text = new TextEncoder().encode(`${JSON.stringify(request)}\0`);
    const address = this.module._malloc(text.length);
    if (address === 0) throw new Error("out of memory");
    new Uint8Array(this.memory.buffer).set(text, address);
    const answer = this.answerAt(this.module[name](address));
    this.module._free(address);
    return answer;
  }

  // Four words: status, type, content and its bytes.
  private answerAt(address: number): PageAnswer {
    const [status, type, content, bytes] = new Uint32Array(this.memory.buffer, address, 4) as unknown as [number, number, number, number];
    const memory = new Uint8Array(this.memory.buffer);
    const end = memory.indexOf(0, type);
    return {
      status,
      type: new TextDecoder().decode(memory.slice(type, end)),
      content: memory.slice(content, content + bytes) as Uint8Array<ArrayBuffer>,
    };
  }
}

const frameName = (pattern: string, number: number): string => pattern.replace("%06d", String(number).padStart(6, "0"));

async function start(threads: number): Promise<Viewer> {
  if (!hasVectors) throw new Error("this browser's WebAssembly has no vectors: update it");
  const memory = reserveMemory();
  const count = hasThreads ? threads : 1;
  const tell = (line: string) => send({ kind: "notice", text: line });
  const { module } = await loadModule("viewer", count, memory, tell);
  return new Viewer(module as Module, memory, count);
}

let viewer: Promise<Viewer>;
let last: Promise<unknown> = Promise.resolve();

async function receive(message: ToWorker): Promise<void> {
  if (message.kind === "start") {
    viewer = start(message.threads);
    await viewer;
    send({ kind: "started" });
  }
  if (message.kind === "open") await (await viewer).open(message);
  if (message.kind === "open-sample") (await viewer).openSample(message);
  if (message.kind === "ask") (await viewer).ask(message);
  if (message.kind === "frame") (await viewer).takeFrame(message);
}

// One after the other. Errors of the module, unlike those that it answers, leave it in a state that nobody knows.
self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  last = last.then(() => receive(data)).catch(tellLost);
};
