/** Data that a view reads from the server. */

import { useCallback, useEffect, useRef, useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";

/**
 * The last result of `read` and the fault of the last attempt. Reads when mounted and whenever `when`
 * changes, except while it is null; `load` reads once more. Only the response to the last attempt counts.
 */
export function useLoaded<T>(when: string | number | null, read: () => Promise<T>) {
  const [value, setValue] = useState<T | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const latest = useRef(read);
  latest.current = read;
  const attempt = useRef(0);
  const load = useCallback(async () => {
    const mine = ++attempt.current;
    const found = await latest.current().then((result) => ({ result }), faultOf);
    if (mine !== attempt.current) return;
    if ("result" in found) setValue(found.result);
    setFault("result" in found ? null : found);
  }, []);
  useEffect(() => {
    if (when !== null) void load();
    return () => {
      attempt.current++;
    };
  }, [when, load]);
  return { value, setValue, fault, load };
}
