// SPDX-License-Identifier: Apache-2.0
// Serves a folder, in isolation or not; `pages` are texts by path. Other servers send types such as these.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { extname, join, normalize } from "node:path";

const types = {
  ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".png": "image/png", ".svg": "image/svg+xml", ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
};

export async function serve(folder, { isolated = false, policy, pages = {} } = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    asked.push(pathname);
    response.setHeader("Content-Type", types[extname(pathname)] ?? "application/octet-stream");
    if (policy) response.setHeader("Content-Security-Policy", policy);
    if (isolated) {
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
    }
    try {
      response.end(pages[pathname] ?? (await readFile(join(folder, normalize(pathname)))));
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { address: `http://127.0.0.1:${server.address().port}`, asked, close: () => server.close() };
}
