// SPDX-License-Identifier: Apache-2.0
// The panel of settings, built from what each method declares: method, preset, device, and a control for each parameter.
import type { Control } from "./controls";
import { control } from "./controls";
import { find, make, milliseconds, setText, words } from "./dom";
import { comparing } from "./layers";
import type { Matching } from "./matching";
import { keepingRange, methodOf, presetValues, searchGroup, storedName } from "./matching";
import type { Method, Parameter, Settings, Slot } from "./protocol";
import { on, slots, state, tell } from "./state";

// "cuda:0" is a device of the kind "cuda".
const kindOf = (device: string): string => device.split(":")[0]!;

export class Panel {
  private readonly form = find("settings");
  private readonly tabs = find("slots");
  private readonly controls = new Map<string, Control>();
  private readonly timers = new Map<Slot, number>();
  private built = "";
  private readonly opened = new Set([searchGroup]);

  constructor(private readonly matching: Matching) {
    on("server", () => (this.built = ""));
    on(["edited", "settings"], () => this.show());
    on(["map", "working", "edited", "settings"], () => this.showTabs());
  }

  // Fills B with what A has, or empties it.
  compare(wanted: boolean): void {
    const { A, B } = state.results;
    if (wanted === comparing() || A.settings === null) return;
    Object.assign(B, { settings: wanted ? structuredClone(A.settings) : null, preset: A.preset, map: null, error: "", working: false });
    state.edited = wanted ? "B" : "A";
    if (wanted) Object.assign(state.view, { first: "disparity-A", second: "disparity-B" });
    else Object.assign(state.view, { first: "left", second: "disparity-A" });
    this.matching.change("B");
    for (const topic of ["edited", "settings", "map-B", "map", "view"] as const) tell(topic);
  }

  private get settings(): Settings {
    return state.results[state.edited].settings!;
  }

  private get method(): Method {
    return methodOf(this.settings);
  }

  private changed(): void {
    this.matching.change(state.edited);
    tell("settings");
  }

  private show(): void {
    if (state.results[state.edited].settings === null) return;
    const key = `${state.edited} ${this.settings.method}`;
    if (key !== this.built) this.build();
    this.built = key;
    const preset = presetValues(this.method, state.results[state.edited].preset);
    for (const [name, one] of this.controls) one.show(this.settings.values[name] ?? null, preset[name] ?? null);
    if (this.settings.method === "") return;
    find<HTMLSelectElement>("preset").value = state.results[state.edited].preset;
    find<HTMLSelectElement>("device").value = this.settings.device;
    find<HTMLInputElement>("threads").value = String(this.settings.threads);
    const temporal = document.querySelector<HTMLInputElement>("#temporal");
    if (temporal) temporal.checked = this.settings.temporal;
    this.form.querySelectorAll<HTMLElement>("details[data-group]").forEach((group) => {
      const changed = group.querySelectorAll(".control.changed").length;
      const badge = group.querySelector<HTMLElement>(":scope > summary > .badge")!;
      badge.hidden = changed === 0;
      badge.textContent = changed === 0 ? "" : `${changed} changed`;
    });
    find<HTMLButtonElement>("reset-all").disabled = this.form.querySelector(".control.changed") === null;
  }

  private build(): void {
    this.controls.clear();
    const { method } = this;
    const groups = [...new Set(method.parameters.map(({ group }) => group))];
    const focused = document.activeElement?.id ?? "";
    this.form.replaceChildren(
      this.head(method),
      ...groups.map((group) => this.group(group, method.parameters.filter((one) => one.group === group))),
    );
    if (["method", "preset", "device"].includes(focused)) find(focused).focus();
  }

  private head(method: Method): HTMLElement {
    const { server } = state;
    const methods = server!.methods.map(({ name, help }) => make("option", { value: name, title: help }, name));
    if (server!.stored_map) methods.push(make("option", { value: "" }, words(storedName)));
    const matches = method.name !== "";
    const presets = method.presets.map(({ name }) => make("option", { value: name }, name));
    const automatic = { name: "auto", description: "The fastest device that runs the method" };
    const listed = server!.devices.some(({ name }) => name === "auto") ? [] : [automatic];
    const devices = [...listed, ...server!.devices]
      .filter(({ name }) => name === "auto" || method.devices.includes(kindOf(name)))
      .map(({ name, description }) => make("option", { value: name, title: description }, name));
    const select = (id: string, label: string, options: HTMLElement[], change: (value: string) => void) => {
      const input = make("select", { id }, ...options);
      input.addEventListener("change", () => change(input.value));
      return make("div", { class: "choice-row" }, make("label", { for: id }, label), input);
    };
    const box = make(
      "div",
      { class: "head" },
      select("method", "Method", methods, (value) => this.setMethod(value)),
      matches && select("preset", "Preset", presets, (value) => this.setPreset(value)),
      matches && select("device", "Device", devices, (value) => this.set({ device: value })),
      matches && this.threads(),
      matches && server!.source.kind !== "pair" && this.temporal(),
      method.help ? make("p", { class: "method-help" }, method.help) : null,
      matches && make(
        "button",
        { id: "reset-all", type: "button", class: "quiet", click: () => this.reset() },
        "Reset to preset",
      ),
    );
    box.querySelector<HTMLSelectElement>("#method")!.value = method.name;
    return box;
  }

  private threads(): HTMLElement {
    const input = make("input", { id: "threads", type: "number", min: 0, max: 1024, inputmode: "numeric" });
    input.title = "Threads of the cpu device; 0 = one for each core";
    input.addEventListener("change", () => this.set({ threads: Math.max(0, Math.round(Number(input.value)) || 0) }));
    return make("div", { class: "choice-row" }, make("label", { for: "threads" }, "Threads"), input);
  }

  private temporal(): HTMLElement {
    const input = make("input", { id: "temporal", type: "checkbox", checked: this.settings.temporal });
    input.addEventListener("change", () => this.set({ temporal: input.checked }));
    const title = "The last map, moved as the camera moved, is averaged with the new one, and decides where it explains the pictures better";
    return make("div", { class: "control flag", title }, make("label", { for: "temporal" }, "Steady over time"), input);
  }

  private group(name: string, parameters: Parameter[]): HTMLElement {
    const made = (one: Parameter): HTMLElement => {
      const found = control(one, (value) => {
        this.settings.values[one.name] = value;
        this.changed();
      });
      this.controls.set(one.name, found);
      return found.element;
    };
    const experts = parameters.filter(({ expert }) => expert);
    const everyone = parameters.filter(({ expert }) => !expert).map(made);
    return this.details(name || "Parameters", [
      ...everyone,
      ...(experts.length > 0 ? [this.details(`${name} for experts`, experts.map(made))] : []),
    ]);
  }

  private details(name: string, content: HTMLElement[]): HTMLDetailsElement {
    const badge = make("span", { class: "badge", hidden: true });
    const summary = make("summary", {}, words(name), badge);
    const element = make("details", { "data-group": name, open: this.opened.has(name) }, summary, ...content);
    element.addEventListener("toggle", () => (element.open ? this.opened.add(name) : this.opened.delete(name)));
    return element;
  }

  private set(change: Partial<Settings>): void {
    Object.assign(this.settings, change);
    this.changed();
  }

  private setMethod(name: string): void {
    const method = methodOf({ ...this.settings, method: name });
    const preset = method.presets[0]!.name;
    const runs = method.devices.includes(kindOf(this.settings.device)) || this.settings.device === "auto";
    const device = runs ? this.settings.device : (method.devices[0] ?? "auto");
    const values = keepingRange(method, preset, this.settings.values);
    state.results[state.edited].preset = preset;
    this.set({ method: name, device, values });
  }

  private setPreset(name: string): void {
    state.results[state.edited].preset = name;
    this.set({ values: keepingRange(this.method, name, this.settings.values) });
  }

  private reset(): void {
    this.set({ values: presetValues(this.method, state.results[state.edited].preset) });
  }

  private showTabs(): void {
    if (state.results.A.settings === null) return;
    const shown = slots.filter((slot) => state.results[slot].settings !== null);
    if (shown.length !== this.tabs.children.length - 1) this.buildTabs(shown);
    for (const slot of shown) {
      const { settings, map, working, error } = state.results[slot];
      const tab = find(`slot-${slot}`);
      tab.setAttribute("aria-pressed", String(state.edited === slot));
      setText(tab.querySelector(".name")!, settings!.method || storedName);
      const time = error ? "error" : !map ? "…" : map.milliseconds === null ? "–" : milliseconds(map.milliseconds);
      setText(tab.querySelector(".time")!, time);
      this.mark(slot, working);
    }
  }

  // Only matches that take a while are seen to be at work.
  private mark(slot: Slot, working: boolean): void {
    const timer = this.timers.get(slot);
    if (working === (timer !== undefined)) return;
    clearTimeout(timer);
    this.timers.delete(slot);
    find(`slot-${slot}`).classList.remove("working");
    const begin = () => document.getElementById(`slot-${slot}`)?.classList.add("working");
    if (working) this.timers.set(slot, window.setTimeout(begin, 200));
  }

  private buildTabs(shown: Slot[]): void {
    const tabs = shown.map((slot) =>
      make(
        "button",
        { type: "button", id: `slot-${slot}`, class: "slot-tab", click: () => this.edit(slot) },
        make("span", { class: `slot slot-${slot}` }, slot),
        make("span", { class: "method" }, make("span", { class: "name" }), make("span", { class: "time" })),
      ),
    );
    const both = comparing();
    const button = make("button", { type: "button", id: "compare", class: "quiet" }, both ? "Only A" : "Compare with B");
    button.title = both ? "Remove the result B (B)" : "Match with other settings as well, and see both results (B)";
    button.addEventListener("click", () => this.compare(!comparing()));
    const focused = document.activeElement === document.getElementById("compare");
    this.tabs.replaceChildren(...tabs, button);
    if (focused) button.focus();
  }

  private edit(slot: Slot): void {
    state.edited = slot;
    tell("edited");
  }
}
