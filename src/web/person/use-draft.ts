/** Form state that survives reloads and navigation (see state/drafts.ts). */

import { useEffect, useRef, useState } from "react";
import { withIdempotencyKey } from "../state/api.ts";
import {
  draftOf,
  forgetDraft,
  isAsSent,
  keepDraft,
  onForgotten,
  sendDraft,
} from "../state/drafts.ts";

/** Like `useState`, for the draft of this name; `forget` discards it. */
export function useDraft<T>(name: string, initial: T) {
  const [value, setValue] = useState<T>(() => draftOf<T>(name)?.value ?? initial);
  const first = useRef(initial);
  first.current = initial;
  // A response may arrive after the form was remounted.
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
     * Sends the value under one idempotency key until the server confirms it, then forgets the
     * draft, unless it was changed in the meantime; `changed` says so.
     */
    async send<R>(work: (options: ReturnType<typeof withIdempotencyKey>) => Promise<R>) {
      const key = sendDraft(name, value);
      const result = await work(withIdempotencyKey(key));
      const changed = !isAsSent(name, key);
      if (!changed) forgetDraft(name);
      return { result, changed };
    },
  };
}
