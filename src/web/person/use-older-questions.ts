/** Closed questions that the store does not have, loaded from the server on request. */

import { useState } from "react";
import { type Fault, faultOf, type Question } from "../state/api.ts";
import { useSession, useStore } from "./use-store.ts";

/** Closed questions in the store, at most (see state/sync.ts). */
const HELD = 100;
/** Most list pages loaded at a time, and most questions in all. */
const PAGES = 5;
const MOST = 5_000;

const CLOSED: Question["status"][] = ["answered", "expired", "cancelled"];

/** Older questions, of all agents or of the one with `key_id`; `load` adds the next ones. */
export function useOlderQuestions(key_id?: string) {
  const { api } = useSession();
  const history = useStore((store) => store.history());
  const [older, setOlder] = useState<readonly Question[]>([]);
  /** Cursor of the next list page; undefined before the first, null after the last. */
  const [cursor, setCursor] = useState<string | null>();
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const load = async () => {
    setBusy(true);
    setFault(null);
    let next = cursor;
    const found: Question[] = [];
    try {
      for (let page = 0; page < PAGES && next !== null; page++) {
        const { questions, next_cursor } = await api.questions.list.query({
          status: CLOSED,
          ...(key_id !== undefined && { key_id }),
          ...(next !== undefined && { cursor: next }),
        });
        found.push(...questions);
        next = next_cursor;
      }
    } catch (error) {
      setFault(faultOf(error));
    }
    setOlder((before) => [...before, ...found]);
    setCursor(next);
    setBusy(false);
  };
  const has_more = cursor !== null && history.length >= HELD && older.length < MOST;
  return { older, has_more, busy, fault, load };
}
