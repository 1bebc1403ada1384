// SPDX-License-Identifier: Apache-2.0
// A server with the protocol of tools/view/README.md and no matcher, to work on the page and to test what it does when a
// server stops: its maps are the truth of a scene of slanted planes, with noise that the settings change.
// Usage: node mock_server.mjs [--port N] [--size WxH] [--frames N] [--scale N] [--bundle FOLDER]
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const sources = join(here, "../../tools/view/page");
const { values: options } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    size: { type: "string", default: "640x480" },
    frames: { type: "string", default: "0" },
    scale: { type: "string", default: "1" },
    bundle: { type: "string", default: join(sources, "bundle") },
    methods: { type: "string" },
  },
});
const [width, height] = options.size.split("x").map(Number);
const frames = Number(options.frames);
const scale = Number(options.scale);
const token = Math.random().toString(36).slice(2);
const calibration = { focal: width, centre_x: (width - 1) / 2, centre_y: (height - 1) / 2, doffs: 0, baseline: 0.1 };
const statuses = "matched filled out_of_range inconsistent ambiguous textureless speckle input_masked".split(" ");

const number = (name, kind, least, most, more) => ({
  name, kind, least, most, help: `What ${name} is for`, unit: "", allowed: `a number from ${least} to ${most}`,
  group: "Matching", choices: [], optional: false, expert: false, ...more,
});
const search = [
  number("min_disparity", "integer", -1000000, 1000000, { group: "Search", unit: "pixels" }),
  number("disparities", "integer", 1, 1000000, { group: "Search", unit: "pixels" }),
];
const method = (name, parameters, presets) => ({ name, help: "", devices: ["cpu"], presets, parameters: [...search, ...parameters] });
const range = { min_disparity: 0, disparities: 64 };
const methods = options.methods ? JSON.parse(readFileSync(options.methods)) : [
  method("first", [
    number("window", "integer", 1, 15, { numbers: [1, 3, 5, 7, 9, 11, 13, 15], unit: "pixels" }),
    number("uniqueness", "integer", 0, 100),
    number("weight", "number", 1e-6, 1000),
    number("outside_cost", "number", 0, 1000, { optional: true, expert: true }),
    { ...number("cost", "choice", null, null), choices: ["hamming", "ad-census"], allowed: "one of hamming, ad-census" },
    { ...number("left_right_check", "flag", null, null), group: "Refinement", allowed: "true or false" },
  ], [
    { name: "default", values: { ...range, window: 9, uniqueness: 0, weight: 0.04, outside_cost: null, cost: "hamming", left_right_check: true } },
    { name: "fast", values: { ...range, window: 5, uniqueness: 0, weight: 0.04, outside_cost: null, cost: "hamming", left_right_check: false } },
  ]),
  method("second", [number("noise", "number", 0, 8, { unit: "pixels" }), number("row_tolerance", "integer", 0, 16, { unit: "pixels" })],
    [{ name: "default", values: { ...range, noise: 1, row_tolerance: 0 } }]),
];

const hash = (x, y) => {
  const mixed = Math.imul(Math.imul(x, 0x27d4eb2d) ^ Math.imul(y + 7, 0x165667b1), 0x2c1b3c6d);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
};
const textureAt = (x, y) => {
  const coarse = 0.5 + 0.25 * Math.sin(x / 23) + 0.25 * Math.cos(y / 31);
  return Math.floor(255 * (0.6 * coarse + 0.4 * hash(Math.floor(x), Math.floor(y))));
};
function truthAt(x, y, frame) {
  const [u, v] = [x / width, y / height];
  const ball = 0.05 - (u - 0.35 - 0.01 * frame) ** 2 - ((v - 0.5) * height / width) ** 2;
  if (ball > 0) return 34 + 60 * Math.sqrt(ball);
  return u > 0.65 && u < 0.85 && v > 0.3 ? 28 : 8 + 16 * v;
}

const sizeOf = (area) => ({ width: Math.ceil(area.width / area.scale), height: Math.ceil(area.height / area.scale) });
function plane(area, Type, channels, at) {
  const size = sizeOf(area);
  const data = new Type(size.width * size.height * channels);
  for (let y = 0, i = 0; y < size.height; ++y)
    for (let x = 0; x < size.width; ++x)
      for (let c = 0; c < channels; ++c) data[i++] = at(area.x + x * area.scale, area.y + y * area.scale, c);
  return { ...size, channels, type: { Uint8Array: "u8", Uint16Array: "u16" }[Type.name], data };
}
const whole = { x: 0, y: 0, width, height, scale };
const steps = 64;
const code = (disparity) => (Number.isFinite(disparity) ? 1 + Math.round(disparity * steps) : 0);

function message(head, planes) {
  let offset = 0;
  const described = Object.entries(planes).map(([name, { data, ...about }]) => {
    const at = offset;
    offset += Math.ceil(data.byteLength / 8) * 8;
    return { name, ...about, offset: at };
  });
  const json = Buffer.from(JSON.stringify({ ...head, planes: described }));
  const padded = Buffer.alloc(Math.ceil(json.length / 8) * 8, " ");
  json.copy(padded);
  const body = Buffer.alloc(8 + padded.length + offset);
  body.writeUInt32LE(body.length - 4, 0);
  body.writeUInt32LE(padded.length, 4);
  padded.copy(body, 8);
  Object.values(planes).forEach(({ data }, i) =>
    Buffer.from(data.buffer).copy(body, 8 + padded.length + described[i].offset));
  return body;
}

const allPictures = ["left", "right", "truth"];
const pictureMakers = {
  left: (area, frame) => plane(area, Uint8Array, 3, (x, y, c) => Math.min(255, textureAt(x + truthAt(x, y, frame), y) + 8 * c)),
  right: (area, frame) => plane(area, Uint8Array, 3, (x, y, c) => Math.min(255, textureAt(x + truthAt(x, y, frame) * 2, y) + 8 * c)),
  truth: (area, frame) => plane(area, Uint16Array, 1, (x, y) => code(truthAt(x, y, frame))),
};
const pictures = (area, frame, names) => Object.fromEntries(names.map((name) => [name, pictureMakers[name](area, frame)]));
const found = (settings, x, y, frame) => {
  const noise = settings.values.noise ?? 2 / (settings.values.window ?? 9);
  const wrong = hash(x * 3, y) < (settings.values.uniqueness ?? 0) / 200;
  const out = truthAt(x, y, frame) > settings.values.min_disparity + settings.values.disparities - 1;
  return wrong || out ? NaN : truthAt(x, y, frame) + noise * (hash(x, y * 5) - 0.5);
};
// From one row above on the left to one row below on the right.
const rowAt = (x) => (2 * x) / (width - 1) - 1;
const rightAt = (x) => 10 + (30 * x) / (width - 1);
const rowCoding = { lowest: -1, steps };
const mapPlanes = (settings, area, frame) => ({
  disparity: plane(area, Uint16Array, 1, (x, y) => code(found(settings, x, y, frame))),
  status: plane(area, Uint8Array, 1, (x, y) => (Number.isFinite(found(settings, x, y, frame)) ? (x < 40 ? 1 : 0) : 4)),
  confidence: plane(area, Uint8Array, 1, (x, y) => 255 * hash(x >> 3, y >> 3)),
  // A ramp over the columns of the right picture.
  ...(settings.both_maps && { right_disparity: plane(area, Uint16Array, 1, (x) => code(rightAt(x))) }),
  ...(settings.values.row_tolerance > 0 && {
    row_offset: plane(area, Uint16Array, 1, (x, y) => (Number.isFinite(found(settings, x, y, frame)) ? code(rowAt(x) + 1) : 0)),
  }),
});

class Page {
  frame = 0;
  planes = ["left"];
  settings = {};
  playing = false;
  send(bytes) {
    this.response?.write(bytes);
  }
  open(response) {
    this.response = response;
    this.timer = setInterval(() => this.send(message({ kind: "alive" }, {})), 2000);
    this.showFrame();
  }
  sendPictures(names) {
    const size = { width, height };
    const coding = { lowest: 0, steps };
    this.send(message({ kind: "pictures", frame: this.frame, name: `frame ${this.frame}`, size, scale, ...coding }, pictures(whole, this.frame, names)));
  }
  choosePlanes(wanted) {
    const names = allPictures.filter((name) => name === "left" || wanted[name]);
    const more = names.filter((name) => !this.planes.includes(name));
    this.planes = names;
    if (more.length > 0) this.sendPictures(more);
  }
  showFrame() {
    this.sendPictures(this.planes);
    for (const slot of Object.keys(this.settings)) this.match(slot);
    if (frames > 0) this.send(message({ kind: "sequence", playing: this.playing, frame: this.frame }, {}));
  }
  match(slot) {
    const settings = this.settings[slot];
    const began = performance.now();
    if (settings.values.uniqueness === 99) {
      this.send(message({ kind: "error", slot, request: settings.request, error: "uniqueness is 99: choose less" }, {}));
      return;
    }
    const planes = mapPlanes(settings, whole, this.frame);
    const time = performance.now() - began;
    const { disparities, min_disparity } = settings.values;
    const text = `parallax match left.png right.png --method ${settings.method} --disparities ${disparities} -o disparity.pfm`;
    this.send(message({
      kind: "map", slot, request: settings.request, frame: this.frame, size: { width, height }, scale, lowest: 0, steps,
      row_offset: rowCoding, right_disparity: { lowest: 0, steps }, range: { lowest: min_disparity, disparities }, milliseconds: time, stages: [["search", 0.7 * time], ["fill", 0.3 * time]],
      device: "cpu", memory_bytes: 12e6, shares: { matched: 0.9, filled: 0.1, valid: 1 }, quantiles: [9, 10, 18, 40, 44],
      errors: { count: width * height, bad1: 0.031, bad2: 0.012, avgerr: 0.21, rms: 0.4 },
      commands: { command_line: text, python: "import parallax_stereo as px", cpp: "parallax::Matcher matcher;" },
    }, planes));
  }
  play({ playing, frame }) {
    clearInterval(this.player);
    this.playing = playing ?? this.playing;
    if (frame !== undefined) this.frame = frame % frames;
    this.showFrame();
    if (this.playing) this.player = setInterval(() => {
      this.frame = (this.frame + 1) % frames;
      this.showFrame();
    }, 40);
  }
  close() {
    clearInterval(this.timer);
    clearInterval(this.player);
  }
}

const pages = new Map();
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain" };
const server = createServer((request, response) => {
  const url = new URL(request.url, "http://x");
  const json = (value, status = 200) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
  response.setHeader("Content-Security-Policy", "default-src 'self'");
  const file = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
  if (request.method === "GET" && /^[\w.]+\.\w+$/.test(file))
    return response.writeHead(200, { "Content-Type": types[extname(file)] ?? "text/plain" })
      .end(readFileSync(join(/\.(js|css)$/.test(file) ? options.bundle : sources, file), "utf8").replace("TOKEN", token));
  if (request.headers["x-parallax-token"] !== token) return json({ error: "the token is missing: reload the page" }, 403);
  if (url.pathname === "/state") return json({
    version: "0", source: { kind: frames > 0 ? "sequence" : "pair", left: "left.png", right: "right.png", frames, frames_per_second: 25 },
    calibration, truth: true, devices: [{ name: "cpu", description: "processor" }], methods, statuses,
    start: { method: methods[0].name, device: "cpu", threads: 0, temporal: false, preset: "default", values: { ...methods[0].presets[0].values } },
  });
  const [, , name, what] = url.pathname.split("/");
  if (what === "stream") pages.set(name, new Page());
  const page = pages.get(name);
  if (!page) return json({ error: "this page is gone: reload it" }, 404);
  if (what === "stream") {
    response.writeHead(200, { "Content-Type": "application/octet-stream" });
    page.open(response);
    return request.on("close", () => { page.close(); pages.delete(name); });
  }
  const slot = url.searchParams.get("slot");
  const [x, y] = ["x", "y"].map((key) => Number(url.searchParams.get(key)));
  const settings = page.settings[slot];
  if (what === "value") {
    const disparity = found(settings, x, y, page.frame);
    return json({ disparity: Number.isFinite(disparity) ? disparity : null, depth: (width * 0.1) / disparity, truth: truthAt(x, y, page.frame), ...(settings.values.row_tolerance > 0 && { row_offset: rowAt(x) }), ...(settings.both_maps && { right_disparity: rightAt(x) }) });
  }
  if (what === "region") {
    const area = { x, y, scale: 1, width: Number(url.searchParams.get("width")), height: Number(url.searchParams.get("height")) };
    const planes = { ...pictures(area, page.frame, allPictures), ...mapPlanes(settings, area, page.frame) };
    return response.end(message({ kind: "region", x, y, lowest: 0, steps, truth: { lowest: 0, steps }, row_offset: rowCoding, right_disparity: { lowest: 0, steps } }, planes));
  }
  if (what === "export") return response.end("exported");
  if (what === "check") return json({
    verdict: "fit", fit: true, sentence: "The pair is fit to be matched: its rows line up.", remarks: [],
    rows_off: { points: 200, median: 0.1, 95: 0.3 }, model: { rotation_degrees: 0.001 },
    points: Array.from({ length: 200 }, (_, i) => [hash(i, 1) * width, hash(i, 2) * height, hash(i, 3) * 1.2 - 0.6]),
  });
  let body = "";
  request.on("data", (piece) => (body += piece)).on("end", () => {
    const said = JSON.parse(body || "{}");
    json({});
    if (what === "play") page.play(said);
    else if (what === "planes") page.choosePlanes(said);
    else if (said.method === null) delete page.settings[said.slot];
    else {
      page.settings[said.slot] = said;
      page.match(said.slot);
    }
  });
});
server.listen(Number(options.port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
