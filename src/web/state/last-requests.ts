/** Requests of a page that is being left: the browser sends them even if the page closes. */

import { abortWith } from "../../client/signals.ts";
import { serverUrl } from "./server-url.ts";
import { PATH } from "./storage.ts";

/** A mutation by the name of its procedure. */
interface Call {
  readonly procedure: string;
  readonly input: object;
}

/** Calls of a batch: `trpc_batch` of §10.7. */
const BATCH = 20;
/** Bytes of all bodies together, of the 65,536 that browsers send for a page that closes. */
const BYTES = 60_000;
/** Milliseconds to wait for the responses. */
const TIMEOUT = 15_000;

/** Sends the calls at once. Resolves after the last response, or when there will be none; never fails. */
export async function sendLast(token: string, calls: readonly Call[]): Promise<void> {
  const requests: Promise<unknown>[] = [];
  let left = BYTES;
  for (let at = 0; at < calls.length; at += BATCH) {
    const some = calls.slice(at, at + BATCH);
    const body = JSON.stringify(Object.fromEntries(some.map(({ input }, i) => [i, input])));
    left -= body.length;
    // What does not fit stays kept, and is sent when the page is opened again.
    if (left < 0) break;
    const names = some.map(({ procedure }) => procedure).join();
    const ended = new AbortController();
    abortWith(ended, AbortSignal.timeout(TIMEOUT));
    const request = fetch(serverUrl(`trpc/${names}?batch=1`), {
      method: "POST",
      keepalive: true,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body,
      signal: ended.signal,
    });
    requests.push(request.then((response) => response.arrayBuffer()));
  }
  await Promise.allSettled(requests);
}

/** The event before a document is replaced by another one of the same origin; newer than its types. */
interface PageSwap extends Event {
  readonly activation?: { readonly entry?: { readonly url?: string | null } | null } | null;
}

/**
 * Calls `leave` when the page is hidden or closed, but not when it is loaded again: then the new document
 * continues. Where the browser does not tell these apart, a reload counts as leaving.
 */
export function onLeave(leave: () => void, signal: AbortSignal): void {
  let returns = false;
  const onSwap = ({ activation }: PageSwap) => {
    const url = activation?.entry?.url;
    returns = url !== undefined && url !== null && new URL(url).pathname === PATH;
  };
  const listen = (target: EventTarget, name: string, listener: (event: Event) => void) =>
    target.addEventListener(name, listener, { signal });
  listen(window, "pageswap", onSwap);
  listen(window, "pagehide", () => returns || leave());
  listen(document, "visibilitychange", () => document.hidden && !returns && leave());
  listen(window, "pageshow", () => {
    returns = false;
  });
}
