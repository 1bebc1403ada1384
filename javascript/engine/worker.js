// SPDX-License-Identifier: Apache-2.0
// Loads the compiled library that suits the browser, or Node, and answers requests one after the other:
// {id, call, request} → {id, result} or {id, error: {code, message}}.
"use strict";

const inNode = typeof process === "object" && process.versions?.node !== undefined;
const port = inNode ? require("node:worker_threads").parentPort : self;

function load(script) {
  if (inNode) return require(`./${script}`);
  importScripts(script);
  return undefined;
}
const classes = load("library.js") ?? { Library, LibraryError };
const modules = load("loader.js") ?? parallaxLoader;

// The library with vectors and threads, unless there are no vectors or no memory for it. `wanted` may say which.
async function start(threads, wanted) {
  let memory;
  if (wanted !== "parallax-scalar" && modules.hasVectors) {
    try {
      memory = modules.reserveMemory();
    } catch (error) {
      if (wanted) throw error;
    }
  }
  const variant = memory ? "parallax" : "parallax-scalar";
  const count = memory && modules.hasThreads ? threads : 1;
  const loaded = await modules.loadModule(variant, count, memory);
  return { library: new classes.Library(loaded.module, loaded.memory), variant, threads: count };
}

const reply = (message, transfer) => port.postMessage(message, transfer);

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
if (inNode) port.on("message", receive);
else self.onmessage = ({ data }) => receive(data);
