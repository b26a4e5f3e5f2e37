/** Short messages at the edge of the page that disappear by themselves. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { after, every } from "../clock.ts";
import { createObservable } from "../observable.ts";
import { classes } from "./classes.ts";
import { keepClear } from "./keep-clear.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly bad: boolean;
  readonly href: string | null;
  /** False: only screen readers say it. */
  readonly shown: boolean;
}

interface ToastOptions {
  /** True for a fault. */
  readonly bad?: boolean;
  /**
   * Address of what the message is about, such as `#/tasks/tsk_…`: the toast leads there. If that,
   * or a link to it, is in view, only screen readers are told.
   */
  readonly href?: string;
  /** True if it says more than what it leads to: it is shown whatever is in view. */
  readonly says_more?: boolean;
}

/** Seconds that a toast is shown. It stays while the pointer or the focus is on it. */
const SHOWN = 6;
/** Seconds in which the page shows a change, after which it is known what is in view. */
const SETTLED = 0.1;
/** Seconds between two looks for controls that have moved below the toasts. */
const LOOK_EVERY = 0.25;

const toasts = createObservable<readonly Toast[]>([]);
let last = 0;

/**
 * Shows a message, which screen readers announce. It replaces one with the same text, and the
 * oldest if three are shown.
 */
export function toast(text: string, options: ToastOptions = {}): void {
  const { bad = false, href, says_more = bad } = options;
  const id = add({ text, bad, href: href ?? null });
  after(SETTLED, () => {
    if (says_more || href === undefined || !isInView(href)) show(id);
  });
}

/** Tells screen readers alone, of what others see. */
export function announceResult(text: string): void {
  add({ text, bad: false, href: null });
}

function add(one: Omit<Toast, "id" | "shown">): number {
  const id = ++last;
  const others = toasts.get().filter(({ text }) => text !== one.text);
  toasts.set([...others.slice(-2), { ...one, id, shown: false }]);
  const end = () => {
    if (document.querySelector(`[data-toast="${id}"]:is(:hover, :focus)`)) after(1, end);
    else remove(id);
  };
  after(SHOWN, end);
  return id;
}

const show = (id: number): void =>
  toasts.set(toasts.get().map((one) => (one.id === id ? { ...one, shown: true } : one)));

const remove = (id: number): void => toasts.set(toasts.get().filter((one) => one.id !== id));

/** Removes all toasts, at sign-out. */
export const clearToasts = (): void => toasts.set([]);

/** True if the view is that of the address, or shows a link to it. */
function isInView(href: string): boolean {
  if (location.hash === href) return true;
  const links = document.querySelectorAll(`main a[href="${CSS.escape(href)}"]`);
  return [...links].some((one) => {
    const { top, bottom, height } = one.getBoundingClientRect();
    return height > 0 && top >= 0 && bottom <= innerHeight;
  });
}

const LOOK = "said max-w-md rounded-xl px-4 py-3 font-medium shadow-lift";

export function Toasts() {
  const all = useSyncExternalStore(toasts.subscribe, toasts.get);
  const box = useRef<HTMLDivElement>(null);
  const some = all.some(({ shown }) => shown);
  useEffect(() => {
    const { current } = box;
    if (!some || !current) return undefined;
    const place = () => keepClear(current);
    const stop = every(LOOK_EVERY, place);
    window.addEventListener("scroll", place, { capture: true, passive: true });
    return () => {
      stop();
      window.removeEventListener("scroll", place, { capture: true });
    };
  }, [some]);
  useEffect(() => {
    if (all.length > 0 && box.current) keepClear(box.current);
  }, [all]);
  return (
    <div
      ref={box}
      role="status"
      className="pointer-events-none fixed transition-none inset-x-4 bottom-[calc(5rem+env(safe-area-inset-bottom))] z-50 mx-auto flex w-fit flex-col items-center gap-2 md:right-auto md:bottom-26 md:mx-0 md:w-52 md:items-stretch"
    >
      {all.map(({ id, text, bad, href, shown }) => {
        const className = classes(
          shown ? LOOK : "sr-only",
          bad ? "bg-danger text-danger-ink" : "bg-ink text-bg",
        );
        if (href === null) {
          return (
            <p key={id} className={className}>
              {text}
            </p>
          );
        }
        return (
          <a
            key={id}
            data-toast={id}
            href={href}
            // A message that nobody sees is no place to go to.
            tabIndex={shown ? undefined : -1}
            className={classes(className, "pointer-events-auto underline underline-offset-2")}
            onClick={() => remove(id)}
          >
            {text}
          </a>
        );
      })}
    </div>
  );
}
