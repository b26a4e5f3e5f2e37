/**
 * Finds the earlier question that an ask repeats: one with the same `request_id` (§5.7.2(6)), or one of the same
 * content whose asking call still waits in the same session, or was left by its client (§12.4.5).
 */

import {
  joinQuestion,
  leaveQuestion,
  questionByRequest,
  showQuestions,
} from "../../db/questions.ts";
import { ClientGone, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { isSameAsk, type Question } from "../model/question.ts";
import type { ServiceDeps } from "./shared/deps.ts";

/** Reads for a `request_id` after a write that created nothing, before the `request_id` counts as new. */
const LOOKS = 10;

interface AskedQuestion extends Pick<Question, "id" | "key_id"> {
  /** When the call stops waiting, if an identical ask may join it until then. */
  readonly asking_until?: number | null;
}

export function createEarlierAsks({ store, clock }: Pick<ServiceDeps, "store" | "clock">) {
  /** By key, the calls whose clients have gone but that have not ended: later asks must find their questions. */
  const leaving = new Map<string, Promise<void>>();

  /** Id of the key's question with the same `request_id`, if any. `422 request_mismatch` if it asked something else. */
  const ofRequest = async (asked: Question): Promise<string | undefined> => {
    const { key_id, request_id, created_at } = asked;
    if (request_id === undefined) return undefined;
    const [row] = await store.read(questionByRequest({ key_id, request_id, created_at }));
    if (!row) return undefined;
    return isSameAsk(row.question, asked) ? row.question.id : fail("request_mismatch");
  };

  const markLeft = async ({ id, key_id, asking_until = null }: AskedQuestion): Promise<void> => {
    const left = { id, key_id, asking_until, left_at: clock.now() };
    // Without the mark the question is asked again, so a failing store breaks nothing here.
    await store.write([leaveQuestion(left)]).catch(() => {});
  };

  return {
    ofRequest,

    /**
     * Like {@link ofRequest}, after a write that created nothing, perhaps because of that question. On a libSQL server,
     * other connections may see a commit a moment after a write was decided by it.
     */
    async ofRequestMeanwhile(asked: Question): Promise<string | undefined> {
      for (let look = 0; asked.request_id !== undefined && look < LOOKS; look++) {
        const id = await ofRequest(asked);
        if (id !== undefined) return id;
      }
      return undefined;
    },

    /** The time after which a question must have been left to be joined. First waits until left calls have ended. */
    async joinsSince(key_id: string): Promise<number> {
      await leaving.get(key_id);
      return clock.now() - LIMITS.left_ask;
    },

    /**
     * Joins a question of the same content that is pending at `now`, and that a call of the same session still waits
     * for, or that was left after `since` by the same session or one that this one follows. Returns its id; undefined
     * if there is none.
     */
    async join(asked: Parameters<typeof joinQuestion>[0]): Promise<string | undefined> {
      const [result] = await store.write([joinQuestion(asked)]);
      return result!.rows[0]?.[0] as string | undefined;
    },

    /**
     * Runs a call that asks, or waits for its question. Once its client goes, later asks of the key wait until this
     * call has ended and its question can be joined. Throws `ClientGone` if the client is gone already.
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

    /** Runs `wait`. If the client goes meanwhile, a later ask of the same content may join the question. */
    async untilLeft<T>(asked: AskedQuestion, wait: () => Promise<T>): Promise<T> {
      try {
        return await wait();
      } catch (error) {
        if (error instanceof ClientGone) await markLeft(asked);
        throw error;
      }
    },

    /** Marks questions as known to the agent, so that no later ask joins them. Call it before the agent sees them. */
    async show(rows: readonly { readonly question: Question; readonly hidden: boolean | null }[]) {
      const ids = rows.filter(({ hidden }) => hidden).map(({ question }) => question.id);
      if (ids.length > 0) await store.write([showQuestions({ ids: JSON.stringify(ids) })]);
    },
  };
}
