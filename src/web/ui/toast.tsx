/** Short messages at the edge of the page that disappear by themselves. */

import { useSyncExternalStore } from "react";
import { after } from "../clock.ts";
import { createObservable } from "../observable.ts";
import { classes } from "./classes.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}

/** Seconds that a toast is shown. */
const SHOWN = 6;

const toasts = createObservable<readonly Toast[]>([]);
let last = 0;

/**
 * Shows a message, which screen readers announce. It replaces one with the same text, and the
 * oldest if three are shown.
 */
export function toast(text: string, { bad = false } = {}): void {
  const id = ++last;
  const others = toasts.get().filter((one) => one.text !== text);
  toasts.set([...others.slice(-2), { id, text, bad }]);
  after(SHOWN, () => toasts.set(toasts.get().filter((one) => one.id !== id)));
}

/** Removes all toasts, at sign-out. */
export const clearToasts = (): void => toasts.set([]);

export function Toasts() {
  const shown = useSyncExternalStore(toasts.subscribe, toasts.get);
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-4 bottom-[calc(5rem+env(safe-area-inset-bottom))] z-50 flex flex-col items-center gap-2 md:bottom-6"
    >
      {shown.map(({ id, text, bad }) => (
        <p
          key={id}
          className={classes(
            "said max-w-md rounded-xl px-4 py-3 font-medium shadow-lift",
            bad ? "bg-danger text-danger-ink" : "bg-ink text-bg",
          )}
        >
          {text}
        </p>
      ))}
    </div>
  );
}
