/** Caches the page's own files, so that it opens without the server. It never caches data. */

import { files, home, withoutQuery, worker } from "./scope.ts";

const names = new Set(files);
/** One cache for each version of the files. */
const CACHE = `relay ${files.join(" ")}`;

/** Milliseconds until the page opens from the cache if the server does not respond. */
const TIMEOUT = 4_000;

worker.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(CACHE).then(async (cache) => {
      await cache.addAll(files);
      await worker.skipWaiting();
    }),
  );
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then(async (kept) => {
      for (const name of kept) if (name !== CACHE) await caches.delete(name);
      await worker.clients.claim();
    }),
  );
});

worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const href = withoutQuery(url);
  if (method !== "GET" || !names.has(href)) return;
  event.respondWith(href === home ? page(event.request) : file(event.request));
});

async function file(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request);
}

/**
 * The page from the server, so that a new version loads at once; from the cache if the server does
 * not respond.
 */
async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(TIMEOUT) });
  } catch (error) {
    const kept = await caches.match(home);
    if (kept) return kept;
    throw error;
  }
}
