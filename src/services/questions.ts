/** Questions: ask, read, wait, list, answer, cancel, expire (docs/interface.md 5.7). */

import {
  countPending,
  expireQuestion,
  finishQuestion,
  insertQuestion,
  overdueQuestions,
  type QuestionRow,
  questionList,
} from "../../db/questions.ts";
import { taskById } from "../../db/tasks.ts";
import { fail, failNotFound } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type AccountCaller, type Caller, callerId, type KeyCaller } from "../model/caller.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { McpSession } from "../model/mcp-session.ts";
import {
  asListed,
  checkAnswer,
  describeEnd,
  newQuestion,
  type Question,
  type QuestionInput,
  questionUnits,
} from "../model/question.ts";
import { answersByTicket } from "../notify/compose.ts";
import { untilDecided } from "./commit.ts";
import type { ServiceDeps } from "./deps.ts";
import { createEarlierAsks } from "./earlier-asks.ts";
import { createIdempotency } from "./idempotency.ts";
import type { Keys } from "./keys.ts";
import { endPage, type PageQuery, readCursor, readPage, writeCursor } from "./list-page.ts";
import { createQuestionRows, type QuestionRevision } from "./question-rows.ts";

export type Questions = ReturnType<typeof createQuestions>;

interface WaitOptions {
  /** Seconds to wait for the question to leave `pending`; 0 answers at once. */
  readonly wait: number;
  /** Aborts when the client goes. */
  readonly signal: AbortSignal;
  /** False for HEAD, which has no effect and does not wait. */
  readonly effects: boolean;
  /**
   * True: a tool call that asks, whose agent gets the question's id only when it ends: if its client
   * goes, an identical ask may join (docs/interface.md 12.4.5).
   */
  readonly asking: boolean;
}

interface AskOptions extends Omit<WaitOptions, "effects"> {
  readonly idempotent_request: IdempotentRequest | null;
  /** The session of MCP that asks: only what it left itself is joined (docs/interface.md 12.4.5). */
  readonly session: McpSession | null;
}

interface AnswerOptions {
  readonly idempotent_request: IdempotentRequest | null;
  /** What the person adds to the answer. */
  readonly note?: string | undefined;
}

interface Asked {
  readonly question: Question;
  /** True: it was there, by its `request_id` or since it was joined. */
  readonly existing: boolean;
}

/** What an ask came to. */
interface Found extends Pick<Asked, "existing"> {
  readonly id: string;
  readonly joined?: true;
}

interface ListQuery extends PageQuery {
  readonly key_id?: string | undefined;
  readonly task_id?: string | undefined;
  readonly status?: readonly Question["status"][] | undefined;
}

interface ListOptions extends Pick<WaitOptions, "effects"> {
  /** Bytes of JSON that the page may hold. */
  readonly page_bytes: number;
}

export function createQuestions(deps: ServiceDeps & { readonly keys: Keys }) {
  const { store, waits, clock, agreedNow, ids, assertLive, keys } = deps;
  const { create, finish, readNow, hold } = createQuestionRows(deps);
  const idempotency = createIdempotency(deps);
  const earlier = createEarlierAsks(deps);

  const assertOwnTask = async (caller: Caller, id: string): Promise<void> => {
    const [task] = await store.read(taskById(caller, id));
    if (task) return;
    await assertLive(caller);
    failNotFound("task_id");
  };

  const read = async (caller: Caller, id: string, options: WaitOptions) => {
    const { wait, signal, effects, asking } = options;
    const waits_for_it = wait > 0 && effects;
    const found =
      caller.kind === "key" && effects && !asking
        ? (row: QuestionRow) => earlier.show([row])
        : undefined;
    let key_id: string;
    if (waits_for_it && caller.kind === "key") {
      // Only its own questions are visible to a key, so the wait can listen before the first read.
      key_id = caller.key_id;
    } else {
      const row = await readNow(caller, id, effects);
      await found?.(row);
      if (!waits_for_it || row.question.status !== "pending") return row.question;
      key_id = row.question.key_id;
    }
    const held = () => hold(caller, { id, key_id }, { seconds: wait, signal, found });
    if (!asking) return held();
    return earlier.whileAsking(key_id, signal, () => earlier.untilLeft({ id, key_id }, held));
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
     * Asks, or finds what was asked before, and with `wait` then waits like {@link read}. An
     * ask-and-wait over the cap of waits creates nothing. `404` for a task the key does not have,
     * `409 too_many_pending_questions`, `422 request_mismatch`.
     */
    async ask(
      caller: KeyCaller,
      input: QuestionInput,
      { wait, signal, idempotent_request, asking, session }: AskOptions,
    ): Promise<Asked> {
      const { account_id, key_id } = caller;
      const now = clock.now();
      const question = newQuestion(input, { id: ids.next("qst"), key_id, now });
      const asker = { asked_in: session?.id ?? null, began_at: session?.began_at ?? null };
      const joins = asking && question.request_id === undefined;
      /** Whether an identical ask may join this one once its client has gone. */
      const joinable = joins && wait > 0;
      const replay = async (id: string, existing: boolean): Promise<Asked> => ({
        question: await read(caller, id, { wait, signal, effects: true, asking: false }),
        existing,
      });
      const before = await idempotency.findResult(idempotent_request);
      if (before !== undefined) return replay(before, false);
      const requested = await earlier.ofRequest(question);
      if (requested !== undefined) return replay(requested, true);

      /** Why the question cannot be asked; undefined when it can. */
      const refusal = async (): Promise<undefined> => {
        await assertLive(caller);
        if (question.task_id !== null) await assertOwnTask(caller, question.task_id);
        const [row] = await store.read(countPending({ key_id, created_at: now }));
        if (row![0] >= LIMITS.pending_questions_per_key) {
          fail("too_many_pending_questions");
        }
      };

      /**
       * The id of the new question, or of the one that kept it from being created. The write decides:
       * reads of a libSQL server may show a moment late that a question was left.
       */
      const createOrFind = async (since: number | null): Promise<Found | undefined> => {
        // The same for both writes: else one that expires between them would refuse each try.
        const at = clock.now();
        const happened = await create(account_id, question, (changed) => [
          insertQuestion({
            ...question,
            ...asker,
            account_id,
            revision: changed.revision,
            idempotency_id: idempotent_request?.id ?? null,
            hidden: joinable,
            since,
            now: at,
          }),
          ...idempotency.record(idempotent_request, caller, changed),
        ]);
        if (happened) return { id: question.id, existing: false };
        const repeated = await idempotency.findResult(idempotent_request);
        if (repeated !== undefined) return { id: repeated, existing: false };
        const other = await earlier.ofRequestMeanwhile(question);
        if (other !== undefined) return { id: other, existing: true };
        const joined =
          since === null ? undefined : await earlier.join({ ...question, ...asker }, since, at);
        if (joined !== undefined) return { id: joined, existing: true, joined: true };
        // What refused it may have passed meanwhile: then it is asked again.
        return refusal();
      };

      const slot = wait > 0 ? waits.reserve(key_id) : null;
      /** The question as it is once the wait is over. */
      const settled = (asked: Pick<Question, "id" | "key_id">) => {
        const held = () => hold(caller, asked, { seconds: wait, signal, slot: slot ?? undefined });
        return joinable ? earlier.untilLeft(asked, held) : held();
      };
      const run = async (): Promise<Asked> => {
        const since = joins ? await earlier.joinsSince(key_id) : null;
        const { id, existing, joined } = await untilDecided(() => createOrFind(since));
        if (joined) return { question: await settled({ id, key_id }), existing };
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

    /** Holds the answer until the question leaves `pending`, for `wait` seconds at most (§6). */
    read,

    /**
     * One page, newest first; pending ones unless `status` says otherwise. `422 fields.cursor` for a
     * cursor of another list.
     */
    async list(caller: Caller, query: ListQuery, { effects, page_bytes }: ListOptions) {
      const statuses = query.status ?? ["pending" as const];
      const limit = query.limit ?? LIMITS.question_list;
      const of_key = caller.kind === "key" ? caller.key_id : query.key_id;
      const task_id = query.task_id ?? null;
      const bound_to = [
        "questions",
        callerId(caller),
        of_key ?? null,
        [...new Set(statuses)].sort(),
        task_id,
      ];
      const cursor = query.cursor === undefined ? null : readCursor(query.cursor, bound_to);
      if (caller.kind === "account" && query.key_id !== undefined) {
        await keys.find(caller, query.key_id);
      }
      if (query.task_id !== undefined) await assertOwnTask(caller, query.task_id);
      // What is overdue shows as expired, swept or not.
      const now = agreedNow();
      while (effects && (await expireDue(now, SWEEP)) === SWEEP);
      const rows = await readPage(store, (only_known) =>
        questionList({
          scope: of_key === undefined ? "account" : "key",
          owner: of_key ?? caller.account_id,
          statuses,
          task_id,
          // The same moment: what expires between the two would be in neither state.
          now,
          after: cursor && { created_at: cursor.at / 1000, id: cursor.id },
          limit: limit + 1,
          only_known,
        }),
      );
      const page = endPage(rows, {
        limit,
        bytes: page_bytes,
        unitsOf: ({ question }) => questionUnits(question),
        recordOf: ({ question }) => question,
      });
      if (caller.kind === "key" && effects) await earlier.show(page);
      const next = page.length < rows.length ? page.at(-1)!.question : null;
      return {
        questions: page.map(({ question }) => question),
        next_cursor:
          next && writeCursor({ at: Math.round(next.created_at * 1000), id: next.id }, bound_to),
      };
    },

    /**
     * Of several answers at once one wins; the others get `409` (§5.7.4). By a ticket, the same answer
     * again is no other (§19.7.4). Gives the question as lists have it.
     */
    answer: (
      caller: AccountCaller,
      id: string,
      answer: string,
      { idempotent_request, note }: AnswerOptions,
    ): Promise<Question> =>
      untilDecided(async () => {
        const row = await readNow(caller, id);
        const question = asListed(row.question);
        if ((await idempotency.findResult(idempotent_request)) !== undefined) return question;
        if (caller.ticket && question.answer === answer) return question;
        if (question.status !== "pending") {
          fail("question_not_pending", { detail: describeEnd(question) });
        }
        checkAnswer(question, answer);
        assertOffered(caller, question, answer);
        const answered = { status: "answered" as const, answer, answered_at: clock.now() };
        const next: Question = { ...question, ...answered, ...(note !== undefined && { note }) };
        const done = (changed: QuestionRevision) =>
          idempotency.record(idempotent_request, caller, changed);
        const by = caller.ticket?.channel_id ?? null;
        return (await finish(row, next, finishQuestion, done, by)) ? next : undefined;
      }),

    /** `409` once it is answered or expired; again cancelled is fine (§5.7.5). */
    async cancel(caller: KeyCaller, id: string): Promise<void> {
      await untilDecided(async () => {
        const row = await readNow(caller, id);
        if (row.question.status === "cancelled") return true;
        if (row.question.status !== "pending") fail("question_not_pending");
        const next: Question = { ...row.question, status: "cancelled" };
        return (await finish(row, next, finishQuestion)) || undefined;
      });
    },

    /** Expires up to `limit` questions that are due; gives how many it found. */
    expireDue,
  };
}

/** Throws `403 forbidden` for an answer to a request for permission that its notification did not offer (§19.7.8). */
function createOfferCheck(full: boolean) {
  return ({ ticket }: AccountCaller, question: Question, answer: string): void => {
    if (!ticket || !question.action || answersByTicket(question, full).includes(answer)) return;
    fail("forbidden", {
      detail: "The notification does not show the whole request. Open Relay to answer it.",
    });
  };
}

/** Questions that one pass of a list expires at once. */
const SWEEP = 100;
