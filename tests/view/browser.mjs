// SPDX-License-Identifier: Apache-2.0
// Helpers that the tests of the page share: servers, and a browser without a screen.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));
export const repository = join(here, "../..");

// Starts a program that prints the address where it listens.
export async function start(program, where, ...options) {
  const child = spawn(program, options, { stdio: ["ignore", "pipe", "inherit"], ...where });
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (piece) => {
      text += piece;
      const found = text.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}`)));
  });
  return {
    address,
    port: new URL(address).port,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

export const startMock = (...options) => start(process.execPath, {}, join(here, "mock_server.mjs"), ...options);

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--headless=new", "--enable-unsafe-swiftshader"],
  });

// A busy machine may take long.
const patience = 120000;

// Opens the page and waits until its initial content is there; any error in it fails the test.
export async function open(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, ...options });
  page.setDefaultTimeout(patience);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.problems.push(message.text());
  });
  await page.goto(address);
  await page.waitForFunction(() => {
    const { state } = window.parallax ?? {};
    return state?.results.A.map && (!state.server.truth || state.pictures.truth);
  });
  await layout(page);
  return page;
}

// Waits until the tables of figures, which appear a little later, are there, and everything has found its place.
export async function layout(page) {
  await page.waitForFunction(() => document.querySelector("#figures table") || document.querySelector("#picture").hidden);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// How long the page takes to draw a change is unknown, so this waits until two looks at it are alike.
export async function settled(locator) {
  for (let last = ""; ; ) {
    const now = (await locator.screenshot()).toString("base64");
    if (now === last) return now;
    last = now;
    await locator.page().waitForTimeout(200);
  }
}

// Moves the pointer to the middle of a pixel of the full picture. The figures that appear may move the picture.
export async function pointAt(page, x, y) {
  for (;;) {
    const { left, top } = await page.evaluate(([px, py]) => {
      const box = document.querySelector("#pixels").getBoundingClientRect();
      const at = window.parallax.view.viewport.toPane(px + 0.5, py + 0.5);
      return { left: box.left + at.x, top: box.top + at.y };
    }, [x, y]);
    await page.mouse.move(left, top);
    const cursor = await page.evaluate(() => window.parallax.state.cursor);
    if (cursor?.x === x && cursor.y === y) return;
    await page.waitForTimeout(50);
  }
}

// The colour that the view draws at a place of its area, in shares of its width and height.
export const colourAt = (page, right, down) =>
  page.evaluate(
    ([x, y]) => {
      const { view } = window.parallax;
      view.drawNow();
      const { width, height } = view.canvas;
      const pixel = new Uint8Array(4);
      view.gl.readPixels(Math.floor(x * width), Math.floor((1 - y) * height), 1, 1, view.gl.RGBA, view.gl.UNSIGNED_BYTE, pixel);
      return [...pixel];
    },
    [right, down],
  );

// The colour that the view draws for a pixel of the full picture, which moves when figures appear below it.
export const colourOfPixel = (page, x, y) =>
  page.evaluate(
    ([px, py]) => {
      const { view } = window.parallax;
      view.drawNow();
      const at = view.viewport.toPane(px + 0.5, py + 0.5);
      const [column, row] = [at.x, at.y].map((place) => Math.floor(place * view.density));
      const pixel = new Uint8Array(4);
      view.gl.readPixels(column, view.canvas.height - 1 - row, 1, 1, view.gl.RGBA, view.gl.UNSIGNED_BYTE, pixel);
      return [...pixel];
    },
    [x, y],
  );

// The bytes of the newest disparities.
export const disparities = (page, slot = "A") =>
  page.evaluate((which) => {
    let sum = 0;
    for (const code of window.parallax.state.results[which].map.disparity.data) sum = (Math.imul(sum, 31) + code) | 0;
    return sum;
  }, slot);
