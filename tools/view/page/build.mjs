// SPDX-License-Identifier: Apache-2.0
// Writes scripts and styles of the page into bundle/, or into the folder that is given: the same bytes from the same sources.
import { build } from "esbuild";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ? resolve(process.argv[2]) : join(here, "bundle");
const browser = join(to, "browser");
mkdirSync(browser, { recursive: true });
const options = { absWorkingDir: here, bundle: true, minify: true, charset: "utf8", logLevel: "warning" };
await build({
  ...options,
  // The cloud is a file of its own, which the page loads when somebody looks at it: three.js is most of the bundle.
  entryPoints: { view: "view.ts", cloud: "cloud.ts" },
  outdir: to,
  format: "esm",
  target: "es2022",
  legalComments: "eof",
});
// The page without a server: scripts/wasm.sh puts them together. Emscripten's scripts need workers that are no modules.
await build({
  ...options,
  entryPoints: { page: "browser/browser.ts" },
  outdir: browser,
  format: "esm",
  target: "es2022",
});
await build({
  ...options,
  entryPoints: { engine: "browser/worker.ts", offline: "browser/offline.ts" },
  outdir: browser,
  format: "iife",
  target: "es2022",
  external: ["node:*"],
});
await build({ ...options, bundle: false, entryPoints: ["view.css"], outdir: to });
