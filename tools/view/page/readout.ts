// SPDX-License-Identifier: Apache-2.0
// The line under the pictures: everything known about the pixel under the cursor. What the textures have is shown at once,
// the server's exact values follow.
import { find, fixed, make, words } from "./dom";
import { comparing, depthOf } from "./layers";
import type { PixelValue, Plane, Server, Slot } from "./protocol";
import type { DisparityMap } from "./state";
import { on, slots, state } from "./state";

function valueIn(plane: Plane | null | undefined, scale: number, x: number, y: number): number {
  if (!plane) return 0;
  return plane.data[Math.floor(y / scale) * plane.width + Math.floor(x / scale)] ?? 0;
}

function decode(code: number, coding: { lowest: number; steps: number }): number | null {
  return code === 0 ? null : coding.lowest + (code - 1) / coding.steps;
}

// What the textures say about a pixel.
export function approximate(map: DisparityMap, x: number, y: number): PixelValue {
  const { pictures, server } = state;
  const disparity = decode(valueIn(map.disparity, map.scale, x, y), map);
  const truth = pictures?.truth ? decode(valueIn(pictures.truth.plane, pictures.scale, x, y), pictures.truth) : null;
  return {
    disparity,
    depth: depthOf(disparity),
    status: server?.statuses[valueIn(map.status, map.scale, x, y)] ?? null,
    confidence: map.confidence ? valueIn(map.confidence, map.scale, x, y) / 255 : null,
    right_disparity: map.rightDisparity && decode(valueIn(map.rightDisparity.plane, map.scale, x, y), map.rightDisparity),
    row_offset: map.rowOffset && decode(valueIn(map.rowOffset.plane, map.scale, x, y), map.rowOffset),
    truth,
  };
}

function field(name: string, value: string, kind = ""): HTMLElement {
  return make("span", { class: `field ${kind}` }, make("span", { class: "name" }, name), make("b", {}, value));
}

export class Readout {
  private readonly line = find("readout");
  private exact = new Map<Slot, PixelValue>();
  private exactFor = "";
  private asking = false;

  constructor(private readonly server: Server) {
    on(["cursor", "map", "pictures"], () => this.update());
    this.show();
  }

  private key(): string {
    return state.cursor ? `${state.cursor.x},${state.cursor.y}` : "";
  }

  private update(): void {
    this.exactFor = "";
    this.show();
    if (!state.playing) void this.ask();
  }

  // One question at a time: when the answer is there, the next is about where the cursor is then.
  private async ask(): Promise<void> {
    if (this.asking || state.cursor === null) return;
    this.asking = true;
    const key = this.key();
    const { x, y } = state.cursor;
    const maps = slots.map((slot) => state.results[slot].map);
    for (const slot of slots)
      if (state.results[slot].map !== null) {
        const value = await this.server.value(slot, x, y).catch(() => null);
        if (value) this.exact.set(slot, value);
        else this.exact.delete(slot);
      }
    this.asking = false;
    const same = slots.every((slot, i) => state.results[slot].map === maps[i]);
    if (key === this.key() && same) {
      this.exactFor = key;
      this.show();
    } else if (!state.playing) void this.ask();
  }

  private show(): void {
    const { cursor } = state;
    if (cursor === null) {
      const hint = "Point at a pixel, or use the arrow keys, to see its values.";
      this.line.replaceChildren(make("span", { class: "hint" }, hint));
      return;
    }
    const rows = slots.flatMap((slot) => {
      const { map } = state.results[slot];
      if (map === null) return [];
      const about = approximate(map, cursor.x, cursor.y);
      const exact = this.exactFor === this.key() ? this.exact.get(slot) : undefined;
      return [make("div", { class: "row" }, ...this.describe(slot, { ...about, ...exact }))];
    });
    const position = [field("x", String(cursor.x), "position"), field("y", String(cursor.y), "position")];
    this.line.replaceChildren(make("div", { class: "row" }, ...position), make("div", { class: "rows" }, ...rows));
  }

  private describe(slot: Slot, value: PixelValue): HTMLElement[] {
    const many = comparing();
    const { disparity = null, truth = null, depth = null, confidence = null, status = null } = value;
    const fields = [field("Disparity", disparity === null ? "none" : `${fixed(disparity, 2)} px`)];
    if (many) fields.unshift(make("span", { class: `slot slot-${slot}` }, slot));
    const rows = value.row_offset ?? null;
    if (state.results[slot].map?.rowOffset) fields.push(field("Row offset", rows === null ? "none" : `${fixed(rows, 2)} px`));
    const right = value.right_disparity ?? null;
    if (state.results[slot].map?.rightDisparity) fields.push(field("Right map", right === null ? "none" : `${fixed(right, 2)} px`));
    if (state.server?.calibration) fields.push(field("Depth", depth === null ? "–" : `${fixed(depth, 3)} m`));
    if (status !== null) fields.push(field("Status", words(status).toLowerCase(), "status"));
    if (confidence !== null) fields.push(field("Confidence", fixed(confidence, 2), "narrow"));
    if (state.pictures?.truth || truth !== null) {
      const error = truth === null || disparity === null ? "–" : `${fixed(disparity - truth, 2)} px`;
      fields.push(field("Error", error));
      if (!many) fields.push(field("Truth", truth === null ? "none" : `${fixed(truth, 2)} px`));
    }
    return fields;
  }
}
