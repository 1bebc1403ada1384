// SPDX-License-Identifier: Apache-2.0
// Dense stereo matching in a worker. Parameters, states and verdicts are those of every other interface of Parallax.
/// <reference lib="dom" />
import type { MethodOptions } from "./options.js";
export type * from "./options.js";

/** 1, 3 or 4 values for each pixel, row by row from the top left; with 4, the last (alpha) is ignored. */
export interface PixelArray {
  width: number;
  height: number;
  data: Uint8Array | Uint8ClampedArray | Uint16Array;
}
/** The pair must be rectified: what left (x, y) shows is in row y of the right picture. */
export type Picture = PixelArray | ImageData | ImageBitmap;

/** A value for each pixel. */
export interface Plane<Data> {
  width: number;
  height: number;
  data: Data;
}

export interface Masks {
  /** Where the left picture is valid; 0 = invalid */
  leftMask?: Plane<Uint8Array | Uint8ClampedArray>;
  /** The same for the right picture */
  rightMask?: Plane<Uint8Array | Uint8ClampedArray>;
}
export interface Cancellable {
  /** Ends the call, which fails with the signal's reason. A call that has begun takes the worker with it: another one
      answers the calls that wait */
  signal?: AbortSignal;
}

export type MatchOptions = MethodOptions &
  Masks &
  Cancellable & {
    /** Threads of this match, at most those of the engine; 0 = all. They never change a result */
    threads?: number;
    /** Whether to find confidences, where the method has them */
    confidence?: boolean;
  };

export interface DisparityMap {
  width: number;
  height: number;
  /** In pixels: left (x, y) shows the same point as right (x − d, y); Infinity = none */
  disparity: Float32Array;
  /** Why a pixel has its disparity, or has none: an index into `statuses` */
  status: Uint8Array;
  /** 0 to 1 */
  confidence?: Float32Array;
  /** By how many rows the match is lower in the right picture, where the method searches rows */
  rowOffset?: Float32Array;
  /** The method and all its parameters */
  parameters: Record<string, unknown>;
  /** How long each stage took */
  stages: { name: string; milliseconds: number }[];
  /** What the matcher allocated */
  memoryBytes: number;
}

export declare const statuses: readonly [
  "matched", "filled", "out-of-range", "inconsistent", "ambiguous", "textureless", "speckle", "input-masked",
];

/** A rectified rig: lengths in pixels, the baseline in metres. */
export interface Calibration {
  focal: number;
  /** Column of the left principal point */
  centreX: number;
  /** Row of both principal points */
  centreY: number;
  baseline: number;
  /** Column of the right principal point minus that of the left one; default 0 */
  doffs?: number;
}

/** Shares of pixels are from 0 to 1; errors are in pixels. */
export interface Metrics {
  count: number;
  bad05: number;
  bad1: number;
  bad2: number;
  bad4: number;
  average: number;
  rms: number;
  a50: number;
  a90: number;
  a95: number;
  a99: number;
  d1: number;
  coverage: number;
  mismatches: number;
}

export interface Parameter {
  name: string;
  kind: "flag" | "integer" | "number" | "choice";
  optional: boolean;
  expert: boolean;
  help: string;
  unit: string;
  allowed: string;
  group: string;
  default: string;
  least: number;
  most: number;
  choices: string[];
}
export interface Method {
  name: string;
  presets: string[];
  parameters: Parameter[];
}

/** One line that says what failed and what to do. */
export declare class ParallaxError extends Error {
  constructor(code: ParallaxError["code"], message: string);
  code: "argument" | "file" | "device" | "memory" | "internal" | "cancelled";
}

/** A worker, which answers calls one after the other. Errors are a ParallaxError. */
export declare class Engine {
  /**
   * @param options `threads`: 0 = one for each core; always one in a page that is not isolated. `variant`: the library
   *   to load; the default is what suits the browser. `url`: where engine/worker.js is, beside the other files of its
   *   folder, if a bundler has moved it
   */
  constructor(options?: { threads?: number; variant?: "parallax" | "parallax-scalar"; url?: URL | string });
  /** Starts the worker, if it does not run. */
  start(): Promise<{ version: string; variant: "parallax" | "parallax-scalar"; threads: number; methods: Method[] }>;
  /** Ends the worker: calls that it has not answered fail. The next call starts another one. */
  close(): void;
  methods(): Promise<Method[]>;
  /** Bytes that the worker has allocated; only close() releases them. */
  memoryBytes(): Promise<number>;
  match(left: Picture, right: Picture, options?: MatchOptions): Promise<DisparityMap>;
  /** Whether a pair is fit to be matched: what `parallax check --json` prints. */
  check(left: Picture, right: Picture, options?: Masks & Cancellable): Promise<Record<string, unknown>>;
  /** Errors over the pixels whose truth is finite, and whose mask is 255. */
  evaluate(
    disparity: DisparityMap | Plane<Float32Array>,
    truth: DisparityMap | Plane<Float32Array> | Float32Array,
    options?: { mask?: Plane<Uint8Array | Uint8ClampedArray> },
  ): Promise<Metrics>;
  /** In metres; 0 = none. */
  depth(calibration: Calibration, disparity: DisparityMap | Plane<Float32Array>): Promise<Float32Array>;
  /** A point for each pixel that has a depth: right, down, forward in metres, and red, green, blue. */
  points(
    calibration: Calibration,
    disparity: DisparityMap | Plane<Float32Array>,
    left: Picture,
  ): Promise<{ count: number; positions: Float32Array; colours: Uint8Array }>;
  /** Turbo: `low` is blue, `high` red, no disparity black. */
  colour(disparity: DisparityMap | Plane<Float32Array>, low: number, high: number): Promise<ImageDataLike>;
  /** A pair with its truth. */
  synthesize(options?: {
    scene?: "dots" | "planes" | "layers";
    width?: number;
    height?: number;
    disparities?: number;
    seed?: number;
  }): Promise<{ left: PixelArray; right: PixelArray; truth: Float32Array }>;
}

/** For `new ImageData(data, width, height)`. */
export interface ImageDataLike {
  width: number;
  height: number;
  data: ImageData["data"];
}

/** The same on an engine that all calls share. */
export declare const match: Engine["match"];
export declare const check: Engine["check"];
export declare const evaluate: Engine["evaluate"];
export declare const depth: Engine["depth"];
export declare const points: Engine["points"];
export declare const colour: Engine["colour"];
export declare const synthesize: Engine["synthesize"];
export declare const methods: Engine["methods"];
export declare const close: Engine["close"];
