// SPDX-License-Identifier: Apache-2.0
// A labelled control for a parameter, from what its method declares.
import { make, short, words } from "./dom";
import type { Parameter, Value } from "./protocol";

export interface Control {
  element: HTMLElement;
  // Shows a value, beside that of the preset.
  show(value: Value, preset: Value): void;
}

let count = 0;

// A round number of at least `value`.
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((candidate) => candidate >= value * (1 - 1e-9))!;
}

// The range of a slider: all that is allowed where that is little, else what is near the preset's value.
export function sliderRange(parameter: Parameter, preset: number): { least: number; most: number; step: number } {
  const lowest = parameter.least ?? -Infinity;
  const highest = parameter.most ?? Infinity;
  const whole = parameter.kind === "integer";
  const span = highest - lowest;
  const small = whole ? span <= 256 : span <= 256 && (preset === 0 || span <= 40 * Math.abs(preset));
  const reach = roundUp(4 * Math.abs(preset) || 64);
  const least = small ? lowest : Math.max(lowest, lowest >= -1 ? 0 : -reach);
  const most = small ? highest : Math.min(highest, reach);
  return { least: Math.max(least, lowest), most, step: whole ? 1 : roundUp((most - least) / 200) };
}

const same = (a: Value, b: Value): boolean =>
  typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)) : a === b;

// A frame around an input: its label, help, unit, the mark of a change and the way back.
function frame(
  parameter: Parameter,
  id: string,
  input: HTMLElement[],
  back: () => void,
): { element: HTMLElement; mark: (changed: boolean, preset: string) => void } {
  const reset = make("button", { class: "reset", type: "button", click: back }, "Reset");
  const help = [parameter.help, parameter.allowed && `Allowed: ${parameter.allowed}.`].filter(Boolean).join(". ");
  const unit = parameter.unit && make("span", { class: "unit" }, parameter.unit);
  const element = make(
    "div",
    { class: `control ${parameter.kind}`, title: help, "data-parameter": parameter.name },
    make("div", { class: "label" }, make("label", { for: id }, words(parameter.name)), unit || null, reset),
    ...input,
    make("p", { class: "help", id: `${id}-help` }, help),
  );
  const mark = (changed: boolean, preset: string) => {
    element.classList.toggle("changed", changed);
    reset.hidden = !changed;
    reset.title = `Back to the preset's value, ${preset}`;
    reset.setAttribute("aria-label", `${words(parameter.name)}: back to ${preset}`);
  };
  return { element, mark };
}

function flag(parameter: Parameter, change: (value: Value) => void): Control {
  const id = `p${++count}`;
  const described = `${id}-help`;
  const input = make("input", { id, type: "checkbox", "aria-describedby": described });
  let preset: Value = false;
  input.addEventListener("change", () => change(input.checked));
  const { element, mark } = frame(parameter, id, [input], () => change(preset));
  return {
    element,
    show(value, of) {
      preset = of;
      input.checked = value === true;
      mark(!same(value, of), of ? "on" : "off");
    },
  };
}

function choice(parameter: Parameter, change: (value: Value) => void): Control {
  const id = `p${++count}`;
  const options = parameter.choices.map((name) => make("option", { value: name }, name));
  const input = make("select", { id, "aria-describedby": `${id}-help` }, ...options);
  let preset: Value = null;
  input.addEventListener("change", () => change(input.value));
  const { element, mark } = frame(parameter, id, [input], () => change(preset));
  return {
    element,
    show(value, of) {
      preset = of;
      input.value = String(value);
      mark(!same(value, of), String(of));
    },
  };
}

// An integer or a number: a slider and a field; where only some numbers are allowed, the slider steps through them.
function numeric(parameter: Parameter, change: (value: Value) => void): Control {
  const id = `p${++count}`;
  const described = `${id}-help`;
  const { numbers } = parameter;
  const whole = parameter.kind === "integer";
  const range = make("input", { type: "range", "aria-label": words(parameter.name), "aria-describedby": described });
  const input = make("input", { id, type: "number", inputmode: whole ? "numeric" : "decimal", "aria-describedby": described });
  const none = make("input", { type: "checkbox", id: `${id}-none` });
  const noneLabel = make("label", { class: "none", for: `${id}-none` }, none, "None");
  let shown: Value = null;
  let preset: Value = null;

  const clamp = (value: number): number => {
    const bounded = Math.min(Math.max(value, parameter.least ?? -Infinity), parameter.most ?? Infinity);
    if (!numbers) return whole ? Math.round(bounded) : bounded;
    return numbers.reduce((a, b) => (Math.abs(b - bounded) < Math.abs(a - bounded) ? b : a));
  };
  const choose = (value: number) => {
    if (!Number.isFinite(value) || same(value, shown)) return;
    show(value, preset);
    change(value);
  };
  const place = (value: number) => {
    if (numbers) return void (range.value = String(numbers.indexOf(value)));
    range.min = String(Math.min(Number(range.min), value));
    range.max = String(Math.max(Number(range.max), value));
    range.value = String(value);
  };
  const scale = (around: number) => {
    const { least, most, step } = numbers ? { least: 0, most: numbers.length - 1, step: 1 } : sliderRange(parameter, around);
    Object.assign(range, { min: String(least), max: String(most), step: whole || numbers ? String(step) : "any" });
    range.dataset.step = String(step);
  };

  range.addEventListener("input", () => {
    const at = Number(range.value);
    const step = Number(range.dataset.step);
    // Round, so that numbers read well.
    const rounded = whole ? at : Number((Math.round(at / step) * step).toPrecision(6));
    choose(numbers ? numbers[at]! : clamp(rounded));
  });
  // While somebody types, "1" may become "12": take what is complete, and correct the rest when they leave.
  const typed = (final: boolean) => {
    const value = Number(input.value);
    const good = input.value !== "" && Number.isFinite(value) && same(clamp(value), value);
    input.classList.toggle("wrong", !good);
    if (good) choose(value);
    else if (final) {
      input.classList.remove("wrong");
      if (input.value === "" || !Number.isFinite(value)) show(shown, preset);
      else {
        shown = null;
        choose(clamp(value));
      }
    }
  };
  input.addEventListener("input", () => typed(false));
  input.addEventListener("change", () => typed(true));
  none.addEventListener("change", () => change(none.checked ? null : clamp(Number(input.value) || 0)));

  const children = [make("div", { class: "pair" }, range, input), ...(parameter.optional ? [noneLabel] : [])];
  const { element, mark } = frame(parameter, id, children, () => change(preset));
  let scaled = false;
  function show(value: Value, of: Value): void {
    if (!scaled || preset !== of) scale(typeof of === "number" ? of : 0);
    scaled = true;
    [shown, preset] = [value, of];
    const missing = typeof value !== "number";
    range.disabled = input.disabled = missing;
    none.checked = missing;
    if (!missing) {
      const text = String(Number(value.toPrecision(7)));
      place(value);
      if (Number(input.value) !== value || document.activeElement !== input) input.value = text;
      range.setAttribute("aria-valuetext", `${text} ${parameter.unit}`);
    }
    mark(!same(value, of), typeof of === "number" ? short(of) : "none");
  }
  if (!whole) input.step = "any";
  if (parameter.least !== null && Math.abs(parameter.least) < 1e9) input.min = String(parameter.least);
  if (parameter.most !== null && Math.abs(parameter.most) < 1e9) input.max = String(parameter.most);
  return { element, show };
}

export function control(parameter: Parameter, change: (value: Value) => void): Control {
  if (parameter.kind === "flag") return flag(parameter, change);
  if (parameter.kind === "choice") return choice(parameter, change);
  return numeric(parameter, change);
}
