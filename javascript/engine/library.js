// SPDX-License-Identifier: Apache-2.0
// The C interface (parallax/parallax_c.h) of a module with 32-bit addresses. It runs in a worker, which it blocks.
"use strict";

const codes = ["", "argument", "file", "device", "memory", "internal", "cancelled"];

class LibraryError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const bytesOf = { u8: 1, i32: 4, u32: 4, f32: 4, i64: 8, f64: 8 };

// A struct as C lays it out: each member begins at a multiple of its size.
class Struct {
  constructor(members) {
    let size = 0;
    let alignment = 4;
    this.members = Object.entries(members).map(([name, type]) => {
      const bytes = bytesOf[type];
      const offset = Math.ceil(size / bytes) * bytes;
      size = offset + bytes;
      alignment = Math.max(alignment, bytes);
      return { name, type, offset };
    });
    this.size = Math.ceil(size / alignment) * alignment;
  }

  write(view, at, values) {
    for (const { name, type, offset } of this.members) {
      const value = name === "struct_size" ? this.size : (values[name] ?? 0);
      if (type === "i64") view.setBigInt64(at + offset, BigInt(value), true);
      else if (type === "f64") view.setFloat64(at + offset, value, true);
      else view.setInt32(at + offset, value, true);
    }
  }

  read(view, at) {
    const values = {};
    for (const { name, type, offset } of this.members) {
      if (type === "i64") values[name] = Number(view.getBigInt64(at + offset, true));
      else if (type === "f64") values[name] = view.getFloat64(at + offset, true);
      else if (type === "u32") values[name] = view.getUint32(at + offset, true);
      else values[name] = view.getInt32(at + offset, true);
    }
    return values;
  }
}

const Picture = new Struct({
  struct_size: "u32", data: "u32", width: "i32", height: "i32", stride_bytes: "i64", type: "i32", channels: "i32",
});
const Pair = new Struct({
  struct_size: "u32", left: "u32", right: "u32", left_mask: "u32", right_mask: "u32", costs: "u32",
});
const DisparityMap = new Struct({
  struct_size: "u32", disparity: "u32", status: "u32", confidence: "u32", row_offset: "u32", right: "u32",
});
const Stage = new Struct({ name: "u32", milliseconds: "f64" });
const Parameter = new Struct({
  struct_size: "u32", name: "u32", kind: "i32", optional: "i32", expert: "i32", help: "u32", unit: "u32",
  allowed: "u32", group: "u32", default_value: "u32", least: "f64", most: "f64", choices: "u32", choice_count: "u32",
  devices: "u32", device_count: "u32", choice_devices: "u32",
});
const Metrics = new Struct({
  struct_size: "u32", count: "i64", bad05: "f64", bad1: "f64", bad2: "f64", bad4: "f64", average: "f64", rms: "f64",
  a50: "f64", a90: "f64", a95: "f64", a99: "f64", d1: "f64", coverage: "f64", mismatches: "i64",
});
const Calibration = new Struct({
  struct_size: "u32", focal: "f64", centre_x: "f64", centre_y: "f64", doffs: "f64", baseline: "f64", width: "i32",
  height: "i32", disparities: "i32", metres_per_unit: "f64",
});
const Report = new Struct({
  struct_size: "u32", verdict: "i32", side: "i32", sentence: "u32", remarks: "u32", remark_count: "u32", json: "u32",
});
const outOfMemory = (bytes) =>
  new LibraryError("memory", `out of memory: ${Math.ceil(bytes / 2 ** 20)} MiB more are needed: take a smaller picture`);
const CheckParameters = new Struct({
  struct_size: "u32", search_rows: "f64", search_columns: "f64", max_rows_off: "f64", threads: "i32",
});
const kinds = ["flag", "integer", "number", "choice"];
const pointBytes = 16;

const typeOf = (data) => 8 * data.BYTES_PER_ELEMENT;

class Library {
  // `module`: what the compiled script made; `memory` is its WebAssembly.Memory.
  constructor(module, memory) {
    this.module = module;
    this.memory = memory;
    this.planned = null; // {key, matcher}
  }

  // Memory

  get view() {
    return new DataView(this.memory.buffer);
  }
  // Calls work(scope), whose allocations last until it ends.
  scoped(work) {
    const addresses = [];
    const allocate = (bytes) => {
      const address = bytes < 2 ** 31 ? this.module._malloc(Math.max(bytes, 1)) >>> 0 : 0;
      if (address === 0) throw outOfMemory(bytes);
      addresses.push(address);
      return address;
    };
    const scope = {
      allocate,
      word: () => allocate(8),
      text: (text) => {
        const bytes = new TextEncoder().encode(text);
        const address = allocate(bytes.length + 1);
        const memory = new Uint8Array(this.memory.buffer);
        memory.set(bytes, address);
        memory[address + bytes.length] = 0;
        return address;
      },
      struct: (struct, values) => {
        const address = allocate(struct.size);
        struct.write(this.view, address, values);
        return address;
      },
      // A picture with the values of `data`, without gaps between its rows.
      picture: ({ width, height, channels = 1, data }) => {
        const address = allocate(data.byteLength);
        new Uint8Array(this.memory.buffer).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), address);
        return scope.struct(Picture, {
          data: address, width, height, stride_bytes: width * channels * data.BYTES_PER_ELEMENT, type: typeOf(data), channels,
        });
      },
      // A picture for the library to write, and take() to copy it out.
      output: (width, height, Type, channels = 1) => {
        const length = width * height * channels;
        const address = allocate(length * Type.BYTES_PER_ELEMENT);
        const struct = scope.struct(Picture, {
          data: address, width, height, stride_bytes: width * channels * Type.BYTES_PER_ELEMENT,
          type: 8 * Type.BYTES_PER_ELEMENT, channels,
        });
        return { struct, take: () => this.copy(Type, address, length) };
      },
    };
    try {
      return work(scope);
    } finally {
      for (const address of addresses) this.module._free(address);
    }
  }
  copy(Type, address, length) {
    const copy = new Type(length);
    copy.set(new Type(this.memory.buffer, address, length));
    return copy;
  }
  memoryBytes() {
    return this.memory.buffer.byteLength;
  }
  word(address) {
    return this.view.getUint32(address, true);
  }
  text(address) {
    const memory = new Uint8Array(this.memory.buffer);
    let end = address;
    while (memory[end] !== 0) ++end;
    return new TextDecoder().decode(memory.slice(address, end));
  }
  texts(address, count) {
    return Array.from({ length: count }, (_, i) => this.text(this.word(address + 4 * i)));
  }

  // Calls a function of the interface. Throws what it refuses.
  call(name, ...values) {
    const code = this.module[`_parallax_${name}`](...values);
    if (code !== 0) throw new LibraryError(codes[code] ?? "internal", this.text(this.module._parallax_error_message()));
  }
  // Calls a function that lists something, with the pointer to the list and to its length as last arguments.
  list(scope, name, ...values) {
    const list = scope.word();
    const count = scope.word();
    this.call(name, ...values, list, count);
    return { list: this.word(list), count: this.word(count) };
  }

  // Methods

  version() {
    return this.text(this.module._parallax_version());
  }
  methods() {
    return this.scoped((scope) => {
      const { list, count } = this.list(scope, "list_methods");
      return this.texts(list, count).map((name) => {
        const method = scope.text(name);
        const presets = this.list(scope, "list_presets", method);
        const parameters = this.list(scope, "list_parameters", method);
        return {
          name,
          presets: this.texts(presets.list, presets.count),
          parameters: Array.from({ length: parameters.count }, (_, i) => this.parameter(this.word(parameters.list + 4 * i))),
        };
      });
    });
  }
  parameter(address) {
    const it = Parameter.read(this.view, address);
    return {
      name: this.text(it.name),
      kind: kinds[it.kind],
      optional: it.optional !== 0,
      expert: it.expert !== 0,
      help: this.text(it.help),
      unit: this.text(it.unit),
      allowed: this.text(it.allowed),
      group: this.text(it.group),
      default: this.text(it.default_value),
      least: it.least,
      most: it.most,
      choices: this.texts(it.choices, it.choice_count),
    };
  }

  // Matching

  pair(scope, { left, right, leftMask, rightMask }) {
    return scope.struct(Pair, {
      left: scope.picture(left),
      right: scope.picture(right),
      left_mask: leftMask ? scope.picture(leftMask) : 0,
      right_mask: rightMask ? scope.picture(rightMask) : 0,
    });
  }

  // The matcher for these parameters and pictures, kept until others are asked for.
  plan(scope, { method, parameters, threads }, { width, height, data }) {
    const key = JSON.stringify([method, parameters, threads, width, height, typeOf(data)]);
    if (this.planned?.key === key) return this.planned.matcher;
    this.forget();
    const made = scope.word();
    this.call("matcher_create", scope.text(method), 0, made);
    const matcher = this.word(made);
    try {
      this.call("matcher_set_json", matcher, scope.text(JSON.stringify(parameters)));
      this.call("matcher_set_device", matcher, scope.text("cpu"), threads);
      this.call("matcher_plan", matcher, width, height, typeOf(data));
    } catch (error) {
      this.module._parallax_matcher_release(matcher);
      throw error;
    }
    this.planned = { key, matcher };
    return matcher;
  }
  forget() {
    if (this.planned) this.module._parallax_matcher_release(this.planned.matcher);
    this.planned = null;
  }

  match(request) {
    try {
      return this.matchOnce(request);
    } catch (error) {
      if (error.code === "memory") this.forget();
      throw error;
    }
  }
  matchOnce(request) {
    return this.scoped((scope) => {
      const { width, height } = request.left;
      const matcher = this.plan(scope, request, request.left);
      const word = scope.word();
      this.call("matcher_has_confidence", matcher, word);
      const confidence = request.confidence && this.word(word) !== 0 && scope.output(width, height, Float32Array);
      this.call("matcher_has_row_offsets", matcher, word);
      const rowOffset = this.word(word) !== 0 && scope.output(width, height, Float32Array);
      const disparity = scope.output(width, height, Float32Array);
      const status = scope.output(width, height, Uint8Array);
      const map = scope.struct(DisparityMap, {
        disparity: disparity.struct,
        status: status.struct,
        confidence: confidence ? confidence.struct : 0,
        row_offset: rowOffset ? rowOffset.struct : 0,
      });
      // A map depends on nothing that was matched before.
      this.call("matcher_forget_rows", matcher);
      this.call("matcher_run", matcher, this.pair(scope, request), map);
      const result = { width, height, disparity: disparity.take(), status: status.take() };
      if (confidence) result.confidence = confidence.take();
      if (rowOffset) result.rowOffset = rowOffset.take();
      const stages = this.list(scope, "matcher_stages", matcher);
      result.stages = Array.from({ length: stages.count }, (_, i) => {
        const { name, milliseconds } = Stage.read(this.view, stages.list + i * Stage.size);
        return { name: this.text(name), milliseconds };
      });
      this.call("matcher_get_json", matcher, word);
      result.parameters = JSON.parse(this.text(this.word(word)));
      this.call("matcher_memory", matcher, word);
      result.memoryBytes = this.word(word);
      return result;
    });
  }

  check(request) {
    return this.scoped((scope) => {
      const made = scope.word();
      // The defaults of the C interface, but for the threads.
      const parameters = { search_rows: 0.05, search_columns: 0.5, max_rows_off: 0.5, threads: request.threads };
      this.call("check_pair", this.pair(scope, request), scope.struct(CheckParameters, parameters), made);
      const report = this.word(made);
      const json = JSON.parse(this.text(Report.read(this.view, report).json));
      this.module._parallax_pair_report_release(report);
      return json;
    });
  }

  // Using maps

  evaluate({ disparity, truth, mask }) {
    return this.scoped((scope) => {
      const metrics = scope.struct(Metrics, {});
      this.call("evaluate", scope.picture(disparity), scope.picture(truth), mask ? scope.picture(mask) : 0, metrics);
      const { struct_size, ...values } = Metrics.read(this.view, metrics);
      return values;
    });
  }
  depth({ calibration, disparity }) {
    return this.scoped((scope) => {
      const depth = scope.output(disparity.width, disparity.height, Float32Array);
      this.call("depth", scope.struct(Calibration, calibration), scope.picture(disparity), depth.struct);
      return depth.take();
    });
  }
  points({ calibration, disparity, left }) {
    return this.scoped((scope) => {
      const points = scope.allocate(disparity.width * disparity.height * pointBytes);
      const word = scope.word();
      this.call("points", scope.struct(Calibration, calibration), scope.picture(disparity), scope.picture(left), points, word);
      const count = this.word(word);
      const floats = new Float32Array(this.memory.buffer, points, 4 * count);
      const bytes = new Uint8Array(this.memory.buffer, points, pointBytes * count);
      const positions = new Float32Array(3 * count);
      const colours = new Uint8Array(3 * count);
      for (let i = 0; i < count; ++i)
        for (let k = 0; k < 3; ++k) {
          positions[3 * i + k] = floats[4 * i + k];
          colours[3 * i + k] = bytes[pointBytes * i + 12 + k];
        }
      return { count, positions, colours };
    });
  }
  colour({ disparity, low, high }) {
    return this.scoped((scope) => {
      const { width, height } = disparity;
      const colours = scope.output(width, height, Uint8Array, 3);
      this.call("colour", scope.picture(disparity), low, high, colours.struct);
      const rgb = colours.take();
      const data = new Uint8ClampedArray(4 * width * height);
      for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
        data[to] = rgb[from];
        data[to + 1] = rgb[from + 1];
        data[to + 2] = rgb[from + 2];
        data[to + 3] = 255;
      }
      return { width, height, data };
    });
  }
  synthesize({ scene, width, height, disparities, seed }) {
    return this.scoped((scope) => {
      const left = scope.output(width, height, Uint8Array, 3);
      const right = scope.output(width, height, Uint8Array, 3);
      const truth = scope.output(width, height, Float32Array);
      // The seed has 64 bits, of which a number has 53.
      const [low, high] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
      this.call("synthesize", scope.text(scene), disparities, low, high, left.struct, right.struct, truth.struct);
      const colour = (data) => ({ width, height, channels: 3, data });
      return { left: colour(left.take()), right: colour(right.take()), truth: truth.take() };
    });
  }
}

if (typeof module === "object") module.exports = { Library, LibraryError };
