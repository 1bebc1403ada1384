// SPDX-License-Identifier: Apache-2.0
// The page in a browser with the server behind it. PARALLAX_PICTURES=FOLDER also writes the pictures of
// docs/howto/view.md there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { colourOfPixel, disparities, launch, open, pointAt, repository, settled, start } from "./browser.mjs";

const command = process.env.PARALLAX_COMMAND ?? join(repository, "build/developer/parallax");
const pictures = process.env.PARALLAX_PICTURES;
const range = ["--disparities", "48"];
const pair = ["pair/left.png", "pair/right.png"];

let folder;
let browser;
let server;
let page;

const run = (...words) => execFileSync(command, words, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] }).toString();
const serve = (...words) => start(command, { cwd: folder }, "view", ...words, ...range, "--no-open");

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "parallax-view-"));
  run("synth", "pair", "--size", "480x360", ...range, "--scene", "layers", "--seed", "4");
  const known = ["--calib", "pair/calib.txt", "--truth", "pair/disp0GT.pfm"];
  server = await serve(...pair, ...known, "--method", "census", "--device", "cpu");
  browser = await launch();
});
after(async () => {
  await page?.close();
  await browser?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function visit(options) {
  await page?.close();
  page = await open(browser, server.address, options);
  return page;
}

async function picture(name) {
  if (!pictures) return;
  await page.waitForTimeout(800);
  await page.screenshot({ path: join(pictures, `view-${name}.jpg`), type: "jpeg", quality: 55 });
}

function readPfm(path) {
  const bytes = readFileSync(join(folder, path));
  const [, width, height] = bytes.toString("latin1", 0, 40).match(/^Pf\n(\d+) (\d+)\n-1(?:\.0*)?\n/).map(Number);
  const start = bytes.length - 4 * width * height;
  return (x, y) => bytes.readFloatLE(start + 4 * ((height - 1 - y) * width + x));
}

// Waits for the next map of a slot.
async function nextMap(slot, change) {
  await page.evaluate((which) => (window.last = window.parallax.state.results[which].map), slot);
  await change();
  await page.waitForFunction((which) => {
    const { map, working } = window.parallax.state.results[which];
    return map !== null && map !== window.last && !working;
  }, slot);
}

test("the value under the pointer is that of the file", async () => {
  await visit();
  run("match", ...pair, ...range, "--method", "census", "--device", "cpu", "-o", "map.pfm");
  const expected = readPfm("map.pfm");
  for (const [x, y] of [[200, 100], [300, 300]]) {
    await pointAt(page, x, y);
    const value = await page.waitForFunction(
      ([px, py]) => {
        const { state, readout } = window.parallax;
        return state.cursor?.x === px && state.cursor.y === py && readout.exactFor === readout.key() && readout.exact.get("A");
      },
      [x, y],
    );
    const { disparity } = await value.jsonValue();
    if (Number.isFinite(expected(x, y))) assert.equal(disparity, expected(x, y));
    else assert.equal(disparity, null);
  }
  await picture("wipe");
  assert.deepEqual(page.problems, []);
});

// A picture of random blocks, and the same 8 columns to the left and one row lower.
function writeLoweredPair() {
  const [width, height] = [160, 120];
  const block = (x, y) => (Math.imul((x >> 1) + 131 * (y >> 1) + 1000, 0x9e3779b1) >>> 24);
  const write = (name, dx, dy) => {
    const pixels = Buffer.from(Array.from({ length: width * height }, (_, i) => block((i % width) + dx, Math.floor(i / width) + dy)));
    writeFileSync(join(folder, name), Buffer.concat([Buffer.from(`P5 ${width} ${height} 255\n`), pixels]));
  };
  write("level.pgm", 0, 0);
  write("lowered.pgm", 8, -1);
}

test("the warped right picture and the residual follow row offsets", async () => {
  writeLoweredPair();
  const options = ["--method", "block", "--device", "cpu", "--row-tolerance", "2", "--sub-pixel", "none"];
  const lowered = await start(command, { cwd: folder }, "view", "level.pgm", "lowered.pgm", ...options, "--disparities", "16", "--no-open");
  try {
    await page?.close();
    page = await open(browser, lowered.address);
    await page.keyboard.press("1");
    const pixels = [[70, 36], [80, 60], [91, 60], [101, 84]];
    const coloursOf = async (layer) => {
      await page.selectOption("#second-layer", layer);
      await page.waitForFunction((id) => window.parallax.state.view.second === id, layer);
      return Promise.all(pixels.map(([x, y]) => colourOfPixel(page, x, y)));
    };
    const left = await coloursOf("left");
    await page.selectOption("#second-layer", "warped-A");
    await page.waitForFunction(() => window.parallax.state.pictures.right !== null);
    assert.deepEqual(await coloursOf("warped-A"), left);
    // No difference is left: the darkest colour of the scale, and nearly all pixels in the first bin of its histogram.
    const rest = await coloursOf("residual-A");
    assert.ok(rest.every((colour) => Math.max(...colour.slice(0, 3)) < 30), rest.join(" | "));
    const bins = await page.waitForFunction(() => window.parallax.scales.bars[0]?.bins[0]);
    const [first, ...others] = Object.values(await bins.jsonValue());
    assert.equal(first, 1);
    assert.ok(others.reduce((sum, share) => sum + share, 0) < 0.1, others.join(" "));
    await pointAt(page, 80, 60);
    await page.waitForFunction(() => /Row offset1\.00 px/.test(document.querySelector("#readout").textContent));
    assert.deepEqual(page.problems, []);
  } finally {
    await lowered.stop();
  }
});

test("the cost curve names its minimum and the rival", async () => {
  await visit();
  await page.locator("summary", { hasText: "Cost curve" }).click();
  await pointAt(page, 200, 100);
  await page.locator("#curve canvas").waitFor();
  const curve = await page.evaluate(() => window.parallax.server.curve("A", 200, 100));
  const costs = (curve.totals.length > 0 ? curve.totals : curve.data_costs).map((cost) => cost ?? Infinity);
  const least = curve.min_disparity + costs.indexOf(Math.min(...costs));
  const said = await page.locator("#curve").innerText();
  assert.match(said, new RegExp(`least: [\\d.]+ at ${least}\\b`));
  const rival = said.match(/rival: [\d.]+ at (\d+)/);
  assert.ok(rival, said);
  const label = Number(rival[1]) - curve.min_disparity;
  assert.ok(Number(rival[1]) !== least && costs[label] < costs[label - 1]);
  assert.deepEqual(page.problems, []);
});

test("the errors are those of parallax eval", async () => {
  await visit();
  const expected = JSON.parse(run("eval", "map.pfm", "pair/disp0GT.pfm", "--json"));
  const errors = await page.evaluate(() => window.parallax.state.results.A.map.errors);
  assert.ok(Math.abs(errors.bad1 - expected.bad1) < 1e-12);
  assert.ok(errors.bad1 > 0);
});

test("a slider, another method and another device make another map, or the same", async () => {
  await visit();
  const first = await disparities(page);
  await nextMap("A", () =>
    page.evaluate(() => {
      const slider = document.querySelector("[data-parameter=window] input[type=range]");
      slider.value = "3";
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }),
  );
  assert.notEqual(await disparities(page), first);
  await nextMap("A", () => page.getByRole("button", { name: "Reset to preset" }).click());
  assert.equal(await disparities(page), first);
  await nextMap("A", () => page.selectOption("#device", "reference"));
  assert.equal(await page.evaluate(() => window.parallax.state.results.A.map.device), "reference");
  assert.equal(await disparities(page), first);
  await nextMap("A", () => page.selectOption("#method", "block"));
  assert.notEqual(await disparities(page), first);
  assert.deepEqual(page.problems, []);
});

test("two pages have settings of their own", async () => {
  await visit();
  const first = await disparities(page);
  const other = await open(browser, server.address);
  try {
    await other.selectOption("#method", "block");
    await other.waitForFunction(() => /method block/.test(window.parallax.state.results.A.map.commands.command_line));
    assert.notEqual(await disparities(other), first);
    assert.equal(await disparities(page), first);
  } finally {
    await other.close();
  }
});

test("compares two methods and their errors", async () => {
  await visit();
  await page.getByRole("button", { name: "Compare with B" }).click();
  await page.waitForFunction(() => window.parallax.state.results.B.map);
  await nextMap("B", () => page.selectOption("#method", "block"));
  for (const [select, name] of [["#first-layer", "error-A"], ["#second-layer", "error-B"]]) await page.selectOption(select, name);
  await page.waitForFunction(() => document.querySelectorAll("#figures thead th").length === 3);
  await picture("compare");
  assert.deepEqual(page.problems, []);
});

test("the cloud turns", async () => {
  await visit();
  await page.getByRole("tab", { name: "3-D cloud" }).click();
  await page.waitForFunction(() => window.parallax.cloud.current?.map);
  const canvas = page.locator("#cloud-canvas");
  const before = await settled(canvas);
  const box = await page.locator("#cloud-canvas").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2 - 15, { steps: 6 });
  await page.mouse.up();
  assert.notEqual(await settled(canvas), before);
  await picture("cloud");
  assert.deepEqual(page.problems, []);
});

test("a map made elsewhere is shown beside the own one", async () => {
  const other = await serve(...pair, "--map", "pair/disp0GT.pfm");
  try {
    await page?.close();
    page = await open(browser, other.address);
    await page.waitForFunction(() => window.parallax.state.results.B.map);
    const layers = await page.evaluate(() => ["first", "second"].map((which) => window.parallax.state.view[which]));
    assert.deepEqual(layers, ["disparity-A", "disparity-B"]);
    assert.deepEqual(page.problems, []);
  } finally {
    await other.stop();
  }
});

test("comes back after the server was started again", async () => {
  const first = await serve(...pair, "--method", "census");
  await page?.close();
  page = await open(browser, first.address);
  await first.stop();
  await page.getByText("The server has stopped").waitFor();
  const second = await serve(...pair, "--method", "census", "--port", first.port);
  try {
    await page.waitForFunction(() => document.querySelector("#banner").hidden);
    await nextMap("A", () => page.selectOption("#method", "block"));
  } finally {
    await second.stop();
  }
});
