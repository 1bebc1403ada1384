// SPDX-License-Identifier: Apache-2.0
// The page without a server: its engine is a worker, and its pair comes from the user.
import { find } from "../dom";
import { Pages, showProblem } from "../page";
import type { Message } from "../protocol";
import { Server } from "../protocol";
import { on, receive } from "../state";
import type { Source } from "./engine";
import { Engine } from "./engine";
import { Link } from "./link";
import type { Sample } from "./messages";
import { OpenDialog, sampleOf } from "./open";

// Memory of earlier matches lies between what is free: only another worker has all of it.
function withAdvice(message: Message): Message {
  const error = message.error?.replace(/(the system refused the .* that the match needs):.*/, "$1: reload the page, then try again");
  return error === undefined ? message : { ...message, error };
}

class Browser {
  // First of all: it loads while the page is made.
  readonly engine = new Engine();
  private readonly server = new Server(this.engine.carry, null);
  private readonly link = new Link();
  private shown: Source | null = null;
  // What the engine says while it opens a pair.
  private notices: string[] = [];
  readonly pages: Pages;
  private readonly dialog: OpenDialog;

  constructor() {
    const first = { sample: sampleOf(this.firstSample()) };
    const opening = this.engine.open(first);
    this.pages = new Pages(this.server);
    this.dialog = new OpenDialog((source) => this.show(source, false));
    this.engine.onNotice = (text) => this.notices.push(text);
    this.engine.onLost = (error, isBack) => void this.recover(error, isBack);
    // A page cannot start ffmpeg.
    find("record").hidden = true;
    void this.begin(first, opening).catch(showProblem);
  }

  private firstSample(): Sample["scene"] {
    const { sample } = this.link;
    return sample === "planes" || sample === "dots" ? sample : "layers";
  }

  private async show(source: Source, again: boolean): Promise<void> {
    this.link.keep(again);
    this.notices = [];
    await this.begin(source, this.engine.open(source));
  }

  private async begin(source: Source, opening: ReturnType<Engine["open"]>): Promise<void> {
    const { state, values } = this.link.settings(await opening);
    if (this.shown !== null && "scene" in this.shown && this.shown !== source) this.shown.frames?.close();
    this.shown = source;
    this.link.sample = "sample" in source ? source.sample.scene : null;
    const [left, right = ""] = this.names(source) ?? [state.source.left, state.source.right];
    this.pages.begin({ ...state, source: { ...state.source, left: left!, right } }, values);
    this.pages.resend();
    void this.server.stream((message) => receive(withAdvice(this.named(message)))).catch(showProblem);
    this.pages.announce();
    this.showNotices();
  }

  // Names that the user knows, where files have others here.
  private names(source: Source): string[] | null {
    if ("sample" in source) return [`sample: ${source.sample.scene}`];
    return source.frames?.files.map(({ name }) => name) ?? null;
  }

  // Commands name the videos, and not their frames.
  private named(message: Message): Message {
    const { shown } = this;
    if (!message.commands || shown === null || "sample" in shown || shown.frames === null) return message;
    const { names, files } = shown.frames;
    const quoted = (name: string) => (/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
    let { command_line } = message.commands;
    names.forEach((name, i) => (command_line = command_line.split(name).join(quoted(files[i]!.name))));
    return { ...message, commands: { ...message.commands, command_line } };
  }

  private showNotices(): void {
    const banner = find("banner");
    banner.hidden = this.notices.length === 0;
    banner.classList.toggle("notice", !banner.hidden);
    banner.textContent = this.notices.join("\n");
  }

  // Another worker shows the same.
  private async recover(error: string, isBack: boolean): Promise<void> {
    if (isBack && this.shown !== null) await this.show(this.shown, true).catch(() => this.dialog.showFiles());
    showProblem(error);
  }
}

try {
  const { pages, engine } = new Browser();
  // For tests and for curious engineers.
  Object.assign(window, { parallax: pages, engine });
  // Keeping the files would slow down their first use.
  let isKept = false;
  on(["map", "problem"], () => {
    if (!isKept) void navigator.serviceWorker?.register("offline.js").catch(() => undefined);
    isKept = true;
  });
} catch (error) {
  showProblem(error);
}
