// SPDX-License-Identifier: Apache-2.0
// Loads the compiled library that suits the browser, or Node, and answers requests one after the other:
// {id, call, request} → {id, result} or {id, error: {code, message}}.
"use strict";

const inNode = typeof process === "object" && process.versions?.node !== undefined;
const node = inNode
  ? { fs: require("node:fs"), path: require("node:path"), port: require("node:worker_threads").parentPort }
  : null;

function load(script) {
  if (inNode) return require(`./${script}`);
  importScripts(script);
  return undefined;
}
const classes = load("library.js") ?? { Library, LibraryError };

// (module (func (result v128) (i8x16.splat (i32.const 0)))): only engines with vectors take it.
const vectorCode = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11,
]);

// Only isolated pages may share memory with other threads.
const hasThreads = inNode || self.crossOriginIsolated === true;

async function compile(name) {
  if (inNode) return WebAssembly.compile(node.fs.readFileSync(node.path.join(__dirname, `${name}.wasm`)));
  const response = await fetch(new URL(`${name}.wasm`, self.location.href));
  if (!response.ok) throw new Error(`cannot load ${response.url} (${response.status}): put it beside worker.js`);
  return WebAssembly.compile(await response.arrayBuffer());
}

const pageBytes = 2 ** 16;
const gibibyte = 2 ** 30;

// Memory that threads may share. It may grow to 2 GiB, or to less where so much cannot be reserved, as on phones.
function reserveMemory(most = 2 * gibibyte) {
  try {
    return new WebAssembly.Memory({ initial: 2 ** 24 / pageBytes, maximum: most / pageBytes, shared: true });
  } catch (error) {
    if (most <= gibibyte / 4) throw error;
    return reserveMemory(most / 2);
  }
}

// `memory`: that of threads; undefined without them.
async function open(name, threads, memory) {
  const compiled = await compile(name);
  const make = load(`${name}.js`) ?? self.makeParallax;
  // The script names a class that browsers hide from pages that are not isolated.
  if (memory) globalThis.SharedArrayBuffer ??= memory.buffer.constructor;
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  const settings = {
    wasmMemory: memory,
    poolSize: threads - 1,
    mainScriptUrlOrBlob: inNode ? undefined : new URL(`${name}.js`, self.location.href).href,
    locateFile: (file) => (inNode ? node.path.join(__dirname, file) : new URL(file, self.location.href).href),
    print: () => {},
    printErr: () => {},
    instantiateWasm(imports, receive) {
      WebAssembly.instantiate(compiled, imports).then((instance) => {
        memory ??= Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
        receive(instance, compiled);
        // Emscripten 3.1.6 waits for workers even where there are none.
        if (settings.poolSize === 0 && !settings.calledRun) settings.removeRunDependency("wasm-instantiate");
      }).catch(fail);
      return {};
    },
  };
  const module = await Promise.race([make(settings), failed]);
  return new classes.Library(module, memory);
}

// The library with vectors and threads, unless there are no vectors or no memory for it. `wanted` may say which.
async function start(threads, wanted) {
  let memory;
  if (wanted !== "parallax-scalar" && WebAssembly.validate(vectorCode)) {
    try {
      memory = reserveMemory();
    } catch (error) {
      if (wanted) throw error;
    }
  }
  const variant = memory ? "parallax" : "parallax-scalar";
  const count = memory && hasThreads ? threads : 1;
  return { library: await open(variant, count, memory), variant, threads: count };
}

const reply = (message, transfer) => (inNode ? node.port : self).postMessage(message, transfer);

// The memory of the arrays in an object.
function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value.buffer);
  else if (value && typeof value === "object") for (const member of Object.values(value)) buffersOf(member, found);
  return [...found];
}

let started;

async function answer({ id, call, request }) {
  try {
    if (call === "start") {
      started = start(request.threads, request.variant);
      const { library, variant, threads } = await started;
      return reply({ id, result: { version: library.version(), variant, threads, methods: library.methods() } });
    }
    const { library, threads } = await started;
    if (request) request.threads = Math.min(request.threads || threads, threads);
    const result = library[call](request);
    return reply({ id, result }, buffersOf(result));
  } catch (error) {
    // Errors other than the library's leave it in a state that nobody knows.
    const code = error instanceof classes.LibraryError ? error.code : "lost";
    return reply({ id, error: { code, message: error.message } });
  }
}

let last = Promise.resolve();
const receive = (message) => {
  last = last.then(() => answer(message));
};
if (inNode) node.port.on("message", receive);
else self.onmessage = ({ data }) => receive(data);
