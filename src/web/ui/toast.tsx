/** Short messages at the edge of the page that disappear by themselves. */

import { useSyncExternalStore } from "react";
import { after } from "../clock.ts";
import { classes } from "./classes.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
}

/** Seconds that a toast is shown. */
const SHOWN = 6;

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of [...listeners]) listener();
}

/**
 * Shows a message, which screen readers announce. It replaces one with the same text, and the
 * oldest if three are shown.
 */
export function toast(text: string, { bad = false } = {}): void {
  const id = ++last;
  const others = toasts.filter((one) => one.text !== text);
  set([...others.slice(-2), { id, text, bad }]);
  after(SHOWN, () => set(toasts.filter((one) => one.id !== id)));
}

/** Removes all toasts, at sign-out. */
export const clearToasts = (): void => set([]);

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
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
