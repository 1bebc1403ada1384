// SPDX-License-Identifier: Apache-2.0
// The address holds the parameters: #sample=layers&method=sgm&preset=default&p2=48.
import { methodOf, presetValues, searchGroup } from "../matching";
import type { Method, Parameter, ServerState, Value, Values } from "../protocol";
import { on, state } from "../state";

const none = "none";

function textOf(value: Value): string {
  return value === null ? none : String(value);
}

function valueOf(text: string, { kind, optional }: Parameter): Value {
  if (optional && text === none) return null;
  if (kind === "flag") return text === "true";
  return kind === "choice" ? text : Number(text);
}

export class Link {
  private readonly given = new URLSearchParams(location.hash.slice(1));
  private timer = 0;
  // The sample that is shown; null while files are.
  sample: string | null = this.given.get("sample");

  constructor() {
    on(["settings", "map"], () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.write(), 300);
    });
  }

  // The settings to begin with, as the address has them. The range of a pair belongs to the pair, unless it is given.
  apply(found: ServerState): ServerState {
    const method = found.methods.find(({ name }) => name === (this.given.get("method") ?? found.start.method));
    if (!method) return found;
    const preset = method.presets.find(({ name }) => name === this.given.get("preset")) ?? method.presets[0]!;
    const values: Values = {};
    for (const parameter of method.parameters) {
      const text = this.given.get(parameter.name);
      const usual = found.start.values[parameter.name];
      if (text !== null) values[parameter.name] = valueOf(text, parameter);
      else if (parameter.group === searchGroup && usual !== undefined) values[parameter.name] = usual;
    }
    // Another pair begins with the same settings, but with its own range.
    for (const { name, group } of method.parameters) if (group === searchGroup) this.given.delete(name);
    return { ...found, start: { ...found.start, method: method.name, preset: preset.name, values } };
  }

  // Settings for the next pair.
  keep(): void {
    const { settings, preset } = state.results.A;
    if (settings === null || settings.method === "") return;
    for (const name of [...this.given.keys()]) this.given.delete(name);
    const method = methodOf(settings);
    this.given.set("method", method.name);
    this.given.set("preset", preset);
    for (const { name, group } of changed(method, preset, settings.values))
      if (group !== searchGroup) this.given.set(name, textOf(settings.values[name]!));
  }

  private write(): void {
    const { settings, preset } = state.results.A;
    if (settings === null || settings.method === "") return;
    const method = methodOf(settings);
    const words = new URLSearchParams();
    if (this.sample !== null) words.set("sample", this.sample);
    words.set("method", method.name);
    if (preset !== method.presets[0]!.name) words.set("preset", preset);
    for (const { name } of changed(method, preset, settings.values)) words.set(name, textOf(settings.values[name]!));
    history.replaceState(null, "", `#${words}`);
  }
}

function changed(method: Method, preset: string, values: Values): Parameter[] {
  const usual = presetValues(method, preset);
  return method.parameters.filter(({ name }) => values[name] !== undefined && values[name] !== usual[name]);
}
