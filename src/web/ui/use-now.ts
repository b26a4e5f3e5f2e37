/** The time, for what is shown of it; one timer for all of the page. */

import { useSyncExternalStore } from "react";
import { every, now } from "../clock.ts";

const listeners = new Set<() => void>();
let second = Math.floor(now());
let cancel: (() => void) | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Nobody may have looked for a while.
  second = Math.floor(now());
  cancel ??= every(1, () => {
    second = Math.floor(now());
    for (const tell of [...listeners]) tell();
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    cancel?.();
    cancel = undefined;
  };
}

/** Epoch seconds, anew each second; with `step` only as often as that. */
export function useNow(step = 1): number {
  return useSyncExternalStore(subscribe, () => second - (second % step));
}
