/** A list that comes in pages: the first one again when there is reason to, more as they are asked for. */

import { useCallback, useEffect, useRef, useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";

interface Page<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/** `fresh` is another whenever the first page has to be got again. */
export function usePagination<T extends { id: string }>(
  get: (cursor: string | null) => Promise<Page<T>>,
  fresh: unknown,
) {
  const [held, setHeld] = useState<Page<T> | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [busy, setBusy] = useState(false);
  const latest = useRef(get);
  latest.current = get;

  const refresh = useCallback(async () => {
    try {
      const first = await latest.current(null);
      setFault(null);
      setHeld((before) => {
        const older = without(before?.items ?? [], first.items);
        // Nothing in common: between the two there may be more, so what came before is left.
        if (!before || older.length === before.items.length) return first;
        return { items: [...first.items, ...older], next_cursor: before.next_cursor };
      });
    } catch (error) {
      setFault(faultOf(error));
    }
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: that it is another is the reason.
  useEffect(() => void refresh(), [refresh, fresh]);

  return {
    items: held?.items ?? null,
    fault,
    busy,
    has_more: held !== null && held.next_cursor !== null,
    refresh,
    async more(): Promise<void> {
      setBusy(true);
      try {
        const page = await latest.current(held?.next_cursor ?? null);
        setHeld((before) => ({
          items: [...(before?.items ?? []), ...without(page.items, before?.items ?? [])],
          next_cursor: page.next_cursor,
        }));
      } catch (error) {
        setFault(faultOf(error));
      } finally {
        setBusy(false);
      }
    },
  };
}

/** Those whose id is not among the others'. */
function without<T extends { id: string }>(items: readonly T[], others: readonly T[]): T[] {
  const ids = new Set(others.map(({ id }) => id));
  return items.filter(({ id }) => !ids.has(id));
}
