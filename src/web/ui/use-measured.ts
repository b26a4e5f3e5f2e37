/** Measures an element when it is shown and whenever its size changes. */

import { type RefObject, useLayoutEffect, useState } from "react";

/** True if `test` holds for the element; `when` changes with what the test depends on. */
export function useMeasured(
  element: RefObject<HTMLElement | null>,
  when: unknown,
  test: (element: HTMLElement) => boolean,
): boolean {
  const [holds, setHolds] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `when` stands for the test.
  useLayoutEffect(() => {
    const { current: measured } = element;
    if (!measured) return;
    const measure = () => setHolds(test(measured));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(measured);
    return () => sizes.disconnect();
  }, [element, when]);
  return holds;
}
