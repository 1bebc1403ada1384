// SPDX-License-Identifier: Apache-2.0
// The service worker: keeps the files of the page, so that it works without a network, and isolates it, so that it may use
// threads. FILES and VERSION are put in when the page is made.
interface Event_ extends Event {
  readonly request: Request;
  waitUntil(work: Promise<unknown>): void;
  respondWith(answer: Promise<Response>): void;
}
declare const FILES: string[];
declare const VERSION: string;

const scope = self as unknown as {
  addEventListener(name: "install" | "activate" | "fetch", listener: (event: Event_) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
};
const name = `parallax-${VERSION}`;

// Browsers take their own cache where they may: `reload` asks the server.
async function install(): Promise<void> {
  const cache = await caches.open(name);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
  await scope.skipWaiting();
}

async function activate(): Promise<void> {
  for (const other of await caches.keys()) if (other.startsWith("parallax-") && other !== name) await caches.delete(other);
  await scope.clients.claim();
}

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(name);
  // The address of the page may end with its folder.
  const own = request.mode === "navigate" ? "index.html" : request;
  const found = (await cache.match(own, { ignoreSearch: true })) ?? (await fetch(request));
  if (found.type === "opaque" || found.type === "error") return found;
  const headers = new Headers(found.headers);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}

scope.addEventListener("install", (event) => event.waitUntil(install()));
scope.addEventListener("activate", (event) => event.waitUntil(activate()));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method === "GET" && new URL(request.url).origin === location.origin) event.respondWith(answer(request));
});

export {};
