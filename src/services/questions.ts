/** Questions: ask, read, wait, list, answer, cancel, expire (§5.7). */

import {
  countPending,
  expireQuestion,
  finishQuestion,
  insertQuestion,
  overdueQuestions,
  type QuestionRow,
} from "../../db/questions.ts";
import { taskById } from "../../db/tasks.ts";
import { fail, failFull } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller, KeyCaller } from "../model/caller.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { McpSession } from "../model/mcp-session.ts";
import {
  answeredQuestion,
  asListed,
  checkAnswer,
  describeEnd,
  finalAnswer,
  newQuestion,
  type Question,
  type QuestionInput,
} from "../model/question.ts";
import { answersByTicket } from "../notify/core/compose.ts";
import { createEarlierAsks } from "./earlier-asks.ts";
import type { Keys } from "./keys.ts";
import { createQuestionList } from "./question-list.ts";
import { untilDecided } from "./shared/commit.ts";
import { CHECKED, type Confirm, readOwn, type ServiceDeps } from "./shared/deps.ts";
import { createIdempotency } from "./shared/idempotency.ts";
import { createQuestionRows, type QuestionRevision } from "./shared/question-rows.ts";

export type Questions = ReturnType<typeof createQuestions>;

interface WaitOptions {
  /** Seconds to wait for the question to leave `pending`; 0 does not wait. */
  readonly wait: number;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  /** False for HEAD, which has no effect and does not wait. */
  readonly effects: boolean;
  /**
   * True: a tool call whose agent gets the question's id only at its end. If its client goes, an identical ask may
   * join (§12.4.5).
   */
  readonly asking: boolean;
  readonly confirmed?: Confirm;
}

interface AskOptions extends Omit<WaitOptions, "effects"> {
  readonly idempotent_request: IdempotentRequest | null;
  /** The MCP session that asks. It joins only questions that it asked itself (§12.4.5). */
  readonly session: McpSession | null;
  /** True: the client gets signs of life while it waits, so it does not repeat a call that still waits. */
  readonly streams: boolean;
}

interface AnswerOptions {
  readonly idempotent_request: IdempotentRequest | null;
  /** A remark that the person adds to the answer. */
  readonly note?: string | undefined;
  /** True: the answer came over REST, not from the page. */
  readonly by_api: boolean;
  readonly confirmed?: Confirm;
}

interface AskedQuestion {
  readonly question: Question;
  /** True: an earlier question, found by its `request_id` or joined. */
  readonly existing: boolean;
}

/** The question that an ask created, found or joined. */
interface AskResult extends Pick<AskedQuestion, "existing"> {
  readonly id: string;
  readonly joined?: true;
}

export function createQuestions(deps: ServiceDeps & { readonly keys: Keys }) {
  const { store, storage, waits, clock, ids, assertLive } = deps;
  const { create, finish, readNow, hold, noteReceived, settled } = createQuestionRows(deps);
  const idempotency = createIdempotency(deps);
  const earlier = createEarlierAsks(deps);

  const assertOwnTask = (caller: Caller, id: string) =>
    readOwn(deps, caller, taskById(caller, id), "task_id");

  const showOne = (row: QuestionRow) => earlier.show([row]);

  /** Apart from `read`, whose variables each wait would otherwise keep. */
  const holdAsking: typeof hold = (caller, asked, options) =>
    earlier.whileAsking(asked.key_id, options.signal, () =>
      earlier.untilLeft(asked, () => hold(caller, asked, options)),
    );

  const read = async (caller: Caller, id: string, options: WaitOptions) => {
    const { wait, signal, effects, asking, confirmed = CHECKED } = options;
    const waits_for_it = wait > 0 && effects;
    const found = caller.kind === "key" && effects && !asking ? showOne : undefined;
    let key_id: string;
    if (waits_for_it && caller.kind === "key") {
      // A key sees only its own questions, so the wait knows what to listen to before the first read.
      key_id = caller.key_id;
    } else {
      const row = await readNow(caller, id, effects);
      if (effects) await confirmed();
      await found?.(row);
      if (effects) noteReceived(caller, row);
      if (!waits_for_it || row.question.status !== "pending") return row.question;
      key_id = row.question.key_id;
    }
    const asked = { id, key_id };
    const held = { seconds: wait, signal, found };
    return asking ? holdAsking(caller, asked, held) : hold(caller, asked, held);
  };

  const assertOffered = createOfferCheck(deps.settings.push_content === "full");

  const expireDue = async (now: number, limit: number): Promise<number> => {
    const due = await store.read(overdueQuestions({ now, limit }));
    await Promise.all(
      due.map((row) => finish(row, { ...row.question, status: "expired" }, expireQuestion)),
    );
    return due.length;
  };

  return {
    /**
     * Asks, or finds the earlier question, and with `wait` then waits like {@link read}. `404` for a task that the
     * key does not have, `409 too_many_pending_questions`, `422 request_mismatch`; `429 too_many_waits`, which
     * creates nothing.
     */
    async ask(
      caller: KeyCaller,
      input: QuestionInput,
      {
        wait,
        signal,
        idempotent_request,
        asking,
        session,
        streams,
        confirmed = CHECKED,
      }: AskOptions,
    ): Promise<AskedQuestion> {
      const { account_id, key_id } = caller;
      const now = clock.now();
      const question = newQuestion(input, { id: ids.next("qst"), key_id, now });
      const asker = { asked_in: session?.id ?? null, began_at: session?.began_at ?? null };
      const joins = asking && question.request_id === undefined;
      /** True: an identical ask may join this one. */
      const joinable = joins && wait > 0;
      /** Null: it may do so only once the client has gone. Without a session, that may be another client. */
      const asking_until = joinable && (session !== null || !streams) ? now + wait : null;
      const replay = async (id: string, existing: boolean): Promise<AskedQuestion> => ({
        question: await read(caller, id, { wait, signal, effects: true, asking: false, confirmed }),
        existing,
      });
      const before = await idempotency.findResult(idempotent_request);
      if (before !== undefined) return replay(before, false);
      const requested = await earlier.ofRequest(question);
      if (requested !== undefined) return replay(requested, true);
      await confirmed();
      storage.assertRoom(account_id);

      /** Throws the reason why the question cannot be asked, if there is one. */
      const refusal = async (): Promise<undefined> => {
        await assertLive(caller);
        if (question.task_id !== null) await assertOwnTask(caller, question.task_id);
        const [row] = await store.read(countPending({ key_id, created_at: now }));
        if (row![0] >= LIMITS.pending_questions_per_key) {
          failFull();
        }
      };

      /**
       * The new question, or the one that prevented it. The write decides: a read of a libSQL server may see a
       * moment late that a question was left.
       */
      const createOrFind = async (since: number | null): Promise<AskResult | undefined> => {
        // One time for both writes: a question that expires between them would make every attempt miss.
        const joining = { ...asker, hidden: joinable, asking_until, now: clock.now() };
        const happened = await create(account_id, question, (changed) => [
          insertQuestion({
            ...question,
            ...joining,
            account_id,
            revision: changed.revision,
            idempotency_id: idempotent_request?.id ?? null,
            since,
          }),
          ...idempotency.record(idempotent_request, caller, changed),
        ]);
        if (happened) return { id: question.id, existing: false };
        const repeated = await idempotency.findResult(idempotent_request);
        if (repeated !== undefined) return { id: repeated, existing: false };
        const other = await earlier.ofRequestMeanwhile(question);
        if (other !== undefined) return { id: other, existing: true };
        const joined =
          since === null ? undefined : await earlier.join({ ...question, ...joining, since });
        if (joined !== undefined) return { id: joined, existing: true, joined: true };
        // If nothing prevents it by now, it is tried again.
        return refusal();
      };

      const slot = wait > 0 ? waits.reserve(key_id) : null;
      /** The question as it is after the wait. */
      const settled = ({ id }: Pick<Question, "id">) => {
        const asked = { id, key_id, asking_until };
        const held = () => hold(caller, asked, { seconds: wait, signal, slot: slot ?? undefined });
        return joinable ? earlier.untilLeft(asked, held) : held();
      };
      const run = async (): Promise<AskedQuestion> => {
        const since = joins ? await earlier.joinsSince(key_id) : null;
        const { id, existing, joined } = await untilDecided(() => createOrFind(since));
        if (joined) return { question: await settled({ id }), existing };
        if (id === question.id) {
          return { question: slot ? await settled(question) : question, existing };
        }
        slot?.release();
        return await replay(id, existing);
      };
      try {
        if (wait > 0 && !slot) {
          await refusal();
          fail("too_many_waits");
        }
        return await (joinable ? earlier.whileAsking(key_id, signal, run) : run());
      } finally {
        slot?.release();
      }
    },

    /** Reads a question; with `wait`, once it has left `pending` or the time is up (§6). */
    read,

    /** One list page, newest first, of all questions or of those that a search finds. */
    list: createQuestionList({
      ...deps,
      assertOwnTask,
      expireDue,
      show: (rows) => earlier.show(rows),
    }),

    /**
     * Answers a question, and returns it as lists show it. Of several simultaneous answers one wins, and the others
     * get `409` (§5.7.4). The same answer again by a ticket is not an error (§19.7.4).
     */
    answer: (
      caller: AccountCaller,
      id: string,
      given: string,
      { idempotent_request, note, by_api, confirmed = CHECKED }: AnswerOptions,
    ): Promise<Question> =>
      untilDecided(async () => {
        const reading = readNow(caller, id);
        // In the same round trip; a missing question is told first.
        const repeated = idempotency.findResult(idempotent_request);
        repeated.catch(() => undefined);
        const row = await reading;
        await confirmed();
        // Like lists, the response does not say where the answer came from.
        const { answered_from: _, ...question } = asListed(row.question);
        const answer = finalAnswer(question, given);
        if ((await repeated) !== undefined) return question;
        if (caller.ticket && question.answer === answer) return question;
        if (question.status !== "pending") {
          // The same request may have answered it between the two reads.
          if ((await idempotency.findResult(idempotent_request)) !== undefined) return question;
          fail("question_not_pending", { detail: describeEnd(question) });
        }
        checkAnswer(question, answer);
        assertOffered(caller, question, answer);
        const next = answeredQuestion(question, { answer, note, now: clock.now() });
        const done = (changed: QuestionRevision) =>
          idempotency.record(idempotent_request, caller, changed);
        const source = {
          answering_channel: caller.ticket?.channel_id ?? null,
          answering_session: caller.ticket ? null : caller.session_id,
          answered_by_api: caller.ticket ? null : by_api,
        };
        return (await finish(row, next, finishQuestion, done, source)) ? next : undefined;
      }),

    /** `409` for an answered or expired question, but not for a cancelled one (§5.7.5). */
    async cancel(caller: KeyCaller, id: string): Promise<void> {
      await untilDecided(async () => {
        const row = await readNow(caller, id);
        if (row.question.status === "cancelled") return true;
        if (row.question.status !== "pending") fail("question_not_pending");
        const next: Question = { ...row.question, status: "cancelled" };
        return (await finish(row, next, finishQuestion)) || undefined;
      });
    },

    /** Expires up to `limit` overdue questions, and returns how many it found. */
    expireDue,

    /** Resolves when it is written which answers agents have received so far. */
    settled,
  };
}

/** Throws `403 forbidden` for an answer to a permission request that its notification did not offer (§19.7.8). */
function createOfferCheck(full: boolean) {
  return ({ ticket }: AccountCaller, question: Question, answer: string): void => {
    if (!ticket || !question.action || answersByTicket(question, full).includes(answer)) return;
    fail("forbidden", {
      detail: "The notification does not show the whole request. Open Relay to answer it.",
    });
  };
}
