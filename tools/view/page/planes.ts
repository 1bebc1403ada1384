// SPDX-License-Identifier: Apache-2.0
// Planes as textures.
import type { Program } from "./programs";
import type { CodedPlane, Coding, MapPlanes, Plane, Slot } from "./protocol";

interface Format {
  internal: number;
  format: number;
  type: number;
}

// A texture of the newest plane, uploaded when it is drawn; without a plane, it is one pixel of zeros.
export class PlaneTexture {
  readonly texture: WebGLTexture;
  private width = 0;
  private height = 0;
  private channels = 0;
  private plane: Plane | null = null;
  private stale = true;
  private minified = false;

  constructor(
    private readonly gl: WebGL2RenderingContext,
    private readonly kind: "picture" | "u16" | "u8",
  ) {
    this.texture = gl.createTexture();
  }

  set(plane: Plane | null): void {
    if (plane === this.plane) return;
    this.plane = plane;
    this.stale = true;
  }

  // Pictures that are drawn much smaller need smaller copies of themselves, which take time.
  bind(unit: number, smaller: boolean): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    if (this.stale) this.upload();
    if (smaller && !this.minified && this.kind === "picture") {
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
      gl.generateMipmap(gl.TEXTURE_2D);
      this.minified = true;
    }
  }

  private upload(): void {
    const { gl, plane } = this;
    this.stale = this.minified = false;
    const { width, height, channels } = plane ?? { width: 1, height: 1, channels: 1 };
    const { internal, format, type } = this.format(channels);
    const data = plane?.data ?? (type === gl.UNSIGNED_SHORT ? new Uint16Array(1) : new Uint8Array(1));
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    if (width === this.width && height === this.height && channels === this.channels)
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, format, type, data);
    else gl.texImage2D(gl.TEXTURE_2D, 0, internal, width, height, 0, format, type, data);
    Object.assign(this, { width, height, channels });
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    const filter = this.kind === "picture" ? gl.LINEAR : gl.NEAREST;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }

  free(): void {
    this.gl.deleteTexture(this.texture);
  }

  private format(channels: number): Format {
    const { gl } = this;
    if (this.kind === "u16")
      return { internal: gl.R16UI, format: gl.RED_INTEGER, type: gl.UNSIGNED_SHORT };
    if (this.kind === "u8")
      return { internal: gl.R8UI, format: gl.RED_INTEGER, type: gl.UNSIGNED_BYTE };
    const picture = channels === 3 ? gl.RGB : gl.LUMINANCE;
    return { internal: channels === 3 ? gl.RGB8 : gl.LUMINANCE, format: picture, type: gl.UNSIGNED_BYTE };
  }
}

const textureNames = [
  "leftPicture",
  "rightPicture",
  "disparityA",
  "statusA",
  "confidenceA",
  "rowOffsetA",
  "rightDisparityA",
  "disparityB",
  "statusB",
  "confidenceB",
  "rowOffsetB",
  "rightDisparityB",
  "truthMap",
] as const;

export type TextureName = (typeof textureNames)[number];

function kindOf(name: TextureName): "picture" | "u16" | "u8" {
  if (name.endsWith("Picture")) return "picture";
  return /^(disparity|rowOffset|rightDisparity|truthMap)/.test(name) ? "u16" : "u8";
}

// All planes of one part of the picture.
export class PlaneSet {
  readonly codings = { A: noCoding(), B: noCoding(), truth: noCoding() };
  readonly rowCodings = { A: noCoding(), B: noCoding() };
  readonly rightCodings = { A: noCoding(), B: noCoding() };
  private truthGiven = false;
  private readonly textures: Record<TextureName, PlaneTexture>;

  constructor(gl: WebGL2RenderingContext) {
    const made = textureNames.map((name) => [name, new PlaneTexture(gl, kindOf(name))]);
    this.textures = Object.fromEntries(made) as Record<TextureName, PlaneTexture>;
  }

  setPictures(left: Plane | null, right: Plane | null, truth: CodedPlane | null): void {
    this.textures.leftPicture.set(left);
    this.textures.rightPicture.set(right);
    this.textures.truthMap.set(truth?.plane ?? null);
    this.truthGiven = truth !== null;
    if (truth) this.codings.truth = { lowest: truth.lowest, steps: truth.steps };
  }

  setMap(slot: Slot, map: MapPlanes | null): void {
    this.textures[`disparity${slot}`].set(map?.disparity ?? null);
    this.textures[`status${slot}`].set(map?.status ?? null);
    this.textures[`confidence${slot}`].set(map?.confidence ?? null);
    this.textures[`rowOffset${slot}`].set(map?.rowOffset?.plane ?? null);
    if (map?.rowOffset) this.rowCodings[slot] = map.rowOffset;
    this.textures[`rightDisparity${slot}`].set(map?.rightDisparity?.plane ?? null);
    if (map?.rightDisparity) this.rightCodings[slot] = map.rightDisparity;
    if (map) this.codings[slot] = { lowest: map.lowest, steps: map.steps };
  }

  get hasTruth(): boolean {
    return this.truthGiven;
  }

  // Those that a program reads; `smaller`: it draws them much smaller than they are.
  bind(program: Program, smaller: boolean): void {
    textureNames.forEach((name, unit) => {
      if (program.at(name) !== null) this.textures[name].bind(unit, smaller);
    });
  }

  free(): void {
    for (const texture of Object.values(this.textures)) texture.free();
  }
}

// The unit of a texture in the shader.
export const units = Object.fromEntries([...textureNames, "tables"].map((name, unit) => [name, unit]));

function noCoding(): Coding {
  return { lowest: 0, steps: 1 };
}
