/** Requests for permission among the questions of a key (docs/interface.md §12.6). */

import type { Question } from "../src/model/question.ts";
import { ofLiveKey } from "./keys.ts";
import {
  finish,
  mayAsk,
  OPTIONAL_FIELDS_NULL,
  type QuestionRow,
  questionColumns,
  stillPending,
} from "./questions.ts";
import { questions } from "./schema.ts";
import { p, sql } from "./sql.ts";
import { insertWhere, type Query, qb, rowsOf, select, statement, updateSet } from "./statement.ts";

/**
 * Who may call for one question: the hook of a client, its permission tool, or each of them once.
 * `used`: the client has reported the use that the person permitted.
 */
export const CALLS = { hook: 1, tool: 2, used: 4 } as const;
const BOTH = sql.raw(CALLS.hook + CALLS.tool);

/** In `action_left`, numbers below this are sums of {@link CALLS}; the rest is the tag of a session of MCP. */
export const TAG_UNIT = 8;
const GONE = sql.raw(`action_left & ${TAG_UNIT - 1}`);

/** Of this key, pending, and of the index `questions_action`. */
const ofKey = sql`key_id = ${p("key_id")} and action is not null and status = 'pending'`;

/** Equal, or one of the two is not said. */
const agrees = <Name extends string>(member: string, name: Name) =>
  sql`coalesce(action ->> ${sql.raw(`'$.${member}'`)} = ${p(name)}, true)`;

/**
 * Matches a pending question that this call may join: the other kind of call alone has asked it, since then and for
 * the same tool and input, and still waits. Session, agent, folder, host and MCP session must be equal where both
 * calls name them.
 */
const matches = sql`${ofKey} and action_digest = ${p("action_digest")}
  and action_calls = ${p("other_call")} and ${GONE} = 0
  and (action_left = 0 or ${p("of_tag")} = 0 or action_left = ${p("of_tag")})
  and ${agrees("session", "of_session")} and ${agrees("agent", "of_agent")}
  and ${agrees("folder", "of_folder")} and ${agrees("host", "of_host")}
  and created_at > ${p("since", questions.created_at)} and expires_at > ${p("now", questions.expires_at)}`;

/** What tells requests of different agents and places apart. */
const placeIn = (table: string) => {
  const members = ["session", "agent", "folder", "host"];
  const values = members.map((name) => `${table}.action ->> '$.${name}'`);
  return sql.raw([...values, `${table}.action_left`].join());
};

/** The oldest that {@link matches}; none if two of them are of different agents or places. */
const joinable = sql`select id from questions where ${matches} and not exists (
    select 1 from questions as twin where ${matches} and (${placeIn("twin")}) is not (${placeIn("questions")}))
  order by created_at limit 1`;

/** Lets a second call wait for the question of the first; gives its id. */
export const joinAction = statement(
  sql`update questions set action_calls = ${BOTH} where id = (${joinable}) and ${ofLiveKey("questions")} returning id`,
  { gives: rowsOf<[id: string]>() },
);

const insert = statement(insertWhere(questions, sql`${mayAsk} and not exists (${joinable})`));

interface NewAction extends Question {
  readonly action: NonNullable<Question["action"]>;
  readonly account_id: string;
  readonly revision: string;
  readonly asked_in: string | null;
  readonly action_digest: string;
  readonly action_calls: number;
  /** What {@link joinAction} takes: there must be no question for it. */
  readonly other_call: number;
  readonly of_session: string | null;
  readonly of_agent: string | null;
  readonly of_folder: string | null;
  readonly of_host: string | null;
  /** Of the session of MCP, a multiple of {@link TAG_UNIT}; 0: there is none. */
  readonly of_tag: number;
  readonly since: number;
  readonly now: number;
}

/** Inserts unless the key is deleted or has its full number of pending questions, or there is one to join. */
export const insertAction = ({ action: { text, ...action }, ...question }: NewAction) =>
  insert({
    ...OPTIONAL_FIELDS_NULL,
    ...question,
    action,
    action_text: text ?? null,
    action_left: question.of_tag,
    context_omitted: question.context === undefined ? null : true,
    hidden: null,
    left_at: null,
  });

/** A call is gone that waited for the question. */
export const leaveAction = statement(
  sql`update questions set action_left = action_left | ${p("call")}
    where id = ${p("id")} and ${ofKey}`,
);

/** Ends a question that no call waits for any more. */
export const endLeftAction = statement(
  updateSet(questions, finish, sql`${stillPending} and ${GONE} = action_calls`),
);

/** Ends a question that is pending. */
export const endAction = statement(updateSet(questions, finish, stillPending));

/**
 * Notes the report of a use on the request that permitted it: one with this answer of the same
 * session, agent and tool, and input unless the digest is null, answered after `since` and not reported
 * yet. Gives its id, if there is one. `begun`: no request from before this can have been answered after `since`.
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
  { gives: rowsOf<[id: string]>() },
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
