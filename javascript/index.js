// SPDX-License-Identifier: Apache-2.0
// Dense stereo matching in a worker. index.d.ts describes what this file exports.

const inNode = typeof process === "object" && process.versions?.node !== undefined;

export class ParallaxError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "ParallaxError";
    this.code = code;
  }
}

export const statuses = [
  "matched", "filled", "out-of-range", "inconsistent", "ambiguous", "textureless", "speckle", "input-masked",
];

const refuse = (message) => {
  throw new ParallaxError("argument", message);
};

// Bundlers for browsers must not follow this.
const fromNode = (name) => import(/* webpackIgnore: true */ /* @vite-ignore */ `node:${name}`);

async function startWorker(url) {
  if (!inNode) return new Worker(url);
  const { Worker: NodeWorker } = await fromNode("worker_threads");
  return new NodeWorker(url);
}

async function coreCount() {
  if (!inNode) return navigator.hardwareConcurrency ?? 1;
  const os = await fromNode("os");
  return os.availableParallelism?.() ?? os.cpus().length;
}

// Arguments. What a call keeps is a copy, because a call may wait, and its caller may change what it gave.

const isSize = (value) => Number.isInteger(value) && value >= 1;

function countOf(value, name, least = 0) {
  if (!Number.isInteger(value) || value < least || value > 1e6)
    refuse(`${name} is ${String(value)}: give an integer from ${least} to 1000000`);
  return value;
}

// Without the alpha channel.
function withoutAlpha({ width, height, data }) {
  const Type = data instanceof Uint16Array ? Uint16Array : Uint8Array;
  const colours = new Type(3 * width * height);
  for (let from = 0, to = 0; to < colours.length; from += 4, to += 3) {
    colours[to] = data[from];
    colours[to + 1] = data[from + 1];
    colours[to + 2] = data[from + 2];
  }
  return { width, height, channels: 3, data: colours };
}

function pixelsOf(bitmap, name) {
  if (bitmap.width === 0) refuse(`${name} is a closed ImageBitmap: give one that is open`);
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d", { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
}

function pictureOf(given, name) {
  const picture = typeof ImageBitmap !== "undefined" && given instanceof ImageBitmap ? pixelsOf(given, name) : given;
  const { width, height, data } = picture ?? {};
  if (!isSize(width) || !isSize(height) || !ArrayBuffer.isView(data))
    refuse(`${name} is not a picture: give ImageData, an ImageBitmap, or {width, height, data} with a typed array`);
  if (!(data instanceof Uint8Array || data instanceof Uint8ClampedArray || data instanceof Uint16Array))
    refuse(`${name}.data is a ${data.constructor.name}: give a Uint8Array, a Uint8ClampedArray or a Uint16Array`);
  const channels = data.length / (width * height);
  if (channels !== 1 && channels !== 3 && channels !== 4)
    refuse(`${name} has ${data.length} values for ${width}×${height} pixels: give 1, 3 or 4 values for each pixel`);
  return channels === 4 ? withoutAlpha(picture) : { width, height, channels, data: data.slice() };
}

// A value for each pixel; `size`: of the picture that it belongs to.
function planeOf(given, name, Type, size) {
  const { width = size?.width, height = size?.height } = given ?? {};
  const data = given?.data ?? given?.disparity ?? given;
  if (!isSize(width) || !isSize(height)) refuse(`${name} has no size: give {width, height, data}`);
  if (size && (width !== size.width || height !== size.height))
    refuse(`${name} is ${width}×${height}: give one of ${size.width}×${size.height}`);
  if (!(data instanceof Type) && !(Type === Uint8Array && data instanceof Uint8ClampedArray))
    refuse(`${name} is not a ${Type.name}: give {width, height, data} with one`);
  if (data.length !== width * height)
    refuse(`${name} has ${data.length} values for ${width}×${height} pixels: give one for each pixel`);
  return { width, height, channels: 1, data: data.slice() };
}

function pairOf(left, right, { leftMask, rightMask }) {
  const pair = { left: pictureOf(left, "left"), right: pictureOf(right, "right") };
  if (leftMask) pair.leftMask = planeOf(leftMask, "leftMask", Uint8Array, pair.left);
  if (rightMask) pair.rightMask = planeOf(rightMask, "rightMask", Uint8Array, pair.right);
  return pair;
}

// Names as in the C interface; a baseline in metres.
function calibrationOf(given) {
  const { focal, centreX, centreY, baseline, doffs = 0 } = given ?? {};
  for (const [name, value] of Object.entries({ focal, centreX, centreY, baseline, doffs }))
    if (!Number.isFinite(value)) refuse(`calibration.${name} is ${String(value)}: give a finite number`);
  return { focal, centre_x: centreX, centre_y: centreY, baseline, doffs };
}

function parametersOf(given) {
  const parameters = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!["boolean", "number", "string"].includes(typeof value) && value !== null)
      refuse(`${name} is a ${typeof value}: give a boolean, a number or a string`);
    parameters[name] = typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  }
  return parameters;
}

export class Engine {
  #threads;
  #variant;
  #url;
  #worker = null;
  // What the library can do; null until it is loaded.
  #started = null;
  // An object of its own for each worker: tells an answer of one that has been replaced.
  #life = null;
  // What is not answered, in order: {call, request, resolve, reject, isPosted, isDropped}.
  #calls = new Map();
  #lastId = 0;

  constructor({ threads = 0, variant, url = new URL("./engine/worker.js", import.meta.url) } = {}) {
    this.#threads = countOf(threads, "threads");
    this.#variant = variant;
    this.#url = url;
  }

  start() {
    return this.#call("start");
  }

  close() {
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#end();
    for (const { reject } of calls) reject(new ParallaxError("cancelled", "the engine was closed"));
  }

  #call(call, request, signal) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++this.#lastId;
      const abort = () => this.#abort(id, signal.reason);
      const settle = (how) => (value) => {
        signal?.removeEventListener("abort", abort);
        how(value);
      };
      const [answer, refusal] = [settle(resolve), settle(reject)];
      this.#calls.set(id, { call, request, resolve: answer, reject: refusal, isPosted: false, isDropped: false });
      signal?.addEventListener("abort", abort, { once: true });
      if (!this.#life) this.#begin();
      else if (this.#started) this.#post();
    });
  }

  async #begin() {
    const life = (this.#life = {});
    const lose = (reason) => life === this.#life && this.#lose(reason);
    const receive = (message) => life === this.#life && this.#receive(message);
    try {
      const threads = this.#threads || (await coreCount());
      const worker = await startWorker(this.#url);
      if (life !== this.#life) return worker.terminate();
      this.#worker = worker;
      if (inNode) {
        worker.on("message", receive);
        worker.on("error", (error) => lose(error.message));
        worker.on("exit", (code) => lose(`exit ${code}`));
      } else {
        worker.onmessage = ({ data }) => receive(data);
        worker.onerror = (event) => lose(event.message);
      }
      worker.postMessage({ id: 0, call: "start", request: { threads, variant: this.#variant } });
    } catch (error) {
      lose(error.message);
    }
  }

  // Sends what waits.
  #post() {
    for (const [id, waiting] of this.#calls) {
      if (waiting.isPosted) continue;
      if (waiting.call === "start") {
        this.#calls.delete(id);
        waiting.resolve(this.#started);
      } else {
        waiting.isPosted = true;
        this.#worker.postMessage({ id, call: waiting.call, request: waiting.request });
      }
    }
    this.#letNodeEnd();
  }

  // Node goes on while a worker has work.
  #letNodeEnd() {
    if (!inNode || !this.#worker) return;
    if (this.#calls.size === 0) this.#worker.unref();
    else this.#worker.ref();
  }

  #receive({ id, result, error }) {
    if (error?.code === "lost") return this.#lose(error.message);
    if (id === 0) {
      this.#started = result;
      return this.#post();
    }
    const { resolve, reject } = this.#calls.get(id);
    this.#calls.delete(id);
    this.#letNodeEnd();
    if (error) reject(new ParallaxError(error.code, error.message));
    else resolve(result);
  }

  // The worker answers in order, so it is at the first call.
  #atWork() {
    for (const [id, { isPosted }] of this.#calls) if (isPosted) return id;
    return undefined;
  }

  #fail(id, error) {
    const { reject } = this.#calls.get(id) ?? {};
    this.#calls.delete(id);
    reject?.(error);
  }

  #lose(reason) {
    const why = reason || "no reason given";
    if (this.#started) {
      const message = `the engine crashed (${why}) and will restart: try again`;
      this.#fail(this.#atWork(), new ParallaxError("internal", message));
      return this.#replace();
    }
    const advice = `cannot load ${this.#url} (${why}): serve the folder engine from the page's own origin`;
    this.#end();
    for (const id of [...this.#calls.keys()]) this.#fail(id, new ParallaxError("file", advice));
  }

  #abort(id, reason) {
    const waiting = this.#calls.get(id);
    if (!waiting) return;
    waiting.reject(reason);
    // The worker will be at a call that it has, though nobody waits for it.
    if (waiting.isPosted && id !== this.#atWork()) return void (waiting.isDropped = true);
    this.#calls.delete(id);
    if (waiting.isPosted) this.#replace();
  }

  #end() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#started = null;
    this.#life = null;
  }

  // Ends the worker; another one answers what waits.
  #replace() {
    this.#end();
    for (const [id, waiting] of this.#calls) {
      waiting.isPosted = false;
      if (waiting.isDropped) this.#calls.delete(id);
    }
    if (this.#calls.size > 0) this.#begin();
  }

  async methods() {
    return (await this.start()).methods;
  }

  async memoryBytes() {
    return this.#call("memoryBytes");
  }

  async match(left, right, options) {
    const { method = "sgm", threads = 0, confidence = false, signal, leftMask, rightMask, ...parameters } = options ?? {};
    const request = {
      ...pairOf(left, right, { leftMask, rightMask }),
      method: String(method),
      parameters: parametersOf(parameters),
      threads: countOf(threads, "threads"),
      confidence: Boolean(confidence),
    };
    return this.#call("match", request, signal);
  }

  async check(left, right, options) {
    return this.#call("check", pairOf(left, right, options ?? {}), options?.signal);
  }

  async evaluate(disparity, truth, options) {
    const plane = planeOf(disparity, "disparity", Float32Array);
    const mask = options?.mask && planeOf(options.mask, "mask", Uint8Array, plane);
    return this.#call("evaluate", { disparity: plane, truth: planeOf(truth, "truth", Float32Array, plane), mask });
  }

  async depth(calibration, disparity) {
    return this.#call("depth", { calibration: calibrationOf(calibration), disparity: planeOf(disparity, "disparity", Float32Array) });
  }

  async points(calibration, disparity, left) {
    return this.#call("points", {
      calibration: calibrationOf(calibration),
      disparity: planeOf(disparity, "disparity", Float32Array),
      left: pictureOf(left, "left"),
    });
  }

  async colour(disparity, low, high) {
    for (const [name, value] of Object.entries({ low, high }))
      if (!Number.isFinite(value)) refuse(`${name} is ${String(value)}: give a finite number`);
    return this.#call("colour", { disparity: planeOf(disparity, "disparity", Float32Array), low, high });
  }

  async synthesize(options) {
    const { scene = "planes", width = 640, height = 480, disparities = 64, seed = 0 } = options ?? {};
    if (!Number.isSafeInteger(seed) || seed < 0) refuse(`seed is ${String(seed)}: give an integer, 0 or more`);
    return this.#call("synthesize", {
      scene: String(scene),
      width: countOf(width, "width", 1),
      height: countOf(height, "height", 1),
      disparities: countOf(disparities, "disparities", 1),
      seed,
    });
  }
}

const engine = new Engine();
const shared = (name) => (...values) => engine[name](...values);
export const match = shared("match");
export const check = shared("check");
export const evaluate = shared("evaluate");
export const depth = shared("depth");
export const points = shared("points");
export const colour = shared("colour");
export const synthesize = shared("synthesize");
export const methods = shared("methods");
export const close = shared("close");
