// SPDX-License-Identifier: Apache-2.0
// How many pixels have which value, for the layers that have a scale.
import type { Layer, Scale } from "./layers";
import type { Plane } from "./protocol";
import { state } from "./state";

export const binCount = 128;

function decoder(coding: { lowest: number; steps: number }): (code: number) => number {
  return (code) => (code === 0 ? NaN : coding.lowest + (code - 1) / coding.steps);
}

// The residual of left pixel i, averaged over the channels, as the shader computes it.
function residual(left: Plane, right: Plane, i: number, shift: number, rows: number): number {
  const { width, height, channels } = left;
  const [x, y] = [(i % width) - shift, Math.floor(i / width) + rows];
  if (!(x >= 0 && x <= width - 1 && y >= 0 && y <= height - 1)) return NaN;
  const [column, row] = [Math.floor(x), Math.floor(y)];
  const at = (dx: number, dy: number) => channels * (Math.min(row + dy, height - 1) * width + Math.min(column + dx, width - 1));
  const corners = [at(0, 0), at(1, 0), at(0, 1), at(1, 1)] as const;
  const share = { x: x - column, y: y - row };
  let sum = 0;
  for (let c = 0; c < channels; ++c) {
    const [here, next, below, belowNext] = corners.map((corner) => right.data[corner + c]!) as [number, number, number, number];
    const found = (here * (1 - share.x) + next * share.x) * (1 - share.y) + (below * (1 - share.x) + belowNext * share.x) * share.y;
    sum += Math.abs(left.data[channels * i + c]! - found);
  }
  return sum / channels;
}

// The values of a layer by pixel, NaN where there is none; null where its planes are missing.
export function valuesOf(layer: Layer): { count: number; at: (i: number) => number } | null {
  const { pictures, results } = state;
  const map = results[layer.slot].map;
  const truth = pictures?.truth ?? null;
  const of = (plane: Plane | undefined | null, at: (i: number) => number) =>
    plane ? { count: plane.data.length, at } : null;
  if (layer.kind === "truth" && truth) {
    const decode = decoder(truth);
    return of(truth.plane, (i) => decode(truth.plane.data[i]!));
  }
  if (map === null) return null;
  const decode = decoder(map);
  const codes = map.disparity.data;
  if (layer.kind === "disparity") return of(map.disparity, (i) => decode(codes[i]!));
  if (layer.kind === "confidence") return of(map.confidence, (i) => map.confidence!.data[i]! / 255);
  const right = map.rightDisparity;
  const decodeRight = decoder(right ?? map);
  if (layer.kind === "rightDisparity") return of(right?.plane, (i) => decodeRight(right!.plane.data[i]!));
  const rows = map.rowOffset;
  const decodeRows = decoder(rows ?? map);
  if (layer.kind === "rowOffset") return of(rows?.plane, (i) => decodeRows(rows!.plane.data[i]!));
  if (layer.kind === "error" && truth && truth.plane.data.length === codes.length) {
    const expected = decoder(truth);
    return of(map.disparity, (i) => Math.abs(decode(codes[i]!) - expected(truth.plane.data[i]!)));
  }
  if (layer.kind === "residual" && pictures?.right && pictures.left.data.length === pictures.right.data.length) {
    const { left, right } = pictures;
    const rowsAt = (i: number) => (rows ? decodeRows(rows.plane.data[i]!) / map.scale : 0);
    return of(map.disparity, (i) => residual(left, right, i, decode(codes[i]!) / map.scale, rowsAt(i)));
  }
  const other = results.B.map;
  if (layer.kind === "difference" && other && other.disparity.data.length === codes.length) {
    const decodeOther = decoder(other);
    return of(map.disparity, (i) => decode(codes[i]!) - decodeOther(other.disparity.data[i]!));
  }
  return null;
}

// Shares of the fullest bin; null where there is nothing to count.
export function histogram(layer: Layer, scale: Scale): Float32Array | null {
  const values = valuesOf(layer);
  if (values === null) return null;
  const bins = new Float32Array(binCount);
  const factor = binCount / Math.max(scale.high - scale.low, 1e-6);
  // A quarter of a million pixels show the shape as well as all of them.
  const step = Math.max(1, Math.floor(values.count / 250000));
  for (let i = 0; i < values.count; i += step) {
    const bin = Math.floor((values.at(i) - scale.low) * factor);
    if (bin >= 0 && bin < binCount) bins[bin]! += 1;
  }
  const most = bins.reduce((a, b) => Math.max(a, b), 0);
  return most === 0 ? null : bins.map((count) => count / most);
}
