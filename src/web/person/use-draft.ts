/** The state of a form that outlives it (see state/drafts.ts). */

import { useState } from "react";
import { draftOf, forgetDraft, keepDraft } from "../state/drafts.ts";

/** As `useState`; `forget` when it was sent or thrown away. */
export function useDraft<T>(name: string, initial: T) {
  const [value, setValue] = useState<T>(() => draftOf<T>(name) ?? initial);
  return {
    value,
    set(next: T): void {
      keepDraft(name, next);
      setValue(next);
    },
    forget(): void {
      forgetDraft(name);
      setValue(initial);
    },
  };
}
