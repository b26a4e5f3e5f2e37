/** A value that changes often, passed on at most once in some seconds. */

import { useEffect, useRef, useState } from "react";
import { after, elapsed } from "../clock.ts";

/** The latest `value`, at most once in `seconds`: the first change at once, and the last one always. */
export function usePaced<T>(value: T, seconds: number): T {
  const [shown, setShown] = useState(value);
  const passed_at = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    if (Object.is(shown, value)) return;
    const pass = () => {
      passed_at.current = elapsed();
      setShown(value);
    };
    const wait = passed_at.current + seconds - elapsed();
    if (wait <= 0) return pass();
    return after(wait, pass);
  }, [value, shown, seconds]);
  return shown;
}
