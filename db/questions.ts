/** Queries on questions; every one takes its owner's scope in the WHERE. */

import { LIMITS } from "../src/limits.ts";
import { type Caller, callerId } from "../src/model/caller.ts";
import { QUESTION_STATUSES, type Question } from "../src/model/question.ts";
import { isFirstRequest } from "./idempotency.ts";
import { ofLiveKey } from "./keys.ts";
import { stamped } from "./outbox.ts";
import { questions } from "./schema.ts";
import { p, type Sql, sql } from "./sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./statement.ts";
import type { Statement } from "./store.ts";
import { END_OF_TIME } from "./tasks.ts";

export interface QuestionRow {
  readonly question: Question;
  readonly account_id: string;
}

export const questionColumns = {
  id: questions.id,
  key_id: questions.key_id,
  task_id: questions.task_id,
  prompt: questions.prompt,
  kind: questions.kind,
  options: questions.options,
  status: questions.status,
  answer: questions.answer,
  created_at: questions.created_at,
  answered_at: questions.answered_at,
  expires_at: questions.expires_at,
};

const columns = {
  question: questionColumns,
  account_id: questions.account_id,
};

const all = qb.select(columns).from(questions);

const owned = (owner: "key_id" | "account_id") =>
  select(
    all,
    sql`where id = ${p("id")} and ${sql.identifier(owner)} = ${p("owner")} and ${ofLiveKey("questions")}`,
    { one: true },
  );
const byKind = { key: owned("key_id"), account: owned("account_id") };

/** The question, if it is the caller's. */
export function questionById(caller: Caller, id: string): Statement<QuestionRow> {
  return byKind[caller.kind]({ id, owner: callerId(caller) });
}

export const pendingOfTask = select(
  all,
  sql`where task_id = ${p("task_id")} and status = 'pending' and ${ofLiveKey("questions")}`,
);

/** Pending questions past `now`, the most overdue first. */
export const overdueQuestions = select(
  all,
  sql`where status = 'pending' and expires_at <= ${p("now", questions.expires_at)} and ${ofLiveKey("questions")}
    order by expires_at limit ${p("limit")}`,
);

const pendingOfKey = sql`(select count(*) from questions where key_id = ${p("key_id")} and status = 'pending' and expires_at > ${p("created_at", questions.created_at)})`;

/** The number of questions of `key_id` that are pending at `created_at`. */
export const countPending = statement(sql`select ${pendingOfKey}`, {
  gives: rowOf<[count: number]>(),
});

/**
 * Inserts unless the key is deleted, the task is not the key's, the key has its full number of
 * pending questions, or the request `once_id` was done before.
 */
export const insertQuestion = statement(
  insertWhere(
    questions,
    sql`exists (select 1 from keys where id = ${p("key_id")} and deleted_at is null)
      and (${p("task_id")} is null or exists (select 1 from tasks where id = ${p("task_id")} and key_id = ${p("key_id")}))
      and ${pendingOfKey} < ${sql.raw(LIMITS.pending_questions_per_key)} and ${isFirstRequest()}`,
  ),
);

const stillPending = sql`id = ${p("id")} and status = 'pending' and ${ofLiveKey("questions")}`;
const finish = ["status", "answer", "answered_at", "change_id"] as const;

/** Answers or cancels a question that is pending and not overdue at `now` (a timestamp). */
export const finishQuestion = statement(
  updateSet(
    questions,
    finish,
    sql`${stillPending} and expires_at > ${p("now", questions.expires_at)}`,
  ),
);

/** Expires a question that is pending; the caller has found it overdue. */
export const expireQuestion = statement(updateSet(questions, finish, stillPending));

/** Ends a question of a task that the same batch stamped as doomed. */
export const finishWithTask = statement(
  updateSet(questions, finish, sql`${stillPending} and ${stamped("tasks")}`),
);

interface QuestionFilter {
  readonly scope: "key" | "account";
  readonly owner: string;
  readonly statuses: readonly Question["status"][];
  readonly task_id: string | null;
  /** Questions past this time (seconds) are not pending. */
  readonly now: number;
  /** Only questions after this one; null for the first page. */
  readonly after: Pick<Question, "created_at" | "id"> | null;
  readonly limit: number;
}

/** Parameters of a list; which of them it has depends on its filter. */
interface ListValues {
  readonly owner: string;
  readonly task_id: string | null;
  readonly now: number;
  readonly after_at: number;
  readonly after_id: string;
  readonly limit: number;
}

const lists = new Map<string, (values: ListValues) => Statement<QuestionRow>>();

/** The newest questions that match (docs/interface.md 5.7.1). */
export function questionList(filter: QuestionFilter): Statement<QuestionRow> {
  const statuses = QUESTION_STATUSES.filter((status) => filter.statuses.includes(status));
  const shape = [filter.scope, filter.task_id !== null, ...statuses].join(" ");
  let list = lists.get(shape);
  if (!list) {
    list = buildList(filter.scope, filter.task_id !== null, statuses);
    lists.set(shape, list);
  }
  return list({
    owner: filter.owner,
    task_id: filter.task_id,
    now: filter.now,
    after_at: filter.after?.created_at ?? END_OF_TIME,
    after_id: filter.after?.id ?? "",
    limit: filter.limit,
  });
}

function buildList(
  scope: QuestionFilter["scope"],
  of_task: boolean,
  statuses: readonly Question["status"][],
) {
  const owner = sql.identifier(scope === "key" ? "key_id" : "account_id");
  const limit = p("limit");
  const after_at = p("after_at", questions.created_at);
  const conditions: Sql<ListValues>[] = [
    sql`${owner} = ${p("owner")}`,
    sql`(created_at, id) < (${after_at}, ${p("after_id")})`,
    ofLiveKey("questions"),
  ];
  if (of_task) conditions.push(sql`task_id = ${p("task_id")}`);
  const range = (status: string): Sql<ListValues> => {
    const due = sql`expires_at > ${p("now", questions.expires_at)}`;
    const all = [...conditions, sql`status = ${sql.raw(`'${status}'`)}`];
    if (status === "pending") all.push(due);
    return sql`select * from (select id, created_at from questions where ${sql.join(all, sql` and `)} order by created_at desc, id desc limit ${limit})`;
  };
  const ranges = sql.join(statuses.map(range), sql` union all `);
  return select(
    all,
    sql`where id in (select id from (${ranges}) order by created_at desc, id desc limit ${limit})
      order by created_at desc, id desc`,
  );
}
