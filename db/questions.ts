/** Queries on questions; every one takes its owner's scope in the WHERE. */

import { LIMITS } from "../src/limits.ts";
import { type Caller, callerId } from "../src/model/caller.ts";
import { QUESTION_STATUSES, type Question, QuestionAction } from "../src/model/question.ts";
import { isFirstRequest } from "./idempotency.ts";
import { ofLiveKey } from "./keys.ts";
import { atRevision } from "./outbox.ts";
import { questions } from "./schema.ts";
import { p, type Sql, sql } from "./sql.ts";
import {
  byShape,
  insertWhere,
  isKnown,
  type Query,
  qb,
  rowOf,
  rowsOf,
  select,
  statement,
  updateSet,
} from "./statement.ts";
import type { Statement } from "./store.ts";
import { END_OF_TIME } from "./tasks.ts";

/** Names in the code as a list of SQL. */
const values = (names: readonly string[]): Sql =>
  sql.join(
    names.map((name) => sql.raw(`'${name}'`)),
    sql`, `,
  );

export interface QuestionRow {
  readonly question: Question;
  readonly account_id: string;
  readonly hidden: boolean | null;
  /** The text of its action, where the context is too (docs/interface.md §2.5.2). */
  readonly action_text?: string | null;
}

const fields = {
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
  request_id: questions.request_id,
  url: questions.url,
  allow_other: questions.allow_other,
  fallback: questions.fallback,
  action: questions.action,
};
const { account_id, hidden, note, context, context_omitted, action_text } = questions;

/** A question without its context, which only the read of one question has (docs/interface.md §2.5.2). */
export const questionColumns = { ...fields, context_omitted, note };

// Null is left out of a row, which the types of the columns do not say.
const all = qb
  .select({ question: questionColumns, account_id, hidden })
  .from(questions) as unknown as Query<QuestionRow>;

const whole = qb
  .select({ question: { ...fields, context, note }, account_id, hidden, action_text })
  .from(questions) as unknown as Query<QuestionRow>;

const owned = (owner: "key_id" | "account_id") =>
  select(
    whole,
    sql`where id = ${p("id")} and ${sql.identifier(owner)} = ${p("owner")} and ${ofLiveKey("questions")}`,
    { one: true },
  );
const byKind = { key: owned("key_id"), account: owned("account_id") };

/** The question with its context, if it is the caller's. */
export function questionById(caller: Caller, id: string): Statement<QuestionRow> {
  return byKind[caller.kind]({ id, owner: callerId(caller) });
}

export const pendingOfTask = select(
  all,
  sql`where task_id = ${p("task_id")} and status = 'pending' and ${ofLiveKey("questions")}`,
  // A task that is deleted takes all of them along.
  { unknown: "kept" },
);

/** True in SQL of a question of which this version knows everything. */
const isKnownQuestion = sql`${isKnown(questions)} and (action is null or action ->> '$.client' in (${values(QuestionAction.shape.client.options)})
  and action ->> '$.form' in (${values(QuestionAction.shape.form.options)}))`;

/** Pending questions past `now`, the most overdue first. */
export const overdueQuestions = select(
  all,
  sql`where status = 'pending' and expires_at <= ${p("now", questions.expires_at)} and ${ofLiveKey("questions")} and ${isKnownQuestion}
    order by expires_at limit ${p("limit")}`,
);

/** `insert` compares it with the limit (docs/interface.md §5.7.2(3)). */
const pendingOfKey = sql`(select count(*) from questions where key_id = ${p("key_id")} and status = 'pending' and expires_at > ${p("created_at", questions.created_at)})`;

/** The number of questions of `key_id` that are pending at `created_at`. */
export const countPending = statement(sql`select ${pendingOfKey}`, {
  gives: rowOf<[count: number]>(),
});

/** Questions of `key_id` that were asked with `request_id`, which another one may use after 24 hours. */
const ofRequest = sql`key_id = ${p("key_id")} and request_id = ${p("request_id")}
  and created_at > ${p("created_at", questions.created_at)} - ${sql.raw(LIMITS.request_id_retention * 1000)}`;

/** The question of `key_id` that was asked with `request_id` in the 24 hours before `created_at`. */
export const questionByRequest = select(
  whole,
  sql`where ${ofRequest} and ${ofLiveKey("questions")}`,
  { one: true },
);

/** The key is there and may ask one more. */
export const mayAsk = sql`exists (select 1 from keys where id = ${p("key_id")} and deleted_at is null)
      and ${pendingOfKey} < ${sql.raw(LIMITS.pending_questions_per_key)}`;

/**
 * Asked by the session `asked_in`; or left before it began, so that it may go on for the session that left it:
 * a window beside it has begun before. Without a session, asked without one.
 */
const sameSession = sql`(action_turn is ${p("asked_in")}
      or (action_turn is not null and left_at < ${p("began_at", questions.left_at)}))`;

/**
 * Questions of the same content that the session left after `since` and that are pending at `now`: an identical
 * ask joins them. Begins with the condition of an index (schema.ts).
 */
const joinable = sql`key_id = ${p("key_id")} and left_at is not null and status = 'pending' and hidden = 1
    and left_at > ${p("since", questions.left_at)} and expires_at > ${p("now", questions.expires_at)}
    and prompt = ${p("prompt")} and kind = ${p("kind")} and task_id is ${p("task_id")}
    and options = ${p("options", questions.options)} and url is ${p("url")}
    and allow_other is ${p("allow_other", questions.allow_other)} and fallback is ${p("fallback")}
    and context is ${p("context")} and expires_at - created_at
      = ${p("expires_at", questions.expires_at)} - ${p("created_at", questions.created_at)}
    and ${sameSession}`;

const insert = statement(
  insertWhere(
    questions,
    sql`${mayAsk}
      and (${p("task_id")} is null or exists (select 1 from tasks where id = ${p("task_id")} and key_id = ${p("key_id")}))
      and (${p("request_id")} is null or not exists (select 1 from questions where ${ofRequest}))
      and (${p("since", questions.left_at)} is null or not exists (
        select 1 from questions where ${joinable}))
      and ${isFirstRequest()}`,
  ),
);

/** The session that asks. */
export interface Asker {
  readonly asked_in: string | null;
  /** When that session began, a timestamp; null if it is not known. */
  readonly began_at: number | null;
}

interface NewQuestion extends Question, Asker {
  readonly account_id: string;
  readonly revision: string;
  readonly idempotency_id: string | null;
  /** True: its id is not handed out before the asking call ends. */
  readonly hidden: boolean;
  /** Not asked where one of the same content was left after this and is pending at `now`; null: asked. */
  readonly since: number | null;
  readonly now: number;
}

/**
 * Inserts unless the key is deleted, the task is not the key's, a question has the `request_id`, one is there
 * to be joined, the key has its full number of pending questions, or the request `idempotency_id` was done
 * before.
 */
export const insertQuestion = ({ hidden, ...question }: NewQuestion) =>
  insert({
    ...OPTIONAL_FIELDS_NULL,
    ...question,
    context_omitted: question.context === undefined ? null : true,
    hidden: hidden || null,
    left_at: null,
  });

/** The columns of a question whose fields the ask left out. */
export const OPTIONAL_FIELDS_NULL = {
  request_id: null,
  url: null,
  allow_other: null,
  fallback: null,
  note: null,
  context: null,
  action: null,
  asked_in: null,
  action_digest: null,
  action_calls: null,
  action_left: null,
  action_text: null,
  cancelled_at: null,
};

/** Lets an identical ask join a question that is pending and whose id the agent has not got. */
export const leaveQuestion = statement(
  sql`update questions set left_at = ${p("left_at", questions.left_at)}
    where id = ${p("id")} and key_id = ${p("key_id")} and status = 'pending' and hidden = 1`,
);

/** Takes over the newest question that the ask may join; gives its id. Only one of several gets it. */
export const joinLeftQuestion = (
  asked: Question & Asker & { readonly since: number; readonly now: number },
) => join({ ...OPTIONAL_FIELDS_NULL, ...asked });

const join = statement(
  sql`update questions set left_at = null, action_turn = ${p("asked_in")} where id = (
      select id from questions where ${joinable}
      order by created_at desc limit 1)
    and ${ofLiveKey("questions")} returning id`,
  { gives: rowsOf<[id: string]>() },
);

/** Takes the questions of the JSON array `ids` as handed out. */
export const showQuestions = statement(
  sql`update questions set hidden = null, left_at = null
    where id in (select value from json_each(${p("ids")})) and hidden = 1`,
);

export const stillPending = sql`id = ${p("id")} and status = 'pending' and ${ofLiveKey("questions")}`;
/** What changes when a question ends. */
export const finish = ["status", "answer", "answered_at", "cancelled_at", "revision"] as const;

/** A question as it is once it has ended, by a change at `now` (a timestamp). */
export type EndedQuestion = Question & {
  readonly revision: string;
  readonly now: number;
  /** Null unless it is cancelled. */
  readonly cancelled_at: number | null;
};

const finishInTime = statement(
  updateSet(
    questions,
    [...finish, "note"],
    sql`${stillPending} and expires_at > ${p("now", questions.expires_at)}`,
  ),
);

/** Answers or cancels a question that is pending and not overdue at `now` (a timestamp). */
export const finishQuestion = (ended: EndedQuestion): Statement =>
  finishInTime({ ...OPTIONAL_FIELDS_NULL, ...ended });

/** Expires a question that is pending; the caller has found it overdue. */
export const expireQuestion = statement(updateSet(questions, finish, stillPending));

/** Ends a question of a task that the same batch is deleting. */
export const finishWithTask = statement(
  updateSet(questions, finish, sql`${stillPending} and ${atRevision("tasks")}`),
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
  /** True: looks for rows that this version knows, which takes longer ({@link lacksRows}). */
  readonly only_known?: boolean;
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

const lists = byShape<ListValues, QuestionRow>();

/** The newest questions that match (docs/interface.md 5.7.1). */
export function questionList(filter: QuestionFilter): Statement<QuestionRow> {
  const statuses = QUESTION_STATUSES.filter((status) => filter.statuses.includes(status));
  const { scope, only_known = false } = filter;
  const of_task = filter.task_id !== null;
  const shape = [scope, of_task, only_known, ...statuses].join(" ");
  return lists(shape, () => buildList(scope, of_task, statuses, only_known))({
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
  only_known: boolean,
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
  if (only_known) conditions.push(isKnownQuestion);
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
