// SPDX-License-Identifier: Apache-2.0
// The committed bundle is that of the sources, loads nothing from elsewhere, and has the library's colours.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "./browser.mjs";

const page = join(repository, "tools/view/page");
const bundle = join(page, "bundle");

// browser/ has what only the page without a server loads.
const filesIn = (top) =>
  ["", "browser"].flatMap((part) => readdirSync(join(top, part)).map((name) => join(part, name))).filter((name) => name !== "browser").sort();

test("rebuilding gives the same bytes", () => {
  const folder = mkdtempSync(join(tmpdir(), "parallax-view-"));
  try {
    execFileSync(process.execPath, [join(page, "build.mjs"), folder]);
    assert.deepEqual(filesIn(folder), filesIn(bundle));
    for (const name of filesIn(folder))
      assert.ok(readFileSync(join(folder, name)).equals(readFileSync(join(bundle, name))), `${name}: run 'npm run build'`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("is small, and three.js is not part of what the page loads first", () => {
  const size = (name) => readFileSync(join(bundle, name)).length;
  const others = ["index.html", "icon.svg", "NOTICE.txt"].map((name) => join("..", name));
  const total = [...filesIn(bundle).filter((name) => !name.startsWith("browser")), ...others].reduce((sum, name) => sum + size(name), 0);
  assert.ok(total < 750000, `${total} bytes`);
  assert.ok(size("view.js") < 100000, `view.js: ${size("view.js")} bytes`);
});

test("the page loads nothing from elsewhere, and has neither styles nor scripts within", () => {
  const html = readFileSync(join(page, "index.html"), "utf8");
  const css = readFileSync(join(bundle, "view.css"), "utf8");
  assert.doesNotMatch(html, /(src|href)="(?!icon\.svg|view\.css|view\.js)/);
  assert.doesNotMatch(html, /style=|<style|\son\w+=|<script(?![^>]*src=)/);
  assert.doesNotMatch(css, /url\(|@import/);
  assert.equal(html.split("TOKEN").length, 2);
});

test("the notice of three.js is kept", () => {
  assert.match(readFileSync(join(bundle, "cloud.js"), "utf8"), /three\.js authors/i);
  assert.match(readFileSync(join(page, "NOTICE.txt"), "utf8"), /MIT License/);
});

test("turbo is that of the library", () => {
  const library = readFileSync(join(repository, "src/formats/colour.cpp"), "utf8").match(/0x[0-9A-F]{6}(?=[,}\s])/g);
  const table = library.map((shade) => shade.slice(2)).join("");
  const own = readFileSync(join(page, "colours.ts"), "utf8").match(/const turbo =([^;]*);/)[1].match(/[0-9A-F]{6,}/g).join("");
  assert.equal(own, table);
});
