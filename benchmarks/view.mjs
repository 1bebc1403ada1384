// SPDX-License-Identifier: Apache-2.0
// Measures 'parallax view' in a browser without a screen and without a graphics card; prints a Markdown table:
//
//   (cd tests/view && npm ci) && node benchmarks/view.mjs [build/release/parallax]
//
// A picture is on the screen one browser frame after the frame that draws it.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { launch, open, start } from "../tests/view/browser.mjs";

const command = resolve(process.argv[2] ?? "build/release/parallax");
const folder = mkdtempSync(join(tmpdir(), "parallax-view-"));
const run = (...words) => execFileSync(command, words, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
const serve = (...words) => start(command, { cwd: folder }, "view", ...words, "--device", "cpu", "--no-open");
const pairOf = (name, size, disparities) => {
  run("synth", name, "--size", size, "--disparities", String(disparities));
  return [`${name}/left.png`, `${name}/right.png`, "--disparities", String(disparities)];
};
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const row = (what, values) => console.log(`| ${what} | ${Math.round(median(values))} |`);

async function withServer(words, body) {
  const server = await serve(...words);
  try {
    await body(server.address);
  } finally {
    await server.stop();
  }
}

const withPage = (browser, words, body) =>
  withServer(words, async (address) => {
    const page = await open(browser, address);
    await body(page);
    await page.close();
  });

// Notes when the first picture of this width is on the screen.
function watchPictures(width) {
  const { texImage2D, texSubImage2D, drawArrays } = WebGL2RenderingContext.prototype;
  let there = false;
  const watch = (original) =>
    function (...values) {
      there ||= values.includes(width);
      return original.apply(this, values);
    };
  WebGL2RenderingContext.prototype.texImage2D = watch(texImage2D);
  WebGL2RenderingContext.prototype.texSubImage2D = watch(texSubImage2D);
  WebGL2RenderingContext.prototype.drawArrays = function (...values) {
    if (there) requestAnimationFrame(() => (window.pictureShown ??= performance.now()));
    return drawArrays.apply(this, values);
  };
}

async function opening(browser, words, width) {
  const [starts, pictures] = [[], []];
  for (let i = 0; i < 11; ++i) {
    const begin = performance.now();
    await withServer(words, async (address) => {
      starts.push(performance.now() - begin);
      const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
      await page.addInitScript(watchPictures, width);
      await page.goto(address);
      await page.waitForFunction(() => window.pictureShown);
      pictures.push(await page.evaluate(() => window.pictureShown));
      await page.close();
    });
  }
  row("1280×720: from the program's start to its address", starts);
  row("1280×720: from opening the address to the first picture on the screen", pictures);
  row("1280×720: both", starts.map((time, i) => time + pictures[i]));
}

async function moveSlider() {
  const { view, state } = window.parallax;
  const slider = document.querySelector("[data-parameter=window] input[type=range]");
  const nextFrame = () => new Promise(requestAnimationFrame);
  const [times, matches] = [[], []];
  for (let i = 0; i < 40; ++i) {
    const before = view.mapsDrawn;
    slider.value = String([3, 5][i % 2]);
    const begin = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (view.mapsDrawn === before) await nextFrame();
    times.push(performance.now() - begin);
    matches.push(state.results.A.map.milliseconds);
    await new Promise((done) => setTimeout(done, 100));
  }
  return { times, matches };
}

async function slider(browser, words) {
  await withPage(browser, [...words, "--method", "census"], async (page) => {
    const { times, matches } = await page.evaluate(moveSlider);
    row("640×480, 64 disparities, census: from a moved slider to the drawn map", times);
    row("of this, the match", matches);
  });
}

const mapsDrawnInASecond = async () => {
  const [begin, before] = [performance.now(), window.parallax.view.mapsDrawn];
  await new Promise((done) => setTimeout(done, 1000));
  return (1000 * (window.parallax.view.mapsDrawn - before)) / (performance.now() - begin);
};

async function video(browser, words) {
  for (const side of ["left", "right"]) {
    mkdirSync(join(folder, side));
    for (let i = 0; i < 250; ++i)
      copyFileSync(join(folder, `vga/${side}.png`), join(folder, `${side}/${String(i).padStart(3, "0")}.png`));
  }
  const options = [...words.slice(2), "--method", "census", "--preset", "fast"];
  await withPage(browser, ["left", "right", ...options], async (page) => {
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForTimeout(1000);
    const rates = [];
    for (let i = 0; i < 5; ++i) rates.push(await page.evaluate(mapsDrawnInASecond));
    row("640×480, 64 disparities, census fast: frames of a sequence drawn per second", rates);
  });
}

async function cloud(browser, words) {
  await withPage(browser, [...words, "--method", "block"], async (page) => {
    await page.getByRole("tab", { name: "3-D cloud" }).click();
    await page.waitForFunction(() => window.parallax.cloud.current?.map);
    const box = await page.locator("#cloud-canvas").boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    const rates = [];
    const begin = performance.now();
    for (let i = 0; performance.now() < begin + 6000; ++i) {
      await page.mouse.move(x + 100 * Math.sin(i / 20), y + 20 * Math.cos(i / 20));
      await page.waitForTimeout(16);
      if (performance.now() > begin + 2000) rates.push(await page.evaluate(() => window.parallax.cloud.current.rate));
    }
    row("1280×720, all its points: frames per second while the cloud turns", rates);
  });
}

console.log("| | median |\n|---|--:|");
const browser = await launch();
try {
  const hd = pairOf("hd", "1280x720", 64);
  const vga = pairOf("vga", "640x480", 64);
  await opening(browser, hd, 1280);
  await slider(browser, vga);
  await video(browser, vga);
  await cloud(browser, hd);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
