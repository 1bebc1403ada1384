// SPDX-License-Identifier: Apache-2.0
// Light, dark, or as the system has it.
import { find } from "./dom";
import { tell } from "./state";

const themes = ["auto", "light", "dark"] as const;
type ThemeName = (typeof themes)[number];
const names: Record<ThemeName, string> = { auto: "as the system", light: "light", dark: "dark" };

// A browser may refuse it, as to the frame of a notebook.
function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

export class Theme {
  private readonly button = find<HTMLButtonElement>("theme");
  private now: ThemeName = "auto";

  constructor() {
    const stored = storage()?.getItem("theme");
    this.set(themes.find((theme) => theme === stored) ?? "auto");
    this.button.addEventListener("click", () => this.next());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tell("theme"));
  }

  next(): void {
    this.set(themes[(themes.indexOf(this.now) + 1) % themes.length]!);
  }

  private set(theme: ThemeName): void {
    this.now = theme;
    storage()?.setItem("theme", theme);
    document.documentElement.dataset.theme = theme;
    this.button.title = `Colours of the page: ${names[theme]} (T)`;
    this.button.setAttribute("aria-label", `Colours of the page: ${names[theme]}`);
    tell("theme");
  }
}
