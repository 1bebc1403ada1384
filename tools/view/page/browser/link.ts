// SPDX-License-Identifier: Apache-2.0
// The address holds the parameters: #sample=layers&method=sgm&preset=default&large_jump=90.
import { methodOf, presetValues, searchGroup } from "../matching";
import type { Method, Parameter, ServerState, Value, Values } from "../protocol";
import { on, state } from "../state";

const none = "none";

function textOf(value: Value): string {
  return value === null ? none : String(value);
}

// Undefined for a word that the parameter cannot have; whether a number is allowed, the engine says.
function valueOf(text: string, { kind, optional, choices }: Parameter): Value | undefined {
  if (optional && text === none) return null;
  if (kind === "flag") return text === "true" ? true : text === "false" ? false : undefined;
  if (kind === "choice") return choices.includes(text) ? text : undefined;
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

function changed(method: Method, preset: string, values: Values): Parameter[] {
  const usual = presetValues(method, preset);
  return method.parameters.filter(({ name }) => values[name] !== undefined && values[name] !== usual[name]);
}

export class Link {
  private given = new URLSearchParams(location.hash.slice(1));
  private timer = 0;
  // The sample that is shown; null while files are.
  sample: string | null = this.given.get("sample");

  constructor() {
    on(["settings", "map"], () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.write(), 300);
    });
    // Somebody put another link into the address.
    addEventListener("hashchange", () => location.reload());
  }

  // Method and preset to begin with, as the address or the last pair had them, and values that differ from the preset.
  settings(found: ServerState): { state: ServerState; values: Values } {
    const named = (name: string | null) => found.methods.find((one) => one.name === name);
    const method = named(this.given.get("method")) ?? named(found.start.method)!;
    const preset = method.presets.find(({ name }) => name === this.given.get("preset")) ?? method.presets[0]!;
    const values: Values = {};
    // The range that the pair has, without what is said of it.
    const range: Values = {};
    for (const parameter of method.parameters) {
      const { name, group } = parameter;
      const text = this.given.get(name);
      const value = text === null ? undefined : valueOf(text, parameter);
      if (value !== undefined) values[name] = value;
      if (group === searchGroup && found.start.values[name] !== undefined) range[name] = found.start.values[name]!;
    }
    const start = { ...found.start, method: method.name, preset: preset.name, values: range };
    return { state: { ...found, start }, values };
  }

  // Remembers the settings for the next pair, or for the same one again. A range belongs to its pair.
  keep(withRange: boolean): void {
    const { settings } = state.results.A;
    if (settings === null || settings.method === "") return;
    this.given = this.words(withRange);
  }

  private words(withRange: boolean): URLSearchParams {
    const { settings, preset } = state.results.A;
    const method = methodOf(settings!);
    const words = new URLSearchParams({ method: method.name });
    if (preset !== method.presets[0]!.name) words.set("preset", preset);
    for (const { name, group } of changed(method, preset, settings!.values))
      if (withRange || group !== searchGroup) words.set(name, textOf(settings!.values[name]!));
    return words;
  }

  private write(): void {
    const { settings } = state.results.A;
    if (settings === null || settings.method === "") return;
    const sample = this.sample === null ? "" : `sample=${this.sample}&`;
    history.replaceState(null, "", `#${sample}${this.words(true)}`);
  }
}
