/** Requests for permission among the questions of a key (§12.6). */

import { nudgeAt, type Question } from "../src/model/question.ts";
import { ofLiveKey } from "./keys.ts";
import {
  END_COLUMNS,
  mayAsk,
  OPTIONAL_FIELDS_NULL,
  type QuestionRow,
  questionColumns,
  stillPending,
} from "./questions.ts";
import { questions } from "./schema.ts";
import { COUNTED } from "./storage.ts";
import { p, sql } from "./store/sql.ts";
import {
  insertWhere,
  type Query,
  qb,
  rowsOf,
  select,
  statement,
  updateSet,
} from "./store/statement.ts";

/**
 * The bits of `action_calls` and `action_left`: the calls that may wait for one question, each once, and `used` when the
 * client has reported the use that the person permitted.
 */
export const CALLS = { hook: 1, tool: 2, used: 4 } as const;
const BOTH = sql.raw(CALLS.hook + CALLS.tool);

/** In `action_left`, the part below this is a sum of {@link CALLS}; multiples of it are the tag of an MCP session. */
export const TAG_UNIT = 8;
const GONE = sql.raw(`action_left & ${TAG_UNIT - 1}`);

/** Pending requests of this key, by the index `questions_action`. */
const ofKey = sql`key_id = ${p("key_id")} and action is not null and status = 'pending'`;

/** True in SQL if both are equal, or one is not given. */
const agrees = <Name extends string>(member: string, name: Name) =>
  sql`coalesce(action ->> ${sql.raw(`'$.${member}'`)} = ${p(name)}, true)`;

/**
 * Matches a pending question that this call may join: only the other kind of call has asked it, after `since` and for
 * the same tool and input, and it still waits. Session, agent, folder, host and MCP session must be equal if both calls
 * name them.
 */
const matches = sql`${ofKey} and action_digest = ${p("action_digest")}
  and action_calls = ${p("other_call")} and ${GONE} = 0
  and (action_left = 0 or ${p("of_tag")} = 0 or action_left = ${p("of_tag")})
  and ${agrees("session", "of_session")} and ${agrees("agent", "of_agent")}
  and ${agrees("folder", "of_folder")} and ${agrees("host", "of_host")}
  and created_at > ${p("since", questions.created_at)} and expires_at > ${p("now", questions.expires_at)}`;

/** The columns that tell requests of different agents and places apart. */
const placeIn = (table: string) => {
  const members = ["session", "agent", "folder", "host"];
  const values = members.map((name) => `${table}.action ->> '$.${name}'`);
  return sql.raw([...values, `${table}.action_left`].join());
};

/** The oldest question that {@link matches}, unless two matching ones are of different agents or places. */
const joinable = sql`select id from questions where ${matches} and not exists (
    select 1 from questions as twin where ${matches} and (${placeIn("twin")}) is not (${placeIn("questions")}))
  order by created_at limit 1`;

/** Lets a second call wait for the question of the first. Returns its id. */
export const joinAction = statement(
  sql`update questions set action_calls = ${BOTH} where id = (${joinable}) and ${ofLiveKey("questions")} returning id`,
  { returns: rowsOf<[id: string]>() },
);

const insert = statement(insertWhere(questions, sql`${mayAsk} and not exists (${joinable})`), {
  counts: COUNTED.questions,
});

/** Records a request that was never asked, unless the key is deleted. */
const insertAnyway = statement(
  insertWhere(
    questions,
    sql`exists (select 1 from keys where id = ${p("key_id")} and deleted_at is null)`,
  ),
  { counts: COUNTED.questions },
);

interface NewAction extends Question {
  readonly action: NonNullable<Question["action"]>;
  readonly account_id: string;
  readonly revision: string;
  readonly asked_in: string | null;
  readonly action_digest: string;
  readonly action_calls: number;
  /** `action_calls` of the other kind of call, which alone must have asked the question. */
  readonly other_call: number;
  readonly of_session: string | null;
  readonly of_agent: string | null;
  readonly of_folder: string | null;
  readonly of_host: string | null;
  /** Tag of the MCP session, a multiple of {@link TAG_UNIT}; 0: none. */
  readonly of_tag: number;
  readonly since: number;
  readonly now: number;
}

/**
 * Inserts unless the key is deleted, has its full number of pending questions, or there is a question to join. A request
 * that has ended already is only recorded.
 */
export const insertAction = ({ action: { text, ...action }, ...question }: NewAction) =>
  (question.status === "pending" ? insert : insertAnyway)({
    ...OPTIONAL_FIELDS_NULL,
    ...question,
    action,
    action_text: text ?? null,
    action_left: question.of_tag,
    nudge_at: nudgeAt(question),
    context_omitted: question.context === undefined ? null : true,
    hidden: null,
    left_at: null,
  });

/** Notes that a call no longer waits for the question. */
export const leaveAction = statement(
  sql`update questions set action_left = action_left | ${p("call")}
    where id = ${p("id")} and ${ofKey}`,
);

/** Ends a question if no call waits for it any more. */
export const endLeftAction = statement(
  updateSet(questions, END_COLUMNS, sql`${stillPending} and ${GONE} = action_calls`),
);

/** Ends a question that is pending. */
export const endAction = statement(updateSet(questions, END_COLUMNS, stillPending));

/**
 * Notes that the client used what a request permitted, and returns the id of that request, if there is one. It was
 * answered after `since` and not with `deny`, has the same session, agent, tool and, unless the digest is null, input,
 * and was not reported before. `begun`: requests from before it cannot have been answered after `since`.
 */
export const reportUse = statement(
  sql`update questions set action_calls = action_calls | ${sql.raw(CALLS.used)} where id = (
      select id from questions where key_id = ${p("key_id")} and status = 'answered'
        and created_at > ${p("begun", questions.created_at)} and answered_at > ${p("since", questions.answered_at)}
        and answer <> ${p("deny")} and action ->> '$.tool' = ${p("of_tool")}
        and (${p("action_digest")} is null or action_digest = ${p("action_digest")})
        and action_calls < ${sql.raw(CALLS.used)} and action ->> '$.session' = ${p("of_session")}
        and action ->> '$.agent' is ${p("of_agent")}
      order by created_at limit 1)
    and ${ofLiveKey("questions")} returning id`,
  { returns: rowsOf<[id: string]>() },
);

const waiting = qb
  .select({
    question: questionColumns,
    account_id: questions.account_id,
    hidden: questions.hidden,
    turn: questions.asked_in,
    digest: questions.action_digest,
    calls: questions.action_calls,
    left: questions.action_left,
  })
  .from(questions);

export interface ActionRow extends QuestionRow {
  readonly turn: string | null;
  readonly digest: string;
  readonly calls: number;
  readonly left: number;
}

/** The pending requests of a key, the oldest first. */
export const pendingActions = select(
  waiting as unknown as Query<ActionRow>,
  sql`where ${ofKey} and ${ofLiveKey("questions")} order by created_at`,
);
