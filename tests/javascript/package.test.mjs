// SPDX-License-Identifier: Apache-2.0
// The package under Node.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { optionsOf } from "../../javascript/make_options.mjs";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = join(repository, "build/javascript/parallax-stereo");
const { Engine, ParallaxError, match, statuses } = await import(join(folder, "index.js"));

const digest = ({ disparity, status }) => createHash("sha256").update(disparity).update(status).digest("hex");
const plane = ({ width, height }, data) => ({ width, height, data });

let engine;
let pair;
before(async () => {
  engine = new Engine({ threads: 2 });
  pair = await engine.synthesize({ width: 160, height: 96, disparities: 20, seed: 3 });
});
after(() => engine.close());

test("maps do not depend on threads, nor on the variant", async () => {
  const scalar = new Engine({ variant: "parallax-scalar" });
  const alone = new Engine({ threads: 1 });
  for (const { name } of await engine.methods()) {
    if (name === "motion") continue;
    const options = { method: name, disparities: 24 };
    const expected = digest(await engine.match(pair.left, pair.right, options));
    assert.equal(digest(await alone.match(pair.left, pair.right, options)), expected, `${name}, one thread`);
    assert.equal(digest(await scalar.match(pair.left, pair.right, options)), expected, `${name}, scalar`);
  }
  assert.deepEqual([(await engine.start()).threads, (await alone.start()).threads, (await scalar.start()).threads], [2, 1, 1]);
  scalar.close();
  alone.close();
});

test("a map has all its parts, near the truth", async () => {
  const map = await engine.match(pair.left, pair.right, { method: "bp", disparities: 24, confidence: true, row_tolerance: 1 });
  const length = 160 * 96;
  assert.deepEqual([map.width, map.height, map.disparity.length, map.status.length], [160, 96, length, length]);
  assert.ok(map.confidence.every((value) => value >= 0 && value <= 1) && map.confidence.some((value) => value > 0));
  assert.equal(map.rowOffset.length, length);
  assert.equal(map.parameters.disparities, 24);
  assert.ok(map.stages.length > 3 && map.stages.every(({ name, milliseconds }) => name && milliseconds >= 0));
  assert.ok(map.memoryBytes > 1e6);
  assert.ok(map.status.every((value) => value < statuses.length));
  const metrics = await engine.evaluate(map, pair.truth);
  assert.ok(metrics.count > 0.9 * length && metrics.bad1 < 0.1, JSON.stringify(metrics));
  const exact = await engine.evaluate(plane(map, pair.truth), pair.truth);
  assert.deepEqual([exact.bad05, exact.average, exact.count], [0, 0, metrics.count]);
});

test("pictures may have opacity, 16 bits and masks", async () => {
  const options = { method: "census", disparities: 24 };
  const expected = digest(await engine.match(pair.left, pair.right, options));
  const withOpacity = ({ width, height, data }) => {
    const rgba = new Uint8ClampedArray(4 * width * height).fill(7);
    for (let i = 0; i < width * height; ++i) rgba.set(data.subarray(3 * i, 3 * i + 3), 4 * i);
    return { width, height, data: rgba };
  };
  assert.equal(digest(await engine.match(withOpacity(pair.left), withOpacity(pair.right), options)), expected);
  const deep = ({ width, height, data }) => ({ width, height, data: Uint16Array.from(data, (value) => 256 * value) });
  const deepMap = await engine.match(deep(pair.left), deep(pair.right), options);
  assert.ok((await engine.evaluate(deepMap, pair.truth)).bad1 < 0.1);
  const mask = new Uint8Array(160 * 96).fill(255);
  mask.fill(0, 0, 160);
  const masked = await engine.match(pair.left, pair.right, { ...options, leftMask: plane(pair.left, mask) });
  assert.ok(masked.status.subarray(0, 160).every((value) => statuses[value] === "input-masked"));
  assert.ok(masked.status.subarray(160).every((value) => statuses[value] !== "input-masked"));
});

test("depths and points are those of the calibration", async () => {
  const disparity = { width: 2, height: 1, data: new Float32Array([5, Infinity]) };
  const calibration = { focal: 100, centreX: 0, centreY: 0, baseline: 0.2, doffs: 5 };
  assert.deepEqual([...(await engine.depth(calibration, disparity))], [2, 0]);
  const left = { width: 2, height: 1, data: new Uint8Array([1, 2, 3, 4, 5, 6]) };
  const points = await engine.points(calibration, disparity, left);
  assert.deepEqual([points.count, [...points.positions], [...points.colours]], [1, [0, 0, 2], [1, 2, 3]]);
  const { data } = await engine.colour(disparity, 0, 10);
  assert.equal(data.length, 8);
  assert.deepEqual([...data.subarray(3)], [255, 0, 0, 0, 255]);
});

test("a pair is checked", async () => {
  assert.equal((await engine.check(pair.left, pair.right)).verdict, "fit");
  assert.equal((await engine.check(pair.right, pair.left)).verdict, "exchanged");
});

const refusedBy = (work, message, code = "argument") =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ParallaxError, String(error));
    assert.match(error.message, message);
    assert.equal(error.code, code);
    return true;
  });

test("what cannot be used is refused in words", async () => {
  const { left, right } = pair;
  const small = (width, height, data) => engine.match({ width, height, data }, right);
  const match = (options) => engine.match(left, right, options);
  const calibration = { focal: 1, centreX: 0, centreY: 0, baseline: 1 };
  await refusedBy(engine.match(null, right), /^left is not a picture: give /);
  await refusedBy(small(4, 4, new Uint8Array(15)), /^left has 15 values for 4×4 pixels: give /);
  await refusedBy(small(4, 4, new Float32Array(16)), /^left.data is a Float32Array: give /);
  await refusedBy(small(-4, NaN, new Uint8Array(16)), /^left is not a picture/);
  await refusedBy(engine.match(left, { width: 8, height: 8, data: new Uint8Array(64) }), /right image is 8×8/);
  await refusedBy(match({ method: "best" }), /^method is best: choose one of block, /);
  await refusedBy(match({ disparities: NaN }), /^disparities is NaN: /);
  await refusedBy(match({ disparities: "many" }), /^disparities is many: /);
  await refusedBy(match({ disparities: 64n }), /^disparities is a bigint: give /);
  await refusedBy(match({ disparities: () => 64 }), /^disparities is a function: give /);
  await refusedBy(match({ shine: 3 }), /shine/);
  await refusedBy(match({ threads: "x" }), /^threads is x: give /);
  await refusedBy(match({ leftMask: { width: 3, height: 3, data: new Uint8Array(9) } }), /^leftMask is 3×3: give one of 160×96$/);
  await refusedBy(match({ leftMask: { width: 96, height: 160, data: new Uint8Array(96 * 160) } }), /^leftMask is 96×160: give /);
  await refusedBy(engine.evaluate({ width: 2, height: 2, data: new Float32Array(4) }, new Float32Array(3)), /^truth has 3 values/);
  await refusedBy(engine.depth({ ...calibration, focal: NaN }, plane(left, pair.truth)), /^calibration.focal is NaN: give /);
  await refusedBy(engine.depth(undefined, plane(left, pair.truth)), /^calibration.focal is undefined: give /);
  await refusedBy(engine.synthesize({ width: 64.5 }), /^width is 64.5: give /);
  await refusedBy(engine.synthesize({ seed: 1.7 }), /^seed is 1.7: give /);
  assert.throws(() => new Engine({ threads: -1 }), /^ParallaxError: threads is -1: give /);
});

test("too large a picture is refused, and the next one matched", async () => {
  const refused = (width, height, disparities, message) => {
    const picture = { width, height, data: new Uint8Array(width * height) };
    return assert.rejects(engine.match(picture, picture, { method: "tiled-bp", disparities }), { code: "memory", message });
  };
  await refused(6000, 4000, 256, /^[0-9.]+ GiB of memory are needed, but only 2 GiB can be addressed: match a smaller image, or fewer disparities$/);
  await refused(4600, 2500, 128, /^out of memory: /);
  await assert.rejects(engine.synthesize({ width: 1_000_000, height: 1_000_000 }), { code: "memory" });
  assert.equal((await engine.match(pair.left, pair.right, { disparities: 24 })).width, 160);
});

test("pairs of different seeds differ, and those of one do not", async () => {
  const of = async (seed) => Buffer.from((await engine.synthesize({ width: 64, height: 48, disparities: 16, seed })).left.data);
  assert.ok((await of(3)).equals(await of(3)));
  assert.ok(!(await of(3)).equals(await of(2 ** 32 + 3)));
});

test("a map depends on nothing that was matched before", async () => {
  const options = { method: "census", disparities: 64, rows: "once" };
  const { left, right } = await engine.synthesize({ width: 640, height: 480, disparities: 64 });
  // The same picture two rows lower.
  const lower = { ...right, data: new Uint8Array([...right.data.subarray(3 * 640 * 2), ...right.data.subarray(3 * 640 * 478)]) };
  await engine.match(left, right, options);
  const afterwards = digest(await engine.match(left, lower, options));
  const other = new Engine();
  assert.equal(afterwards, digest(await other.match(left, lower, options)));
  other.close();
});

test("one signal ends several matches, and a caller may change what it gave", async () => {
  const large = await engine.synthesize({ width: 1280, height: 720, disparities: 128 });
  const options = { method: "bp", disparities: 128 };
  const controller = new AbortController();
  const match = (signal) => engine.match(large.left, large.right, { ...options, signal });
  const ended = [match(controller.signal), match(controller.signal), match(controller.signal)];
  const given = { ...pair.left, data: pair.left.data.slice() };
  const last = engine.match(given, pair.right, { method: "census", disparities: 24 });
  given.data.fill(0);
  setTimeout(() => controller.abort(), 50);
  for (const match of ended) await assert.rejects(match, { name: "AbortError" });
  assert.equal(digest(await last), digest(await engine.match(pair.left, pair.right, { method: "census", disparities: 24 })));
});

test("a signal ends a match, and what waits is answered by another worker", async () => {
  const large = await engine.synthesize({ width: 1280, height: 720, disparities: 128 });
  const options = { method: "bp", disparities: 128 };
  const cancelled = new AbortController();
  const first = engine.match(large.left, large.right, { ...options, signal: cancelled.signal });
  const dropped = new AbortController();
  const second = engine.match(large.left, large.right, { ...options, signal: dropped.signal });
  const third = engine.match(pair.left, pair.right, { method: "census", disparities: 24 });
  setTimeout(() => dropped.abort(new Error("not wanted")), 50);
  setTimeout(() => cancelled.abort(), 100);
  await assert.rejects(second, /not wanted/);
  await assert.rejects(first, { name: "AbortError" });
  assert.equal((await third).width, 160);
  await assert.rejects(engine.match(pair.left, pair.right, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("a closed engine starts again", async () => {
  const own = new Engine({ threads: 1 });
  const started = own.start();
  const matched = own.match(pair.left, pair.right, { method: "bp", disparities: 24 });
  own.close();
  await assert.rejects(started, { code: "cancelled" });
  await assert.rejects(matched, { code: "cancelled" });
  await own.start();
  const next = own.match(pair.left, pair.right, { method: "bp", disparities: 24 });
  own.close();
  await assert.rejects(next, { code: "cancelled" });
  assert.equal((await own.match(pair.left, pair.right, { disparities: 24 })).width, 160);
  own.close();
});

test("a lost worker says so and starts again", async () => {
  const threads = createRequire(import.meta.url)("node:worker_threads");
  const Known = threads.Worker;
  const workers = [];
  threads.Worker = class extends Known {
    constructor(...words) {
      super(...words);
      workers.push(this);
    }
  };
  syncBuiltinESMExports();
  const own = new Engine({ threads: 1 });
  await own.start();
  threads.Worker = Known;
  syncBuiltinESMExports();
  const large = await own.synthesize({ width: 1280, height: 720, disparities: 128 });
  const lost = own.match(large.left, large.right, { method: "bp", disparities: 128 });
  const next = own.match(pair.left, pair.right, { method: "census", disparities: 24 });
  setTimeout(() => workers[0].terminate(), 50);
  await assert.rejects(lost, /^ParallaxError: the engine crashed \(exit 1\) and will restart: try again$/);
  assert.equal((await next).width, 160);
  own.close();
});

test("memory does not grow from match to match", async () => {
  const own = new Engine({ threads: 2 });
  const { left, right } = await own.synthesize({ width: 320, height: 240, disparities: 32 });
  const sizes = [];
  for (let i = 0; i < 40; ++i) {
    await own.match(left, right, { method: ["census", "sgm"][i % 2], disparities: 32 });
    sizes.push(await own.memoryBytes());
  }
  assert.equal(sizes.at(-1), sizes[5]);
  own.close();
});

test("an engine that cannot be loaded says where it is looked for, and is looked for again", async () => {
  const scratch = mkdtempSync(join(tmpdir(), "parallax-engine-"));
  cpSync(join(folder, "engine"), scratch, { recursive: true });
  renameSync(join(scratch, "parallax.wasm"), join(scratch, "away"));
  const own = new Engine({ threads: 1, url: pathToFileURL(join(scratch, "worker.js")) });
  await refusedBy(own.match(pair.left, pair.right, { disparities: 24 }), /^cannot load file:.*worker.js \(.*parallax.wasm.*\): serve the folder/, "file");
  renameSync(join(scratch, "away"), join(scratch, "parallax.wasm"));
  assert.equal((await own.match(pair.left, pair.right, { disparities: 24 })).width, 160);
  own.close();
  await refusedBy(new Engine({ url: pathToFileURL("/nowhere/worker.js") }).start(), /^cannot load file:\/\/\/nowhere/, "file");
  rmSync(scratch, { recursive: true });
});

test("the types of the options are those that the methods declare", async () => {
  assert.equal(readFileSync(join(repository, "javascript/options.d.ts"), "utf8"), optionsOf(await engine.methods()),
    "run node javascript/make_options.mjs build/javascript/parallax-stereo > javascript/options.d.ts");
});

const tsc = join(repository, "tools/view/page/node_modules/.bin/tsc");
test("types accept what works and refuse what does not", { skip: !existsSync(tsc) && "npm ci has not run in tools/view/page" }, () => {
  const program = (line) => `import { match, Engine } from ${JSON.stringify(join(folder, "index.js"))};
    declare const picture: ImageData;
    const map = await match(picture, picture, { method: "sgm", disparities: 64, signal: AbortSignal.timeout(9) });
    const status: Uint8Array = map.status;
    ${line}
    export { map, status };`;
  const scratch = mkdtempSync(join(tmpdir(), "parallax-types-"));
  const compiles = (line) => {
    const file = join(scratch, "program.mts");
    writeFileSync(file, program(line));
    try {
      execFileSync(tsc, ["--noEmit", "--strict", "--target", "esnext", "--module", "nodenext", "--lib", "esnext,dom", file]);
      return true;
    } catch (error) {
      return String(error.stdout);
    }
  };
  assert.equal(compiles(""), true);
  assert.match(compiles('await match(picture, picture, { method: "sgm", paths: "many" });'), /not assignable/);
  assert.match(compiles('await match(picture, picture, { method: "best" });'), /not assignable/);
  assert.match(compiles("await match(picture);"), /arguments/);
  const shown = 'const { data, width, height } = await new Engine().colour(map, 0, 9); export const shown = new ImageData(data, width, height);';
  assert.equal(compiles(shown), true);
  rmSync(scratch, { recursive: true });
});

const esbuild = join(repository, "tools/view/page/node_modules/.bin/esbuild");
test("a bundler for browsers takes it", { skip: !existsSync(esbuild) && "npm ci has not run in tools/view/page" }, () => {
  const words = [join(folder, "index.js"), "--bundle", "--platform=browser", "--format=esm", "--log-level=warning"];
  assert.match(execFileSync(esbuild, words).toString(), /engine\/worker\.js/);
});

test("the archive has the same bytes each time, the licences, and works where it is installed", () => {
  const scratch = mkdtempSync(join(tmpdir(), "parallax-npm-"));
  const pack = (to) => {
    const [{ filename }] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", to, folder]));
    return join(to, filename);
  };
  const archive = pack(scratch);
  const bytes = readFileSync(archive);
  assert.ok(readFileSync(pack(scratch)).equals(bytes));
  execFileSync("tar", ["xf", archive, "-C", scratch]);
  for (const name of ["highway", "onetbb", "nlohmann-json", "emscripten"])
    assert.ok(readFileSync(join(scratch, "package/licences", name), "utf8").length > 500, name);
  const program = `import { match, synthesize } from "./package/index.js";
    const { left, right } = await synthesize({ width: 64, height: 48, disparities: 16 });
    console.log((await match(left, right, { method: "census", disparities: 16 })).disparity.length);`;
  const printed = execFileSync("node", ["--input-type=module", "-e", program], { cwd: scratch, timeout: 30_000 });
  assert.equal(printed.toString(), "3072\n");
  rmSync(scratch, { recursive: true });
});
