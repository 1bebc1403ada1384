// SPDX-License-Identifier: Apache-2.0
// The page: puts its parts together.
import { Check } from "./check";
import { CloudView } from "./cloud_view";
import { Figures } from "./compare";
import { Curve } from "./curve";
import { find } from "./dom";
import { listenToKeys } from "./keys";
import { Matching, presetValues } from "./matching";
import { Overlay } from "./overlay";
import { Panel } from "./panel";
import { PictureView } from "./picture_view";
import { Player } from "./player";
import type { Server, ServerState, Values } from "./protocol";
import { Readout } from "./readout";
import { Scales } from "./scale";
import { Share } from "./share";
import { on, reset, state, tell } from "./state";
import { Theme } from "./theme";
import { Toolbar } from "./toolbar";
import { Wanted } from "./wanted";

type Tab = "picture" | "cloud";

const fileName = (path: string): string => path.split(/[\\/]/).at(-1)!;

export class Pages {
  readonly theme = new Theme();
  readonly matching: Matching;
  readonly view: PictureView;
  readonly overlay: Overlay;
  readonly toolbar: Toolbar;
  readonly panel: Panel;
  readonly player: Player;
  readonly cloud = new CloudView();
  readonly readout: Readout;
  readonly scales = new Scales();
  readonly figures = new Figures();
  readonly curve: Curve;
  readonly check: Check;
  readonly share: Share;
  readonly wanted: Wanted;
  readonly state = state;

  // `server` is for tests and for curious engineers.
  constructor(readonly server: Server) {
    this.matching = new Matching(server);
    this.view = new PictureView(find<HTMLCanvasElement>("pixels"), server);
    this.overlay = new Overlay(this.view);
    this.toolbar = new Toolbar(this.view);
    this.panel = new Panel(this.matching);
    this.player = new Player(server);
    this.readout = new Readout(server);
    this.curve = new Curve(server);
    this.check = new Check(server);
    this.share = new Share(server, () => this.viewPicture());
    this.wanted = new Wanted(server);
    on("pictures", () => this.view.picturesChanged());
    on("map-A", () => this.view.mapChanged("A"));
    on("map-B", () => this.view.mapChanged("B"));
    on("view", () => this.view.draw());
    on("pictures", () => (find("waiting").hidden = true));
    for (const tab of ["picture", "cloud"] as const)
      find(`tab-${tab}`).addEventListener("click", () => this.showTab(tab));
    this.listenToDialogs();
    listenToKeys(this);
  }

  get cloudShown(): boolean {
    return this.cloud.shown;
  }

  showTab(tab: Tab): void {
    find("picture").hidden = tab !== "picture";
    find("cloud").hidden = tab !== "cloud";
    for (const one of ["picture", "cloud"] as const) {
      find(`tab-${one}`).setAttribute("aria-selected", String(one === tab));
      find(`tab-${one}`).tabIndex = one === tab ? 0 : -1;
    }
    if (tab === "cloud") void this.cloud.show();
    else this.view.layoutChanged();
  }

  // A server that was started again knows nothing of this page.
  resend(): void {
    this.matching.resend();
    this.wanted.resend();
  }

  private viewPicture(): Promise<Blob | null> {
    return this.cloudShown ? this.cloud.current!.picture() : this.view.picture();
  }

  // Takes what a server first says of its scene: settings to begin with, but for `changed` ones. announce() shows it.
  begin(found: ServerState, changed: Values = {}): void {
    // The first pictures may be here before.
    if (state.server !== null) reset();
    state.server = found;
    const { start } = found;
    const method = found.methods.find(({ name }) => name === start.method) ?? found.methods[0]!;
    const preset = start.preset ?? method.presets[0]!.name;
    const values = { ...presetValues(method, preset), ...start.values, ...changed };
    const { device, threads, temporal } = start;
    Object.assign(state.results.A, { preset, settings: { method: method.name, device, threads, temporal, values } });
    if (found.stored_map) {
      Object.assign(state.results.B, { preset: "", settings: { method: "", device, threads, temporal, values: {} } });
      Object.assign(state.view, { first: "disparity-A", second: "disparity-B" });
    }
  }

  // Takes longer than asking for a map.
  announce(): void {
    const found = state.server!;
    const { left, right } = found.source;
    const names = [left, right].filter(Boolean);
    find("source").textContent = names.map(fileName).join(" · ");
    find("source").title = names.join("\n");
    document.title = `${fileName(left)} – Parallax`;
    find("version").textContent = found.version;
    for (const topic of ["server", "edited", "settings", "map-A", "map-B", "map", "check", "problem", "view"] as const) tell(topic);
  }

  private listenToDialogs(): void {
    const help = find<HTMLDialogElement>("help");
    find("help-open").addEventListener("click", () => help.showModal());
    find("help-close").addEventListener("click", () => help.close());
    find("sheet").addEventListener("click", () => {
      const small = document.body.classList.toggle("sheet-small");
      find("sheet").setAttribute("aria-expanded", String(!small));
    });
    // Tabs follow the arrow keys, as tabs do.
    find("tabs").addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      const tab = this.cloudShown ? "picture" : "cloud";
      this.showTab(tab);
      find(`tab-${tab}`).focus();
    });
  }
}

export function showProblem(error: unknown): void {
  const banner = find("banner");
  banner.classList.remove("notice");
  banner.textContent = error instanceof Error ? error.message : String(error);
  banner.hidden = false;
}
