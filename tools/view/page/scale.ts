// SPDX-License-Identifier: Apache-2.0
// The colour bars under the pictures: which colour means which value, how often it occurs, and where the cursor's is.
import { colourAt, css, tableSize } from "./colours";
import { find, make, oncePerFrame, percent, short, words } from "./dom";
import { binCount, histogram, valuesOf } from "./histogram";
import type { Layer, Scale } from "./layers";
import { comparing, depthOf, layer, scaleOf, shownLayers } from "./layers";
import { on, state } from "./state";

const histogramHeight = 26;
const barHeight = 10;
const milliseconds = 150;  // between two histograms while something moves

// Round values from low to high, at most about `count` of them.
export function ticks(low: number, high: number, count: number): number[] {
  const rough = Math.max(high - low, 1e-6) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}

function statusLegend(shown: Layer): HTMLElement {
  const shares = state.results[shown.slot].map?.shares ?? {};
  const entries = (state.server?.statuses ?? []).map((name, i) => {
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = css(colourAt("status", i));
    const share = shares[name] ?? 0;
    return make("li", { class: share > 0 ? "" : "absent" }, swatch, words(name), make("b", {}, percent(share)));
  });
  return make("figure", { class: "legend" }, make("figcaption", {}, shown.name), make("ul", { class: "statuses" }, ...entries));
}

// The scale that layers of one kind share, with a histogram of each.
class Bar {
  readonly element: HTMLElement;
  private readonly canvas = make("canvas", { "aria-hidden": "true" });
  private readonly labels = make("div", { class: "ticks" });
  private bins: (Float32Array | null)[] = [];
  private binsFor = "";
  private counted = 0;
  private readonly shown: Layer;

  constructor(private readonly layers: Layer[]) {
    this.shown = layers[0]!;
    this.element = make("figure", { class: "legend" }, this.caption(), this.canvas, this.labels);
  }

  draw(): void {
    const scale = scaleOf(this.shown)!;
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const density = Math.min(window.devicePixelRatio, 2);
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round((histogramHeight + barHeight) * density);
    const context = this.canvas.getContext("2d")!;
    context.scale(density, density);
    this.count(scale);
    this.drawBins(context, width);
    for (let x = 0; x < width; ++x) {
      context.fillStyle = css(colourAt(scale.table, (x / Math.max(width - 1, 1)) * (tableSize - 1)));
      context.fillRect(x, histogramHeight, 1.5, barHeight);
    }
    for (const one of this.layers) this.drawCursor(context, one, scale, width);
    this.label(scale, width);
  }

  private caption(): HTMLElement {
    const { unit } = scaleOf(this.shown)!;
    const names = this.layers.map(({ name }) => name).join(", ");
    return make("figcaption", {}, names, unit && make("span", { class: "unit" }, ` in ${unit}`));
  }

  private count(scale: Scale): void {
    const map = state.results[this.shown.slot].map;
    const { truth, right } = state.pictures ?? {};
    const key = `${scale.low},${scale.high},${map?.request},${map?.frame},${state.results.B.map?.request},${!!truth},${!!right}`;
    const now = performance.now();
    if (key === this.binsFor || now - this.counted < milliseconds) return;
    this.binsFor = key;
    this.counted = now;
    this.bins = this.layers.map((one) => histogram(one, scale));
  }

  private drawBins(context: CanvasRenderingContext2D, width: number): void {
    const style = getComputedStyle(this.element);
    const step = width / binCount;
    this.bins.forEach((bins, which) => {
      const { slot, kind } = this.layers[which]!;
      const own = kind === "truth" || !comparing() ? "--bins" : `--${slot.toLowerCase()}`;
      context.fillStyle = style.getPropertyValue(own);
      context.globalAlpha = this.bins.length > 1 ? 0.6 : 1;
      // Roots, so that rare values are seen beside frequent ones.
      bins?.forEach((share, i) => {
        const height = Math.sqrt(share) * (histogramHeight - 2);
        context.fillRect(i * step, histogramHeight - height, Math.max(step - 0.5, 0.5), height);
      });
    });
    context.globalAlpha = 1;
  }

  private cursorValue(shown: Layer): number | null {
    const { cursor, pictures } = state;
    const values = valuesOf(shown);
    if (cursor === null || pictures === null || values === null) return null;
    const { scale, left } = pictures;
    const value = values.at(Math.floor(cursor.y / scale) * left.width + Math.floor(cursor.x / scale));
    return Number.isFinite(value) ? value : null;
  }

  private drawCursor(context: CanvasRenderingContext2D, shown: Layer, scale: Scale, width: number): void {
    const value = this.cursorValue(shown);
    if (value === null) return;
    const share = (value - scale.low) / Math.max(scale.high - scale.low, 1e-6);
    const x = Math.min(Math.max(share, 0), 1) * width;
    context.fillStyle = getComputedStyle(this.element).color;
    context.fillRect(x - 1, 4, 2, histogramHeight + barHeight - 4);
    context.beginPath();
    context.moveTo(x - 4, 0);
    context.lineTo(x + 4, 0);
    context.lineTo(x, 6);
    context.fill();
  }

  private label(scale: Scale, width: number): void {
    const metres = ["disparity", "rightDisparity", "truth"].includes(this.shown.kind);
    const marks = ticks(scale.low, scale.high, width / 70).map((value) => {
      const depth = metres ? depthOf(value) : null;
      const text = make("span", {}, short(value), depth !== null && make("small", {}, `${short(depth)} m`));
      const share = (value - scale.low) / Math.max(scale.high - scale.low, 1e-6);
      text.style.left = `${100 * share}%`;
      // At the ends, labels stay inside.
      text.className = share < 0.03 ? "at-left" : share > 0.97 ? "at-right" : "";
      return text;
    });
    this.labels.replaceChildren(...marks);
  }
}

export class Scales {
  private readonly box = find("legends");
  private bars: Bar[] = [];
  private key = "";
  private later = 0;
  private drawnAt = 0;

  constructor() {
    const draw = oncePerFrame(() => {
      if (!state.playing || performance.now() - this.drawnAt > milliseconds) this.draw();
    });
    on(["map", "view", "cursor", "pictures", "server", "theme"], draw);
    new ResizeObserver(draw).observe(this.box);
  }

  private draw(): void {
    this.drawnAt = performance.now();
    const shown = shownLayers();
    const hasStatus = shown.some(({ kind }) => kind === "status");
    const key = shown.map(({ id, name }) => id + name + (scaleOf({ ...layer(id) })?.unit ?? "")).join();
    if (key !== this.key || hasStatus) {
      this.key = key;
      this.build(shown);
    }
    for (const bar of this.bars) bar.draw();
    // The last histogram after everything stands still.
    clearTimeout(this.later);
    this.later = window.setTimeout(() => this.bars.forEach((bar) => bar.draw()), 2 * milliseconds);
  }

  private build(shown: Layer[]): void {
    this.bars = [];
    // Disparities and truth have one scale.
    const scaleKind = ({ kind }: Layer) => (kind === "truth" || kind === "rightDisparity" ? "disparity" : kind);
    const kinds = [...new Set(shown.map(scaleKind))];
    const groups = kinds.map((kind) => shown.filter((one) => scaleKind(one) === kind));
    const parts = groups.flatMap((group): (HTMLElement | null)[] => {
      if (group[0]!.kind === "status") return group.map(statusLegend);
      if (scaleOf(group[0]!) === null) return [];
      const bar = new Bar(group);
      this.bars.push(bar);
      return [bar.element];
    });
    const found = parts.filter((part) => part !== null);
    const none = make("p", { class: "hint" }, "Pictures have no scale. Show the disparity to see its colours here.");
    this.box.replaceChildren(...(found.length > 0 ? found : [none]));
  }
}
