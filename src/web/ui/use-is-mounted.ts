/** Whether a component is still mounted, for responses that arrive late. */

import { type RefObject, useEffect, useRef } from "react";

export function useIsMounted(): Readonly<RefObject<boolean>> {
  const is_mounted = useRef(false);
  useEffect(() => {
    is_mounted.current = true;
    return () => {
      is_mounted.current = false;
    };
  }, []);
  return is_mounted;
}
