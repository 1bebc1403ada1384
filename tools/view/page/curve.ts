// SPDX-License-Identifier: Apache-2.0
// The cost curve of the pixel under the cursor: what the method weighs for each disparity there. It may take a second, so
// it is asked for only while its section is open.
import { find, make, short } from "./dom";
import type { CostCurve, Server } from "./protocol";
import { ticks } from "./scale";
import { approximate } from "./readout";
import { on, state } from "./state";

const height = 110;
const axisHeight = 16;

interface Choice {
  disparity: number;
  cost: number;
}

// The minimum of what the method minimises, and the least of its other local minima.
function choices(curve: CostCurve): { least: Choice | null; rival: Choice | null } {
  const costs = (curve.totals.length > 0 ? curve.totals : curve.data_costs).map((cost) => cost ?? Infinity);
  // The first label of each valley, which may be flat.
  const isMinimum = (cost: number, i: number) =>
    cost < (costs[i - 1] ?? Infinity) && cost < (costs.slice(i + 1).find((other) => other !== cost) ?? Infinity);
  const minima = costs
    .map((cost, i) => ({ cost, disparity: curve.min_disparity + i }))
    .filter(({ cost }, i) => isMinimum(cost, i))
    .sort((a, b) => a.cost - b.cost);
  return { least: minima[0] ?? null, rival: minima[1] ?? null };
}

export class Curve {
  private readonly section = find<HTMLDetailsElement>("curve-section");
  private readonly box = find("curve");
  private readonly canvas = make("canvas", { role: "img" });
  private asking = false;
  private asked = "";

  constructor(private readonly server: Server) {
    on(["cursor", "map", "edited"], () => void this.ask());
    this.section.addEventListener("toggle", () => void this.ask());
    this.say("Point at a pixel to see its costs.");
  }

  // One question at a time; the next is about where the cursor is then.
  private async ask(): Promise<void> {
    const { cursor, edited, results, playing } = state;
    if (!this.section.open || this.asking || cursor === null || results[edited].map === null || playing) return;
    const key = `${edited} ${cursor.x} ${cursor.y} ${results[edited].map.milliseconds}`;
    if (key === this.asked) return;
    this.asking = true;
    this.asked = key;
    try {
      this.show(await this.server.curve(edited, cursor.x, cursor.y), cursor);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    this.asking = false;
    void this.ask();
  }

  private say(text: string): void {
    this.box.replaceChildren(make("p", { class: "hint" }, text));
  }

  private show(curve: CostCurve, at: { x: number; y: number }): void {
    const key = (kind: string, text: string) => make("li", {}, make("i", { class: `swatch ${kind}` }), ` ${text}`);
    const { least, rival } = choices(curve);
    const entries = [key("data", "data cost"), ...(curve.totals.length > 0 ? [key("total", "total")] : []), key("chosen", "disparity of the map")];
    if (least) entries.push(key("least", `least: ${short(least.cost)} at ${least.disparity}`));
    if (least) entries.push(rival ? key("rival", `rival: ${short(rival.cost)} at ${rival.disparity}`) : make("li", {}, "no rival"));
    const place = make("p", { class: "hint" }, `At ${at.x}, ${at.y}; lower is better`);
    this.box.replaceChildren(place, this.canvas, make("ul", { class: "statuses curve-key" }, ...entries));
    this.draw(curve, at);
  }

  private draw(curve: CostCurve, at: { x: number; y: number }): void {
    const width = this.canvas.clientWidth;
    const density = Math.min(window.devicePixelRatio, 2);
    Object.assign(this.canvas, { width: Math.round(width * density), height: Math.round(height * density) });
    const context = this.canvas.getContext("2d", { willReadFrequently: true })!;
    context.scale(density, density);
    const style = getComputedStyle(this.box);
    const colour = (name: string) => style.getPropertyValue(name);
    const last = Math.max(curve.data_costs.length - 1, 1);
    const xOf = (disparity: number) => 2 + ((disparity - curve.min_disparity) / last) * (width - 4);
    const map = state.results[state.edited].map!;
    const { disparity = null } = approximate(map, at.x, at.y);
    if (disparity !== null) {
      context.fillStyle = colour("--b");
      context.fillRect(xOf(disparity) - 1, 0, 2, height - axisHeight);
    }
    const yOfData = this.line(context, curve.data_costs, curve, xOf, colour("--quiet"));
    const yOfTotal = this.line(context, curve.totals, curve, xOf, colour("--accent"));
    const { least, rival } = choices(curve);
    for (const [choice, name] of [[least, "--good"], [rival, "--bad"]] as const) {
      if (choice === null) continue;
      context.beginPath();
      context.arc(xOf(choice.disparity), (yOfTotal ?? yOfData)!(choice.cost), 4, 0, 2 * Math.PI);
      context.fillStyle = colour(name);
      context.fill();
    }
    context.fillStyle = colour("--quiet");
    context.font = "11px system-ui, sans-serif";
    const highest = curve.min_disparity + last;
    for (const value of ticks(curve.min_disparity, highest, width / 50)) {
      const text = short(value);
      const x = xOf(value) - context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, 0), width - context.measureText(text).width), height - 3);
    }
    this.canvas.setAttribute("aria-label", `Cost curve at ${at.x}, ${at.y}; the map has ${disparity === null ? "no disparity" : short(disparity)}`);
  }

  // Each curve over its own range of costs, with gaps where labels are not considered. Returns the height of a cost; null
  // where there is no curve.
  private line(
    context: CanvasRenderingContext2D,
    costs: (number | null)[],
    curve: CostCurve,
    xOf: (disparity: number) => number,
    colour: string,
  ): ((cost: number) => number) | null {
    const known = costs.filter((cost) => cost !== null);
    if (known.length === 0) return null;
    const low = Math.min(...known);
    const span = Math.max(...known) - low || 1;
    const bottom = height - axisHeight - 5;
    const yOf = (cost: number) => bottom - ((cost - low) / span) * (bottom - 5);
    context.beginPath();
    let joined = false;
    costs.forEach((cost, i) => {
      if (cost === null) return void (joined = false);
      const [x, y] = [xOf(curve.min_disparity + i), yOf(cost)];
      if (joined) context.lineTo(x, y);
      else context.moveTo(x, y);
      if (!joined) context.lineTo(x + 0.5, y);
      joined = true;
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    return yOf;
  }
}
