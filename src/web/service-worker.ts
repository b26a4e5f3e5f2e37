/** Caches the page's own files, so that it opens without the server. It never caches data. */

// Makes this file a module, so that its names are local.
export {};

/** Files to cache. The server puts the list in front of this script, so a changed file changes the script. */
declare const SHELL: readonly string[];

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends WorkerEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface ClickEvent extends WorkerEvent {
  readonly notification: Notification;
}
interface MessageEvent extends WorkerEvent {
  readonly data: NotificationOptions & { readonly title: string };
}
interface Window {
  readonly url: string;
  readonly focused: boolean;
  focus(): Promise<Window>;
  postMessage(message: unknown): void;
}
interface Worker {
  readonly registration: {
    readonly scope: string;
    showNotification(title: string, options: NotificationOptions): Promise<void>;
  };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window" }): Promise<readonly Window[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(name: "install" | "activate", listener: (event: WorkerEvent) => void): void;
  addEventListener(name: "fetch", listener: (event: FetchEvent) => void): void;
  addEventListener(name: "message", listener: (event: MessageEvent) => void): void;
  addEventListener(name: "notificationclick", listener: (event: ClickEvent) => void): void;
}

const worker = globalThis as unknown as Worker;
const home = worker.registration.scope;
const files = new Set(SHELL.map((path) => new URL(path, home).href));
/** One cache for each version of the files. */
const CACHE = `relay ${SHELL.join(" ")}`;

/** Milliseconds until the page opens from the cache if the server does not respond. */
const TIMEOUT = 4_000;

worker.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(CACHE).then(async (cache) => {
      await cache.addAll([...files]);
      await worker.skipWaiting();
    }),
  );
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys().then(async (names) => {
      for (const name of names) if (name !== CACHE) await caches.delete(name);
      await worker.clients.claim();
    }),
  );
});

worker.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  const { href } = withoutQuery(url);
  if (method !== "GET" || !files.has(href)) return;
  event.respondWith(href === home ? page(event.request) : file(event.request));
});

async function file(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request);
}

/** From the server, so that a new version loads at once; from the cache if it does not respond. */
async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(TIMEOUT) });
  } catch (error) {
    const kept = await caches.match(home);
    if (kept) return kept;
    throw error;
  }
}

/** Open windows of the person's page, most recently focused first; not `/docs` or `/admin`. */
async function pages(): Promise<readonly Window[]> {
  const windows = await worker.clients.matchAll({ type: "window" });
  return windows.filter(({ url }) => withoutQuery(url).href === home);
}

// Shows a notification for a page, unless one of its windows has the focus.
worker.addEventListener("message", (event) => {
  const { title, ...options } = event.data;
  const show = async () => {
    if ((await pages()).some(({ focused }) => focused)) return;
    await worker.registration.showNotification(title, options);
  };
  event.waitUntil(show());
});

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const open = async () => {
    const [last] = await pages();
    if (!last) return worker.clients.openWindow(`${home}#/questions`);
    last.postMessage("questions");
    return last.focus();
  };
  event.waitUntil(open());
});

function withoutQuery(url: string): URL {
  const plain = new URL(url);
  plain.search = "";
  plain.hash = "";
  return plain;
}
