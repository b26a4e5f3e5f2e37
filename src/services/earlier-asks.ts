/**
 * The question that an ask means when it is there already: the one of its `request_id`, or one whose
 * asking call its client left (docs/interface.md 5.7.2(6), 12.4.5).
 */

import {
  type Asker,
  joinLeftQuestion,
  leaveQuestion,
  questionByRequest,
  showQuestions,
} from "../../db/questions.ts";
import { ClientGone, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { isSameAsk, type Question } from "../model/question.ts";
import type { ServiceDeps } from "./deps.ts";

/** Reads until a `request_id` counts as new, after a write that it has kept from creating a question. */
const LOOKS = 10;

export function createEarlierAsks({ store, clock }: Pick<ServiceDeps, "store" | "clock">) {
  /** Calls that are being left, by key: what a client asks next must find their questions. */
  const leaving = new Map<string, Promise<void>>();

  /**
   * Id of the key's question with the `request_id` of this one; undefined when there is none.
   * `422 request_mismatch` when that one asked something else.
   */
  const ofRequest = async (asked: Question): Promise<string | undefined> => {
    const { key_id, request_id, created_at } = asked;
    if (request_id === undefined) return undefined;
    const [row] = await store.read(questionByRequest({ key_id, request_id, created_at }));
    if (!row) return undefined;
    return isSameAsk(row.question, asked) ? row.question.id : fail("request_mismatch");
  };

  const markLeft = async ({ id, key_id }: Pick<Question, "id" | "key_id">): Promise<void> => {
    // Without the mark the question is asked again, so a store that fails here breaks nothing.
    await store.write([leaveQuestion({ id, key_id, left_at: clock.now() })]).catch(() => {});
  };

  return {
    ofRequest,

    /**
     * As {@link ofRequest}, after a write that did nothing, perhaps because of that question: a libSQL
     * server may show other connections a commit a moment after a write has met it.
     */
    async ofRequestMeanwhile(asked: Question): Promise<string | undefined> {
      for (let look = 0; asked.request_id !== undefined && look < LOOKS; look++) {
        const id = await ofRequest(asked);
        if (id !== undefined) return id;
      }
      return undefined;
    },

    /**
     * An ask may join a question that was left after this time. Waits first until calls of the key that are
     * being left have ended.
     */
    async joinsSince(key_id: string): Promise<number> {
      await leaving.get(key_id);
      return clock.now() - LIMITS.left_ask;
    },

    /**
     * Takes over a question of the same content whose asking call was left after `since`, by the same session or
     * one that this one follows, and that is pending at `now`; gives its id, to one caller only. Undefined when
     * there is none.
     */
    async join(asked: Question & Asker, since: number, now: number): Promise<string | undefined> {
      const [result] = await store.write([joinLeftQuestion({ ...asked, since, now })]);
      return result!.rows[0]?.[0] as string | undefined;
    },

    /**
     * Runs a call that asks or waits for its question. From the moment that its client goes, what the key
     * asks next waits for the end of this call: by then its question can be joined. Throws `ClientGone`
     * when the client is gone already.
     */
    async whileAsking<T>(key_id: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
      if (signal.aborted) throw new ClientGone();
      const running = run();
      const onGone = () => {
        const mark = Promise.allSettled([leaving.get(key_id), running]).then(() => {
          if (leaving.get(key_id) === mark) leaving.delete(key_id);
        });
        leaving.set(key_id, mark);
      };
      signal.addEventListener("abort", onGone);
      return running.finally(() => signal.removeEventListener("abort", onGone));
    },

    /** What `wait` gives; when its client goes meanwhile, an ask of the same content may join. */
    async untilLeft<T>(asked: Pick<Question, "id" | "key_id">, wait: () => Promise<T>): Promise<T> {
      try {
        return await wait();
      } catch (error) {
        if (error instanceof ClientGone) await markLeft(asked);
        throw error;
      }
    },

    /** Before the agent gets to see these questions: nobody joins one whose id it knows. */
    async show(rows: readonly { readonly question: Question; readonly hidden: boolean | null }[]) {
      const ids = rows.filter(({ hidden }) => hidden).map(({ question }) => question.id);
      if (ids.length > 0) await store.write([showQuestions({ ids: JSON.stringify(ids) })]);
    },
  };
}
