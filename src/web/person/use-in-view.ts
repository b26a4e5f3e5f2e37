/** Whether an element can be seen: half of it, or half of the window, in a visible document. */

import { type RefObject, useEffect, useState } from "react";

/** Share of the element, or of the window's height. */
const PART = 0.5;

export function useInView(element: RefObject<HTMLElement | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const { current: target } = element;
    if (!target || !("IntersectionObserver" in globalThis)) return;
    let near = false;
    const update = () => setSeen(near && document.visibilityState === "visible");
    const observer = new IntersectionObserver(
      (entries) => {
        const { intersectionRatio, intersectionRect } = entries.at(-1)!;
        near = intersectionRatio >= PART || intersectionRect.height >= innerHeight * PART;
        update();
      },
      // A card that is higher than the window passes these thresholds while it scrolls.
      { threshold: [0, 0.1, 0.2, 0.3, 0.4, PART] },
    );
    observer.observe(target);
    document.addEventListener("visibilitychange", update);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", update);
    };
  }, [element]);
  return seen;
}
