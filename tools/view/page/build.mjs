// SPDX-License-Identifier: Apache-2.0
// Writes scripts and styles of the page into bundle/, or into the folder that is given: the same bytes from the same sources.
import { build } from "esbuild";
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const to = process.argv[2] ? resolve(process.argv[2]) : join(here, "bundle");
mkdirSync(to, { recursive: true });
await build({
  absWorkingDir: here,
  // The cloud is a file of its own, which the page loads when somebody looks at it: three.js is most of the bundle.
  entryPoints: { view: "page.ts", cloud: "cloud.ts" },
  outdir: to,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "eof",
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: ["view.css"],
  outdir: to,
  minify: true,
  charset: "utf8",
  logLevel: "warning",
});
