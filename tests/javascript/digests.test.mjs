// SPDX-License-Identifier: Apache-2.0
// Maps of the conformance tests' random cases have the same bytes as on this machine.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");
const native = process.env.PARALLAX_DIGESTS ?? join(repository, "build/developer/tests/digests");
const linesOf = (program, ...words) => execFileSync(program, words, { maxBuffer: 2 ** 26 }).toString().trimEnd().split("\n");

test("every random case", () => {
  const expected = linesOf(native);
  // Node has a fetch(), which Emscripten 3.1.6 takes for a browser's.
  const lines = linesOf("node", "--no-experimental-fetch", join(repository, "build/wasm/javascript/digests.js"));
  assert.ok(expected.length > 900);
  assert.deepEqual(lines, expected);
});
