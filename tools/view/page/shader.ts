// SPDX-License-Identifier: Apache-2.0
// Shaders that colour pixels: put together from the code of the layers that a pane shows, so that they compute nothing else.
import type { Kind, Layer } from "./layers";

export const vertexShader = `#version 300 es
void main() {
  // One triangle over the whole pane.
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

const head = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;

uniform sampler2D leftPicture, rightPicture, tables;
uniform usampler2D disparityA, statusA, confidenceA, rowOffsetA, rightDisparityA;
uniform usampler2D disparityB, statusB, confidenceB, rowOffsetB, rightDisparityB, truthMap;
uniform vec2 codingA, codingB, codingTruth, codingRowsA, codingRowsB, codingRightA, codingRightB;  // lowest value, steps for a pixel

uniform vec2 corner;      // corner of the pane, in pixels of the canvas from its top
uniform float canvasHeight;
uniform vec2 offset;      // place of the picture in the pane
uniform float zoom;       // pixels of the canvas for a pixel of the full picture
uniform vec4 region;      // the part of the full picture that the textures have: left, top, right, bottom
uniform float planeScale; // pixels of the full picture for one of the textures
uniform float lod;
uniform float stripe;     // width of the stripes of pixels without a value
uniform float wipe, blend;
uniform ivec2 row;
uniform vec2 low, high;

out vec4 colour;

const float none = -1e9;

float decode(uint code, vec2 coding) { return code == 0u ? none : coding.x + float(code - 1u) / coding.y; }

vec4 empty() {
  float line = mod(floor((gl_FragCoord.x + gl_FragCoord.y) / stripe), 2.0);
  return vec4(vec3(mix(0.15, 0.20, line)), 1.0);
}

vec4 shade(float value, float low, float high, int row) {
  if (value == none) return empty();
  float index = clamp((value - low) / max(high - low, 1e-6), 0.0, 1.0) * 255.0;
  return texelFetch(tables, ivec2(int(index + 0.5), row), 0);
}

vec3 onRow(float x, int y, ivec2 last) {
  vec3 here = texelFetch(rightPicture, ivec2(int(x), y), 0).rgb;
  vec3 next = texelFetch(rightPicture, ivec2(min(int(x) + 1, last.x), y), 0).rgb;
  return mix(here, next, fract(x));
}

// The right picture where the disparity and the row offset of the left pixel say it is seen; alpha 0 = nowhere. A map
// without row offsets has them on the same row.
vec4 warped(float d, float v, ivec2 at) {
  vec2 p = vec2(at) + vec2(-d, v == none ? 0.0 : v) / planeScale;
  ivec2 last = textureSize(rightPicture, 0) - 1;
  if (d == none || p.x < 0.0 || p.y < 0.0 || p.x > float(last.x) || p.y > float(last.y)) return vec4(0.0);
  return vec4(mix(onRow(p.x, int(p.y), last), onRow(p.x, min(int(p.y) + 1, last.y), last), fract(p.y)), 1.0);
}

vec4 scaled(float value, int i) { return shade(value, low[i], high[i], row[i]); }
`;

const picture = (name: string, smooth: boolean): string =>
  smooth
    ? `
  vec2 uv = (p - region.xy) / (planeScale * vec2(textureSize(${name}, 0)));
  return vec4(textureLod(${name}, uv, lod).rgb, 1.0);`
    : `return vec4(texelFetch(${name}, at, 0).rgb, 1.0);`;

const disparity = (slot: string): string => `decode(texelFetch(disparity${slot}, at, 0).r, coding${slot})`;
const rowOffset = (slot: string): string => `decode(texelFetch(rowOffset${slot}, at, 0).r, codingRows${slot})`;
const warped = (slot: string): string => `warped(${disparity(slot)}, ${rowOffset(slot)}, at)`;
const truth = "decode(texelFetch(truthMap, at, 0).r, codingTruth)";

// The colour of a layer at the point p of the full picture, which is the texel `at`.
const layers: Record<Kind, (slot: string, i: number, smooth: boolean) => string> = {
  left: (_slot, _i, smooth) => picture("leftPicture", smooth),
  right: (_slot, _i, smooth) => picture("rightPicture", smooth),
  disparity: (slot, i) => `return scaled(${disparity(slot)}, ${i});`,
  truth: (_, i) => `return scaled(${truth}, ${i});`,
  status: (slot, i) => `return texelFetch(tables, ivec2(int(texelFetch(status${slot}, at, 0).r), row[${i}]), 0);`,
  confidence: (slot, i) => `return scaled(float(texelFetch(confidence${slot}, at, 0).r) / 255.0, ${i});`,
  rightDisparity: (slot, i) => `return scaled(decode(texelFetch(rightDisparity${slot}, at, 0).r, codingRight${slot}), ${i});`,
  rowOffset: (slot, i) => `return scaled(${rowOffset(slot)}, ${i});`,
  error: (slot, i) => `
  float d = ${disparity(slot)}, t = ${truth};
  return scaled(d == none || t == none ? none : abs(d - t), ${i});`,
  warped: (slot) => `
  vec4 found = ${warped(slot)};
  return found.a == 0.0 ? empty() : found;`,
  residual: (slot, i) => `
  vec4 found = ${warped(slot)};
  vec3 apart = 255.0 * abs(texelFetch(leftPicture, at, 0).rgb - found.rgb);
  return scaled(found.a == 0.0 ? none : (apart.r + apart.g + apart.b) / 3.0, ${i});`,
  difference: (_, i) => `
  float a = ${disparity("A")}, b = ${disparity("B")};
  return scaled(a == none || b == none ? none : a - b, ${i});`,
};

export type Mixture = "one" | "wipe" | "blend";

const mixtures: Record<Mixture, string> = {
  one: "shown0(p, at)",
  wipe: "screen.x < wipe ? shown0(p, at) : shown1(p, at)",
  blend: "mix(shown0(p, at), shown1(p, at), blend)",
};

export interface Sampling {
  // For a pixel of the canvas, each way.
  samples: 1 | 2;
  // Pictures are drawn smaller than they are.
  smooth: boolean;
}

// Without loops and branches, which cost a processor that draws more than half of its time.
export function fragmentShader(shown: Layer[], mixture: Mixture, { samples, smooth }: Sampling): string {
  const shifts = samples === 1 ? ["0.0, 0.0"] : ["-0.25, -0.25", "0.25, -0.25", "-0.25, 0.25", "0.25, 0.25"];
  const sum = shifts.map((shift) => `combined((screen + vec2(${shift}) - offset) / zoom, screen)`).join(" + ");
  const functions = shown.map(
    ({ kind, slot }, i) => `vec4 shown${i}(vec2 p, ivec2 at) {\n  ${layers[kind](slot, i, smooth)}\n}\n`,
  );
  return `${head}${functions.join("")}
vec4 combined(vec2 p, vec2 screen) {
  // Only pixels whose middle lies in the region are drawn; other samples of them may lie beside it.
  ivec2 last = ivec2(ceil((region.zw - region.xy) / planeScale)) - 1;
  ivec2 at = clamp(ivec2(floor((p - region.xy) / planeScale)), ivec2(0), last);
  return ${mixtures[mixture]};
}

void main() {
  vec2 screen = vec2(gl_FragCoord.x, canvasHeight - gl_FragCoord.y) - corner;
  colour = (${sum}) / float(${shifts.length});
}`;
}
