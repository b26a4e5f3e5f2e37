/** Keeps a press from hitting what has just come or moved under it. */

import { type MouseEvent, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { elapsed } from "../clock.ts";

/** Seconds that something must have been in its place, or had the focus, before a press means it. */
export const MISCLICK_DELAY = 0.5;

/** Pixels that are no move. */
const TOLERATED = 2;

interface Place {
  readonly top: number;
  readonly height: number;
  /** In seconds of `elapsed`. */
  readonly since: number;
}

/**
 * For the `onClickCapture` of a list: stops a press on one of its `data-careful` buttons while the
 * item with that button is new or has just moved, and the second one of a double click. A press by
 * key goes to what has the focus, wherever that is, so it is let through.
 */
export function useMisclickGuard(list: RefObject<HTMLElement | null>): (event: MouseEvent) => void {
  const places = useRef(new WeakMap<Element, Place>());

  const look = useRef(() => {
    for (const item of list.current?.children ?? []) {
      const box = item.getBoundingClientRect();
      const top = box.top + window.scrollY;
      const was = places.current.get(item);
      const same =
        was &&
        Math.abs(was.top - top) <= TOLERATED &&
        Math.abs(was.height - box.height) <= TOLERATED;
      if (!same) places.current.set(item, { top, height: box.height, since: elapsed() });
    }
  }).current;

  useLayoutEffect(look);
  // What is above the list moves it too, and an item can grow by itself.
  useEffect(() => {
    const sizes = new ResizeObserver(look);
    sizes.observe(document.body);
    const parts = new MutationObserver(look);
    parts.observe(document.body, { childList: true, subtree: true });
    return () => {
      sizes.disconnect();
      parts.disconnect();
    };
  }, [look]);

  return (event) => {
    if (event.detail === 0 || !(event.target as Element).closest("[data-careful]")) return;
    look();
    const item = [...(list.current?.children ?? [])].find((one) =>
      one.contains(event.target as Element),
    );
    const since = (item && places.current.get(item)?.since) ?? elapsed();
    if (event.detail === 1 && elapsed() - since >= MISCLICK_DELAY) return;
    event.preventDefault();
    event.stopPropagation();
  };
}
