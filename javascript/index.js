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

async function startWorker(url) {
  if (!inNode) return new Worker(url);
  const { Worker: NodeWorker } = await import("node:worker_threads");
  return new NodeWorker(url);
}

async function coreCount() {
  if (!inNode) return navigator.hardwareConcurrency ?? 1;
  const os = await import("node:os");
  return os.availableParallelism?.() ?? os.cpus().length;
}

// A picture without its alpha channel: {width, height, channels, data} with 1 or 3 channels of 8 or 16 bits.
function withoutAlpha({ width, height, data }, channels) {
  const colours = new data.constructor(3 * width * height);
  for (let from = 0, to = 0; to < colours.length; from += channels, to += 3) {
    colours[to] = data[from];
    colours[to + 1] = data[from + 1];
    colours[to + 2] = data[from + 2];
  }
  return { width, height, channels: 3, data: colours };
}

const isSize = (value) => Number.isInteger(value) && value >= 1;

async function pictureOf(given, name) {
  let picture = given;
  if (typeof ImageBitmap !== "undefined" && given instanceof ImageBitmap) {
    const context = new OffscreenCanvas(given.width, given.height).getContext("2d", { willReadFrequently: true });
    context.drawImage(given, 0, 0);
    picture = context.getImageData(0, 0, given.width, given.height);
  }
  const { width, height, data } = picture ?? {};
  if (!isSize(width) || !isSize(height) || !ArrayBuffer.isView(data))
    refuse(`${name} is no picture: give ImageData, an ImageBitmap, or {width, height, data} with a typed array`);
  if (!(data instanceof Uint8Array || data instanceof Uint8ClampedArray || data instanceof Uint16Array))
    refuse(`${name}.data is ${data.constructor.name}: give a Uint8Array, a Uint8ClampedArray or a Uint16Array`);
  const channels = data.length / (width * height);
  if (channels !== 1 && channels !== 3 && channels !== 4)
    refuse(`${name} has ${data.length} values for ${width}×${height} pixels: give 1, 3 or 4 values for each pixel`);
  return channels === 4 ? withoutAlpha(picture, channels) : { width, height, channels, data };
}

function planeOf(given, name, Type, size) {
  const { width, height } = size ?? given ?? {};
  const data = given?.data ?? given?.disparity ?? given;
  if (!isSize(width) || !isSize(height)) refuse(`${name} has no size: give {width, height, data}`);
  if (!(data instanceof Type) && !(Type === Uint8Array && data instanceof Uint8ClampedArray))
    refuse(`${name} is no ${Type.name}: give {width, height, data} with one`);
  if (data.length !== width * height)
    refuse(`${name} has ${data.length} values for ${width}×${height} pixels: give one for each pixel`);
  return { width, height, channels: 1, data };
}

const own = new Set(["method", "threads", "memory", "confidence", "leftMask", "rightMask", "signal"]);

// Separates the parameters of a method from the options that are ours.
function splitOptions({ method = "sgm", ...options } = {}) {
  const parameters = {};
  const ours = {};
  for (const [name, value] of Object.entries(options)) {
    if (own.has(name)) ours[name] = value;
    else if (value !== undefined) parameters[name] = value;
  }
  return { method, parameters, ...ours };
}

export class Engine {
  #threads;
  #variant;
  #url;
  #worker = null;
  #ready = null;
  #calls = new Map();
  #lastId = 0;

  constructor({ threads = 0, variant, url = new URL("./engine/worker.js", import.meta.url) } = {}) {
    if (!Number.isInteger(threads) || threads < 0) refuse(`threads is ${threads}: give the number of threads, or 0 for all`);
    this.#threads = threads;
    this.#variant = variant;
    this.#url = url;
  }

  start() {
    this.#ready ??= this.#begin();
    return this.#ready;
  }

  async #begin() {
    const threads = this.#threads || (await coreCount());
    const worker = await startWorker(this.#url);
    this.#worker = worker;
    const receive = ({ id, result, error }) => this.#finish(worker, id, result, error);
    const lose = (error) => this.#lose(worker, error?.message || "no reason given");
    if (inNode) {
      worker.on("message", receive);
      worker.on("error", lose);
      worker.on("exit", (code) => lose({ message: `exit ${code}` }));
      worker.unref();
    } else {
      worker.onmessage = ({ data }) => receive(data);
      worker.onerror = lose;
    }
    return this.#send("start", { threads, variant: this.#variant });
  }

  #send(call, request) {
    return new Promise((resolve, reject) => this.#post(++this.#lastId, { call, request, resolve, reject }));
  }

  #post(id, waiting) {
    this.#worker.postMessage({ id, call: waiting.call, request: waiting.request });
    this.#calls.set(id, waiting);
    if (inNode) this.#worker.ref();
  }

  #finish(worker, id, result, error) {
    const call = this.#calls.get(id);
    if (worker !== this.#worker || !call) return;
    if (error?.code === "lost") return this.#lose(worker, error.message);
    this.#calls.delete(id);
    if (inNode && this.#calls.size === 0) worker.unref();
    if (error) call.reject(new ParallaxError(error.code, error.message));
    else call.resolve(result);
  }

  // The worker answers in order, so it is at the first call.
  #atWork() {
    return this.#calls.keys().next().value;
  }

  #lose(worker, reason) {
    if (worker !== this.#worker) return;
    this.#replace(this.#atWork(), new ParallaxError("internal", `the engine stopped (${reason}) and starts anew: try again`));
  }

  #end() {
    const calls = this.#calls;
    this.#calls = new Map();
    this.#worker?.terminate();
    this.#worker = null;
    this.#ready = null;
    return calls;
  }

  // Ends the worker and fails one call; another worker answers those that wait.
  #replace(failed, error) {
    const calls = this.#end();
    calls.get(failed)?.reject(error);
    calls.delete(failed);
    for (const [id, waiting] of calls) this.start().then(() => this.#post(id, waiting), waiting.reject);
  }

  close() {
    for (const { reject } of this.#end().values()) reject(new ParallaxError("cancelled", "the engine was closed"));
  }

  async #call(call, request, signal) {
    signal?.throwIfAborted();
    await this.start();
    signal?.throwIfAborted();
    const answer = this.#send(call, request);
    if (!signal) return answer;
    const id = this.#lastId;
    const abort = () => {
      if (id === this.#atWork()) return this.#replace(id, signal.reason);
      this.#calls.get(id)?.reject(signal.reason);
      this.#calls.delete(id);
    };
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await answer;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async #pair(left, right, { leftMask, rightMask } = {}) {
    const pair = { left: await pictureOf(left, "left"), right: await pictureOf(right, "right") };
    if (leftMask) pair.leftMask = planeOf(leftMask, "leftMask", Uint8Array, pair.left);
    if (rightMask) pair.rightMask = planeOf(rightMask, "rightMask", Uint8Array, pair.right);
    return pair;
  }

  async methods() {
    return (await this.start()).methods;
  }

  async memoryBytes() {
    return this.#call("memoryBytes");
  }

  async match(left, right, options) {
    const { signal, method, parameters, threads = 0, confidence = false, ...masks } = splitOptions(options);
    const pair = await this.#pair(left, right, masks);
    return this.#call("match", { ...pair, method, parameters, threads, confidence }, signal);
  }

  async check(left, right, { signal, ...masks } = {}) {
    return this.#call("check", await this.#pair(left, right, masks), signal);
  }

  async evaluate(disparity, truth, { mask } = {}) {
    const plane = planeOf(disparity, "disparity", Float32Array);
    return this.#call("evaluate", {
      disparity: plane,
      truth: planeOf(truth, "truth", Float32Array, plane),
      mask: mask && planeOf(mask, "mask", Uint8Array, plane),
    });
  }

  async depth(calibration, disparity) {
    return this.#call("depth", { calibration: calibrationOf(calibration), disparity: planeOf(disparity, "disparity", Float32Array) });
  }

  async points(calibration, disparity, left) {
    return this.#call("points", {
      calibration: calibrationOf(calibration),
      disparity: planeOf(disparity, "disparity", Float32Array),
      left: await pictureOf(left, "left"),
    });
  }

  async colour(disparity, low, high) {
    return this.#call("colour", { disparity: planeOf(disparity, "disparity", Float32Array), low, high });
  }

  async synthesize({ scene = "planes", width = 640, height = 480, disparities = 64, seed = 0 } = {}) {
    return this.#call("synthesize", { scene, width, height, disparities, seed });
  }
}

// Names as in the C interface; a baseline in metres.
function calibrationOf({ focal, centreX, centreY, baseline, doffs = 0 }) {
  return { focal, centre_x: centreX, centre_y: centreY, baseline, doffs };
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
