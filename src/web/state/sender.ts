/** Sends what waits for the server, one batch at a time, while the store is `live`. */

import { after } from "../clock.ts";
import type { Store } from "./store.ts";

interface SenderOptions {
  readonly store: Store;
  /** Aborts at sign-out. */
  readonly ended: AbortSignal;
  readonly isWaiting: () => boolean;
  /** Sends what waits; resolves to the seconds after which it is called again if something still does. */
  readonly send: () => Promise<number>;
  /** Called when the connection is back; returns the seconds until `send`. */
  readonly onLive: () => number;
}

export function createSender({ store, ended, isWaiting, send, onLive }: SenderOptions) {
  let sending = false;
  let cancel: (() => void) | undefined;

  const run = async () => {
    cancel = undefined;
    sending = true;
    const seconds = await send();
    sending = false;
    if (store.connection() === "live") arm(seconds);
  };
  /** Sends after `seconds`, unless that is under way or was asked for before. */
  const arm = (seconds: number) => {
    if (!cancel && !sending && !ended.aborted && isWaiting()) {
      cancel = after(seconds, () => void run());
    }
  };

  let was_live = store.connection() === "live";
  const stop = store.subscribe(() => {
    const is_live = store.connection() === "live";
    if (is_live && !was_live) {
      cancel?.();
      cancel = undefined;
      arm(onLive());
    }
    was_live = is_live;
  });
  ended.addEventListener("abort", () => {
    stop();
    cancel?.();
  });
  return { arm };
}
