// SPDX-License-Identifier: Apache-2.0
// Keys: those of the picture while it has the focus, and single letters anywhere but in fields.
import { find } from "./dom";
import type { Pages } from "./page";
import { setCursor } from "./picture_view";
import { state, tell } from "./state";

const moves: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function moveCursor(page: Pages, dx: number, dy: number): void {
  const { size } = state.pictures!;
  const now = state.cursor ?? { x: size.width >> 1, y: size.height >> 1 };
  const x = Math.min(Math.max(now.x + dx, 0), size.width - 1);
  const y = Math.min(Math.max(now.y + dy, 0), size.height - 1);
  setCursor(x, y);
  page.view.viewport.reveal(x, y);
  tell("view");
}

// Towards the cursor, where there is one.
function zoom(page: Pages, factor: number): void {
  const { viewport } = page.view;
  const at = state.cursor && viewport.toPane(state.cursor.x + 0.5, state.cursor.y + 0.5);
  viewport.zoomAt(factor, at?.x, at?.y);
  tell("view");
}

function pictureKey(page: Pages, event: KeyboardEvent): boolean {
  const move = moves[event.key];
  if (state.pictures === null) return false;
  if (move && event.shiftKey) {
    page.view.viewport.pan(-80 * move[0], -80 * move[1]);
    tell("view");
  } else if (move) moveCursor(page, move[0], move[1]);
  else if (event.key === "PageUp") moveCursor(page, 0, -20);
  else if (event.key === "PageDown") moveCursor(page, 0, 20);
  else if (event.key === "Home") moveCursor(page, -20, 0);
  else if (event.key === "End") moveCursor(page, 20, 0);
  else if (event.key === "Escape") setCursor(-1, -1);
  else return false;
  return true;
}

function letters(page: Pages): Record<string, () => void> {
  return {
    "1": () => page.toolbar.combine("single"),
    "2": () => page.toolbar.combine("wipe"),
    "3": () => page.toolbar.combine("side"),
    "4": () => page.toolbar.combine("blend"),
    "5": () => page.toolbar.combine("blink"),
    "+": () => zoom(page, 1.25),
    "=": () => zoom(page, 1.25),
    "-": () => zoom(page, 1 / 1.25),
    "0": () => page.toolbar.fit(),
    f: () => zoom(page, 1 / page.view.viewport.zoom),
    x: () => page.toolbar.swap(),
    c: () => page.showTab(page.cloudShown ? "picture" : "cloud"),
    b: () => page.panel.compare(state.results.B.settings === null),
    " ": () => page.player.toggle(),
    ",": () => page.player.step(-1),
    ".": () => page.player.step(1),
    t: () => page.theme.next(),
    "?": () => find<HTMLDialogElement>("help").showModal(),
  };
}

// Where letters are text, and keys belong to the control.
function takesKeys(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest("dialog")) return true;
  if (target.matches("select, textarea, input:not([type=range], [type=checkbox])")) return true;
  return key === " " && target.matches("button, input, summary, a");
}

export function listenToKeys(page: Pages): void {
  const table = letters(page);
  page.view.canvas.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && pictureKey(page, event)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = table[event.key];
    if (act === undefined || takesKeys(event.target, event.key)) return;
    event.preventDefault();
    act();
  });
}
