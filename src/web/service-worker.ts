/** Keeps the page's own files, so that it opens while the server is away. Data is none of its business. */

// Makes it a module, so that its names are its own.
export {};

/** What to keep, put in front of this script: its content changes with any of the files. */
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
/** Of these files alone. */
const CACHE = `relay ${SHELL.join(" ")}`;

/** Milliseconds that the server has to answer, before the page opens as it was kept. */
const PATIENCE = 4_000;

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

/** From the server, so that a new version comes at once; as kept when it does not answer. */
async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(PATIENCE) });
  } catch (error) {
    const kept = await caches.match(home);
    if (kept) return kept;
    throw error;
  }
}

/** The open pages of the person, the one that was looked at last first; not `/docs` or `/admin`. */
async function pages(): Promise<readonly Window[]> {
  const windows = await worker.clients.matchAll({ type: "window" });
  return windows.filter(({ url }) => withoutQuery(url).href === home);
}

// A page asks for a notification; none is needed while the person looks at another one.
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
