// SPDX-License-Identifier: Apache-2.0
// The layers that the picture view shows: pictures, and what is known of each pixel.
import type { Table } from "./colours";
import { tables } from "./colours";
import type { Slot } from "./protocol";
import { slots, state } from "./state";

export type Kind =
  | "left"
  | "right"
  | "disparity"
  | "status"
  | "confidence"
  | "rightDisparity"
  | "rowOffset"
  | "error"
  | "warped"
  | "residual"
  | "difference"
  | "truth";

export interface Layer {
  id: string;
  kind: Kind;
  slot: Slot;
  name: string;
  help?: string;
}

// Names fit into the menus, also on a phone, behind "A: ".
const ofResults: [Kind, string, string?][] = [
  ["disparity", "Disparity"],
  ["confidence", "Confidence"],
  ["status", "Status"],
  ["rightDisparity", "Right map", "The disparities of the right picture; both maps take twice the time"],
  ["rowOffset", "Rows off", "By how many rows the match is lower in the right picture"],
  ["error", "Error", "Distance from the ground truth"],
  ["warped", "Warped right", "The right picture, warped by the map; of a large pair not at full resolution"],
  ["residual", "Residual", "Left minus warped right picture; of a large pair not at full resolution"],
];

export const comparing = (): boolean => state.results.B.settings !== null;

function available(kind: Kind, slot: Slot): boolean {
  if (kind === "error" || kind === "truth") return state.pictures?.truth != null || state.server?.truth === true;
  if (kind === "rowOffset") return state.results[slot].map?.rowOffset != null;
  // A map that was made elsewhere is of the left picture.
  if (kind === "rightDisparity") return state.results[slot].settings?.method !== "";
  if (kind === "confidence") return state.results[slot].map?.confidence !== null;
  return true;
}

// All layers that can be shown now, in groups.
export function layerGroups(): { name: string; layers: Layer[] }[] {
  const pictures: Layer[] = [
    { id: "left", kind: "left", slot: "A", name: "Left picture" },
    { id: "right", kind: "right", slot: "A", name: "Right picture" },
  ];
  if (available("truth", "A")) pictures.push({ id: "truth", kind: "truth", slot: "A", name: "Ground truth" });
  const groups = [{ name: "Input", layers: pictures }];
  for (const slot of slots) {
    if (slot === "B" && !comparing()) continue;
    const layers = ofResults
      .filter(([kind]) => available(kind, slot))
      .map(([kind, name, help]) => ({ id: `${kind}-${slot}`, kind, slot, name: comparing() ? `${slot}: ${name}` : name, help }));
    groups.push({ name: comparing() ? `Result ${slot}` : "Result", layers });
  }
  if (comparing())
    groups.push({
      name: "Both results",
      layers: [{ id: "difference", kind: "difference", slot: "A", name: "A − B", help: "Difference of the disparities" }],
    });
  return groups;
}

export function layer(id: string): Layer {
  const all = layerGroups().flatMap((group) => group.layers);
  return all.find((one) => one.id === id) ?? all[0]!;
}

export function shownLayers(): Layer[] {
  const { first, second, combination } = state.view;
  const ids = combination === "single" ? [second] : [first, second];
  return [...new Set(ids)].map(layer);
}

// Whether the map of the right picture is wanted: making it doubles the time of a match.
export function wantsBothMaps(slot: Slot): boolean {
  return shownLayers().some((shown) => shown.kind === "rightDisparity" && shown.slot === slot);
}

export interface Scale {
  low: number;
  high: number;
  table: Table;
  unit: string;
}

function disparityScale(slot: Slot): { low: number; high: number } {
  const map = state.results[slot].map ?? state.results.A.map;
  const quantiles = map?.quantiles ?? [];
  if (state.view.scale === "fixed") return state.view.fixed;
  const known = quantiles.length === 5;
  if (known && (state.view.scale === "quantiles" || map?.range === null)) return { low: quantiles[0]!, high: quantiles[4]! };
  return map?.range ? { low: map.range.lowest, high: map.range.lowest + map.range.disparities - 1 } : { low: 0, high: 63 };
}

// The most rows that are searched above and below, or else found; both results have the same colours.
function longestRowOffset(): number {
  const longest = slots.map((slot) => {
    const { settings, map } = state.results[slot];
    return Number(settings?.values["row_tolerance"] ?? map?.rowOffset?.longest ?? 0);
  });
  return Math.max(1, ...longest);
}

// Which values have the first and the last colour of the layer's table; null for pictures and statuses.
export function scaleOf(shown: Layer): Scale | null {
  switch (shown.kind) {
    case "disparity":
    case "rightDisparity":
    case "truth":
      // Both results have the colours of A, so that they can be compared.
      return { ...disparityScale("A"), table: state.view.colours, unit: "px" };
    case "confidence":
      return { low: 0, high: 1, table: state.view.colours, unit: "" };
    case "rowOffset":
      return { low: -longestRowOffset(), high: longestRowOffset(), table: "diverging", unit: "px" };
    case "error":
      return { low: 0, high: state.view.errorLimit, table: "heat", unit: "px" };
    case "residual":
      return { low: 0, high: 64, table: "heat", unit: "gray levels" };
    case "difference":
      return { low: -state.view.differenceLimit, high: state.view.differenceLimit, table: "diverging", unit: "px" };
    default:
      return null;
  }
}

export function tableRow(table: Table): number {
  return tables.indexOf(table);
}

// In metres; null where the calibration or the disparity says nothing.
export function depthOf(disparity: number | null): number | null {
  const calibration = state.server?.calibration;
  if (!calibration || disparity === null) return null;
  const shift = disparity + calibration.doffs;
  return shift > 0 ? (calibration.focal * calibration.baseline) / shift : null;
}
