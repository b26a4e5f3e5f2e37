/** Whether the person can see an element. */

import { type RefObject, useEffect, useState } from "react";

interface InView {
  readonly isIn: (entry: IntersectionObserverEntry) => boolean;
  readonly options: IntersectionObserverInit;
}

/** Half of the element, or of the window's height. A card higher than the window passes each step as it scrolls. */
const HALF: InView = {
  isIn: ({ intersectionRatio, intersectionRect }) =>
    intersectionRatio >= 0.5 || intersectionRect.height >= innerHeight / 2,
  options: { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5] },
};

/** Any of the element, above the navigation that covers the lower edge on phones. */
export const ANY: InView = {
  isIn: ({ isIntersecting }) => isIntersecting,
  options: { rootMargin: "0px 0px -96px 0px" },
};

/** True while that part of the element is in view, in a visible document. */
export function useInView(
  element: RefObject<HTMLElement | null>,
  { isIn, options } = HALF,
): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const { current: target } = element;
    if (!target || !("IntersectionObserver" in globalThis)) return;
    let near = false;
    const update = () => setSeen(near && document.visibilityState === "visible");
    const observer = new IntersectionObserver((entries) => {
      near = isIn(entries.at(-1)!);
      update();
    }, options);
    observer.observe(target);
    document.addEventListener("visibilitychange", update);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", update);
    };
  }, [element, isIn, options]);
  return seen;
}
