// SPDX-License-Identifier: Apache-2.0
// The package in Chromium, in pages that are isolated and that are not.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, repository } from "../view/browser.mjs";
import { serve } from "./file_server.mjs";

const command = process.env.PARALLAX_COMMAND ?? join(repository, "build/developer/parallax");
const packageFolder = join(repository, "build/javascript/parallax-stereo");
const { Engine } = await import(join(packageFolder, "index.js"));
const readme = readFileSync(join(repository, "javascript/README.md"), "utf8");
const pages = { "/page.html": readme.match(/```html\n([^]*?)```/)[1], "/empty.html": "<!doctype html>" };

let folder;
let browser;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "parallax-page-"));
  execFileSync(command, ["synth", "pair", "--size", "320x240", "--disparities", "48"], { cwd: folder });
  for (const side of ["left", "right"]) symlinkSync(join(folder, "pair", `${side}.png`), join(folder, `${side}.png`));
  symlinkSync(join(packageFolder, ".."), join(folder, "node_modules"));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

// `expected`: problems that are none.
async function withPage(options, path, work, expected = /^$/) {
  const server = await serve(folder, { pages, ...options });
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && !/favicon/.test(message.location().url) && problems.push(message.text()));
  try {
    await page.goto(server.address + path);
    await work(page, server);
    assert.deepEqual(problems.filter((problem) => !expected.test(problem)), []);
  } finally {
    await page.close();
    server.close();
  }
}

for (const isolated of [true, false]) {
  const where = isolated ? "an isolated page" : "a page that is not isolated";

  test(`the README's page shows a map: ${where}`, () =>
    withPage({ isolated }, "/page.html", async (page) => {
      await page.waitForFunction(() => document.getElementById("map").width === 320);
      const share = await page.evaluate(() => {
        const { data } = document.getElementById("map").getContext("2d").getImageData(0, 0, 320, 240);
        let coloured = 0;
        for (let i = 0; i < data.length; i += 4) coloured += Math.max(data[i], data[i + 1], data[i + 2]) > 60;
        return coloured / (320 * 240);
      });
      assert.ok(share > 0.9, String(share));
    }));

  test(`maps are those of Node, bit by bit: ${where}`, async () => {
    const engine = new Engine();
    const request = { width: 160, height: 96, disparities: 20, seed: 3 };
    const { left, right } = await engine.synthesize(request);
    const sha = (...arrays) => arrays.reduce((hash, array) => hash.update(array), createHash("sha256")).digest("hex");
    await withPage({ isolated }, "/empty.html", async (page) => {
      const verdict = await page.evaluate(async (what) => {
        const px = await import("/node_modules/parallax-stereo/index.js");
        window.engine = new px.Engine({ threads: 2 });
        const pair = await window.engine.synthesize(what);
        return (await window.engine.check(pair.left, pair.right)).verdict;
      }, request);
      assert.equal(verdict, "fit");
      for (const method of ["block", "bp", "census", "planes", "sgm", "tiled-bp"]) {
        const expected = await engine.match(left, right, { method, disparities: 24 });
        const found = await page.evaluate(
          async ([what, name]) => {
            const pair = await window.engine.synthesize(what);
            const map = await window.engine.match(pair.left, pair.right, { method: name, disparities: 24 });
            const bytes = new Uint8Array([...new Uint8Array(map.disparity.buffer), ...map.status]);
            const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
            return {
              hash: [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
              started: await window.engine.start(),
            };
          },
          [request, method],
        );
        assert.equal(found.hash, sha(Buffer.from(expected.disparity.buffer), expected.status), method);
        assert.deepEqual([found.started.variant, found.started.threads], ["parallax", isolated ? 2 : 1]);
      }
    });
    engine.close();
  });
}

test("a bitmap, an error and a signal", () =>
  withPage({ isolated: true }, "/empty.html", async (page) => {
    const found = await page.evaluate(async () => {
      const { Engine } = await import("/node_modules/parallax-stereo/index.js");
      const engine = new Engine();
      const load = async (url) => createImageBitmap(await (await fetch(url)).blob());
      const [left, right] = [await load("/left.png"), await load("/right.png")];
      const map = await engine.match(left, right, { method: "census", disparities: 48 });
      const failure = await engine.match(left, right, { method: "best" }).catch((error) => `${error.name}: ${error.message}`);
      const controller = new AbortController();
      const large = await engine.synthesize({ width: 1280, height: 720, disparities: 128 });
      const match = engine.match(large.left, large.right, { method: "bp", disparities: 128, signal: controller.signal });
      setTimeout(() => controller.abort(), 50);
      const aborted = await match.catch((error) => error.name);
      const again = await engine.match(left, right, { method: "census", disparities: 48 });
      return { width: map.width, failure, aborted, same: map.disparity.every((value, i) => value === again.disparity[i]) };
    });
    assert.match(found.failure, /^ParallaxError: method is best: choose one of block, /);
    assert.deepEqual([found.width, found.aborted, found.same], [320, "AbortError", true]);
  }));

test("a file that is missing is named", () =>
  withPage({ pages: { "/empty.html": "", "/engine/library.js": "", "/engine/loader.js": "", "/engine/worker.js": readFileSync(join(packageFolder, "engine/worker.js")) } }, "/empty.html",
    async (page) => {
      const message = await page.evaluate(async () => {
        const { Engine } = await import("/node_modules/parallax-stereo/index.js");
        const start = (url) => new Engine({ url }).start().catch((error) => `${error.code}: ${error.message}`);
        return [await start("/nowhere/worker.js"), await start("/engine/worker.js")];
      });
      assert.match(message[0], /^file: cannot load \/nowhere\/worker.js \(.*\): serve the folder engine /);
      assert.match(message[1], /^file: cannot load \/engine\/worker.js /);
    }, /404/));

test("a strict policy suffices, and nothing is loaded but the package", () =>
  withPage({ policy: "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'" }, "/page.html", async (page, server) => {
    await page.waitForFunction(() => document.getElementById("map").width === 320);
    const own = ["/page.html", "/left.png", "/right.png", "/favicon.ico", "index.js", "worker.js", "library.js", "loader.js", "parallax.js", "parallax.wasm"];
    const others = server.asked.filter((path) => !own.some((name) => path === name || path.endsWith(`/${name}`)));
    assert.deepEqual(others, []);
  }));
