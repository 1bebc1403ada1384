// SPDX-License-Identifier: Apache-2.0
// The check of the pair: whether its rows line up, with the rows off drawn over the pictures.
import { find, fixed, make, words } from "./dom";
import type { CheckReport, Server } from "./protocol";
import { on, state, tell } from "./state";

const modelUnits: Record<string, string> = { rotation_degrees: "°", scale_ratio: "", shear_degrees: "°" };

function rows(report: CheckReport): HTMLElement[] {
  const row = (name: string, value: string) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value));
  const { rows_off = {}, model = {}, disparities } = report;
  const found = [
    row("Points compared", String(rows_off.points ?? "–")),
    row("Rows off, median", `${fixed(rows_off.median, 3)} px`),
    row("Rows off, 95 % below", `${fixed(rows_off["95"], 3)} px`),
  ];
  for (const [name, unit] of Object.entries(modelUnits))
    if (typeof model[name] === "number") found.push(row(words(name.replace(/_degrees|_ratio/, "")), fixed(model[name], 5) + unit));
  if (disparities) found.push(row("Disparities found", `${fixed(disparities.lowest, 1)} to ${fixed(disparities.highest, 1)} px`));
  return found;
}

export class Check {
  private readonly button = find<HTMLButtonElement>("check-run");
  private readonly box = find("check-result");

  constructor(private readonly server: Server) {
    this.button.addEventListener("click", () => void this.run());
    on("check", () => this.show());
  }

  async run(): Promise<void> {
    this.button.disabled = true;
    this.box.replaceChildren(make("p", { class: "hint" }, "Comparing corners of both pictures…"));
    try {
      state.check = await this.server.check();
      tell("check");
      tell("view");
    } catch (error) {
      this.box.replaceChildren(make("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    }
    this.button.disabled = false;
  }

  private show(): void {
    const report = state.check;
    if (report === null) return this.box.replaceChildren();
    const shown = make("input", { id: "rows-off", type: "checkbox" });
    shown.checked = state.view.rowsOff;
    shown.addEventListener("change", () => {
      state.view.rowsOff = shown.checked;
      tell("view");
    });
    const key = [
      ["good", "up to ¼ px"],
      ["fair", "up to ½ px"],
      ["poor", "more"],
    ].map(([kind, text]) => make("li", {}, make("i", { class: `swatch ${kind}` }), text!));
    this.box.replaceChildren(
      make("p", { class: report.fit ? "verdict fit" : "verdict unfit" }, report.sentence),
      ...(report.remarks ?? []).map((remark) => make("p", { class: "remark" }, typeof remark === "string" ? remark : JSON.stringify(remark))),
      make("table", { class: "figures" }, make("tbody", {}, ...rows(report))),
      make("label", { class: "check-row", for: "rows-off" }, shown, "Draw the rows off over the pictures, 40 times as long"),
      make("ul", { class: "statuses" }, ...key),
    );
  }
}
