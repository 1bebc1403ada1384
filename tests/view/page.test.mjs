// SPDX-License-Identifier: Apache-2.0
// The page in a browser, with a server that matches nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { colourAt, disparities, launch, open, pointAt, settled, startMock } from "./browser.mjs";

let browser;
let server;
let page;

before(async () => {
  server = await startMock("--size", "320x240");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function visit(options) {
  await page?.close();
  page = await open(browser, server.address, options);
  return page;
}
const quiet = () => assert.deepEqual(page.problems, []);
const readout = () => page.locator("#readout").innerText();

test("shows the left picture left of the wipe and disparities right of it", async () => {
  await visit();
  const [left, right] = [await colourAt(page, 0.4, 0.9), await colourAt(page, 0.6, 0.9)];
  // Pictures of the server are gray except for 8 levels; turbo is not.
  const spread = (colour) => Math.max(...colour.slice(0, 3)) - Math.min(...colour.slice(0, 3));
  assert.ok(spread(left) <= 16, `left ${left}`);
  assert.ok(spread(right) > 60, `right ${right}`);
  quiet();
});

test("the edge of the wipe moves with the pointer and with keys", async () => {
  await visit();
  const handle = page.locator("#wipe-handle");
  const box = await handle.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 150, box.y + 50, { steps: 4 });
  await page.mouse.up();
  // The handle follows when the page is drawn again.
  const isAt = (share) =>
    page.waitForFunction((value) => document.querySelector("#wipe-handle").ariaValueNow === String(value), share);
  const moved = await page.evaluate(() => Math.round(100 * window.parallax.state.view.wipe));
  assert.ok(moved < 40);
  await isAt(moved);
  await handle.focus();
  await page.keyboard.press("PageUp");
  await isAt(moved + 10);
});

test("the colour of a disparity is that of the scale", async () => {
  await visit();
  await page.keyboard.press("1");
  const { expected, share } = await page.evaluate(() => {
    const { map } = window.parallax.state.results.A;
    const { width, height, data } = map.disparity;
    const code = data[Math.floor(0.9 * height) * width + (width >> 1)];
    return { share: (map.lowest + (code - 1) / map.steps) / 63, expected: code };
  });
  assert.ok(expected > 0);
  await page.evaluate(() => {
    window.parallax.state.view.colours = "gray";
    window.parallax.view.viewport.fit();
  });
  const colour = await colourAt(page, 0.5, 0.9);
  assert.ok(Math.abs(colour[0] - 255 * share) < 6, `${colour[0]} for ${255 * share}`);
});

test("shows values of the pixel under the pointer, at once and then exactly", async () => {
  await visit();
  await pointAt(page, 100, 200);
  await page.waitForFunction(() => /Disparity/.test(document.querySelector("#readout").textContent));
  assert.match(await readout(), /x\s*100[\s\S]*Depth[\s\S]*m[\s\S]*Status[\s\S]*matched[\s\S]*Error/);
  const exact = await page.waitForFunction(() => window.parallax.readout.exactFor !== "" && window.parallax.readout.exact.get("A"));
  const { disparity } = await exact.jsonValue();
  assert.match(await readout(), new RegExp(`Disparity\\s*${disparity.toFixed(2).replace(".", "\\.")} px`));
});

test("shows by how many rows matches are off, where rows are searched", async () => {
  await visit();
  const layers = () => page.locator("#second-layer option").allInnerTexts();
  assert.ok(!(await layers()).includes("Rows off"));
  await pointAt(page, 100, 200);
  assert.doesNotMatch(await readout(), /Row offset/);
  await page.keyboard.press("1");
  await page.selectOption("#method", "second");
  await page.locator("summary", { hasText: "Matching" }).first().click();
  await page.locator("[data-parameter=row_tolerance] input[type=number]").fill("2");
  await page.waitForFunction(() => window.parallax.state.results.A.map.rowOffset !== null);
  assert.ok((await layers()).includes("Rows off"));
  await page.selectOption("#second-layer", "rowOffset-A");
  await page.waitForFunction(() => /Rows off in px/.test(document.querySelector("#legends").textContent));
  assert.match(await page.locator("#legends").innerText(), /-2[\s\S]*0[\s\S]*2/);
  // Blue where matches are higher in the right picture, red where they are lower.
  const [left, right] = [await colourAt(page, 0.3, 0.9), await colourAt(page, 0.7, 0.9)];
  assert.ok(left[2] > left[0] + 30, `left ${left}`);
  assert.ok(right[0] > right[2] + 30, `right ${right}`);
  await pointAt(page, 100, 200);
  await page.waitForFunction(() => /Row offset[-−]0.37 px/.test(document.querySelector("#readout").textContent));
  // The legend of a layer that is gone goes, too.
  await page.selectOption("#method", "first");
  await page.waitForFunction(() => window.parallax.state.results.A.map.rowOffset === null);
  assert.ok(!(await layers()).includes("Rows off"));
  quiet();
});

test("shows the map of the right picture, which is made only where somebody looks at it", async () => {
  await visit();
  assert.equal(await page.evaluate(() => window.parallax.state.results.A.map.rightDisparity), null);
  await pointAt(page, 100, 200);
  assert.doesNotMatch(await readout(), /Right map/);
  const before = await page.evaluate(() => window.parallax.state.results.A.map.request);
  await page.selectOption("#second-layer", "rightDisparity-A");
  await page.waitForFunction(() => window.parallax.state.results.A.map.rightDisparity !== null);
  const made = await page.evaluate(() => window.parallax.state.results.A.map.request);
  assert.ok(made > before);
  await page.keyboard.press("1");
  // Blue where disparities are low, at the left, red at the right.
  await page.waitForFunction(() => /Right map in px/.test(document.querySelector("#legends").textContent));
  const [left, right] = [await colourAt(page, 0.3, 0.9), await colourAt(page, 0.7, 0.9)];
  assert.ok(right[0] - right[2] > left[0] - left[2] + 60, `left ${left}, right ${right}`);
  await pointAt(page, 100, 200);
  await page.waitForFunction(() => /Right map\s*1\d\.\d+ px/.test(document.querySelector("#readout").textContent));
  // Another layer does not match again.
  await page.selectOption("#second-layer", "disparity-A");
  assert.equal(await page.evaluate(() => window.parallax.state.results.A.map.request), made);
  quiet();
});

test("a slider sends its newest value, and the map changes", async () => {
  await visit();
  const first = await disparities(page);
  await page.locator("summary", { hasText: "Matching" }).first().click();
  const sent = [];
  page.on("request", (request) => request.url().endsWith("/settings") && sent.push(request.postDataJSON()));
  await page.evaluate(() => {
    const slider = document.querySelector("[data-parameter=uniqueness] input[type=range]");
    for (let value = 1; value <= 50; ++value) {
      slider.value = String(value);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }
  });
  const newest = await page.waitForFunction(() => {
    const { matching, state } = window.parallax;
    // No request is running or waiting, and the map is that of the last request.
    return !matching.sending && matching.waiting.size === 0 && state.results.A.map.request === matching.request && matching.request;
  });
  assert.equal(sent.at(-1).request, await newest.jsonValue());
  assert.equal(sent.at(-1).values.uniqueness, 50);
  assert.ok(await page.evaluate(() => window.parallax.state.results.A.map.status.data.includes(4)));
  assert.ok(sent.length <= 3, `${sent.length} requests`);
  assert.notEqual(await disparities(page), first);
  assert.ok(await page.locator("[data-parameter=uniqueness].changed").isVisible());
  await page.getByRole("button", { name: /Uniqueness: back to 0/ }).click();
  await page.waitForFunction(() => !document.querySelector("[data-parameter=uniqueness].changed"));
  quiet();
});

test("has a control for each kind of parameter, from what the method declares", async () => {
  await visit();
  for (const group of ["Matching", "Matching for experts", "Refinement"])
    await page.locator("#settings summary").filter({ hasText: new RegExp(`^${group}$`) }).click();
  const control = (name) => page.locator(`[data-parameter=${name}]`);
  await control("window").locator("input[type=range]").focus();
  await page.keyboard.press("ArrowRight");
  const values = () => page.evaluate(() => window.parallax.state.results.A.settings.values);
  assert.equal((await values()).window, 11);  // only odd numbers
  await control("cost").locator("select").selectOption("ad-census");
  await control("left_right_check").locator("input").uncheck();
  await control("outside_cost").getByText("None").click();
  await control("weight").locator("input[type=number]").fill("0.125");
  const now = await values();
  assert.equal(now.cost, "ad-census");
  assert.equal(now.left_right_check, false);
  assert.equal(typeof now.outside_cost, "number");
  assert.equal(now.weight, 0.125);
  assert.equal(await page.locator("#settings .control.changed").count(), 5);
  await page.getByRole("button", { name: "Reset to preset" }).click();
  assert.equal(await page.locator("#settings .control.changed").count(), 0);
  await page.selectOption("#preset", "fast");
  assert.equal((await values()).window, 5);
  await page.selectOption("#method", "second");
  assert.ok(await control("noise").count());
  quiet();
});

test("shows what the server refuses, and keeps the last map", async () => {
  await visit();
  await page.evaluate(() => {
    const { A } = window.parallax.state.results;
    A.settings.values.uniqueness = 99;
    window.parallax.matching.change("A");
  });
  await page.getByText("uniqueness is 99: choose less").waitFor();
  assert.ok(await page.evaluate(() => window.parallax.state.results.A.map !== null));
});

test("compares two results", async () => {
  await visit();
  await page.getByRole("button", { name: "Compare with B" }).click();
  await page.selectOption("#method", "second");
  await page.waitForFunction(() => window.parallax.state.results.B.map);
  await page.waitForFunction(() => document.querySelectorAll("#figures thead th").length === 3);
  await page.selectOption("#second-layer", "difference");
  await page.waitForFunction(() => /A − B/.test(document.querySelector("#legends").textContent));
  await page.getByRole("button", { name: "Only A" }).click();
  assert.equal(await page.locator("#second-layer option[value=difference]").count(), 0);
  quiet();
});

test("can be used without a mouse", async () => {
  await visit();
  const reached = new Set();
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
  }
  for (const id of ["tab-picture", "theme", "help-open", "first-layer", "second-layer", "pixels", "wipe-handle", "slot-A", "method", "preset", "device"])
    assert.ok(reached.has(id), `${id} is not reached by Tab`);
  await page.locator("#pixels").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.deepEqual(await page.evaluate(() => window.parallax.state.cursor), { x: 161, y: 121 });
  const view = () => page.evaluate(() => ({ zoom: window.parallax.view.viewport.zoom, fitted: window.parallax.view.viewport.fitted }));
  await page.keyboard.press("+");
  const { zoom, fitted } = await view();
  assert.ok(!fitted);
  await page.keyboard.press("0");
  assert.ok((await view()).fitted);
  assert.ok((await view()).zoom < zoom);
  for (const [key, combination] of [["3", "side"], ["4", "blend"], ["5", "blink"], ["2", "wipe"]]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => window.parallax.state.view.combination), combination);
  }
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog").isVisible());
  await page.keyboard.press("Escape");
  quiet();
});

test("every control has a name", async () => {
  await visit();
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, canvas[tabindex], [role=slider]")]
      .filter((one) => !one.labels?.length && !one.ariaLabel && !one.textContent.trim())
      .map((one) => one.outerHTML),
  );
  assert.deepEqual(nameless, []);
});

// The minimum contrast of text at WCAG's level AA is 4.5.
for (const colorScheme of ["light", "dark"])
  test(`text stands out: ${colorScheme}`, async () => {
    await visit({ colorScheme });
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    const poor = await page.evaluate(() => {
      const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
      const luminance = (colour) => {
        const [r, g, b] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = (element) => {
        for (let one = element; one; one = one.parentElement) {
          const colour = parse(getComputedStyle(one).backgroundColor);
          if (colour.length === 3) return colour;
        }
        return [255, 255, 255];
      };
      return [...document.querySelectorAll("body *")]
        .filter((one) => one.checkVisibility() && !one.disabled && !one.closest(".area, dialog"))
        .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .map((one) => {
          const [a, b] = [luminance(parse(getComputedStyle(one).color).slice(0, 3)), luminance(ground(one))];
          return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), one.outerHTML.slice(0, 90)];
        })
        .filter(([contrast]) => contrast < 4.5);
    });
    assert.deepEqual(poor, []);
  });

for (const [name, viewport] of [["a phone", { width: 390, height: 844 }], ["a small phone", { width: 320, height: 640 }], ["1280×720", { width: 1280, height: 720 }]])
  test(`no text is cut on ${name}`, async () => {
    await visit({ viewport });
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll("button, label, summary, th, td, li, p, output, figcaption, h1, h3, .field")]
        .filter((one) => one.checkVisibility() && (one.scrollWidth > one.clientWidth + 1) && one.clientWidth > 1 && getComputedStyle(one).display !== "inline")
        .map((one) => one.outerHTML.slice(0, 90)),
    );
    assert.deepEqual(cut, []);
    const beyond = await page.evaluate(() => {
      const right = document.querySelector("#panel").getBoundingClientRect().right;
      return [...document.querySelectorAll("#panel :is(input, select, button, pre)")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > right)
        .map((one) => one.id);
    });
    assert.deepEqual(beyond, []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `the page is ${wide} px too wide`);
    // Two scales.
    await page.selectOption("#first-layer", "error-A");
    await page.waitForFunction(() => document.querySelectorAll("#legends .legend").length === 2);
    assert.ok(await page.evaluate(() => document.querySelector("#legends").scrollHeight <= document.querySelector("#legends").clientHeight));
    const area = await page.locator("#picture .area").boundingBox();
    assert.ok(area.height >= 90 && area.width >= viewport.width / 2);
  });

test("checks the pair, copies code, saves files", async () => {
  await visit();
  for (const section of ["Rectification check", "Copy as code", "Save a file"])
    await page.locator("summary", { hasText: section }).click();
  await page.getByRole("button", { name: "Check the pair" }).click();
  await page.getByText("The pair is fit to be matched").waitFor();
  assert.match(await page.locator("#code").innerText(), /^parallax match/);
  await page.getByRole("button", { name: "Python" }).click();
  assert.match(await page.locator("#code").innerText(), /^import/);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save" }).click();
  assert.equal((await download).suggestedFilename(), "disparity.pfm");
  quiet();
});

test("shows the cloud and measures in it", async () => {
  await visit();
  await page.getByRole("tab", { name: "3-D cloud" }).click();
  await page.waitForFunction(() => window.parallax.cloud.current?.map);
  const canvas = page.locator("#cloud-canvas");
  await settled(canvas);
  const box = await canvas.boundingBox();
  await page.mouse.click(box.x + box.width * 0.4, box.y + box.height * 0.5);
  await page.mouse.click(box.x + box.width * 0.6, box.y + box.height * 0.8);
  await page.waitForFunction(() => /Distance [\d.]+ m/.test(document.querySelector("#cloud-readout").textContent));
  await page.locator("#cloud-canvas").focus();
  await page.keyboard.press("ArrowRight");
  const at = await page.evaluate(() => window.parallax.cloud.current.camera.position.x);
  assert.notEqual(at, 0);
  quiet();
});

test("fetches full resolution where the view is close", async () => {
  const large = await startMock("--size", "1200x900", "--scale", "3");
  try {
    await page?.close();
    page = await open(browser, large.address);
    await page.keyboard.press("1");
    await page.selectOption("#second-layer", "left");
    await page.keyboard.press("f");
    await page.waitForFunction(() => window.parallax.view.detail.tiles.size > 3);
    const colours = [];
    for (let i = 0; i < 30; ++i) colours.push((await colourAt(page, 0.5 + (i + 0.5) / 940, 0.5))[0]);
    const changes = colours.filter((colour, i) => i > 0 && colour !== colours[i - 1]).length;
    // Three neighbours each of the small picture have one colour.
    assert.ok(changes > 20, `${changes} changes`);
    // No gap between tiles, wherever they are on the screen.
    await page.waitForFunction(() => window.parallax.view.detail.asked.size === 0);
    for (const shift of [0, 0.3, 0.5, 0.7]) {
      const gaps = await page.evaluate((by) => {
        const { view } = window.parallax;
        view.viewport.pan(by, by);
        view.drawNow();
        const { width, height } = view.canvas;
        const pixels = new Uint8Array(4 * width * height);
        view.gl.readPixels(0, 0, width, height, view.gl.RGBA, view.gl.UNSIGNED_BYTE, pixels);
        return pixels.filter((value, i) => i % 4 === 3 && value < 255).length;
      }, shift);
      assert.equal(gaps, 0, `shifted by ${shift}`);
    }
    quiet();
  } finally {
    await large.stop();
  }
});

test("plays a sequence", async () => {
  const video = await startMock("--size", "160x120", "--frames", "9");
  try {
    await page?.close();
    page = await open(browser, video.address);
    await page.getByRole("button", { name: "One frame on" }).click();
    await page.waitForFunction(() => window.parallax.state.pictures.frame === 1);
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForFunction(() => window.parallax.state.pictures.frame > 3);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.waitForFunction(() => !window.parallax.state.playing);
    quiet();
  } finally {
    await video.stop();
  }
});

test("says that the server is gone, and comes back by itself", async () => {
  const first = await startMock("--size", "160x120");
  await page?.close();
  page = await open(browser, first.address);
  await page.evaluate(() => {
    window.parallax.state.results.A.settings.values.disparities = 32;
  });
  await first.stop();
  await page.getByText("The server has stopped").waitFor();
  const second = await startMock("--size", "160x120", "--port", first.port);
  try {
    await page.waitForFunction(() => document.querySelector("#banner").hidden);
    // Expects the settings of the page instead of the server's initial ones.
    await page.waitForFunction(() => window.parallax.state.results.A.map.range.disparities === 32);
  } finally {
    await second.stop();
  }
});
