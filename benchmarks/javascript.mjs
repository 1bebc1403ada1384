// SPDX-License-Identifier: Apache-2.0
// The tables of docs/measurements/browser.md: times in Chromium, with threads and without, beside those of the command line on
// this machine; the first map after a page is opened; memory and sizes. Medians of nine matches of a synthetic pair.
//
//   scripts/wasm.sh && cmake --build --preset developer && node benchmarks/javascript.mjs
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { launch, repository } from "../tests/view/browser.mjs";
import { serve } from "../tests/javascript/file_server.mjs";

const command = process.env.PARALLAX_COMMAND ?? join(repository, "build/developer/parallax");
const packageFolder = join(repository, "build/javascript/parallax-stereo");
const methods = ["block", "census", "sgm", "bp", "tiled-bp", "planes"];
const folder = mkdtempSync(join(tmpdir(), "parallax-benchmark-"));
symlinkSync(join(packageFolder, ".."), join(folder, "node_modules"));
const synth = (name, size, disparities) =>
  execFileSync(command, ["synth", name, "--size", size, "--disparities", String(disparities)], { cwd: folder });
synth("pair", "640x480", 64);
synth("small", "450x375", 64);
const milliseconds = (value) => (value < 100 ? value.toFixed(1) : value.toFixed(0));

function native(method, threads) {
  const words = ["match", "pair/left.png", "pair/right.png", "--method", method, "--device", "cpu", "--threads", String(threads),
    "--disparities", "64", "--rows", "given", "--repeat", "9", "--json", "-o", "map.pfm"];
  return JSON.parse(execFileSync(command, words, { cwd: folder })).milliseconds.match;
}

const browser = await launch();
const pages = {
  "/empty.html": "<!doctype html>",
  "/first.html": `<!doctype html><script type="module">
    import { match } from "/node_modules/parallax-stereo/index.js";
    const load = async (url) => createImageBitmap(await (await fetch(url)).blob());
    await match(await load("small/left.png"), await load("small/right.png"), { method: "sgm", disparities: 64 });
    document.title = String(performance.now());
  </script>`,
};

// Calls work(page) in pages that are isolated, or not.
async function inPage(isolated, path, work) {
  const server = await serve(folder, { isolated, pages });
  const page = await browser.newPage();
  await page.goto(server.address + path);
  const result = await work(page);
  await page.close();
  server.close();
  return result;
}

const times = (isolated, method, variant) =>
  inPage(isolated, "/empty.html", (page) =>
    page.evaluate(
      async ([name, which]) => {
        const { Engine } = await import("/node_modules/parallax-stereo/index.js");
        const engine = new Engine({ variant: which });
        const { left, right } = await engine.synthesize({ width: 640, height: 480, disparities: 64 });
        const found = [];
        for (let run = 0; run < 12; ++run) {
          const begin = performance.now();
          await engine.match(left, right, { method: name, disparities: 64 });
          found.push(performance.now() - begin);
        }
        return found.slice(3).sort((a, b) => a - b)[4];
      },
      [method, variant],
    ),
  );

console.log("| method | native, 2 threads, ms | Chromium, 2 threads | ratio | native, 1 thread | Chromium, 1 thread | ratio | without vectors |");
console.log("| --- | --- | --- | --- | --- | --- | --- | --- |");
for (const method of methods) {
  const cells = [];
  for (const threads of [2, 1]) {
    const here = native(method, threads);
    const there = await times(threads === 2, method);
    cells.push(milliseconds(here), milliseconds(there), (there / here).toFixed(1));
  }
  cells.push(milliseconds(await times(false, method, "parallax-scalar")));
  console.log(`| \`${method}\` | ${cells.join(" | ")} |`);
}

const first = async (isolated) => {
  const runs = [];
  for (let run = 0; run < 5; ++run)
    runs.push(
      await inPage(isolated, "/first.html", async (page) => {
        await page.waitForFunction(() => Number(document.title) > 0);
        return Number(await page.title());
      }),
    );
  return runs.sort((a, b) => a - b)[2];
};
console.log(`\nFirst map of a page, sgm, 450×375×64: ${milliseconds(await first(true))} ms isolated, ${milliseconds(await first(false))} ms not`);

// The viewer's page: from the navigation to its first map, of a sample of 450×375 pixels.
async function firstMapOfViewer(isolated) {
  const runs = [];
  for (let run = 0; run < 5; ++run) {
    const server = await serve(join(packageFolder, "../page"), { isolated });
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${server.address}/index.html`);
    runs.push(await page.evaluate(async () => {
      while (!(window.parallax?.view.mapsDrawn > 0)) await new Promise(requestAnimationFrame);
      return performance.now();
    }));
    await page.context().close();
    server.close();
  }
  return runs.sort((a, b) => a - b)[2];
}
console.log(`First map of the viewer's page, bp: ${milliseconds(await firstMapOfViewer(true))} ms isolated, ${milliseconds(await firstMapOfViewer(false))} ms not`);

const memory = await inPage(true, "/empty.html", (page) =>
  page.evaluate(async () => {
    const { Engine } = await import("/node_modules/parallax-stereo/index.js");
    const engine = new Engine();
    const { left, right } = await engine.synthesize({ width: 1280, height: 720, disparities: 128 });
    await engine.match(left, right, { method: "bp", disparities: 128 });
    return engine.memoryBytes();
  }),
);
console.log(`Memory of bp, 1280×720×128: ${(memory / 1e6).toFixed(0)} MB`);
for (const name of ["parallax", "parallax-scalar"]) {
  const bytes = readFileSync(join(packageFolder, "engine", `${name}.wasm`));
  console.log(`${name}.wasm: ${(bytes.length / 1e6).toFixed(2)} MB, ${(gzipSync(bytes, { level: 9 }).length / 1e3).toFixed(0)} kB compressed`);
}
await browser.close();
rmSync(folder, { recursive: true });
