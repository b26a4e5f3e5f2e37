/** A paginated list: refreshes the first list page, and loads more on request. */

import { useCallback, useEffect, useRef, useState } from "react";
import { type Fault, faultOf } from "../state/api.ts";

interface ListPage<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

/**
 * Loads the list when mounted, and its first list page again when `reload_key` changes. `get` reads a list page;
 * `items` are null before the first.
 */
export function usePagination<T extends { id: string }>(
  get: (cursor: string | null) => Promise<ListPage<T>>,
  reload_key: unknown,
) {
  const [held, setHeld] = useState<ListPage<T> | null>(null);
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
        // No overlap: items may be missing in between, so older list pages are dropped.
        if (!before || older.length === before.items.length) return first;
        return { items: [...first.items, ...older], next_cursor: before.next_cursor };
      });
    } catch (error) {
      setFault(faultOf(error));
    }
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `reload_key` loads again.
  useEffect(() => void refresh(), [refresh, reload_key]);

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

/** The items whose ids `others` does not have. */
function without<T extends { id: string }>(items: readonly T[], others: readonly T[]): T[] {
  const ids = new Set(others.map(({ id }) => id));
  return items.filter(({ id }) => !ids.has(id));
}
