// SPDX-License-Identifier: Apache-2.0
// Above the pictures: which layers are shown and how they are combined, zoom, colours.
import { find, make } from "./dom";
import { layer, layerGroups, scaleOf } from "./layers";
import type { PictureView } from "./picture_view";
import type { ColourMap, Combination, ScaleMode } from "./state";
import { on, state, tell } from "./state";

const combinations: [Combination, string, string][] = [
  ["single", "One", "Only the second layer"],
  ["wipe", "Wipe", "The first layer left of a line, the second right of it"],
  ["side", "Side by side", "Both layers, in step"],
  ["blend", "Blend", "Both layers, mixed"],
  ["blink", "Blink", "Both layers in turn"],
];

function pressed(buttons: HTMLElement[], index: number): void {
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
}

export class Toolbar {
  private readonly first = find<HTMLSelectElement>("first-layer");
  private readonly second = find<HTMLSelectElement>("second-layer");
  private readonly blend = find<HTMLInputElement>("blend");
  private readonly buttons: HTMLElement[];
  private listed = "";

  constructor(private readonly view: PictureView) {
    this.buttons = combinations.map(([combination, name, title]) =>
      make("button", { type: "button", title, click: () => this.combine(combination) }, name),
    );
    find("combinations").replaceChildren(...this.buttons);
    this.first.addEventListener("change", () => this.set({ first: this.first.value }));
    this.second.addEventListener("change", () => this.set({ second: this.second.value }));
    this.blend.addEventListener("input", () => this.set({ blend: Number(this.blend.value) / 100 }));
    find("swap").addEventListener("click", () => this.swap());
    find("zoom-in").addEventListener("click", () => this.zoom(1.5));
    find("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    find("zoom-fit").addEventListener("click", () => this.fit());
    find("zoom-full").addEventListener("click", () => this.zoom(1 / this.view.viewport.zoom));
    this.listenToColours();
    on(["view", "settings", "map", "server", "pictures"], () => this.show());
    this.show();
  }

  combine(combination: Combination): void {
    this.set({ combination });
    this.view.layoutChanged();
  }

  swap(): void {
    this.set({ first: state.view.second, second: state.view.first });
  }

  zoom(factor: number): void {
    this.view.viewport.zoomAt(factor);
    tell("view");
  }

  fit(): void {
    this.view.viewport.fit();
    tell("view");
  }

  private set(change: Partial<typeof state.view>): void {
    Object.assign(state.view, change);
    tell("view");
  }

  private list(): void {
    const groups = layerGroups();
    const key = JSON.stringify(groups);
    if (key === this.listed) return;
    this.listed = key;
    for (const select of [this.first, this.second])
      select.replaceChildren(
        ...groups.map(({ name, layers }) =>
          make("optgroup", { label: name }, ...layers.map((one) => make("option", { value: one.id, title: one.help ?? null }, one.name))),
        ),
      );
  }

  private show(): void {
    const { view } = state;
    this.list();
    this.first.value = layer(view.first).id;
    this.second.value = layer(view.second).id;
    this.first.title = layer(view.first).help ?? "";
    this.second.title = layer(view.second).help ?? "";
    find("first-item").hidden = find("swap").hidden = view.combination === "single";
    find("blend-item").hidden = view.combination !== "blend";
    this.blend.value = String(Math.round(100 * view.blend));
    pressed(this.buttons, combinations.findIndex(([combination]) => combination === view.combination));
    const zoom = this.view.viewport.zoom * 100;
    find("zoom").textContent = `${zoom < 10 ? zoom.toFixed(1) : zoom.toFixed(0)} %`;
    this.showColours();
  }

  private listenToColours(): void {
    const colours = find<HTMLSelectElement>("colours");
    const scale = find<HTMLSelectElement>("scale");
    colours.addEventListener("change", () => this.set({ colours: colours.value as ColourMap }));
    scale.addEventListener("change", () => {
      const now = scaleOf(layer("disparity-A"))!;
      // A fixed scale begins with what is shown.
      if (scale.value === "fixed") state.view.fixed = { low: now.low, high: now.high };
      this.set({ scale: scale.value as ScaleMode });
    });
    const bound = (id: string, take: (value: number) => Partial<typeof state.view>) => {
      const input = find<HTMLInputElement>(id);
      input.addEventListener("input", () => {
        if (input.value !== "" && Number.isFinite(Number(input.value))) this.set(take(Number(input.value)));
      });
    };
    bound("scale-low", (low) => ({ fixed: { ...state.view.fixed, low } }));
    bound("scale-high", (high) => ({ fixed: { ...state.view.fixed, high } }));
    bound("error-limit", (errorLimit) => (errorLimit > 0 ? { errorLimit } : {}));
    bound("difference-limit", (differenceLimit) => (differenceLimit > 0 ? { differenceLimit } : {}));
  }

  private showColours(): void {
    const { view } = state;
    const value = (id: string, text: string) => {
      const input = find<HTMLInputElement>(id);
      if (document.activeElement !== input) input.value = text;
    };
    value("colours", view.colours);
    value("scale", view.scale);
    const scale = scaleOf(layer("disparity-A"))!;
    const round = (number: number) => String(Number(number.toFixed(2)));
    value("scale-low", round(scale.low));
    value("scale-high", round(scale.high));
    for (const id of ["scale-low", "scale-high"]) find<HTMLInputElement>(id).disabled = view.scale !== "fixed";
    value("error-limit", String(view.errorLimit));
    value("difference-limit", String(view.differenceLimit));
  }
}
