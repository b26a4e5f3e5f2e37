/** Whether a part of the page is still there, for an answer that comes late. */

import { type RefObject, useEffect, useRef } from "react";

export function useIsHere(): Readonly<RefObject<boolean>> {
  const is_here = useRef(false);
  useEffect(() => {
    is_here.current = true;
    return () => {
      is_here.current = false;
    };
  }, []);
  return is_here;
}
