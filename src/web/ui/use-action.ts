/** State of an action that the person starts: whether it is running, and the fault if it failed. */

import { useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";

interface Action {
  readonly busy: boolean;
  readonly fault: Fault | null;
  /** Resolves to true if it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  return {
    busy,
    fault,
    async run(work) {
      setBusy(true);
      setFault(null);
      try {
        await work();
        return true;
      } catch (error) {
        setFault(faultOf(error));
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}
