// SPDX-License-Identifier: Apache-2.0
// The page that works without a server: pairs from files, the same maps as the command line's, and no network once it is loaded.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { disparities, launch, layout, repository } from "../view/browser.mjs";
import { serve } from "./file_server.mjs";

const command = process.env.PARALLAX_COMMAND ?? join(repository, "build/developer/parallax");
const pageFolder = join(repository, "build/javascript/page");
let folder;
let browser;
const file = (name) => join(folder, name);
const run = (program, ...words) => execFileSync(program, words, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
const ffmpeg = (...words) => run("ffmpeg", "-loglevel", "error", ...words);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "parallax-page-"));
  run(command, "synth", "pair", "--size", "321x240", "--disparities", "40", "--seed", "5");
  run(command, "synth", "video", "--size", "320x240", "--disparities", "32", "--video", "6");
  const both = ["-i", "pair/left.png", "-i", "pair/right.png", "-filter_complex", "hstack"];
  ffmpeg(...both, "both.png");
  for (const [side, number] of [["left", 0], ["right", 1]]) {
    ffmpeg("-i", `pair/${side}.png`, "-lossless", "1", `im${number}.webp`);
    ffmpeg("-i", `pair/${side}.png`, "-q:v", "2", "-pix_fmt", "yuvj444p", `im${number}.jpg`);
  }
  const frames = ["left", "right"].flatMap((side) => ["-framerate", "10", "-i", `video/${side}/%06d.png`]);
  ffmpeg(...frames, "-filter_complex", "hstack", "-c:v", "libvpx", "-b:v", "4M", "both.webm");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const firstMap = (page) => page.waitForFunction(() => window.parallax?.state.results.A.map);

// `expected`: problems that are none.
async function withPage(options, work, expected = /^$/) {
  const server = await serve(pageFolder, options);
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  try {
    await page.goto(`${server.address}/index.html${options.hash ?? ""}`);
    await firstMap(page);
    await work(page, server, context);
    assert.deepEqual(problems.filter((problem) => !expected.test(problem)), []);
  } finally {
    await context.close();
    server.close();
  }
}

// Chooses files in the dialog. Resolves once they are shown, or with what is wrong with them.
async function openFiles(page, ...names) {
  await page.click("#open");
  await page.setInputFiles("#files-input", names.map(file));
  await page.click("#open-dialog button.main");
  await page.waitForFunction(() => {
    const dialog = document.querySelector("#open-dialog");
    return !dialog.open || !dialog.querySelector(".problem").hidden;
  });
  const problem = await page.evaluate(() => document.querySelector("#open-dialog[open] .problem")?.textContent ?? "");
  if (problem === "") await firstMap(page);
  return problem;
}

async function saved(page, name) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
  await page.selectOption("#file", name);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
  return readFileSync(await download.path());
}

// Changes parameters of slot A, and waits for the map.
async function matchWith(page, values) {
  await page.evaluate((changed) => {
    const { state, matching } = window.parallax;
    window.mapBefore = state.results.A.map;
    Object.assign(state.results.A.settings.values, changed);
    matching.change("A");
  }, values);
  await page.waitForFunction(() => window.parallax.state.results.A.map !== window.mapBefore);
}

for (const isolated of [true, false])
  test(`files give the maps and the files of the command line: ${isolated ? "an isolated page" : "one that is not"}`, () =>
    withPage({ isolated }, async (page) => {
      assert.equal(await openFiles(page, "pair/right.png", "pair/calib.txt", "pair/left.png", "pair/disp0GT.pfm"), "");
      const found = await page.evaluate(() => {
        const { state } = window.parallax;
        return { ...state.server.source, truth: state.server.truth, focal: state.server.calibration.focal, errors: state.results.A.map.errors, isolated: crossOriginIsolated };
      });
      assert.deepEqual([found.left, found.right, found.truth, found.focal, found.isolated], ["left.png", "right.png", true, 321, isolated]);
      const options = ["--calib", "pair/calib.txt", "--json", "--truth", "pair/disp0GT.pfm"];
      const outputs = ["-o", "map.pfm", "--depth", "depth.png", "--image", "colours.png"];
      const report = JSON.parse(run(command, "match", "pair/left.png", "pair/right.png", ...options, ...outputs));
      assert.deepEqual(found.errors, report.error ?? report.errors);
      const files = { "disparity.pfm": "map.pfm", "depth.png": "depth.png", "colours.png": "colours.png" };
      for (const [name, own] of Object.entries(files)) assert.ok((await saved(page, name)).equals(readFileSync(file(own))), name);
      writeFileSync(file("map.tiff"), await saved(page, "disparity.tiff"));
      assert.equal(JSON.parse(run(command, "eval", "map.tiff", "map.pfm", "--json")).rms, 0);
      assert.match((await saved(page, "cloud.ply")).toString("latin1"), /^ply\n[^]*element vertex 7\d{4}\n/);
      const code = await page.evaluate(() => window.parallax.state.results.A.map.commands.command_line);
      assert.match(code, /^parallax match left\.png right\.png --calib calib\.txt --method bp --device cpu/);
    }));

test("JPEG and WebP files, both views in one picture, and files that are dropped", () =>
  withPage({ isolated: true }, async (page) => {
    await openFiles(page, "pair/left.png", "pair/right.png");
    const expected = await disparities(page);
    for (const names of [["im0.webp", "im1.webp"], ["both.png"]]) {
      assert.equal(await openFiles(page, ...names), "");
      assert.equal(await disparities(page), expected, names[0]);
    }
    assert.equal(await openFiles(page, "im0.jpg", "im1.jpg", "pair/calib.txt"), "");
    run(command, "match", "im0.jpg", "im1.jpg", "--calib", "pair/calib.txt", "-o", "jpeg.pfm");
    assert.ok((await saved(page, "disparity.pfm")).equals(readFileSync(file("jpeg.pfm"))));
    const transfer = await page.evaluateHandle((files) => {
      const data = new DataTransfer();
      for (const [name, bytes] of files) data.items.add(new File([new Uint8Array(bytes)], name));
      return data;
    }, ["left", "right"].map((side) => [`${side}.png`, [...readFileSync(file(`pair/${side}.png`))]]));
    await page.dispatchEvent("main", "dragover", { dataTransfer: transfer });
    assert.equal(await page.isVisible("#drop"), true);
    await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => window.parallax.state.server.source.left === "left.png" && window.parallax.state.results.A.map);
    assert.equal(await disparities(page), expected);
  }));

test("names say which file is what", () =>
  withPage({ isolated: true }, async (page) => {
    await page.click("#open");
    const pairs = [
      ["right.png", "left.png"],
      ["im1.png", "im0.png", "calib.txt", "disp0.pfm", "disp1.pfm", "im1E.png"],
      ["left.png", "mask0nocc.png", "right.png", "disp0GT.pfm"],
      ["view5.png", "view1.png", "disp1.png"],
      ["000000_10.png", "000000_10.png"],
      ["img10.png", "img9.png"],
      ["scene_R.png", "scene_L.png"],
      ["left_1.png", "right_0.png"],
      ["img1.png", "img2.png"],
      ["cam19.png", "cam20.png", "README.txt"],
      ["display_right.png", "display_left.png"],
      ["both.jpg", "rig.yaml"],
    ];
    const expected = [
      "left.png=left right.png=right",
      "calib.txt=calibration disp0.pfm=ground truth disp1.pfm=not used im0.png=left im1.png=right im1E.png=not used",
      "disp0GT.pfm=ground truth left.png=left mask0nocc.png=not used right.png=right",
      "disp1.png=ground truth view1.png=left view5.png=right",
      "000000_10.png=left 000000_10.png=right",
      "img9.png=left img10.png=right",
      "scene_L.png=left scene_R.png=right",
      "left_1.png=left right_0.png=right",
      "img1.png=left img2.png=right",
      "cam19.png=left cam20.png=right README.txt=not used",
      "display_left.png=left display_right.png=right",
      "both.jpg=both views rig.yaml=calibration",
    ];
    const choose = (names) => page.setInputFiles("#files-input", names.map((name, i) => ({ name, mimeType: "", buffer: Buffer.from(`${i}`) })));
    const found = () =>
      page.$$eval("#open-dialog .files .choice-row", (rows) =>
        rows.filter((row) => row.querySelector(".file-name")).map((row) => `${row.querySelector(".file-name").textContent}=${row.querySelector("select").value}`).join(" "));
    for (const [i, names] of pairs.entries()) {
      await choose(names);
      assert.equal(await found(), expected[i]);
    }
    // A second view belongs to the first.
    await choose(["other.jpg"]);
    assert.equal(await found(), "both.jpg=left rig.yaml=calibration other.jpg=right");
    // Roles that were chosen stay.
    await page.selectOption("#open-dialog .files .choice-row:nth-child(1) select", "right");
    await page.selectOption("#open-dialog .files .choice-row:nth-child(3) select", "left");
    await choose(["truth.pfm"]);
    assert.equal(await found(), "both.jpg=right rig.yaml=calibration other.jpg=left truth.pfm=ground truth");
  }));

test("a video with both views plays, and its frames can be chosen", () =>
  withPage({ isolated: true }, async (page) => {
    assert.equal(await openFiles(page, "both.webm"), "");
    const found = await page.evaluate(() => ({ ...window.parallax.state.server.source, ...window.parallax.state.pictures.size }));
    assert.deepEqual([found.kind, found.frames, found.width, found.height], ["sequence", 6, 320, 240]);
    await page.click("#step-forward");
    await page.waitForFunction(() => window.parallax.state.results.A.map?.frame === 1);
    const frames = [await disparities(page)];
    await page.click("#play");
    await page.waitForFunction(() => window.parallax.state.results.A.map?.frame === 5);
    frames.push(await disparities(page));
    await page.evaluate(() => window.parallax.player.step(-4));
    await page.waitForFunction(() => window.parallax.state.results.A.map?.frame === 1);
    assert.notEqual(frames[0], frames[1]);
    assert.equal(await disparities(page), frames[0]);
    // Frames that are asked for one right after the other are not mixed up.
    await page.evaluate(() => {
      for (const frame of [4, 2, 5]) void window.parallax.player.server.play({ playing: false, frame });
    });
    await page.waitForFunction(() => window.parallax.state.results.A.map?.frame === 5);
    assert.equal(await disparities(page), frames[1]);
    const code = await page.evaluate(() => window.parallax.state.results.A.map.commands.command_line);
    assert.match(code, /^parallax match both\.webm --layout side-by-side /);
    const sums = await page.evaluate(async () => {
      const { frames } = window.engine.source;
      const sum = ([{ data }]) => data.reduce((total, value) => (Math.imul(total, 31) + value) | 0, 0);
      const apart = [sum(await frames.decode(4)), sum(await frames.decode(1))];
      return { apart, together: (await Promise.all([frames.decode(4), frames.decode(1)])).map(sum) };
    });
    assert.notEqual(sums.apart[0], sums.apart[1]);
    assert.deepEqual(sums.together, sums.apart);
    // A pair in place of a video that plays.
    await page.evaluate(() => window.parallax.player.toggle());
    assert.equal(await openFiles(page, "pair/left.png", "pair/right.png"), "");
    // A frame of the video that comes too late is nobody's.
    await page.evaluate(() => window.engine.worker.postMessage({ kind: "frame", id: window.engine.scene - 1, number: 0, pictures: [] }));
    await page.evaluate(() => window.parallax.server.value("A", 5, 5));
    assert.equal(await page.isHidden("#banner"), true);
  }));

test("a changed parameter matches again, and a link holds what was changed", async () => {
  let hash;
  let expected;
  await withPage({ isolated: true, hash: "#sample=planes" }, async (page) => {
    const before = await disparities(page);
    await page.selectOption("#method", "sgm");
    await page.waitForFunction(() => window.parallax.state.results.A.map?.commands?.command_line.includes("sgm"));
    await matchWith(page, { disparities: 48, large_jump: 90 });
    expected = await disparities(page);
    assert.notEqual(expected, before);
    await page.waitForFunction(() => /large_jump=90/.test(location.hash));
    await page.reload();
    await firstMap(page);
    assert.equal(await disparities(page), expected);
    await page.waitForTimeout(600);
    hash = await page.evaluate(() => location.hash);
  });
  assert.equal(hash, "#sample=planes&method=sgm&disparities=48&large_jump=90");
  await withPage({ isolated: true, hash }, async (page) => assert.equal(await disparities(page), expected));
  // Words that mean nothing are passed over.
  await withPage({ isolated: true, hash: "#sample=moon&method=best&x=1&disparities=NaN&levels=" }, async (page) =>
    assert.equal(await page.evaluate(() => window.parallax.state.results.A.settings.method), "bp"));
});

test("the cloud, a cost curve, the check, and the figures", () =>
  withPage({ isolated: true }, async (page) => {
    await layout(page);
    assert.match(await page.textContent("#figures"), /Error/i);
    const curve = await page.evaluate(() => window.parallax.curve.server.curve("A", 200, 150));
    assert.equal(curve.data_costs.length, 64);
    await page.evaluate(() => window.parallax.check.run());
    assert.match(await page.textContent("#check-result"), /fit to be matched|rows/i);
    await page.click("#tab-cloud");
    await page.waitForFunction(() => window.parallax.cloud.current !== null);
  }));

test("bad input is refused in words, and what was shown stays", () =>
  withPage({ isolated: true }, async (page) => {
    writeFileSync(file("notes.png"), "not a picture");
    writeFileSync(file("broken.jpg"), Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(50)]));
    writeFileSync(file("calib.txt"), "nothing");
    const shown = await disparities(page);
    const refusals = [
      [["pair/calib.txt"], /picture is missing/],
      [["pair/left.png", "notes.png"], /^notes\.png: is damaged or not a picture: give PNG/],
      [["pair/left.png", "broken.jpg"], /^broken\.jpg: is damaged/],
      [["pair/left.png", "video/right/000000.png"], /321×240.*320×240|320×240.*321×240/],
      [["pair/left.png", "pair/right.png", "calib.txt"], /calib\.txt/],
    ];
    for (const [names, message] of refusals) {
      assert.match(await openFiles(page, ...names), message);
      await page.click("#open-dialog button:has-text('Close')");
      assert.equal(await disparities(page), shown);
    }
    const refused = page.waitForFunction(() => window.parallax.state.results.A.error);
    await page.evaluate(() => {
      window.parallax.state.results.A.settings.values.disparities = 5000;
      window.parallax.matching.change("A");
    });
    await refused;
    assert.match(await page.evaluate(() => window.parallax.state.results.A.error), /disparities/);
  }));

test("a worker that is lost starts again and says so", () =>
  withPage({ isolated: true }, async (page) => {
    await openFiles(page, "pair/left.png", "pair/right.png");
    const expected = await disparities(page);
    // No frames are expected: the worker fails.
    await page.evaluate(() => {
      window.parallax.state.results.A.map = null;
      window.lose = () => window.engine.worker.postMessage({ kind: "frame", id: window.engine.scene, number: 0, pictures: [] });
      window.lose();
    });
    await firstMap(page);
    assert.equal(await disparities(page), expected);
    await page.waitForFunction(() => !document.querySelector("#banner").hidden);
    assert.match(await page.textContent("#banner"), /^The engine crashed \(.*\) and was started again\.$/);
    // A second loss at once is not followed by others without end; the next pair has a worker again.
    await page.evaluate(() => window.lose());
    await page.waitForFunction(() => /again: open another pair/.test(document.querySelector("#banner").textContent));
    assert.equal(await openFiles(page, "pair/left.png", "pair/right.png"), "");
    assert.equal(await disparities(page), expected);
  }));

test("once loaded, it needs no network, and is isolated by its service worker", () => {
  const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; media-src blob:";
  return withPage({ policy }, async (page, server, context) => {
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(() => navigator.serviceWorker.controller);
    const asked = server.asked.length;
    await context.setOffline(true);
    await page.reload();
    await firstMap(page);
    await openFiles(page, "both.webm");
    await page.click("#tab-cloud");
    await page.waitForFunction(() => window.parallax.cloud.current !== null);
    assert.equal(await page.evaluate(() => crossOriginIsolated), true);
    // The browser itself looks for another version.
    assert.deepEqual(server.asked.slice(asked).filter((path) => path !== "/offline.js"), []);
    const own = ["index.html", "", "NOTICE.txt", "cloud.js", "engine.js", "icon.svg", "manifest.webmanifest", "offline.js", "page.js", "view.css", "viewer.js", "viewer.wasm", "viewer.worker.js"];
    assert.deepEqual([...new Set(server.asked)].filter((path) => !own.includes(path.slice(1)) && path !== "/favicon.ico"), []);
  });
});
