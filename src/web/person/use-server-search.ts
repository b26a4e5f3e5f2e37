/** Search in the questions that the page does not have, by the server, while the person types. */

import { useEffect, useRef, useState } from "react";
import { after } from "../clock.ts";
import { type Fault, faultOf, type Question } from "../state/api.ts";
import { CLOSED, HELD } from "./use-older-questions.ts";
import { useSession, useStore } from "./use-store.ts";

/** Seconds after typing until the server is asked. */
const DELAY = 0.3;
/** Questions that are looked for at first, and with each `more`. */
const STEP = 50;
/** Most characters of a search: `search` of §10.1. */
const LENGTH = 200;

interface Found {
  readonly search: string;
  readonly questions: readonly Question[];
  /** Cursor of the next list page; undefined before the first, null after the last. */
  readonly cursor: string | null | undefined;
  readonly busy: boolean;
  readonly fault: Fault | null;
}

const NONE: readonly Question[] = [];

/**
 * Closed questions with all the words, the newest first, page by page until there are {@link STEP} or no more; `more`
 * looks for others. The server looks at some hundred questions for each page, so a rare word takes many.
 */
export function useServerSearch(words: readonly string[]) {
  const { calls } = useSession();
  const live = useStore((store) => store.connection() === "live");
  // With fewer, the page has all of them.
  const has_older = useStore((store) => store.history().length >= HELD);
  const search = has_older && words.length > 0 ? cut(words.join(" ")) : null;
  const [wanted, setWanted] = useState({ search, count: STEP });
  const count = wanted.search === search ? wanted.count : STEP;
  const [found, setFound] = useState<Found | null>(null);
  const latest = useRef(found);
  useEffect(() => {
    if (search === null || !live) return;
    const ended = new AbortController();
    const { signal } = ended;
    const put = (next: Found) => {
      latest.current = next;
      setFound(next);
    };
    const run = async () => {
      const before = latest.current?.search === search ? latest.current : null;
      let questions = before?.questions ?? NONE;
      let cursor = before?.cursor;
      try {
        while (cursor !== null && questions.length < count) {
          put({ search, questions, cursor, busy: true, fault: null });
          const query = { search, status: CLOSED, ...(cursor !== undefined && { cursor }) };
          const page = await calls.pace.call(signal, () =>
            calls.api.questions.list.query(query, { signal }),
          );
          if (signal.aborted) return;
          questions = [...questions, ...page.questions];
          cursor = page.next_cursor;
        }
        put({ search, questions, cursor, busy: false, fault: null });
      } catch (error) {
        if (!signal.aborted) {
          put({ search, questions, cursor, busy: false, fault: faultOf(error) });
        }
      }
    };
    const cancel = after(DELAY, () => void run());
    return () => {
      cancel();
      ended.abort();
    };
  }, [calls, search, live, count]);
  const own = found?.search === search ? found : null;
  return {
    found: own?.questions ?? NONE,
    /** True while older questions are looked through, or about to be. */
    busy: search !== null && live && (own?.busy ?? true),
    has_more: typeof own?.cursor === "string" && own.questions.length >= count,
    /** True if there are older questions that cannot be looked through now. */
    is_partial: search !== null && !live && own?.cursor !== null,
    fault: own?.fault ?? null,
    more: () => setWanted({ search, count: count + STEP }),
  };
}

/** The beginning of a search: what is found by it is compared with the words once more. */
const cut = (search: string): string => [...search].slice(0, LENGTH).join("");
