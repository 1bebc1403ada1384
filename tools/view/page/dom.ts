// SPDX-License-Identifier: Apache-2.0
// Elements of the page in few words.

type Child = Node | string | null | false;
type Attributes = Record<string, string | number | boolean | null | ((event: never) => void)>;

// Makes an element: functions become listeners, true an attribute without a value; false and null leave one out.
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== false));
  return element;
}

export function find<T extends Element = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as unknown as T;
}

// Calls `work` once before the next picture of the screen, however often it is asked for until then.
export function oncePerFrame(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

// Writing a text that is there already would make the browser lay out and draw again.
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

// "left_right_check" → "Left right check"
export function words(name: string): string {
  const text = name.replace(/[_-]/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  // Never "-0.00", and a minus as long as a plus.
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

// With three digits that matter: 0.0123, 1.23, 12.3, 123.
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return String(Number(value.toFixed(Math.min(digits, 6))));
}

export function milliseconds(value: number): string {
  return value >= 10000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(value < 100 ? 1 : 0)} ms`;
}

export function bytes(value: number): string {
  return value >= 1e9 ? `${(value / 1e9).toFixed(2)} GB` : `${(value / 1e6).toFixed(value < 1e7 ? 1 : 0)} MB`;
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`;
}

export function save(blob: Blob, name: string): void {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
