// SPDX-License-Identifier: Apache-2.0
// Choosing what to look at: files that are dropped on the page or chosen, and samples.
import { find, make, words } from "../dom";
import type { Source } from "./engine";
import type { Choices, Given, Role } from "./files";
import { filesOf, isView, mayHoldBoth, roles, sourceOf, withRoles } from "./files";
import type { Sample } from "./messages";

export const sampleOf = (scene: Sample["scene"]): Sample => ({ scene, width: 450, height: 375, disparities: 64, seed: 1 });
const samples: { scene: Sample["scene"]; help: string }[] = [
  { scene: "layers", help: "Discs at different depths, with occlusions" },
  { scene: "planes", help: "Slanted planes with smooth texture" },
  { scene: "dots", help: "Random dots" },
];
const noChoices = (): Choices => ({ layout: "", rectify: false });

// What the engine says in the words of the command line, for somebody who has a dialog.
function inWordsOfPage(text: string): string {
  const said = text
    .replace(/give it with --rig/, "tick “The pictures are not rectified”")
    .replace(/give --exchange[^,.]*/, "exchange the left and the right picture");
  return /--[a-z]/.test(said) ? `${said} (This page does not have all options: use ‘parallax view’.)` : said;
}

export class OpenDialog {
  private given: Given[] = [];
  private choices = noChoices();
  // Whether the page shows these files.
  private isShown = false;
  private readonly list = make("div", { class: "files" });
  private readonly more = make("div", { class: "files" });
  private readonly problem = make("p", { class: "problem", role: "alert", hidden: true });
  private readonly input = make("input", { id: "files-input", type: "file", multiple: true, class: "hidden" });
  private readonly openButton = make("button", { type: "button", class: "main", disabled: true, click: () => void this.open() }, "Open");
  private readonly dialog: HTMLDialogElement;

  // `show` throws what is wrong with a source, in words for the user.
  constructor(private readonly show: (source: Source) => Promise<void>) {
    this.input.addEventListener("change", () => this.take([...this.input.files!]));
    this.dialog = this.build();
    document.body.append(this.dialog);
    find("theme").before(make("button", { id: "open", type: "button", click: () => this.showFiles() }, "Open…"));
    find("help-close").before(make("p", {}, "Drop a stereo pair on the page, or choose one with “Open…”."));
    this.listenToDrops();
  }

  private build(): HTMLDialogElement {
    return make(
      "dialog",
      { id: "open-dialog", "aria-labelledby": "open-title" },
      make("h2", { id: "open-title" }, "Open a stereo pair"),
      make("p", {}, "Drop files anywhere on the page: a left and a right picture or video, or one with both views side by side; a calibration and the ground truth, if there are any. Nothing leaves this computer."),
      make("p", {}, this.input, make("label", { for: "files-input", class: "button" }, "Choose files…")),
      this.list,
      this.more,
      this.problem,
      make("div", { class: "buttons" }, this.openButton, make("button", { type: "button", click: () => this.dialog.close() }, "Close")),
      make("h3", {}, "Samples"),
      make(
        "div",
        { class: "buttons" },
        ...samples.map(({ scene, help }) =>
          make("button", { type: "button", title: help, "data-sample": scene, click: () => void this.openSample(scene) }, words(scene)),
        ),
      ),
    );
  }

  private listenToDrops(): void {
    const shade = make("div", { id: "drop", hidden: true }, "Drop a stereo pair");
    document.body.append(shade);
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      shade.hidden = false;
    });
    addEventListener("dragleave", (event) => event.relatedTarget === null && (shade.hidden = true));
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      shade.hidden = true;
      void this.drop(event.dataTransfer!);
    });
  }

  // Opens a pair at once. One view alone may be waiting for the other one.
  private async drop(data: DataTransfer): Promise<void> {
    this.take(await filesOf(data));
    const both = this.given.find(({ role }) => role === "both views");
    if (both && !(await mayHoldBoth(both.file))) this.showFiles();
    else await this.open();
  }

  // Adds files: the second view, a calibration or the truth. A new pair replaces everything.
  private take(files: File[]): void {
    const views = this.given.filter(isView);
    const brought = withRoles(files, views.length > 0);
    const newViews = brought.filter(isView);
    const [one] = views;
    const [other] = newViews;
    if (one && other && views.length === 1 && newViews.length === 1 && !this.isShown) {
      const pair = withRoles([one.file, other.file]);
      for (const view of [one, other]) view.role = pair.find(({ file }) => file === view.file)!.role;
    } else if (newViews.length > 0) {
      this.given = [];
      this.choices = noChoices();
    }
    if (brought.some(({ role }) => role === "ground truth"))
      for (const earlier of this.given) if (earlier.role === "ground truth") earlier.role = "not used";
    this.given.push(...brought);
    this.isShown = false;
    this.input.value = "";
    this.problem.hidden = true;
    this.fill();
  }

  private fill(): void {
    const role = (one: Given) => {
      const select = make("select", { "aria-label": `What ${one.file.name} is` }, ...roles.map((name) => make("option", { value: name }, words(name))));
      select.value = one.role;
      select.addEventListener("change", () => {
        one.role = select.value as Role;
        this.isShown = false;
        this.fillMore();
      });
      return make("div", { class: "choice-row" }, make("span", { class: "file-name", title: one.file.name }, one.file.name), select);
    };
    this.list.replaceChildren(...this.given.map(role));
    this.fillMore();
  }

  // What depends on the roles.
  private fillMore(): void {
    const has = (wanted: Role) => this.given.some((one) => one.role === wanted);
    this.more.replaceChildren(...(has("both views") ? [this.layout()] : []), ...(has("calibration") ? [this.rectify()] : []));
    this.openButton.disabled = this.given.length === 0;
  }

  private layout(): HTMLElement {
    const layouts = [["", "As the file says, or side by side"], ["side-by-side"], ["right-left"], ["top-bottom"], ["bottom-top"]] as const;
    const select = make("select", { id: "layout" }, ...layouts.map(([value, text]) => make("option", { value }, text ?? words(value))));
    select.value = this.choices.layout;
    select.addEventListener("change", () => (this.choices.layout = select.value as Choices["layout"]));
    return make("div", { class: "choice-row" }, make("label", { for: "layout" }, "Layout of the views"), select);
  }

  private rectify(): HTMLElement {
    const box = make("input", { id: "rectify", type: "checkbox" });
    box.checked = this.choices.rectify;
    box.addEventListener("change", () => (this.choices.rectify = box.checked));
    return make("label", { class: "check-row", for: "rectify" }, box, "The pictures are not rectified: use the calibration for that");
  }

  showFiles(): void {
    this.problem.hidden = true;
    if (!this.dialog.open) this.dialog.showModal();
  }

  // In the dialog, where the files can be given other roles.
  private complain(error: unknown): void {
    this.showFiles();
    this.problem.textContent = inWordsOfPage(error instanceof Error ? error.message : String(error));
    this.problem.hidden = false;
  }

  private async open(): Promise<void> {
    this.problem.hidden = true;
    this.openButton.disabled = true;
    this.openButton.textContent = "Opening…";
    try {
      await this.show(await sourceOf(this.given, this.choices));
      this.isShown = true;
      this.dialog.close();
    } catch (error) {
      this.complain(error);
    }
    this.openButton.textContent = "Open";
    this.openButton.disabled = this.given.length === 0;
  }

  private async openSample(scene: Sample["scene"]): Promise<void> {
    try {
      await this.show({ sample: sampleOf(scene) });
      this.given = [];
      this.fill();
      this.dialog.close();
    } catch (error) {
      this.complain(error);
    }
  }
}
