// SPDX-License-Identifier: Apache-2.0
// The shader that colours pixels. Layers have the numbers of layers.ts.

export const vertexShader = `#version 300 es
void main() {
  // One triangle over the whole pane.
  gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0);
}`;

export const fragmentShader = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;

uniform sampler2D leftPicture, rightPicture, tables;
uniform usampler2D disparityA, statusA, confidenceA, disparityB, statusB, confidenceB, truthMap;
uniform vec2 codingA, codingB, codingTruth;  // lowest disparity, steps for a pixel

uniform vec2 corner;      // of the pane, in pixels of the canvas from its top
uniform float canvasHeight;
uniform vec2 offset;      // of the picture in the pane
uniform float zoom;       // pixels of the canvas for a pixel of the full picture
uniform vec4 region;      // the part of the full picture that the textures have: left, top, right, bottom
uniform float planeScale; // pixels of the full picture for one of the textures
uniform float lod;
uniform int samples;      // for a pixel of the canvas, each way
uniform float stripe;     // width of the stripes of pixels without a value

uniform int combination;  // 0 = first layer, 1 = second, 2 = wipe, 3 = blend
uniform float wipe, blend;
uniform ivec2 kind, slot, row;
uniform vec2 low, high;

out vec4 colour;

const float none = -1e9;

float decode(uint code, vec2 coding) { return code == 0u ? none : coding.x + float(code - 1u) / coding.y; }

ivec2 texel(vec2 p) { return ivec2(floor((p - region.xy) / planeScale)); }

float disparity(int which, vec2 p) {
  return which == 0 ? decode(texelFetch(disparityA, texel(p), 0).r, codingA)
                    : decode(texelFetch(disparityB, texel(p), 0).r, codingB);
}

float truth(vec2 p) { return decode(texelFetch(truthMap, texel(p), 0).r, codingTruth); }

vec4 picture(sampler2D source, vec2 p) {
  if (lod > 0.0) {
    vec2 uv = (p - region.xy) / (planeScale * vec2(textureSize(source, 0)));
    return vec4(textureLod(source, uv, lod).rgb, 1.0);
  }
  return vec4(texelFetch(source, texel(p), 0).rgb, 1.0);
}

vec4 empty() {
  float line = mod(floor((gl_FragCoord.x + gl_FragCoord.y) / stripe), 2.0);
  return vec4(vec3(mix(0.15, 0.20, line)), 1.0);
}

vec4 shade(float value, int i) {
  if (value == none) return empty();
  float index = clamp((value - low[i]) / max(high[i] - low[i], 1e-6), 0.0, 1.0) * 255.0;
  return texelFetch(tables, ivec2(int(index + 0.5), row[i]), 0);
}

// The right picture where the disparity of the left pixel says it is seen; alpha 0 = nowhere.
vec4 warped(int which, vec2 p) {
  float d = disparity(which, p);
  if (d == none) return vec4(0.0);
  float x = float(texel(p).x) - d / planeScale;
  int width = textureSize(rightPicture, 0).x, y = texel(p).y;
  if (x < 0.0 || x > float(width - 1)) return vec4(0.0);
  vec3 at = texelFetch(rightPicture, ivec2(int(x), y), 0).rgb;
  vec3 next = texelFetch(rightPicture, ivec2(min(int(x) + 1, width - 1), y), 0).rgb;
  return vec4(mix(at, next, fract(x)), 1.0);
}

vec4 shown(int i, vec2 p) {
  int k = kind[i], s = slot[i];
  if (k == 0) return picture(leftPicture, p);
  if (k == 1) return picture(rightPicture, p);
  if (k == 2) return shade(disparity(s, p), i);
  if (k == 3) {
    uint status = s == 0 ? texelFetch(statusA, texel(p), 0).r : texelFetch(statusB, texel(p), 0).r;
    return texelFetch(tables, ivec2(int(status), row[i]), 0);
  }
  if (k == 4) {
    uint confidence = s == 0 ? texelFetch(confidenceA, texel(p), 0).r : texelFetch(confidenceB, texel(p), 0).r;
    return shade(float(confidence) / 255.0, i);
  }
  if (k == 5) {
    float d = disparity(s, p), t = truth(p);
    return shade(d == none || t == none ? none : abs(d - t), i);
  }
  if (k == 6) {
    vec4 found = warped(s, p);
    return found.a == 0.0 ? empty() : found;
  }
  if (k == 7) {
    vec4 found = warped(s, p);
    vec3 apart = 255.0 * abs(texelFetch(leftPicture, texel(p), 0).rgb - found.rgb);
    return shade(found.a == 0.0 ? none : (apart.r + apart.g + apart.b) / 3.0, i);
  }
  if (k == 8) {
    float a = disparity(0, p), b = disparity(1, p);
    return shade(a == none || b == none ? none : a - b, i);
  }
  return shade(truth(p), i);
}

vec4 combined(vec2 p, vec2 screen) {
  if (any(lessThan(p, region.xy)) || any(greaterThanEqual(p, region.zw))) return vec4(0.0);
  if (combination == 0) return shown(0, p);
  if (combination == 1) return shown(1, p);
  if (combination == 2) return screen.x < wipe ? shown(0, p) : shown(1, p);
  return mix(shown(0, p), shown(1, p), blend);
}

void main() {
  vec2 screen = vec2(gl_FragCoord.x, canvasHeight - gl_FragCoord.y) - corner;
  vec4 sum = vec4(0.0);
  for (int j = 0; j < samples; ++j)
    for (int i = 0; i < samples; ++i) {
      vec2 inside = (vec2(i, j) + 0.5) / float(samples) - 0.5;
      sum += combined((screen + inside - offset) / zoom, screen);
    }
  colour = sum / float(samples * samples);
}`;
