/** The state of a form that outlives it (see state/drafts.ts). */

import { useEffect, useRef, useState } from "react";
import { once } from "../state/api.ts";
import {
  draftOf,
  forgetDraft,
  isAsSent,
  keepDraft,
  onForgotten,
  sendDraft,
} from "../state/drafts.ts";

/** As `useState`; `forget` when it is thrown away. */
export function useDraft<T>(name: string, initial: T) {
  const [value, setValue] = useState<T>(() => draftOf<T>(name)?.value ?? initial);
  const first = useRef(initial);
  first.current = initial;
  // What was sent from here can be answered when this form is another one.
  useEffect(
    () =>
      onForgotten((forgotten) => {
        if (forgotten === name) setValue(first.current);
      }),
    [name],
  );
  return {
    value,
    set(next: T): void {
      keepDraft(name, next);
      setValue(next);
    },
    forget: () => forgetDraft(name),

    /**
     * Sends it: under the same key until the server has it. Then it is forgotten, unless it was
     * changed meanwhile; whether it was tells the result.
     */
    async send<R>(work: (options: ReturnType<typeof once>) => Promise<R>) {
      const key = sendDraft(name, value);
      const result = await work(once(key));
      const changed = !isAsSent(name, key);
      if (!changed) forgetDraft(name);
      return { result, changed };
    },
  };
}
