/** The state of a form that outlives it (see state/drafts.ts). */

import { useRef, useState } from "react";
import { once } from "../state/api.ts";
import { draftOf, forgetDraft, keepDraft, sendDraft } from "../state/drafts.ts";

/** As `useState`; `forget` when it is thrown away. */
export function useDraft<T>(name: string, initial: T) {
  const [value, setValue] = useState<T>(() => draftOf<T>(name)?.value ?? initial);
  const latest = useRef(value);
  const show = (next: T) => {
    latest.current = next;
    setValue(next);
  };
  const forget = () => {
    forgetDraft(name);
    show(initial);
  };
  return {
    value,
    set(next: T): void {
      keepDraft(name, next);
      show(next);
    },
    forget,

    /** Sends it: under the same key until the server has it, then it is forgotten unless it was changed. */
    async send<R>(work: (options: ReturnType<typeof once>) => Promise<R>): Promise<R> {
      const sent = latest.current;
      const result = await work(once(sendDraft(name, sent)));
      if (latest.current === sent) forget();
      return result;
    },
  };
}
