/** Refuses clicks on items that have just appeared or moved under the pointer, and says so. */

import { type MouseEvent, type RefObject, useEffect, useLayoutEffect, useRef } from "react";
import { elapsed } from "../clock.ts";
import { toast } from "./toast.tsx";

/** Seconds that an item must have been in place, or had the focus, before input counts. */
export const MISCLICK_DELAY = 0.5;

/** Movement in pixels that is ignored. */
const TOLERANCE = 2;

interface ItemPosition {
  readonly top: number;
  readonly height: number;
  /** In seconds of `elapsed`. */
  readonly since: number;
}

/**
 * For `onClickCapture` of a list: stops clicks on `data-careful` buttons of an item that is new or
 * has just moved, and the second click of a double click. Keyboard input passes, since it goes to
 * the focused element wherever that is. `purpose` is what the person is told to click again for,
 * such as `to answer`.
 */
export function useMisclickGuard(
  list: RefObject<HTMLElement | null>,
  purpose: string,
): (event: MouseEvent) => void {
  const positions = useRef(new WeakMap<Element, ItemPosition>());
  /** The button of the last click that counted. */
  const clicked = useRef<Element | null>(null);

  const measure = useRef(() => {
    for (const item of list.current?.children ?? []) {
      const box = item.getBoundingClientRect();
      const top = box.top + window.scrollY;
      const was = positions.current.get(item);
      const same =
        was &&
        Math.abs(was.top - top) <= TOLERANCE &&
        Math.abs(was.height - box.height) <= TOLERANCE;
      if (!same) positions.current.set(item, { top, height: box.height, since: elapsed() });
    }
  }).current;

  useLayoutEffect(measure);
  // Content above the list can move it, and items can grow.
  useEffect(() => {
    const sizes = new ResizeObserver(measure);
    sizes.observe(document.body);
    const parts = new MutationObserver(measure);
    parts.observe(document.body, { childList: true, subtree: true });
    return () => {
      sizes.disconnect();
      parts.disconnect();
    };
  }, [measure]);

  return (event) => {
    const button = (event.target as Element).closest("[data-careful]");
    if (event.detail === 0 || !button) return;
    measure();
    const item = [...(list.current?.children ?? [])].find((one) => one.contains(button));
    const since = (item && positions.current.get(item)?.since) ?? elapsed();
    if (event.detail === 1 && elapsed() - since >= MISCLICK_DELAY) {
      clicked.current = button;
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    // No message for the second click of a double click whose first one counted.
    if (event.detail > 1 && clicked.current === button) return;
    const { pointerType } = event.nativeEvent as PointerEvent;
    toast(`${pointerType === "mouse" ? "Click" : "Tap"} again ${purpose}`);
  };
}
