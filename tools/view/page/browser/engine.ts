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

export class Engine {
  private worker!: Worker;
  private readonly calls = new Map<number, Call>();
  private lastId = 0;
  private source: Source | null = null;
  private stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  // Messages that came before somebody read the stream.
  private waiting: Uint8Array[] = [];
  private isStarted = false;
  onNotice: (text: string) => void = () => undefined;
  // A scene has to be opened again.
  onLost: (error: string) => void = () => undefined;

  constructor() {
    this.start();
  }

  private start(): void {
    this.worker = new Worker("engine.js");
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    this.worker.onerror = (event) => this.lose(event.message || "its files cannot be loaded");
    this.post({ kind: "start", threads: Math.min(navigator.hardwareConcurrency || 1, mostThreads) });
  }

  async open(source: Source): Promise<ServerState> {
    const state = await this.call<ServerState>(
      "sample" in source
        ? (id) => ({ kind: "open-sample", id, sample: source.sample })
        : await openFiles(source),
    );
    this.source = source;
    return state;
  }

  // As `fetch` of a server.
  readonly carry: Carrier = async (path, { method = "GET", body }) => {
    const { pathname, searchParams } = new URL(path, location.href);
    const what = pathname.split("/").at(-1)!;
    if (what === "stream") return new Response(this.newStream());
    const request = { method, what, parameters: Object.fromEntries(searchParams), body: typeof body === "string" ? body : "" };
    const answer = await this.call<PageAnswer>((id) => ({ kind: "ask", id, request }));
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

  private call<T>(message: (id: number) => ToWorker): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = ++this.lastId;
      this.calls.set(id, { resolve, reject });
      this.post(message(id));
    });
  }

  private post(message: ToWorker): void {
    this.worker.postMessage(message);
  }

  private take(id: number): Call | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  private receive(message: FromWorker): void {
    if (message.kind === "opened") {
      this.isStarted = true;
      // What is not read yet belongs to the scene before.
      this.endStream();
      this.waiting = [];
      this.take(message.id)?.resolve(message.state as never);
    } else if (message.kind === "answer") {
      this.take(message.id)?.resolve(message.answer as never);
    } else if (message.kind === "refused") {
      this.isStarted = true;
      this.take(message.id)?.reject(new Error(message.error));
    } else if (message.kind === "message") {
      const bytes = new Uint8Array(message.bytes);
      if (this.stream) this.stream.enqueue(bytes);
      else this.waiting.push(bytes);
    } else if (message.kind === "frame") {
      void this.sendFrame(message.number);
    } else if (message.kind === "notice") {
      this.onNotice(message.text);
    } else {
      this.lose(message.error);
    }
  }

  private async sendFrame(number: number): Promise<void> {
    const { source } = this;
    if (source === null || "sample" in source || source.frames === null) return;
    const pictures = await source.frames.decode(number).catch(() => []);
    if (source === this.source) this.post({ kind: "frame", number, pictures });
  }

  private lose(error: string): void {
    this.worker.terminate();
    this.endStream();
    const calls = [...this.calls.values()];
    this.calls.clear();
    const { isStarted } = this;
    this.isStarted = false;
    // What could not be loaded once would not be the second time.
    if (isStarted) this.start();
    const message = isStarted ? `The engine crashed (${error}) and was started again.` : `The engine cannot be started: ${error}.`;
    for (const { reject } of calls) reject(new Error(message));
    this.onLost(message);
  }
}
