/** The list of questions, in list pages bounded by number and by bytes, and the search in it (§5.7.1). */

import { type QuestionFilter, questionList, questionPosition } from "../../db/question-list.ts";
import type { QuestionRow } from "../../db/questions.ts";
import type { Store } from "../../db/store/store.ts";
import { LIMITS } from "../limits.ts";
import { type Caller, callerId } from "../model/caller.ts";
import { type Question, questionUnits, wordsOf } from "../model/question.ts";
import type { Keys } from "./keys.ts";
import { CHECKED, type Confirm } from "./shared/deps.ts";
import { endPage, type PageQuery, readCursor, readPage, writeCursor } from "./shared/list-page.ts";

interface ListQuery extends PageQuery {
  readonly key_id?: string | undefined;
  readonly task_id?: string | undefined;
  readonly status?: readonly Question["status"][] | undefined;
  readonly search?: string | undefined;
}

interface ListOptions {
  /** False for HEAD, which expires nothing and shows no question to its agent. */
  readonly effects: boolean;
  /** Bytes of JSON for the list page, at most. */
  readonly page_bytes: number;
  readonly confirmed?: Confirm;
}

interface QuestionListDeps {
  readonly store: Pick<Store, "read">;
  readonly keys: Pick<Keys, "find">;
  readonly agreedNow: () => number;
  /** Throws `404` unless the caller has the task. */
  readonly assertOwnTask: (caller: Caller, task_id: string) => Promise<unknown>;
  /** Expires up to `limit` overdue questions, and returns how many it found. */
  readonly expireDue: (now: number, limit: number) => Promise<number>;
  /** Marks questions as known to their agent. */
  readonly show: (rows: readonly QuestionRow[]) => Promise<void>;
}

/** Questions that a list expires at once. */
const SWEEP = 100;

export function createQuestionList(deps: QuestionListDeps) {
  const { store, keys, agreedNow, assertOwnTask, expireDue, show } = deps;

  /** One list page, newest first; `status` is `pending` by default. `422 fields.cursor`. */
  return async (
    caller: Caller,
    query: ListQuery,
    { effects, page_bytes, confirmed = CHECKED }: ListOptions,
  ) => {
    const statuses = query.status ?? ["pending" as const];
    const limit = query.limit ?? LIMITS.question_list;
    const of_key = caller.kind === "key" ? caller.key_id : query.key_id;
    const task_id = query.task_id ?? null;
    const words = query.search === undefined ? null : wordsOf(query.search);
    const bound_to = [
      "questions",
      callerId(caller),
      of_key ?? null,
      [...new Set(statuses)].sort(),
      task_id,
      // Cursors of lists without a search stay as they were.
      ...(words ? [words] : []),
    ];
    const cursor = query.cursor === undefined ? null : readCursor(query.cursor, bound_to);
    if (caller.kind === "account" && query.key_id !== undefined) {
      await keys.find(caller, query.key_id);
    }
    if (query.task_id !== undefined) await assertOwnTask(caller, query.task_id);
    // Overdue questions are shown as expired, whether or not the job has expired them.
    const now = agreedNow();
    while (effects && (await expireDue(now, SWEEP)) === SWEEP);
    const filter: QuestionFilter = {
      scope: of_key === undefined ? "account" : "key",
      owner: of_key ?? caller.account_id,
      statuses,
      task_id,
      words,
      // The same time as above: a question that expires in between would be in neither state.
      now,
      after: cursor && { created_at: cursor.at / 1000, id: cursor.id },
      down_to: null,
      limit: limit + 1,
    };
    // For a rare word, a list page must not look through every question: it ends after a stretch.
    const [stretch_end] = words
      ? await store.read(questionPosition(filter, LIMITS.question_scan - 1))
      : [];
    const down_to = stretch_end ?? null;
    const rows = await readPage(store, (only_known) =>
      questionList({ ...filter, down_to, only_known }),
    );
    const page = endPage(rows, {
      limit,
      bytes: page_bytes,
      unitsOf: ({ question }) => questionUnits(question),
      recordOf: ({ question }) => question,
    });
    if (caller.kind === "key" && effects) {
      await confirmed();
      await show(page);
    }
    const next = page.length < rows.length ? page.at(-1)!.question : down_to;
    return {
      questions: page.map(({ question }) => question),
      next_cursor:
        next && writeCursor({ at: Math.round(next.created_at * 1000), id: next.id }, bound_to),
    };
  };
}
