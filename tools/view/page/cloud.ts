// SPDX-License-Identifier: Apache-2.0
// The 3-D cloud: the graphics card computes points from the disparities, so that a new map costs one upload. The first part
// of the points is spread over the whole picture; while somebody moves the camera, only as many are drawn as are fluent.
import {
  BufferGeometry,
  Color,
  DataTexture,
  Float32BufferAttribute,
  GLSL3,
  Line,
  LineBasicMaterial,
  NearestFilter,
  PerspectiveCamera,
  Points,
  PointsMaterial,
  RedIntegerFormat,
  RGBAFormat,
  Scene,
  ShaderMaterial,
  UnsignedByteType,
  UnsignedShortType,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Table } from "./colours";
import { tablePicture, tables, tableSize } from "./colours";
import type { Calibration, Plane } from "./protocol";
import type { DisparityMap, Pictures } from "./state";

export type CloudColour = "picture" | "disparity" | "error" | "confidence";

export interface CloudOptions {
  colour: CloudColour;
  table: Table;
  low: number;
  high: number;
  pointSize: number;
  near: number;
  far: number;
}

export interface Measure {
  points: { x: number; y: number; z: number }[];
  distance: number | null;
}

// Each way: points are drawn in as many parts as a square of so many pixels has, each spread over the picture.
const square = 8;
const parts = square * square;
const frameBudget = 1000 / 30;
// After so long without a movement, all points are drawn.
const stillMilliseconds = 250;

const vertexShader = `
precision highp usampler2D;
uniform usampler2D disparities, confidences, truth;
uniform sampler2D picture, tables;
uniform ivec2 size;
uniform vec2 coding, codingTruth, centre, range, clip;
uniform float scale, focal, baseline, doffs, pointSize, pixels;
uniform int colouring, row;
uniform int order[${parts}];
out vec3 shade;

const vec4 nowhere = vec4(2.0, 2.0, 2.0, 1.0);

void main() {
  int columns = (size.x + ${square - 1}) / ${square}, rows = (size.y + ${square - 1}) / ${square};
  int part = gl_VertexID / (columns * rows), block = gl_VertexID % (columns * rows);
  ivec2 at = ${square} * ivec2(block % columns, block / columns) + ivec2(order[part] % ${square}, order[part] / ${square});
  gl_Position = nowhere;
  gl_PointSize = 1.0;
  shade = vec3(0.0);
  if (at.x >= size.x || at.y >= size.y) return;
  uint code = texelFetch(disparities, at, 0).r;
  if (code == 0u) return;
  float disparity = coding.x + float(code - 1u) / coding.y;
  float depth = focal * baseline / (disparity + doffs);
  if (disparity + doffs <= 0.0 || depth < clip.x || depth > clip.y) return;
  vec2 pixel = (vec2(at) + 0.5) * scale - 0.5;
  // The camera of WebGL looks along −z, with y up.
  vec3 place = vec3((pixel - centre) * depth / focal, depth) * vec3(1.0, -1.0, -1.0);
  gl_Position = projectionMatrix * viewMatrix * vec4(place, 1.0);
  // As large as its pixel is in space, so that a surface stays closed when the camera comes close.
  gl_PointSize = clamp(pointSize * pixels * scale * depth / focal / max(gl_Position.w, 1e-3), 1.0, 24.0);
  if (colouring == 0) {
    shade = texelFetch(picture, at, 0).rgb;
    return;
  }
  float value = disparity;
  if (colouring == 2) {
    uint expected = texelFetch(truth, at, 0).r;
    if (expected == 0u) {
      shade = vec3(0.35);
      return;
    }
    value = abs(disparity - (codingTruth.x + float(expected - 1u) / codingTruth.y));
  }
  if (colouring == 3) value = float(texelFetch(confidences, at, 0).r) / 255.0;
  float index = clamp((value - range.x) / max(range.y - range.x, 1e-6), 0.0, 1.0) * 255.0;
  shade = texelFetch(tables, ivec2(int(index + 0.5), row), 0).rgb;
}`;

const fragmentShader = `
in vec3 shade;
out vec4 colour;
void main() { colour = vec4(shade, 1.0); }`;

// Positions in the square, so that any first part of them is spread evenly.
function spreadOrder(): Int32Array {
  const interleave = (i: number): number => {
    let [x, y] = [0, 0];
    for (let bit = 0; 1 << bit < square; ++bit) {
      const pair = (i >> (2 * bit)) & 3;
      const weight = square >> (bit + 1);
      x += weight * ((pair ^ (pair >> 1)) & 1);
      y += weight * (pair & 1);
    }
    return y * square + x;
  };
  return Int32Array.from({ length: parts }, (_, i) => interleave(i));
}

function emptyTexture(): DataTexture {
  return integerTexture({ name: "", type: "u8", channels: 1, width: 1, height: 1, data: new Uint8Array(1) });
}

function integerTexture(plane: Plane): DataTexture {
  const wide = plane.type === "u16";
  const texture = new DataTexture(plane.data as Uint8Array<ArrayBuffer>, plane.width, plane.height, RedIntegerFormat);
  texture.type = wide ? UnsignedShortType : UnsignedByteType;
  texture.internalFormat = wide ? "R16UI" : "R8UI";
  texture.minFilter = texture.magFilter = NearestFilter;
  texture.unpackAlignment = 1;
  texture.needsUpdate = true;
  return texture;
}

function colourTexture(data: Uint8Array<ArrayBuffer>, width: number, height: number): DataTexture {
  const texture = new DataTexture(data, width, height, RGBAFormat);
  texture.minFilter = texture.magFilter = NearestFilter;
  texture.needsUpdate = true;
  return texture;
}

function rgba({ data, width, height, channels }: Plane): Uint8Array<ArrayBuffer> {
  const picture = new Uint8Array(4 * width * height);
  for (let i = 0; i < width * height; ++i)
    for (let c = 0; c < 3; ++c) picture[4 * i + c] = data[channels * i + Math.min(c, channels - 1)]!;
  return picture;
}

export class Cloud {
  // Pictures per second that the graphics card could draw while the camera moves, measured.
  rate = 0;
  onMeasure: (measure: Measure) => void = () => undefined;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new PerspectiveCamera(50, 1, 0.01, 1000);
  private readonly controls: OrbitControls;
  private readonly geometry = new BufferGeometry();
  private readonly material: ShaderMaterial;
  private readonly marks = new Points(
    new BufferGeometry(),
    new PointsMaterial({ size: 9, sizeAttenuation: false, color: 0xffd23f, depthTest: false }),
  );
  private readonly line = new Line(new BufferGeometry(), new LineBasicMaterial({ color: 0xffd23f, depthTest: false }));
  private calibration: Calibration = { focal: 1, centre_x: 0, centre_y: 0, doffs: 0, baseline: 1 };
  private map: DisparityMap | null = null;
  private measured: Vector3[] = [];
  private asked = false;
  private moving = 0;
  private drawnParts = parts;
  // Whether the graphics card still draws, and whether it has to draw again after that.
  private busy = false;
  private postponed = false;
  private settle = 0;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: false, alpha: true });
    this.renderer.setClearColor(new Color(0), 0);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.moved());
    this.material = new ShaderMaterial({
      glslVersion: GLSL3,
      vertexShader,
      fragmentShader,
      uniforms: {
        disparities: { value: emptyTexture() },
        confidences: { value: emptyTexture() },
        truth: { value: emptyTexture() },
        picture: { value: emptyTexture() },
        tables: { value: colourTexture(tablePicture() as Uint8Array<ArrayBuffer>, tableSize, tables.length) },
        size: { value: [1, 1] },
        coding: { value: new Vector2(0, 1) },
        codingTruth: { value: new Vector2(0, 1) },
        centre: { value: new Vector2() },
        range: { value: new Vector2(0, 1) },
        clip: { value: new Vector2(0, 1e9) },
        scale: { value: 1 },
        focal: { value: 1 },
        baseline: { value: 1 },
        doffs: { value: 0 },
        pointSize: { value: 1 },
        pixels: { value: 1 },
        colouring: { value: 0 },
        row: { value: 0 },
        order: { value: spreadOrder() },
      },
    });
    const points = new Points(this.geometry, this.material);
    points.frustumCulled = this.marks.frustumCulled = this.line.frustumCulled = false;
    this.marks.renderOrder = this.line.renderOrder = 1;
    this.scene.add(points, this.line, this.marks);
    this.listenForMeasures();
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.resize();
  }

  setCalibration(calibration: Calibration): void {
    this.calibration = calibration;
    const { focal, baseline, doffs, centre_x, centre_y } = calibration;
    this.set({ focal, baseline, doffs });
    this.material.uniforms.centre!.value.set(centre_x, centre_y);
    this.draw();
  }

  setPictures(pictures: Pictures): void {
    const { left, truth } = pictures;
    this.replace("picture", colourTexture(rgba(left), left.width, left.height));
    this.replace("truth", truth ? integerTexture(truth.plane) : emptyTexture());
    if (truth) this.material.uniforms.codingTruth!.value.set(truth.lowest, truth.steps);
    this.draw();
  }

  setMap(map: DisparityMap): void {
    const first = this.map === null;
    const { width, height } = map.disparity;
    this.map = map;
    this.replace("disparities", integerTexture(map.disparity));
    this.replace("confidences", map.confidence ? integerTexture(map.confidence) : emptyTexture());
    this.set({ size: [width, height], scale: map.scale });
    this.material.uniforms.coding!.value.set(map.lowest, map.steps);
    if (first) this.look("camera");
    this.draw();
  }

  setOptions(options: CloudOptions): void {
    const colours: CloudColour[] = ["picture", "disparity", "error", "confidence"];
    const { uniforms } = this.material;
    this.set({ colouring: colours.indexOf(options.colour), row: tables.indexOf(options.table), pointSize: options.pointSize });
    uniforms.range!.value.set(options.low, options.high);
    uniforms.clip!.value.set(options.near, options.far);
    this.draw();
  }

  // Where the camera stands: as the left camera, above the scene, or beside it.
  look(from: "camera" | "top" | "side"): void {
    const middle = this.middleDepth();
    const { camera, controls } = this;
    controls.target.set(0, 0, -middle);
    if (from === "camera") camera.position.set(0, 0, 0);
    if (from === "top") camera.position.set(0, 1.4 * middle, -middle + 0.01 * middle);
    if (from === "side") camera.position.set(1.4 * middle, 0, -middle);
    camera.near = middle / 500;
    camera.far = middle * 500;
    this.openCamera();
    controls.update();
    this.moved();
  }

  orbit(right: number, up: number): void {
    const offset = this.camera.position.clone().sub(this.controls.target);
    const { x, y, z } = offset;
    const radius = offset.length();
    const azimuth = Math.atan2(x, z) + right;
    const elevation = Math.min(Math.max(Math.asin(y / radius) + up, -1.55), 1.55);
    const flat = Math.cos(elevation) * radius;
    offset.set(Math.sin(azimuth) * flat, Math.sin(elevation) * radius, Math.cos(azimuth) * flat);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.moved();
  }

  zoom(factor: number): void {
    const { position } = this.camera;
    position.sub(this.controls.target).divideScalar(factor).add(this.controls.target);
    this.controls.update();
    this.moved();
  }

  // Takes the point nearest to a place of the canvas, in shares of its width and height, as an end of the line.
  measureAt(right: number, down: number): void {
    const found = this.pick(2 * right - 1, 1 - 2 * down);
    if (found === null) return;
    if (this.measured.length === 2) this.measured = [];
    this.measured.push(found);
    this.showMeasure();
  }

  clearMeasure(): void {
    this.measured = [];
    this.showMeasure();
  }

  draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.drawNow();
    });
  }

  picture(): Promise<Blob | null> {
    this.renderer.render(this.scene, this.camera);
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }

  private set(values: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(values)) this.material.uniforms[name]!.value = value;
  }

  private replace(name: string, texture: DataTexture): void {
    this.material.uniforms[name]!.value.dispose();
    this.material.uniforms[name]!.value = texture;
  }

  private depthOf(code: number): number {
    const { focal, baseline, doffs } = this.calibration;
    if (this.map === null || code === 0) return NaN;
    const shift = this.map.lowest + (code - 1) / this.map.steps + doffs;
    return shift > 0 ? (focal * baseline) / shift : NaN;
  }

  // The depth of the mean disparity: rather of what is near than of the background.
  private middleDepth(): number {
    const codes = this.map?.disparity.data ?? new Uint16Array();
    const step = Math.max(1, Math.floor(codes.length / 5000));
    let [inverse, count] = [0, 0];
    for (let i = 0; i < codes.length; i += step) {
      const depth = this.depthOf(codes[i]!);
      if (!Number.isFinite(depth)) continue;
      inverse += 1 / depth;
      ++count;
    }
    return count > 0 ? count / inverse : 1;
  }

  private moved(): void {
    this.moving = performance.now();
    this.draw();
  }

  // So wide that it sees the whole picture from where the left camera was.
  private openCamera(): void {
    const { camera, calibration, map } = this;
    const { width, height } = map?.size ?? { width: 1, height: 1 };
    const { centre_x, centre_y } = calibration;
    const half = Math.max(centre_y, height - centre_y, Math.max(centre_x, width - centre_x) / camera.aspect);
    camera.fov = Math.min(120, (2 * Math.atan(half / calibration.focal) * 180) / Math.PI);
    camera.updateProjectionMatrix();
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(clientWidth, clientHeight, false);
    this.camera.aspect = clientWidth / clientHeight;
    this.openCamera();
    this.draw();
  }

  private drawNow(): void {
    this.postponed = this.busy;
    if (this.busy) return;
    if (this.map === null || this.canvas.clientWidth === 0) return;
    const orbiting = performance.now() - this.moving < stillMilliseconds;
    const { width, height } = this.map.disparity;
    const inPart = Math.ceil(width / square) * Math.ceil(height / square);
    const drawn = orbiting ? this.drawnParts : parts;
    this.geometry.setDrawRange(0, inPart * drawn);
    const high = this.renderer.domElement.height;
    // Fewer points are drawn larger.
    const spread = Math.sqrt(parts / drawn);
    this.set({ pixels: (spread * high) / 2 / Math.tan((this.camera.fov * Math.PI) / 360) });
    this.render(orbiting);
    clearTimeout(this.settle);
    if (orbiting) this.settle = window.setTimeout(() => this.draw(), stillMilliseconds + 50);
  }

  // Waits until the graphics card has drawn, which takes long where it is software: nothing else is drawn meanwhile, so
  // that input never waits for a queue of pictures.
  private watch(fence: WebGLSync, began: number, orbiting: boolean): void {
    requestAnimationFrame(() => {
      const gl = this.renderer.getContext() as WebGL2RenderingContext;
      const drawn = gl.isContextLost() || gl.getSyncParameter(fence, gl.SYNC_STATUS) === gl.SIGNALED;
      if (!drawn) return this.watch(fence, began, orbiting);
      gl.deleteSync(fence);
      this.busy = false;
      if (orbiting) this.adapt(performance.now() - began);
      if (this.postponed) this.draw();
    });
  }

  private render(orbiting: boolean): void {
    const gl = this.renderer.getContext() as WebGL2RenderingContext;
    const began = performance.now();
    this.renderer.render(this.scene, this.camera);
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (fence === null) return;
    this.busy = true;
    this.watch(fence, began, orbiting);
  }

  // Draws so many parts that pictures are fluent.
  private adapt(elapsed: number): void {
    this.rate = this.rate === 0 ? 1000 / elapsed : 0.9 * this.rate + 100 / elapsed;
    if (elapsed > 1.5 * frameBudget) this.drawnParts = Math.max(2, Math.floor(this.drawnParts * 0.7));
    else if (elapsed < 0.9 * frameBudget) this.drawnParts = Math.min(parts, this.drawnParts + 1);
  }

  // The drawn point nearest to a place in clip coordinates, within some pixels; the front one of several.
  private pick(right: number, up: number): Vector3 | null {
    if (this.map === null) return null;
    const { width, data } = this.map.disparity;
    const { focal, centre_x, centre_y } = this.calibration;
    const { scale } = this.map;
    const clip = this.material.uniforms.clip!.value as Vector2;
    this.camera.updateMatrixWorld();
    const m = this.camera.projectionMatrix.clone().multiply(this.camera.matrixWorldInverse).elements;
    const { clientWidth, clientHeight } = this.canvas;
    const reach = 8;
    let best: Vector3 | null = null;
    let bestScore = Infinity;
    for (let i = 0; i < data.length; ++i) {
      const depth = this.depthOf(data[i]!);
      if (!(depth >= clip.x && depth <= clip.y)) continue;
      const x = (((i % width) + 0.5) * scale - 0.5 - centre_x) * (depth / focal);
      const y = -((Math.floor(i / width) + 0.5) * scale - 0.5 - centre_y) * (depth / focal);
      const w = -m[11]! * depth + m[3]! * x + m[7]! * y + m[15]!;
      if (w <= 0) continue;
      const dx = (((m[0]! * x + m[4]! * y - m[8]! * depth + m[12]!) / w - right) * clientWidth) / 2;
      const dy = (((m[1]! * x + m[5]! * y - m[9]! * depth + m[13]!) / w - up) * clientHeight) / 2;
      const distance = dx * dx + dy * dy;
      if (distance > reach * reach) continue;
      const score = w * (1 + distance / (reach * reach));
      if (score < bestScore) {
        bestScore = score;
        best = new Vector3(x, y, -depth);
      }
    }
    return best;
  }

  private showMeasure(): void {
    const places = this.measured.flatMap(({ x, y, z }) => [x, y, z]);
    for (const object of [this.marks, this.line]) {
      object.geometry.dispose();
      object.geometry = new BufferGeometry();
      object.geometry.setAttribute("position", new Float32BufferAttribute(places, 3));
      object.visible = places.length > 0;
    }
    const [from, to] = this.measured;
    const distance = from && to ? from.distanceTo(to) : null;
    // In the axes of the camera: y down, z forward.
    this.onMeasure({ points: this.measured.map(({ x, y, z }) => ({ x, y: -y, z: -z })), distance });
    this.draw();
  }

  // A click measures; a drag orbits.
  private listenForMeasures(): void {
    let from = { x: 0, y: 0 };
    this.canvas.addEventListener("pointerdown", (event) => (from = { x: event.clientX, y: event.clientY }));
    this.canvas.addEventListener("pointerup", (event) => {
      if (event.button !== 0 || Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4) return;
      const box = this.canvas.getBoundingClientRect();
      this.measureAt((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    });
  }
}
