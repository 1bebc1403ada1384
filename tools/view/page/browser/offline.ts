// SPDX-License-Identifier: Apache-2.0
// The service worker: keeps the files of the page, so that it works without a network, and isolates it, so that it may use
// threads. FILES and VERSION are put in when the page is made.
interface WorkerEvent extends Event {
  readonly request: Request;
  waitUntil(work: Promise<unknown>): void;
  respondWith(answer: Promise<Response>): void;
}
declare const FILES: string[];
declare const VERSION: string;

const scope = self as unknown as {
  addEventListener(name: "install" | "activate" | "fetch", listener: (event: WorkerEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  registration: ServiceWorkerRegistration;
};
// Other versions of the page may be in other folders of the site.
const family = `parallax ${scope.registration.scope} `;
const name = family + VERSION;
const address = (file: string): string => new URL(file, scope.registration.scope).href;
const own = new Set(FILES.map(address));
const pages = new Set([address(""), address("index.html")]);

// Browsers take their own cache where they may: `reload` asks the server.
async function install(): Promise<void> {
  const cache = await caches.open(name);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
  await scope.skipWaiting();
}

async function activate(): Promise<void> {
  for (const other of await caches.keys()) if (other.startsWith(family) && other !== name) await caches.delete(other);
  await scope.clients.claim();
}

// What the server has at the page's address; null without a network.
async function livePage(request: Request): Promise<Response | null> {
  try {
    return await fetch(request);
  } catch {
    return null;
  }
}

async function answer(request: Request): Promise<Response> {
  const file = request.mode === "navigate" ? "index.html" : request;
  if (request.mode === "navigate") {
    // Something else may have moved to this address.
    const live = await livePage(request);
    if (live !== null && !(await live.clone().text()).includes("page.js")) {
      await scope.registration.unregister();
      return live;
    }
  }
  const found = (await (await caches.open(name)).match(file, { ignoreSearch: true })) ?? (await fetch(request));
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
  const { origin, pathname } = new URL(request.url);
  const wanted = origin + pathname;
  if (request.method !== "GET") return;
  if (request.mode === "navigate" ? pages.has(wanted) : own.has(wanted)) event.respondWith(answer(request));
});

export {};
