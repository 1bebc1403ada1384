// SPDX-License-Identifier: Apache-2.0
// The page without a server: its engine is a worker, and its pair comes from the user.
import { Pages, showProblem } from "../page";
import { find } from "../dom";
import { Server } from "../protocol";
import { on, receive } from "../state";
import type { Source } from "./engine";
import { Engine } from "./engine";
import { Link } from "./link";
import type { Sample } from "./messages";
import { OpenDialog, sampleOf } from "./open";

class Browser {
  // First of all: it loads while the page is made.
  readonly engine = new Engine();
  private readonly server = new Server(this.engine.carry, null);
  private readonly link = new Link();
  private shown: Source | null = null;
  readonly pages: Pages;
  private readonly dialog: OpenDialog;

  constructor() {
    const first = this.engine.open({ sample: sampleOf(this.firstSample()) });
    this.pages = new Pages(this.server);
    this.dialog = new OpenDialog((source) => this.show(source));
    this.engine.onNotice = (text) => this.tell(text);
    this.engine.onLost = (error) => void this.recover(error);
    void this.begin({ sample: sampleOf(this.firstSample()) }, first).catch((error: unknown) => this.tell(error));
  }

  private firstSample(): Sample["scene"] {
    const { sample } = this.link;
    return sample === "planes" || sample === "dots" ? sample : "layers";
  }

  private async show(source: Source): Promise<void> {
    this.link.keep();
    await this.begin(source, this.engine.open(source));
  }

  private async begin(source: Source, opening: ReturnType<Engine["open"]>): Promise<void> {
    const state = this.link.apply(await opening);
    if (this.shown !== null && "scene" in this.shown && this.shown !== source) this.shown.frames?.close();
    this.shown = source;
    this.link.sample = "sample" in source ? source.sample.scene : null;
    find("banner").hidden = true;
    this.pages.begin("sample" in source ? { ...state, source: { ...state.source, left: `sample: ${source.sample.scene}`, right: "" } } : state);
    this.pages.resend();
    void this.server.stream(receive).catch((error: unknown) => this.tell(error));
    this.pages.announce();
  }

  private tell(what: unknown): void {
    showProblem(what);
  }

  // Another worker shows the same with the settings that are there.
  private async recover(error: string): Promise<void> {
    if (this.shown !== null) await this.show(this.shown).catch(() => this.dialog.showFiles());
    this.tell(error);
  }
}

try {
  const { pages, engine } = new Browser();
  // For tests and for curious engineers.
  Object.assign(window, { parallax: pages, engine });
  // Keeping the files would slow down their first use.
  let registered = false;
  on("map", () => {
    if (!registered) void navigator.serviceWorker?.register("offline.js").catch(() => undefined);
    registered = true;
  });
} catch (error) {
  showProblem(error);
}
