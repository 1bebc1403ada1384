// SPDX-License-Identifier: Apache-2.0
// The area of the cloud and its controls. The cloud itself, with three.js, is loaded when it is first shown.
import type { Cloud, CloudColour, Measure } from "./cloud";
import { find, fixed, make, short } from "./dom";
import type { Calibration } from "./protocol";
import { on, state } from "./state";

// Without a calibration, shapes are right only up to an unknown stretch in depth, and there are no metres.
function assumedCalibration(): Calibration {
  const { width, height } = state.pictures!.size;
  return { focal: width, centre_x: (width - 1) / 2, centre_y: (height - 1) / 2, doffs: 0, baseline: 1 };
}

export class CloudView {
  private readonly area = find("cloud");
  private readonly canvas = find<HTMLCanvasElement>("cloud-canvas");
  private readonly bar = find("cloud-bar");
  private readonly readout = find("cloud-readout");
  private cloud: Cloud | null = null;
  private loading: Promise<void> | null = null;
  private colour: CloudColour = "picture";
  private pointSize = 1.3;
  private near = 0;
  private far = Infinity;

  constructor() {
    on("map", () => this.showMap());
    on("pictures", () => this.shown && state.pictures && this.cloud?.setPictures(state.pictures));
    on(["view", "settings"], () => this.setOptions());
    this.listen();
  }

  get shown(): boolean {
    return !this.area.hidden;
  }

  async show(): Promise<void> {
    this.loading ??= this.load().catch((error: unknown) => {
      this.readout.textContent = `The cloud cannot be shown: ${error instanceof Error ? error.message : error}`;
    });
    await this.loading;
    if (state.pictures) this.cloud?.setPictures(state.pictures);
    this.buildBar();
    this.showMap();
  }

  // For the export and for measurements.
  get current(): Cloud | null {
    return this.cloud;
  }

  look(from: "camera" | "top" | "side"): void {
    this.cloud?.look(from);
  }

  private async load(): Promise<void> {
    const path = "./cloud.js";
    const { Cloud: Loaded } = (await import(path)) as typeof import("./cloud");
    this.cloud = new Loaded(this.canvas);
    this.cloud.onMeasure = (measure) => this.showMeasure(measure);
    this.showMeasure({ points: [], distance: null });
  }

  private showMap(): void {
    const { map } = state.results[state.edited];
    if (!this.shown || this.cloud === null || map === null || state.pictures === null) return;
    this.cloud.setCalibration(state.server?.calibration ?? assumedCalibration());
    this.setOptions();
    this.cloud.setMap(map);
  }

  private setOptions(): void {
    if (this.cloud === null || !this.shown) return;
    const { map } = state.results[state.edited];
    const error = this.colour === "error";
    const disparity = this.colour === "disparity";
    const quantiles = map?.quantiles ?? [];
    this.cloud.setOptions({
      colour: this.colour,
      table: error ? "heat" : state.view.colours,
      low: disparity ? (quantiles[0] ?? 0) : 0,
      high: disparity ? (quantiles[4] ?? 64) : error ? state.view.errorLimit : 1,
      pointSize: this.pointSize,
      near: this.near,
      far: this.far,
    });
  }

  private buildBar(): void {
    const { map } = state.results[state.edited];
    const colours: [CloudColour, string][] = [
      ["picture", "Picture"],
      ["disparity", "Disparity"],
    ];
    if (state.pictures?.truth) colours.push(["error", "Error"]);
    if (map?.confidence) colours.push(["confidence", "Confidence"]);
    const select = make("select", { id: "cloud-colour" }, ...colours.map(([value, name]) => make("option", { value }, name)));
    select.value = this.colour;
    select.addEventListener("change", () => {
      this.colour = select.value as CloudColour;
      this.setOptions();
    });
    const size = make("input", { id: "point-size", type: "range", min: 0.5, max: 5, step: 0.1, value: this.pointSize });
    size.addEventListener("input", () => {
      this.pointSize = Number(size.value);
      this.setOptions();
    });
    const unit = state.server?.calibration ? make("span", { class: "unit" }, "m") : null;
    const looks = (["camera", "top", "side"] as const).map((from) =>
      make("button", { type: "button", click: () => this.look(from) }, { camera: "Camera", top: "Top", side: "Side" }[from]),
    );
    this.bar.replaceChildren(
      make("div", { class: "item" }, make("label", { for: "cloud-colour" }, "Colour"), select),
      make("div", { class: "item" }, make("label", { for: "point-size" }, "Point size"), size),
      make("div", { class: "item depths", role: "group", "aria-label": "Depths shown" }, ...this.clipField("near", "Depth from"), ...this.clipField("far", "to"), unit),
      make("div", { class: "item group", role: "group", "aria-label": "Look from" }, ...looks),
    );
  }

  private clipField(which: "near" | "far", name: string): HTMLElement[] {
    const id = `clip-${which}`;
    const input = make("input", { id, type: "number", min: 0, step: "any", inputmode: "decimal", placeholder: which === "near" ? "0" : "∞" });
    if (Number.isFinite(this[which]) && this[which] > 0) input.value = String(this[which]);
    input.addEventListener("input", () => {
      const value = Number(input.value);
      this[which] = input.value !== "" && value >= 0 ? value : which === "near" ? 0 : Infinity;
      this.setOptions();
    });
    return [make("label", { for: id }, name), input];
  }

  private showMeasure({ points, distance }: Measure): void {
    const unit = state.server?.calibration ? " m" : " (without a calibration, not in metres)";
    const place = ({ x, y, z }: { x: number; y: number; z: number }) =>
      `(${[x, y, z].map((value) => fixed(value, 3)).join(", ")})`;
    if (points.length === 0) this.readout.textContent = "Click two points, or press M twice over the middle, to measure between them.";
    else if (distance === null) this.readout.textContent = `First point ${place(points[0]!)}; choose the second one.`;
    else {
      const clear = make("button", { type: "button", class: "reset", click: () => this.cloud?.clearMeasure() }, "Clear");
      const between = `from ${place(points[0]!)} to ${place(points[1]!)}`;
      this.readout.replaceChildren(make("b", {}, `Distance ${short(distance)}${unit}`), between, clear);
    }
  }

  private listen(): void {
    this.canvas.addEventListener("keydown", (event) => {
      const { cloud } = this;
      if (cloud === null || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = event.shiftKey ? 0.35 : 0.07;
      const acts: Record<string, () => void> = {
        ArrowLeft: () => cloud.orbit(-step, 0),
        ArrowRight: () => cloud.orbit(step, 0),
        ArrowUp: () => cloud.orbit(0, step),
        ArrowDown: () => cloud.orbit(0, -step),
        "+": () => cloud.zoom(1.2),
        "=": () => cloud.zoom(1.2),
        "-": () => cloud.zoom(1 / 1.2),
        "0": () => cloud.look("camera"),
        m: () => cloud.measureAt(0.5, 0.5),
        Escape: () => cloud.clearMeasure(),
      };
      const act = acts[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    });
  }
}
