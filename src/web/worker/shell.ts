/** Caches the page's own files, so that it opens without the server. It never caches data. */

import { files, page_url, withoutQuery, worker } from "./scope.ts";

const names = new Set(files);
/** Prefix of the names of this page's caches; the origin may have others. */
const OWN = `relay ${page_url} `;
/** One cache for each version of the files, the first of which is the page itself. */
const CACHE = `relay ${files.join(" ")}`;

/** True if a proxy reports that it cannot reach the server. 520 to 530 are Cloudflare's. */
const isUnreachable = (status: number): boolean =>
  (status >= 502 && status <= 504) || (status >= 520 && status <= 530);

/** Milliseconds until the page opens from the cache if the server does not respond. */
const TIMEOUT = 4_000;

worker.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(CACHE).then(async (cache) => {
      await Promise.all(files.map((name) => keep(cache, name)));
      await worker.skipWaiting();
    }),
  );
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then(async (names) => {
      for (const name of names) {
        if (name !== CACHE && name.startsWith(OWN)) await caches.delete(name);
      }
      await worker.clients.claim();
    }),
  );
});

worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const href = withoutQuery(url);
  if (method !== "GET" || !names.has(href)) return;
  event.respondWith(href === page_url ? page(event.request) : file(event.request));
});

/** Keeps a file; throws if a proxy answers in its place, as with a sign-in page. */
async function keep(cache: Cache, name: string): Promise<void> {
  const response = await fetch(name);
  const is_page = response.headers.get("content-type")?.startsWith("text/html") === true;
  const is_file = response.ok && !response.redirected && is_page === (name === page_url);
  if (!is_file || (is_page && !(await isOwn(response.clone())))) {
    throw new TypeError(`${name} is not what the server has there`);
  }
  await cache.put(name, response);
}

/** True if a page loads files of this version. */
async function isOwn(response: Response): Promise<boolean> {
  const text = await response.text();
  return files.some((name) => name !== page_url && text.includes(name.slice(page_url.length)));
}

async function kept(request: Request | string): Promise<Response | undefined> {
  return (await caches.open(CACHE)).match(request);
}

async function file(request: Request): Promise<Response> {
  return (await kept(request)) ?? fetch(request);
}

/**
 * The page from the server, so that a new version loads at once; from the cache if the server does
 * not respond.
 */
async function page(request: Request): Promise<Response> {
  try {
    const response = await fetch(request, { signal: AbortSignal.timeout(TIMEOUT) });
    return isUnreachable(response.status) ? ((await kept(page_url)) ?? response) : response;
  } catch (error) {
    const found = await kept(page_url);
    if (found) return found;
    throw error;
  }
}
