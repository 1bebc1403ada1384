// SPDX-License-Identifier: Apache-2.0
// The picture area: two layers, combined or side by side, coloured by the graphics card.
import { tablePicture, tables, tableSize } from "./colours";
import { DetailTiles, tileSize } from "./detail";
import { oncePerFrame } from "./dom";
import type { Layer } from "./layers";
import { layer, scaleOf, tableRow } from "./layers";
import { PlaneSet, units } from "./planes";
import { Program } from "./programs";
import type { Server, Size, Slot } from "./protocol";
import type { Mixture, Sampling } from "./shader";
import { fragmentShader, vertexShader } from "./shader";
import { slots, state, tell } from "./state";
import { Viewport } from "./viewport";

export interface Pane {
  left: number;
  width: number;
  layers: Layer[];
}

const gap = 2;  // between panes
const blinkMilliseconds = 600;
const frameMilliseconds = 1000 / 60;

// The warped right picture needs more than a tile has.
function inTile({ kind }: Layer, planes: PlaneSet): boolean {
  if (kind === "warped" || kind === "residual") return false;
  return planes.hasTruth || (kind !== "truth" && kind !== "error");
}

export class PictureView {
  readonly viewport = new Viewport();
  readonly draw = oncePerFrame(() => this.drawNow());
  private readonly gl: WebGL2RenderingContext;
  private readonly programs = new Map<string, Program>();
  private planes!: PlaneSet;
  private tables!: WebGLTexture;
  private detail!: DetailTiles;
  private size: Size = { width: 1, height: 1 };
  private density = 1;
  private drawnAt = 0;
  private blinked = false;
  private stale = { pictures: true, A: true, B: true };
  // Called after each drawing, for what lies over the picture.
  afterDraw: () => void = () => undefined;
  private onFirstShown: () => void = () => undefined;
  // Once the first pictures are on the screen.
  readonly firstShown = new Promise<void>((resolve) => {
    this.onFirstShown = resolve;
  });
  // How many times a new map was drawn.
  mapsDrawn = 0;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly server: Server,
  ) {
    const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, premultipliedAlpha: true });
    if (gl === null) throw new Error("This browser has no WebGL 2, which the viewer needs to show pictures.");
    this.gl = gl;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      this.stale = { pictures: true, A: true, B: true };
      this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    setInterval(() => this.blink(), blinkMilliseconds);
  }

  picturesChanged(): void {
    this.stale.pictures = true;
    if (state.pictures) this.viewport.setPicture(state.pictures.size);
    // At last.
    if (this.drawnAt === 0) {
      this.drawNow();
      // The second one begins when this one is drawn.
      requestAnimationFrame(() => requestAnimationFrame(this.onFirstShown));
      return;
    }
    // A frame that plays is shown with its map, which is on its way.
    if (!state.playing || state.results.A.map === null) this.draw();
  }

  // Draws at once, unless that was just done: waiting for the next picture of the screen would cost time.
  mapChanged(slot: Slot): void {
    this.stale[slot] = true;
    if (performance.now() - this.drawnAt > frameMilliseconds && !document.hidden) this.drawNow();
    else this.draw();
  }

  layoutChanged(): void {
    this.viewport.setPane({ width: this.panes()[0]!.width, height: this.size.height });
    this.draw();
  }

  // The panes now, in CSS pixels from the left of the canvas.
  panes(): Pane[] {
    const [first, second] = [layer(state.view.first), layer(state.view.second)];
    const { width } = this.size;
    if (state.view.combination === "side") {
      const half = (width - gap) / 2;
      return [
        { left: 0, width: half, layers: [first] },
        { left: half + gap, width: half, layers: [second] },
      ];
    }
    if (state.view.combination === "single") return [{ left: 0, width, layers: [second] }];
    if (state.view.combination === "blink") return [{ left: 0, width, layers: [this.blinked ? first : second] }];
    return [{ left: 0, width, layers: [first, second] }];
  }

  // What the canvas shows, as a picture.
  picture(): Promise<Blob | null> {
    this.drawNow();
    return new Promise((resolve) => this.canvas.toBlob(resolve, "image/png"));
  }

  private prepare(): void {
    const { gl } = this;
    this.programs.clear();
    this.planes = new PlaneSet(gl);
    this.detail = new DetailTiles(gl, this.server, () => this.draw());
    this.tables = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.tables);
    const { length } = tables;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, tableSize, length, 0, gl.RGBA, gl.UNSIGNED_BYTE, tablePicture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.canvas.parentElement!;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.size = { width: clientWidth, height: clientHeight };
    this.density = Math.min(window.devicePixelRatio, 2);
    this.layoutChanged();
    this.drawNow();
  }

  private fitCanvas(): void {
    const { canvas, density, size } = this;
    const [width, height] = [Math.round(size.width * density), Math.round(size.height * density)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
  }

  private blink(): void {
    if (state.view.combination !== "blink" || document.hidden) return;
    this.blinked = !this.blinked;
    this.draw();
  }

  private program(shown: Layer[], mixture: Mixture, sampling: Sampling): Program {
    const key = [...shown.map(({ id }) => id), mixture, sampling.samples, sampling.smooth].join();
    let program = this.programs.get(key);
    if (program === undefined) {
      program = new Program(this.gl, vertexShader, fragmentShader(shown, mixture, sampling));
      this.programs.set(key, program);
      program.use();
      for (const [name, unit] of Object.entries(units)) this.gl.uniform1i(program.at(name), unit);
    }
    program.use();
    return program;
  }

  private upload(): void {
    const { pictures, results } = state;
    if (this.stale.pictures && pictures) this.planes.setPictures(pictures.left, pictures.right, pictures.truth);
    for (const slot of slots)
      if (this.stale[slot]) {
        this.planes.setMap(slot, results[slot].map);
        ++this.mapsDrawn;
      }
    if (this.stale.pictures || this.stale.A || this.stale.B) this.detail.clear();
    this.stale = { pictures: false, A: false, B: false };
  }

  private drawNow(): void {
    const { gl, canvas } = this;
    const { pictures } = state;
    // An empty canvas would cost as much time as one with a picture.
    if (pictures === null || gl.isContextLost()) return;
    this.drawnAt = performance.now();
    this.fitCanvas();
    gl.clearColor(0, 0, 0, 0);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.upload();
    gl.activeTexture(gl.TEXTURE0 + units.tables!);
    gl.bindTexture(gl.TEXTURE_2D, this.tables);
    const pixel = this.viewport.zoom * this.density * pictures.scale;
    const tiles = this.detail.visible(this.viewport, pixel);
    gl.enable(gl.SCISSOR_TEST);
    for (const pane of this.panes()) {
      const { width, height } = pictures.size;
      this.drawPart(pane, this.planes, [0, 0, width, height], pictures.scale);
      for (const tile of tiles) {
        if (!pane.layers.every((shown) => inTile(shown, tile.planes))) continue;
        const [x, y] = [tile.column * tileSize, tile.row * tileSize];
        this.drawPart(pane, tile.planes, [x, y, Math.min(x + tileSize, width), Math.min(y + tileSize, height)], 1);
      }
    }
    gl.flush();  // draw now, not once the page is laid out
    this.afterDraw();
  }

  private setPane(program: Program, pane: Pane): void {
    const { gl, density, viewport, canvas } = this;
    const both = [pane.layers[0]!, pane.layers[1] ?? pane.layers[0]!];
    const scales = both.map((shown) => scaleOf(shown) ?? { low: 0, high: 1, table: "status" as const });
    gl.uniform1f(program.at("wipe"), state.view.wipe * pane.width * density);
    gl.uniform1f(program.at("blend"), state.view.blend);
    gl.uniform2iv(program.at("row"), scales.map((scale) => tableRow(scale.table)));
    gl.uniform2fv(program.at("low"), scales.map((scale) => scale.low));
    gl.uniform2fv(program.at("high"), scales.map((scale) => scale.high));
    gl.uniform2f(program.at("corner"), pane.left * density, 0);
    gl.uniform1f(program.at("canvasHeight"), canvas.height);
    gl.uniform2f(program.at("offset"), viewport.x * density, viewport.y * density);
    gl.uniform1f(program.at("zoom"), viewport.zoom * density);
    gl.uniform1f(program.at("stripe"), 4 * density);
  }

  private drawPart(pane: Pane, planes: PlaneSet, region: [number, number, number, number], scale: number): void {
    const { gl, density, viewport, canvas } = this;
    const pixel = viewport.zoom * density * scale;
    const samples = pixel < 0.6 ? 2 : 1;
    // Only pixels whose middle lies in the part, so that parts beside each other neither overlap nor leave a gap.
    const [x0, x1] = [region[0], region[2]].map((x) => Math.ceil((pane.left + viewport.toPane(x, 0).x) * density - 0.5)) as [number, number];
    const [y0, y1] = [region[1], region[3]].map((y) => Math.ceil(viewport.toPane(0, y).y * density - 0.5)) as [number, number];
    const left = Math.max(Math.round(pane.left * density), x0);
    const right = Math.min(Math.round((pane.left + pane.width) * density), x1);
    const [top, bottom] = [Math.max(0, y0), Math.min(canvas.height, y1)];
    if (right <= left || bottom <= top) return;
    const mixture = pane.layers.length === 1 ? "one" : state.view.combination === "wipe" ? "wipe" : "blend";
    const lod = Math.max(0, Math.log2(1 / (pixel * samples)));
    const program = this.program(pane.layers, mixture, { samples, smooth: lod > 0 });
    this.setPane(program, pane);
    gl.scissor(left, canvas.height - bottom, right - left, bottom - top);
    planes.bind(program, lod > 0.5);
    const { A, B, truth } = planes.codings;
    const { A: rowsA, B: rowsB } = planes.rowCodings;
    const { A: rightA, B: rightB } = planes.rightCodings;
    gl.uniform2f(program.at("codingA"), A.lowest, A.steps);
    gl.uniform2f(program.at("codingB"), B.lowest, B.steps);
    gl.uniform2f(program.at("codingTruth"), truth.lowest, truth.steps);
    gl.uniform2f(program.at("codingRowsA"), rowsA.lowest, rowsA.steps);
    gl.uniform2f(program.at("codingRowsB"), rowsB.lowest, rowsB.steps);
    gl.uniform2f(program.at("codingRightA"), rightA.lowest, rightA.steps);
    gl.uniform2f(program.at("codingRightB"), rightB.lowest, rightB.steps);
    gl.uniform4fv(program.at("region"), region);
    gl.uniform1f(program.at("planeScale"), scale);
    gl.uniform1f(program.at("lod"), lod);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }
}

export function setCursor(x: number, y: number): void {
  const size = state.pictures?.size;
  const inside = size && x >= 0 && y >= 0 && x < size.width && y < size.height;
  state.cursor = inside ? { x: Math.floor(x), y: Math.floor(y) } : null;
  tell("cursor");
}
