// SPDX-License-Identifier: Apache-2.0
// Taking work away: the settings as a command line, Python or C++, and files of the map.
import { find, make, save } from "./dom";
import { comparing } from "./layers";
import type { Server } from "./protocol";
import { on, state } from "./state";

const languages = [
  ["command_line", "Command line"],
  ["python", "Python"],
  ["cpp", "C++"],
] as const;

type Language = (typeof languages)[number][0];

const files: { name: string; help: string; metres?: boolean }[] = [
  { name: "disparity.pfm", help: "Disparity map, float" },
  { name: "disparity.png", help: "Disparity map, 16 bits: 256 times the disparity" },
  { name: "disparity.tiff", help: "Disparity map, float" },
  { name: "colours.png", help: "Coloured picture of the disparities" },
  { name: "depth.png", help: "Depth in millimetres, 16 bits", metres: true },
  { name: "depth.tiff", help: "Depth in metres, float", metres: true },
  { name: "cloud.ply", help: "Point cloud", metres: true },
  { name: "cloud.pcd", help: "Point cloud", metres: true },
  { name: "mesh.ply", help: "Surface of triangles", metres: true },
];

const viewFile = "view.png";

export class Share {
  private language: Language = "command_line";
  private readonly code = find("code");
  private readonly said = find("said");

  constructor(
    private readonly server: Server,
    private readonly viewPicture: () => Promise<Blob | null>,
  ) {
    this.buildLanguages();
    find("copy").addEventListener("click", () => void this.copy());
    find("export").addEventListener("click", () => void this.export());
    on(["map", "edited"], () => this.show());
    on("server", () => this.buildFiles());
  }

  private buildLanguages(): void {
    const buttons = languages.map(([language, name]) =>
      make("button", {
        type: "button",
        "aria-pressed": String(language === this.language),
        click: () => {
          this.language = language;
          [...buttons].forEach((button, i) => button.setAttribute("aria-pressed", String(languages[i]![0] === language)));
          this.show();
        },
      }, name),
    );
    find("languages").replaceChildren(...buttons);
  }

  private buildFiles(): void {
    const metric = state.server?.calibration != null;
    const options = files
      .filter(({ metres }) => metric || !metres)
      .map(({ name, help }) => make("option", { value: name }, `${name} – ${help}`));
    const view = make("option", { value: viewFile }, `${viewFile} – What the view shows`);
    find("file").replaceChildren(...options, view);
  }

  private show(): void {
    const { map } = state.results[state.edited];
    const text = map?.commands?.[this.language] ?? "";
    if (this.code.textContent !== text) this.code.textContent = text;
  }

  private say(text: string): void {
    this.said.textContent = text;
    setTimeout(() => this.said.textContent === text && (this.said.textContent = ""), 4000);
  }

  async copy(): Promise<void> {
    const name = languages.find(([language]) => language === this.language)![1];
    try {
      await navigator.clipboard.writeText(this.code.textContent ?? "");
      this.say(`Copied as ${name}.`);
    } catch {
      getSelection()?.selectAllChildren(this.code);
      this.say("The browser did not let the page copy; the text is selected.");
    }
  }

  private async export(): Promise<void> {
    const name = find<HTMLSelectElement>("file").value;
    const button = find<HTMLButtonElement>("export");
    button.disabled = true;
    this.say(`Writing ${name}…`);
    try {
      const blob = name === viewFile ? await this.viewPicture() : await this.server.export(state.edited, name);
      if (blob === null) throw new Error("The browser made no picture of the view.");
      const prefix = comparing() && name !== viewFile ? `${state.edited}-` : "";
      save(blob, prefix + name);
      this.say(`Saved ${prefix}${name}.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
    button.disabled = false;
  }
}
