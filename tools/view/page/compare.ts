// SPDX-License-Identifier: Apache-2.0
// The figures of the results, side by side where there are two: times, memory, shares of pixels, errors against truth.
import { colourAt, css } from "./colours";
import { bytes, find, make, milliseconds, percent, short, words } from "./dom";
import { comparing } from "./layers";
import type { Slot } from "./protocol";
import type { DisparityMap } from "./state";
import { on, slots, state } from "./state";

interface Row {
  name: string;
  help?: string;
  of: (map: DisparityMap) => number | undefined;
  text: (value: number) => string;
  // Which of two results is better; undefined where that is no question.
  better?: "less" | "more";
}

const errorNames: Record<string, string> = {
  avgerr: "Mean error in px",
  rms: "RMS error in px",
  d1: "D1",
  coverage: "Coverage",
  count: "Pixels with truth",
  mismatches: "Mismatches",
};

function errorRow(name: string): Row {
  const share = name.startsWith("bad") || name === "d1" || name === "coverage";
  const limit = name.startsWith("bad") && name.slice(3);
  const quantile = /^a\d/.test(name) && name.slice(1);
  return {
    name: limit ? `Errors above ${limit} px` : quantile ? `${quantile} % of errors below, px` : (errorNames[name] ?? words(name)),
    of: (map) => map.errors?.[name],
    text: (value) => (share ? percent(value) : name === "count" ? String(value) : short(value)),
    better: name === "coverage" ? "more" : name === "count" ? undefined : "less",
  };
}

function rows(maps: DisparityMap[]): Row[] {
  const errors = [...new Set(maps.flatMap((map) => Object.keys(map.errors ?? {})))].filter((name) => name !== "mismatches");
  return [
    { name: "Time", of: (map) => map.milliseconds ?? undefined, text: milliseconds, better: "less" },
    { name: "Memory", of: (map) => map.memoryBytes ?? undefined, text: bytes, better: "less" },
    { name: "Pixels with a value", of: (map) => map.shares.valid, text: percent, better: "more" },
    ...errors.map(errorRow),
  ];
}

function table(shown: Slot[]): HTMLElement {
  const maps = shown.map((slot) => state.results[slot].map!);
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, make("span", { class: "hidden" }, "Figure")),
    ...shown.map((slot, i) =>
      make(
        "th",
        { scope: "col" },
        shown.length > 1 && make("span", { class: `slot slot-${slot}` }, slot),
        `${shown.length > 1 ? " " : ""}${maps[i]!.device || "stored map"}`,
      ),
    ),
  );
  const body = rows(maps).map((row) => {
    const values = maps.map(row.of);
    const known = values.filter((value) => value !== undefined);
    const best = row.better && (row.better === "less" ? Math.min(...known) : Math.max(...known));
    const differ = new Set(known.map(row.text)).size > 1;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, row.name),
      ...values.map((value) =>
        make("td", { class: differ && value === best ? "best" : "" }, value === undefined ? "–" : row.text(value)),
      ),
    );
  });
  return make("table", { class: "figures" }, make("thead", {}, head), make("tbody", {}, ...body));
}

// A bar whose parts are as long as their shares.
function shareBar(label: string, parts: { name: string; share: number; colour: string; text: string }[]): HTMLElement {
  const segments = parts.map(({ name, share, colour, text }) => {
    const part = make("span", { title: `${name}: ${text}` });
    part.style.width = `${100 * share}%`;
    part.style.background = colour;
    return part;
  });
  const said = parts.map(({ name, text }) => `${name} ${text}`).join(", ");
  return make("div", { class: "shares", role: "img", "aria-label": `${label}: ${said}` }, ...segments);
}

function statusBar(map: DisparityMap): HTMLElement {
  const parts = (state.server?.statuses ?? [])
    .map((name, i) => ({ name: words(name), share: map.shares[name] ?? 0, colour: css(colourAt("status", i)) }))
    .filter(({ share }) => share > 0)
    .map((part) => ({ ...part, text: percent(part.share) }));
  return make("div", { class: "bar-block" }, shareBar("Status", parts), list(parts));
}

function stagesBar(map: DisparityMap): HTMLElement | null {
  const total = map.stages.reduce((sum, [, time]) => sum + time, 0);
  if (total <= 0) return null;
  const parts = map.stages
    .filter(([, time]) => time > 0)
    .map(([name, time], i) => ({
      name: words(name),
      share: time / total,
      colour: css(colourAt("viridis", 30 + ((i * 83) % 200))),
      text: milliseconds(time),
    }));
  return make("div", { class: "bar-block" }, shareBar("Stages", parts), list(parts));
}

function list(parts: { name: string; colour: string; text: string }[]): HTMLElement {
  const entries = parts.map(({ name, colour, text }) => {
    const swatch = make("i", { class: "swatch" });
    swatch.style.background = colour;
    return make("li", {}, swatch, name, make("b", {}, text));
  });
  return make("ul", { class: "statuses" }, ...entries);
}

export class Figures {
  private readonly box = find("figures");
  private shownAt = 0;
  private later = 0;

  constructor() {
    on(["map", "problem", "edited"], () => this.soon());
  }

  // Tables that change more often cannot be read.
  private soon(): void {
    clearTimeout(this.later);
    const wait = Math.max(0, this.shownAt + (state.playing ? 500 : 100) - performance.now());
    this.later = window.setTimeout(() => this.show(), wait);
  }

  private show(): void {
    this.shownAt = performance.now();
    const failed = slots.filter((slot) => state.results[slot].error !== "");
    const shown = slots.filter((slot) => state.results[slot].map !== null);
    const problems = failed.map((slot) =>
      make("p", { class: "problem" }, `${comparing() ? `${slot}: ` : ""}${state.results[slot].error}`),
    );
    if (state.error) problems.push(make("p", { class: "problem" }, state.error));
    find("problems").replaceChildren(...problems);
    if (shown.length === 0) return this.box.replaceChildren(make("p", { class: "hint" }, "No result yet."));
    const map = state.results[state.edited].map;
    const named = (text: string) => make("h3", {}, comparing() ? `${text} of ${state.edited}` : text);
    this.box.replaceChildren(
      table(shown),
      ...(map ? [named("Status"), statusBar(map)] : []),
      ...(map && map.stages.length > 0 ? [named("Time by stage"), stagesBar(map) ?? ""] : []),
    );
  }
}
