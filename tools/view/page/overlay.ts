// SPDX-License-Identifier: Apache-2.0
// What lies over the pictures: cross-hairs, the edge of the wipe, names of layers, rows off; and what pointers do there.
import { find, make } from "./dom";
import { layer } from "./layers";
import type { Pane, PictureView } from "./picture_view";
import { setCursor } from "./picture_view";
import { approximate } from "./readout";
import { on, state, tell } from "./state";

// A row off is drawn this many times as long.
const rowsOffFactor = 40;
// Up to a quarter of a pixel, up to half a pixel, more.
const rowsOffColours = ["#37d67a", "#ffd23f", "#ff4d4f"];

// Where the right picture shows a pixel of the left one, by the map.
function pairedWith(x: number, y: number): { x: number; y: number } | null {
  const { map } = state.results.A;
  if (map === null) return null;
  const { disparity = null, row_offset: rows = null } = approximate(map, x, y);
  return disparity === null ? null : { x: x - disparity, y: y + (rows ?? 0) };
}

export class Overlay {
  private readonly canvas = find<HTMLCanvasElement>("overlay");
  private readonly handle = find("wipe-handle");
  private readonly names = [find("layer-name-0"), find("layer-name-1")];
  private readonly pointers = new Map<number, { x: number; y: number }>();

  constructor(private readonly view: PictureView) {
    view.afterDraw = () => this.draw();
    on("cursor", () => this.draw());
    this.listen();
    this.listenToHandle();
  }

  draw(): void {
    const { view, canvas } = this;
    const density = view.canvas.width / Math.max(1, view.canvas.clientWidth);
    if (canvas.width !== view.canvas.width) canvas.width = view.canvas.width;
    if (canvas.height !== view.canvas.height) canvas.height = view.canvas.height;
    const context = canvas.getContext("2d", { willReadFrequently: true })!;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    for (const pane of view.panes()) {
      context.save();
      context.beginPath();
      context.rect(pane.left, 0, pane.width, canvas.height);
      context.clip();
      context.translate(pane.left, 0);
      this.drawRowsOff(context);
      this.drawCursor(context, pane);
      context.restore();
    }
    this.placeHandle();
    this.placeNames();
  }

  private drawCursor(context: CanvasRenderingContext2D, pane: Pane): void {
    if (state.cursor === null) return;
    const { x, y } = state.cursor;
    const shownAlone = pane.layers.length === 1 && pane.layers[0]!.kind === "right";
    const paired = shownAlone ? pairedWith(x, y) : null;
    this.drawCross(context, x, y, paired === null ? 1 : 0.45);
    if (paired !== null) this.drawCross(context, paired.x, paired.y, 1);
  }

  private drawCross(context: CanvasRenderingContext2D, x: number, y: number, alpha: number): void {
    const { viewport } = this.view;
    const from = viewport.toPane(x, y);
    const half = Math.max(viewport.zoom, 1) / 2;
    const [cx, cy] = [from.x + viewport.zoom / 2, from.y + viewport.zoom / 2];
    const [inner, outer] = [half + 4, half + 15];
    context.beginPath();
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ] as const) {
      context.moveTo(cx + dx * inner, cy + dy * inner);
      context.lineTo(cx + dx * outer, cy + dy * outer);
    }
    if (viewport.zoom >= 5) context.rect(from.x, from.y, viewport.zoom, viewport.zoom);
    for (const [width, colour] of [
      [3.5, `rgb(0 0 0 / ${0.55 * alpha})`],
      [1.5, `rgb(255 255 255 / ${alpha})`],
    ] as const) {
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.stroke();
    }
  }

  private drawRowsOff(context: CanvasRenderingContext2D): void {
    const points = state.check?.points;
    if (!state.view.rowsOff || !Array.isArray(points)) return;
    const { viewport } = this.view;
    const scale = Math.min(1, viewport.zoom) * rowsOffFactor;
    // One path for each colour: thousands of short strokes would take long.
    const paths = rowsOffColours.map(() => new Path2D());
    for (const [x, y, off] of points) {
      const at = viewport.toPane(x + 0.5, y + 0.5);
      const size = Math.abs(off);
      const path = paths[size <= 0.25 ? 0 : size <= 0.5 ? 1 : 2]!;
      path.rect(at.x - 1.5, at.y - 1.5, 3, 3);
      path.rect(at.x - 0.75, at.y + Math.min(off, 0) * scale, 1.5, size * scale);
    }
    paths.forEach((path, i) => {
      context.fillStyle = rowsOffColours[i]!;
      context.fill(path);
    });
  }

  private placeHandle(): void {
    const shown = state.view.combination === "wipe" && state.pictures !== null;
    this.handle.hidden = !shown;
    if (!shown) return;
    const { width } = this.view.panes()[0]!;
    this.handle.style.transform = `translateX(${state.view.wipe * width}px)`;
    this.handle.setAttribute("aria-valuenow", String(Math.round(100 * state.view.wipe)));
  }

  private placeNames(): void {
    const { combination, first, second } = state.view;
    const panes = this.view.panes();
    const ids = combination === "single" ? [null, second] : [first, second];
    this.names.forEach((element, i) => {
      const id = ids[i];
      element.hidden = state.pictures === null || !id || combination === "blink" || combination === "blend";
      if (id) element.textContent = layer(id).name;
      element.classList.toggle("at-right", i === 1 && combination !== "side");
      element.style.left = i === 1 && combination === "side" ? `${panes[1]!.left + 8}px` : "";
    });
    if (combination !== "blink") return;
    this.names[0]!.hidden = false;
    this.names[0]!.textContent = panes[0]!.layers[0]!.name;
  }

  // The pane under a pointer, and where it is in the pane.
  private locate(event: PointerEvent | WheelEvent | MouseEvent): { x: number; y: number } {
    const box = this.view.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const pane = this.view.panes().findLast(({ left }) => x >= left) ?? this.view.panes()[0]!;
    return { x: x - pane.left, y: event.clientY - box.top };
  }

  private pointCursor(at: { x: number; y: number }): void {
    const { x, y } = this.view.viewport.toPicture(at.x, at.y);
    setCursor(x, y);
  }

  private listen(): void {
    const { view, pointers } = this;
    const { canvas, viewport } = view;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, this.locate(event));
      this.pointCursor(this.locate(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = this.locate(event);
      const before = pointers.get(event.pointerId);
      if (before === undefined) return this.pointCursor(at);
      const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      viewport.pan((at.x - before.x) / (others.length + 1), (at.y - before.y) / (others.length + 1));
      const other = others[0];
      if (other) {
        const distance = (point: { x: number; y: number }) => Math.hypot(point.x - other.x, point.y - other.y);
        viewport.zoomAt(distance(at) / Math.max(distance(before), 1), (at.x + other.x) / 2, (at.y + other.y) / 2);
      }
      pointers.set(event.pointerId, at);
      canvas.classList.add("panning");
      tell("view");
    });
    for (const name of ["pointerup", "pointercancel"] as const)
      canvas.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        canvas.classList.remove("panning");
      });
    canvas.addEventListener("dblclick", (event) => this.zoom(2, event));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
        this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), event);
      },
      { passive: false },
    );
  }

  private zoom(factor: number, event: MouseEvent): void {
    const at = this.locate(event);
    this.view.viewport.zoomAt(factor, at.x, at.y);
    tell("view");
  }

  private listenToHandle(): void {
    const { handle, view } = this;
    const move = (share: number) => {
      state.view.wipe = Math.min(Math.max(share, 0), 1);
      tell("view");
    };
    handle.append(make("span", { class: "grip", "aria-hidden": "true" }));
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      event.preventDefault();
      handle.focus();
    });
    handle.addEventListener("pointermove", (event) => {
      if (!handle.hasPointerCapture(event.pointerId)) return;
      const box = view.canvas.getBoundingClientRect();
      move((event.clientX - box.left) / box.width);
    });
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.01, ArrowRight: 0.01, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      move(state.view.wipe + step * (event.shiftKey ? 5 : 1));
    });
  }
}
