// SPDX-License-Identifier: Apache-2.0
// The page's own server: a worker that carries its requests out. A worker that is lost is replaced.
import type { Carrier, ServerState } from "../protocol";
import type { FromWorker, PageAnswer, Sample, SceneFiles, ToWorker } from "./messages";
import type { VideoFrames } from "./video";

// What is shown: a synthetic sample, or files.
export interface FilesSource {
  scene: SceneFiles;
  files: File[];
  frames: VideoFrames | null;
}
export type Source = { sample: Sample } | FilesSource;

interface Call {
  resolve(value: never): void;
  reject(error: Error): void;
}

async function openFiles({ scene, files, frames }: FilesSource): Promise<(id: number) => ToWorker> {
  const list = frames && { count: frames.count, names: frames.names, first: await frames.decode(0) };
  return (id) => ({ kind: "open", id, scene, files, frames: list });
}

// More threads than this do not make a match faster.
const mostThreads = 16;
// A worker that is lost so soon, in milliseconds, is not replaced: the next one would be lost, too.
const patience = 5000;

export class Engine {
  private worker: Worker | null = null;
  private readonly calls = new Map<number, Call>();
  private lastId = 0;
  // What the worker shows, and its number there.
  private source: Source | null = null;
  private scene = 0;
  private stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  // Messages that came before somebody read the stream.
  private waiting: Uint8Array[] = [];
  private isStarted = false;
  private lostAt = -Infinity;
  onNotice: (text: string) => void = () => undefined;
  // `isBack`: another worker is there, in which a scene has to be opened again.
  onLost: (error: string, isBack: boolean) => void = () => undefined;

  constructor() {
    this.start();
  }

  private start(): Worker {
    const worker = new Worker("engine.js");
    const isOurs = () => worker === this.worker;
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => isOurs() && this.receive(data);
    worker.onerror = (event) => isOurs() && this.lose(event.message || "its files cannot be loaded");
    const start: ToWorker = { kind: "start", threads: Math.min(navigator.hardwareConcurrency || 1, mostThreads) };
    worker.postMessage(start);
    return (this.worker = worker);
  }

  async open(source: Source): Promise<ServerState> {
    const message: (id: number) => ToWorker =
      "sample" in source ? (id) => ({ kind: "open-sample", id, sample: source.sample }) : await openFiles(source);
    const id = ++this.lastId;
    const state = await this.call<ServerState>(message(id), id);
    [this.source, this.scene] = [source, id];
    return state;
  }

  // As `fetch` of a server.
  readonly carry: Carrier = async (path, { method = "GET", body }) => {
    const { pathname, searchParams } = new URL(path, location.href);
    const what = pathname.split("/").at(-1)!;
    if (what === "stream") return new Response(this.newStream());
    const request = { method, what, parameters: Object.fromEntries(searchParams), body: typeof body === "string" ? body : "" };
    const id = ++this.lastId;
    const answer = await this.call<PageAnswer>({ kind: "ask", id, request }, id);
    return new Response(answer.content, { status: answer.status, headers: { "Content-Type": answer.type } });
  };

  private newStream(): ReadableStream<Uint8Array> {
    this.endStream();
    return new ReadableStream({
      start: (stream) => {
        this.stream = stream;
        for (const message of this.waiting.splice(0)) stream.enqueue(message);
      },
    });
  }

  private endStream(): void {
    this.stream?.close();
    this.stream = null;
  }

  private call<T>(message: ToWorker, id: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      (this.worker ?? this.start()).postMessage(message);
    });
  }

  private take(id: number): Call | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  private receive(message: FromWorker): void {
    if (message.kind === "started") {
      this.isStarted = true;
    } else if (message.kind === "opened") {
      // What is not read yet belongs to the scene before.
      this.endStream();
      this.waiting = [];
      this.take(message.id)?.resolve(message.state as never);
    } else if (message.kind === "answer") {
      this.take(message.id)?.resolve(message.answer as never);
    } else if (message.kind === "refused") {
      this.take(message.id)?.reject(new Error(message.error));
    } else if (message.kind === "message") {
      const bytes = new Uint8Array(message.bytes);
      if (this.stream) this.stream.enqueue(bytes);
      else this.waiting.push(bytes);
    } else if (message.kind === "frame") {
      void this.sendFrame(message.id, message.number);
    } else if (message.kind === "notice") {
      this.onNotice(message.text);
    } else {
      this.lose(message.error);
    }
  }

  private async sendFrame(id: number, number: number): Promise<void> {
    const { source } = this;
    if (id !== this.scene || source === null || "sample" in source || source.frames === null) return;
    const pictures = await source.frames.decode(number).catch(() => []);
    const frame: ToWorker = { kind: "frame", id, number, pictures };
    this.worker?.postMessage(frame);
  }

  // Another worker takes over at once, unless this one could not start, or was itself a recent replacement: then the next
  // call starts one.
  private lose(error: string): void {
    this.worker?.terminate();
    this.worker = null;
    this.endStream();
    const isBack = this.isStarted && performance.now() - this.lostAt > patience;
    const message = this.isStarted
      ? `The engine crashed (${error})${isBack ? " and was started again." : " again: open another pair, or choose other settings."}`
      : `The engine cannot be started: ${error}.`;
    this.lostAt = performance.now();
    this.isStarted = false;
    const calls = [...this.calls.values()];
    this.calls.clear();
    for (const { reject } of calls) reject(new Error(message));
    this.onLost(message, isBack);
  }
}
