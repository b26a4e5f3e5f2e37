/** Queries on channels (docs/interface.md 19). */

import { LIMITS, RATES } from "../src/limits.ts";
import { channels } from "./notify/schema.ts";
import { p, sql } from "./sql.ts";
import { insertWhere, qb, rowOf, select, statement, updateSet } from "./statement.ts";

const columns = {
  channel: {
    id: channels.id,
    type: channels.type,
    label: channels.label,
    sends: channels.sends,
    min_priority: channels.min_priority,
    quiet_hours: channels.quiet_hours,
    state: channels.state,
    last_sent_at: channels.last_sent_at,
    missed: channels.missed,
    created_at: channels.created_at,
    origin: channels.origin,
    hint: channels.hint,
  },
  last_error: { code: channels.error_code, at: channels.error_at },
  private: {
    secret: channels.secret,
    host: channels.host,
    revision: channels.revision,
  },
};

const liveAccount = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)`;
const own = sql`id = ${p("id")} and account_id = ${p("account_id")}`;

/** Newest first; none once the account is deleted. */
export const channelsOfAccount = select(
  qb.select(columns).from(channels),
  sql`where account_id = ${p("account_id")} and ${liveAccount} order by created_at desc, id desc`,
);

/** The channel, if it is the account's. */
export const channelById = select(
  qb.select(columns).from(channels),
  sql`where ${own} and ${liveAccount}`,
  { one: true },
);

/** Inserts unless the account is deleted or has its full number of channels. */
export const insertChannel = statement(
  insertWhere(
    channels,
    sql`${liveAccount}
      and (select count(*) from channels where account_id = ${p("account_id")}) < ${sql.raw(LIMITS.channels_per_account)}`,
  ),
);

/** Guarded by what the change was decided on. */
export const updateChannel = statement(
  updateSet(
    channels,
    ["label", "sends", "min_priority", "quiet_hours", "revision"],
    sql`${own} and change_id = ${p("old_revision")} and ${liveAccount}`,
  ),
);

/** Stands before {@link dropQueueOfMissing}. */
export const deleteChannel = statement(sql`delete from channels where ${own} and ${liveAccount}`);

/** What waits for a channel that is no more. Placeholder `id`. */
export const dropQueueOfMissing = statement(
  sql`delete from webhook_messages where channel_id = ${p("id")}
    and not exists (select 1 from channels where id = ${p("id")})`,
);

const lately = sql`value > ${p("now_ms")} - ${sql.raw(RATES.channel_tests.window * 1000)} and value <= ${p("now_ms")} + 60000`;

/** Counts one more test, if there were fewer than the limit within the hour; clocks may differ. */
export const countTest = statement(
  sql`update channels set tests = (select json_group_array(value) from (
      select value from json_each(channels.tests) where ${lately} union all select ${p("now_ms")}))
    where ${own} and ${liveAccount}
      and (select count(*) from json_each(channels.tests) where ${lately}) < ${p("limit")}`,
);

/** When the oldest test of the last hour was, in milliseconds; null when there was none. */
export const firstTest = statement(
  sql`select (select min(value) from json_each(channels.tests) where ${lately}) from channels where ${own}`,
  { gives: rowOf<[at_ms: number | null]>() },
);

const outcome = sql`id = ${p("id")}`;

/** It took something: it works, and a webhook is confirmed by a test. */
export const channelSucceeded = statement(
  sql`update channels set state = 'ok', failures = 0, last_sent_at = ${p("now", channels.last_sent_at)},
      confirmed_at = case when ${p("test")} = 1 then coalesce(confirmed_at, ${p("now", channels.confirmed_at)}) else confirmed_at end
    where ${outcome} and (state <> 'gone' or ${p("test")} = 1)`,
);

/**
 * One that never took a test is failing from the first attempt on. `hold`: milliseconds in which
 * nothing else is sent, or 0.
 */
export const channelFailed = statement(
  sql`update channels set failures = failures + 1, error_code = ${p("code")}, error_at = ${p("now", channels.error_at)},
      state = case when state = 'ok' and confirmed_at is null then 'failing' else state end,
      held_until = case when ${p("hold")} > 0 then ${p("now", channels.held_until)} + ${p("hold")} else held_until end
    where ${outcome}`,
);

/** The receiver wants nothing more: what waits for it is missed, and {@link dropQueueOfGone} takes it. */
export const channelGone = statement(
  sql`update channels set state = 'gone', failures = failures + 1, missed = missed + queued,
      error_code = ${p("code")}, error_at = ${p("now", channels.error_at)}
    where ${outcome} and state <> 'gone'`,
);

export const dropQueueOfGone = statement(
  sql`delete from webhook_messages where channel_id = ${p("id")}
    and exists (select 1 from channels where id = ${p("id")} and state = 'gone')`,
);
