/**
 * This page's own service worker. `getRegistration` and `ready` may return another program's worker, if its
 * scope contains this page.
 */

import { serverUrl } from "./server-url.ts";

/** Registers it, so that the page opens without the server, where service workers are supported. */
export const registerWorker = () => navigator.serviceWorker?.register(serverUrl("sw.js"));

/** Its registration; null if there is none. */
export async function ownWorker(): Promise<ServiceWorkerRegistration | null> {
  const scope = serverUrl(".");
  const found = await navigator.serviceWorker?.getRegistration(scope);
  return found?.scope === scope ? found : null;
}

/** Its registration once it is active. */
export async function readyWorker(): Promise<ServiceWorkerRegistration> {
  const found = (await ownWorker()) ?? (await registerWorker());
  while (!found.active) {
    const coming = found.installing ?? found.waiting;
    await new Promise((resolve) =>
      coming?.addEventListener("statechange", resolve, { once: true }),
    );
  }
  return found;
}
