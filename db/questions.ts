/** Queries on questions; every one takes its owner's scope in the WHERE. */

import type { SQL } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { type Caller, callerId } from "../src/model/caller.ts";
import { nudgeAt, type Question, QuestionAction } from "../src/model/question.ts";
import { UNNAMED } from "../src/model/session.ts";
import { isFirstRequest } from "./idempotency.ts";
import { ofLiveKey } from "./keys.ts";
import { atRevision } from "./outbox.ts";
import { edited, questions } from "./schema.ts";
import { COUNTED } from "./storage.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import {
  insertWhere,
  isKnown,
  type Query,
  qb,
  rowOf,
  rowsOf,
  select,
  statement,
  updateSet,
} from "./store/statement.ts";
import type { Statement } from "./store/store.ts";

/** Constants as a list in SQL. */
const values = (names: readonly string[]): Sql =>
  sql.join(
    names.map((name) => sql.raw(`'${name}'`)),
    sql`, `,
  );

export interface QuestionRow {
  readonly question: Question;
  readonly account_id: string;
  readonly hidden: boolean | null;
  /** The whole text of its action, only if the context is read too (§2.5.2). */
  readonly action_text?: string | null;
  /** The channel that the answer came by, as its delivery names it; read like the text, and only for the account. */
  readonly answered_by?: AnsweringChannel;
  /** The sign-in that the answer came from; read like `answered_by`. */
  readonly answered_from?: AnsweringSession;
  /** Id of the unread item with its answer, which its agent has not received; read like the text, and only for the key. */
  readonly unreceived?: string | null;
}

/** The channel that a question was answered by; all null if it was none. `type`: null once the channel is deleted. */
interface AnsweringChannel {
  readonly id: string | null;
  readonly type: string | null;
  readonly label: string | null;
}

/** The sign-in that a question was answered from; all null if it is not known. `label`: null once it has ended. */
interface AnsweringSession {
  readonly id: string | null;
  readonly label: string | null;
  /** True: over REST, not from the page. */
  readonly api: boolean | null;
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
  draft: questions.draft,
  edited,
  action: questions.action,
  remind_at: questions.remind_at,
};
const { account_id, hidden, note, context, context_omitted, action_text } = questions;

/** A question without its context, which only the read of a single question has (§2.5.2). */
export const questionColumns = { ...fields, context_omitted, note };

/** Questions as lists show them. */
// Rows lack fields that are null (LEFT_OUT), unlike the types of the columns.
export const allQuestions = qb
  .select({ question: questionColumns, account_id, hidden })
  .from(questions) as unknown as Query<QuestionRow>;

const whole = qb
  .select({ question: { ...fields, context, note }, account_id, hidden, action_text })
  .from(questions) as unknown as Query<QuestionRow>;

const wholeOfKey = qb
  .select({
    question: { ...fields, context, note },
    account_id,
    hidden,
    action_text,
    unreceived: (
      sql`(select id from items where question_id = questions.id and read_at is null
        and received_at is null limit 1)` as SQL<string>
    ).as("unreceived"),
  })
  .from(questions) as unknown as Query<QuestionRow>;

const ofAnswering = (column: "type" | "label") =>
  sql`(select ${sql.raw(column)} from channels where id = questions.answering_channel)`;
/** Also once the channel is gone: the delivery of the question has its label. */
const labelOfAnswering = sql`coalesce(${ofAnswering("label")}, (select label from question_deliveries
  where question_id = questions.id and target_id = questions.answering_channel))`;
const labelOfSession = sql`(select coalesce(label, '${sql.raw(UNNAMED)}') from credentials
  where id = questions.answering_session and account_id = questions.account_id)`;
const wholeOfAccount = qb
  .select({
    question: { ...fields, context, note },
    account_id,
    hidden,
    action_text,
    answered_by: {
      id: questions.answering_channel,
      type: (ofAnswering("type") as SQL<string>).as("answering_type"),
      label: (labelOfAnswering as SQL<string>).as("answering_label"),
    },
    answered_from: {
      id: questions.answering_session,
      label: (labelOfSession as SQL<string>).as("session_label"),
      api: questions.answered_by_api,
    },
  })
  .from(questions) as unknown as Query<QuestionRow>;

const owned = (owner: "key_id" | "account_id") =>
  select(
    owner === "key_id" ? wholeOfKey : wholeOfAccount,
    sql`where id = ${p("id")} and ${sql.identifier(owner)} = ${p("owner")} and ${ofLiveKey("questions")}`,
    { one: true },
  );
const byKind = { key: owned("key_id"), account: owned("account_id") };

/** The question with its context, if it is the caller's. */
export function questionById(caller: Caller, id: string): Statement<QuestionRow> {
  return byKind[caller.kind]({ id, owner: callerId(caller) });
}

export const pendingOfTask = select(
  allQuestions,
  sql`where task_id = ${p("task_id")} and status = 'pending' and ${ofLiveKey("questions")}`,
  // All of them end with the task, also those of a newer version.
  { unknown: "kept" },
);

/** True in SQL for a question with only values that this version knows. */
export const isKnownQuestion = sql`${isKnown(questions)} and (action is null or action ->> '$.client' in (${values(QuestionAction.shape.client.options)})
  and action ->> '$.form' in (${values(QuestionAction.shape.form.options)}))`;

/** Pending questions that have expired at `now`, the most overdue first. */
export const overdueQuestions = select(
  allQuestions,
  sql`where status = 'pending' and expires_at <= ${p("now", questions.expires_at)} and ${ofLiveKey("questions")} and ${isKnownQuestion}
    order by expires_at limit ${p("limit")}`,
);

/** The number of pending questions of a key, which {@link mayAsk} limits (§5.7.2(3)). */
const pendingOfKey = sql`(select count(*) from questions where key_id = ${p("key_id")} and status = 'pending' and expires_at > ${p("created_at", questions.created_at)})`;

/** The questions of `key_id` that are pending at `now`, at most {@link LIMITS.pending_questions_per_key}. */
export const openQuestions = statement(
  sql`select id, expires_at from questions where key_id = ${p("key_id")} and status = 'pending'
    and expires_at > ${p("now", questions.expires_at)}`,
  { returns: rowsOf<[id: string, expires_ms: number]>() },
);

/** The number of questions of `key_id` that are pending at `created_at`. */
export const countPending = statement(sql`select ${pendingOfKey}`, {
  returns: rowOf<[count: number]>(),
});

/** A question of `key_id` with `request_id` from the last 24 hours. After that, another question may use it. */
const ofRequest = sql`key_id = ${p("key_id")} and request_id = ${p("request_id")}
  and created_at > ${p("created_at", questions.created_at)} - ${sql.raw(LIMITS.request_id_retention * 1000)}`;

/** The question of `key_id` with `request_id` from the 24 hours before `created_at`. */
export const questionByRequest = select(
  whole,
  sql`where ${ofRequest} and ${ofLiveKey("questions")}`,
  { one: true },
);

/** True in SQL if the key is not deleted and may ask one more question. */
export const mayAsk = sql`exists (select 1 from keys where id = ${p("key_id")} and deleted_at is null)
      and ${pendingOfKey} < ${sql.raw(LIMITS.pending_questions_per_key)}`;

/**
 * True in SQL if the session `asked_in` asked the question, or if another one left it before this one began: it may
 * continue that one, unlike another window, which began earlier. Without a session: if it was asked without one.
 */
const sameSession = sql`(asked_in is ${p("asked_in")}
      or (asked_in is not null and left_at < ${p("began_at", questions.left_at)}))`;

/**
 * Questions that an identical ask joins: they have the same content, are pending at `now`, and were left after `since`
 * or have a call of the same session that still waits. Begins with the condition of an index (schema.ts).
 */
const joinable = sql`key_id = ${p("key_id")} and status = 'pending' and hidden = 1
    and expires_at > ${p("now", questions.expires_at)}
    and prompt = ${p("prompt")} and kind = ${p("kind")} and task_id is ${p("task_id")}
    and options = ${p("options", questions.options)} and url is ${p("url")}
    and allow_other is ${p("allow_other", questions.allow_other)} and fallback is ${p("fallback")}
    and draft is ${p("draft")}
    and context is ${p("context")} and expires_at - created_at
      = ${p("expires_at", questions.expires_at)} - ${p("created_at", questions.created_at)}
    and (asking_until > ${p("now", questions.expires_at)} and asked_in is ${p("asked_in")}
      or left_at > ${p("since", questions.left_at)} and ${sameSession})`;

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
  { counts: COUNTED.questions },
);

/** The session that asks. */
interface Asker {
  readonly asked_in: string | null;
  /** When that session began, in epoch seconds; null if it is not known. */
  readonly began_at: number | null;
}

interface NewQuestion extends Question, Asker {
  readonly account_id: string;
  readonly revision: string;
  readonly idempotency_id: string | null;
  /** True if the agent does not get its id before the asking call ends. */
  readonly hidden: boolean;
  /** When the call stops waiting, if an identical ask may join it until then; otherwise null. */
  readonly asking_until: number | null;
  /** Do not ask if there is a question to join, left after this. Null: always ask. */
  readonly since: number | null;
  readonly now: number;
}

/**
 * Inserts unless the key is deleted or has its full number of pending questions, the task is not the key's, another
 * question has the `request_id`, there is one to join, or the request `idempotency_id` was done before.
 */
export const insertQuestion = ({ hidden, ...question }: NewQuestion) =>
  insert({
    ...OPTIONAL_FIELDS_NULL,
    ...question,
    nudge_at: nudgeAt(question),
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
  draft: null,
  note: null,
  context: null,
  asking_until: null,
  action: null,
  asked_in: null,
  action_digest: null,
  action_calls: null,
  action_left: null,
  action_text: null,
  cancelled_at: null,
  answering_channel: null,
  answering_session: null,
  answered_by_api: null,
  remind_at: null,
};

/**
 * Lets an identical ask join a pending question whose id the agent has not got, unless another call waits for it after
 * `asking_until`, when the one that left would have ended.
 */
export const leaveQuestion = statement(
  sql`update questions set left_at = ${p("left_at", questions.left_at)}
    where id = ${p("id")} and key_id = ${p("key_id")} and status = 'pending' and hidden = 1
      and coalesce(asking_until, 0) <= coalesce(${p("asking_until", questions.asking_until)}, 0)`,
);

interface JoiningQuestion
  extends Question,
    Asker,
    Pick<NewQuestion, "hidden" | "asking_until" | "now"> {
  readonly since: number;
}

/** Joins the newest question that the ask may join, and returns its id. */
export const joinQuestion = ({ hidden, ...asked }: JoiningQuestion) =>
  join({ ...OPTIONAL_FIELDS_NULL, ...asked, hidden: hidden ? 1 : null });

const until = p("asking_until", questions.asking_until);
const join = statement(
  sql`update questions set left_at = null, asked_in = ${p("asked_in")}, hidden = ${p("hidden")},
      asking_until = coalesce(max(asking_until, ${until}), ${until}, asking_until) where id = (
      select id from questions where ${joinable}
      order by created_at desc limit 1)
    and ${ofLiveKey("questions")} returning id`,
  { returns: rowsOf<[id: string]>() },
);

/** Marks the questions `ids` (JSON list) as known to the agent. */
export const showQuestions = statement(
  sql`update questions set hidden = null, left_at = null
    where id in (select value from json_each(${p("ids")})) and hidden = 1`,
);

/** Guards every end of a question, so that it has one answer. */
export const stillPending = sql`id = ${p("id")} and status = 'pending' and ${ofLiveKey("questions")}`;
/** The columns that change when a question ends. */
export const END_COLUMNS = ["status", "answer", "answered_at", "cancelled_at", "revision"] as const;

/** A question as it ends by a change at `now` (epoch seconds). */
export type EndedQuestion = Question & {
  readonly account_id: string;
  readonly revision: string;
  readonly now: number;
  /** Null unless it is cancelled. */
  readonly cancelled_at: number | null;
} & Partial<AnswerSource>;

/** Where an answer came from: a channel, or a sign-in of the account. */
export interface AnswerSource {
  /** Id of the channel; null for the account itself. */
  readonly answering_channel: string | null;
  /** Id of the sign-in; null for a channel. */
  readonly answering_session: string | null;
  /** True: the sign-in answered over REST. */
  readonly answered_by_api: boolean | null;
}

const finishInTime = statement(
  updateSet(
    questions,
    [...END_COLUMNS, "note", "answering_channel", "answering_session", "answered_by_api"],
    sql`${stillPending} and expires_at > ${p("now", questions.expires_at)}`,
  ),
  { counts: { row: 0, texts: ["answer", "note"] } },
);

/** Answers or cancels a question that is pending and has not expired at `now`. */
export const finishQuestion = (ended: EndedQuestion): Statement =>
  finishInTime({ ...OPTIONAL_FIELDS_NULL, ...ended });

/** Expires a pending question, which the caller found overdue. */
export const expireQuestion = statement(updateSet(questions, END_COLUMNS, stillPending));

/** Ends a question of a task that the same batch deletes. */
export const finishWithTask = statement(
  updateSet(questions, END_COLUMNS, sql`${stillPending} and ${atRevision("tasks")}`),
);
