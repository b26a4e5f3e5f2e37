/** The current time as React state; one timer for the whole page. */

import { useSyncExternalStore } from "react";
import { every, now } from "../clock.ts";

const listeners = new Set<() => void>();
let second = Math.floor(now());
let cancel: (() => void) | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  // Without subscribers the timer is off, so the time may be outdated.
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

/** Epoch seconds, updated every second, or every `step` seconds. */
export function useNow(step = 1): number {
  return useSyncExternalStore(subscribe, () => second - (second % step));
}
