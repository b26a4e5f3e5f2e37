/** Closed questions that the store does not have, loaded from the server on request. */

import { useRef, useState } from "react";
import { type Fault, faultOf, type Question } from "../state/api.ts";
import { useSession, useStore } from "./use-store.ts";

/** Closed questions in the store, at most (see state/sync.ts). */
export const HELD = 100;
/** Most list pages loaded at a time, and questions that the store does not have after which they end. */
const PAGES = 5;
const FRESH = 50;
/** Most questions loaded in all. */
const MOST = 5_000;

export const CLOSED: Question["status"][] = ["answered", "expired", "cancelled"];

interface Older {
  /** What was asked for: the result for another filter does not count. */
  readonly filter: string;
  readonly questions: readonly Question[];
  /** Cursor of the next list page; undefined before the first, null after the last. */
  readonly cursor: string | null | undefined;
  readonly fault: Fault | null;
}

const NONE: readonly Question[] = [];

/**
 * Older questions, of all agents or of the one with `key_id`, in any closed status or in this one; `load` adds the
 * next ones.
 */
export function useOlderQuestions(key_id?: string, status?: Question["status"]) {
  const { api, store } = useSession();
  const history = useStore((one) => one.history());
  const filter = `${key_id} ${status}`;
  const [found, setFound] = useState<Older | null>(null);
  /** The filter of the load under way. */
  const [loading, setLoading] = useState<string | null>(null);
  const held = found?.filter === filter ? found : null;
  const { questions: older = NONE, cursor, fault = null } = held ?? {};
  const latest = useRef(filter);
  latest.current = filter;
  const load = async () => {
    setLoading(filter);
    let next = cursor;
    let why: Fault | null = null;
    const added: Question[] = [];
    try {
      let fresh = 0;
      for (let page = 0; page < PAGES && fresh < FRESH && next !== null; page++) {
        const { questions, next_cursor } = await api.questions.list.query({
          status: status === undefined ? CLOSED : [status],
          ...(key_id !== undefined && { key_id }),
          ...(next !== undefined && { cursor: next }),
        });
        added.push(...questions);
        fresh += questions.filter(({ id }) => !store.all.questions.has(id)).length;
        next = next_cursor;
      }
    } catch (error) {
      why = faultOf(error);
    }
    setLoading((under_way) => (under_way === filter ? null : under_way));
    if (latest.current !== filter) return;
    setFound({ filter, questions: [...older, ...added], cursor: next, fault: why });
  };
  const has_more = cursor !== null && history.length >= HELD && older.length < MOST;
  return { older, has_more, busy: loading === filter, fault, load };
}
