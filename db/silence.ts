/** Statements of the job that finds silent agents (§3.3). */

import { sql as drizzle } from "drizzle-orm";
import { credentials } from "./credentials-schema.ts";
import { ofLiveKey } from "./keys.ts";
import { keys, tasks } from "./schema.ts";
import { p, sql } from "./store/sql.ts";
import { isKnown, qb, select, statement, updateSet } from "./store/statement.ts";
import { taskColumns } from "./tasks.ts";

/** Ended questions of each status, the last asked, among which the last end is sought: a key has at most 20 pending. */
const ENDED = 100;
/** Silent tasks of a used key that are marked at once. The trigger `keys_silence` has the same number. */
export const MARKED = 100;

const now = p("now", tasks.silent_due_at);

const lastEnd = (status: string, column: string) =>
  drizzle.raw(
    `select * from (select ${column} as at from questions where key_id = tasks.key_id and status = '${status}' order by created_at desc limit ${ENDED})`,
  );

/**
 * Tasks whose agent is to be looked at, accounts in turn, at most `limit`: of the `window` that have been due for longest,
 * without those of the accounts `passed` (JSON list). `facts`: when the key was last used (epoch
 * seconds), and in milliseconds when one of its credentials was, which may be a minute later, until when its pending
 * questions last, and when its last other question ended.
 */
export const dueTasks = select(
  qb
    .select({
      ...taskColumns,
      facts: {
        last_used_at: keys.last_used_at,
        credential_used_at: drizzle<
          number | null
        >`(select max(${credentials.last_used_at}) from ${credentials} where ${credentials.key_id} = ${tasks.key_id})`.as(
          "credential_used_at",
        ),
        pending_until: drizzle<
          number | null
        >`(select max(expires_at) from questions where key_id = tasks.key_id and status = 'pending')`.as(
          "pending_until",
        ),
        ended_at: drizzle<
          number | null
        >`(select max(at) from (${lastEnd("answered", "answered_at")} union all ${lastEnd("cancelled", "cancelled_at")} union all ${lastEnd("expired", "expires_at")}))`.as(
          "ended_at",
        ),
      },
    })
    .from(tasks)
    .innerJoin(keys, drizzle`${keys.id} = ${tasks.key_id}`),
  sql`where tasks.id in (select id from (
      select id, silent_due_at, row_number() over (partition by account_id order by silent_due_at) as place from (
        select id, account_id, silent_due_at from tasks where silent_due_at is not null and silent_due_at <= ${now}
          and ${ofLiveKey("tasks")} and ${isKnown(tasks)} order by silent_due_at limit ${p("window")})
      where account_id not in (select value from json_each(${p("passed")})))
    order by place, silent_due_at limit ${p("limit")})`,
);

/** Tasks that are due after `after`, the first `limit`: a clock that was set back may have left some far ahead. */
export const laterTasks = select(
  qb
    .select({
      id: tasks.id,
      silent_due_at: tasks.silent_due_at,
      silent_since: tasks.silent_since,
      expect_update_within: tasks.expect_update_within,
    })
    .from(tasks),
  sql`where silent_due_at is not null and silent_due_at > ${p("after", tasks.silent_due_at)}
    order by silent_due_at limit ${p("limit")}`,
);

/**
 * Moves due times. `rows`: a JSON list of the id of a task and its new and old `silent_due_at` in milliseconds. One that
 * changed meanwhile stays.
 */
export const moveDueTimes = statement(
  sql`update tasks set silent_due_at = (select r.value ->> 1 from json_each(${p("rows")}) r where r.value ->> 0 = tasks.id)
    where id in (select r.value ->> 0 from json_each(${p("rows")}) r join tasks t on t.id = r.value ->> 0 where t.silent_due_at = r.value ->> 2)`,
  { synced: false },
);

const unchanged = sql`id = ${p("id")} and revision = ${p("old_revision")} and ${ofLiveKey("tasks")}`;
const SILENCE = ["silent_since", "silent_due_at", "revision"] as const;

/** Notes that an agent is silent, unless its task changed, its key was used after `last_used_at`, or it waits for an answer. */
export const beginSilence = statement(
  updateSet(
    tasks,
    SILENCE,
    sql`${unchanged}
      and exists (select 1 from keys where id = ${p("key_id")} and coalesce(last_used_at, 0) <= ${p("last_used_at", keys.last_used_at)})
      and not exists (select 1 from questions where key_id = ${p("key_id")} and status = 'pending' and expires_at > ${now})`,
  ),
);

/** Notes that the agent of an unchanged task is no longer silent. */
export const endSilence = statement(updateSet(tasks, SILENCE, unchanged));

/** Marks the next silent tasks of the used keys `keys` (JSON list), so that their silence ends. */
export const markSilent = statement(
  sql`update tasks set silent_due_at = ${now} where id in (select id from tasks
    where key_id in (select value from json_each(${p("keys")})) and silent_since is not null and silent_due_at is null limit ${sql.raw(MARKED)})`,
  { synced: false },
);

const correct = statement(
  updateSet(
    keys,
    ["last_used_at"],
    sql`id = ${p("id")} and last_used_at = ${p("wrong", keys.last_used_at)}`,
  ),
);

const unmark = statement(
  sql`update tasks set silent_due_at = null where key_id = ${p("id")} and silent_since is not null and silent_due_at = ${p("last_used_at", keys.last_used_at)}
    and exists (select 1 from keys where id = ${p("id")} and last_used_at = ${p("last_used_at", keys.last_used_at)})`,
  { synced: false },
);

/**
 * Corrects the last use of a key that a clock which was ahead has written. That is no request: the silent tasks of the key
 * that the trigger `keys_silence` has marked stay silent.
 */
export const correctLastUse = (values: Parameters<typeof correct>[0]) => [
  correct(values),
  unmark(values),
];
