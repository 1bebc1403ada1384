// SPDX-License-Identifier: Apache-2.0
// Loads modules that Emscripten compiled, in a worker.
"use strict";

// A name of its own, because scripts of a worker share theirs.
var parallaxLoader = (() => {
  const inNode = typeof process === "object" && process.versions?.node !== undefined;
  const node = inNode ? { fs: require("node:fs"), path: require("node:path") } : null;

  // (module (func (result v128) (i8x16.splat (i32.const 0)))): only engines with vectors take it.
  const vectorCode = new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11,
  ]);

  const hasVectors = WebAssembly.validate(vectorCode);

  // Only isolated pages may share memory with other threads.
  const hasThreads = inNode || self.crossOriginIsolated === true;

  async function compile(name) {
    if (inNode) return WebAssembly.compile(node.fs.readFileSync(node.path.join(__dirname, `${name}.wasm`)));
    const response = await fetch(new URL(`${name}.wasm`, self.location.href));
    if (!response.ok) throw new Error(`cannot load ${response.url} (${response.status})`);
    // Compiling while it arrives takes the right type, which not all servers know.
    if (/^application\/wasm\b/.test(response.headers.get("Content-Type"))) return WebAssembly.compileStreaming(response);
    return WebAssembly.compile(await response.arrayBuffer());
  }

  // The function that the script NAME.js defines.
  function script(name) {
    if (inNode) return require(`./${name}.js`);
    importScripts(`${name}.js`);
    return self.makeParallax;
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

  // Loads NAME.js and NAME.wasm. `memory`: that of threads; undefined for a module without them. `tell` takes the lines that
  // the module writes.
  async function loadModule(name, threads, memory, tell = () => {}) {
    const compiling = compile(name);
    compiling.catch(() => {});  // reported below
    const make = script(name);
    const compiled = await compiling;
    // The script names a class that browsers hide from pages that are not isolated.
    if (memory) globalThis.SharedArrayBuffer ??= memory.buffer.constructor;
    let fail;
    const failed = new Promise((_, reject) => (fail = reject));
    const settings = {
      wasmMemory: memory,
      poolSize: threads - 1,
      mainScriptUrlOrBlob: inNode ? undefined : new URL(`${name}.js`, self.location.href).href,
      locateFile: (file) => (inNode ? node.path.join(__dirname, file) : new URL(file, self.location.href).href),
      print: tell,
      printErr: tell,
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
    return { module, memory };
  }

  return { hasThreads, hasVectors, loadModule, reserveMemory };
})();

if (typeof module === "object") module.exports = parallaxLoader;
