/** Queries on channels (§19). */

import { LIMITS, RATES } from "../src/limits.ts";
import { type Channel, ChannelSubject } from "../src/model/channel.ts";
import { isLiveAccount } from "./accounts.ts";
import { usesOf } from "./hourly-limits.ts";
import { channels, deliveryTargets } from "./notify/schema.ts";
import { p, sql } from "./store/sql.ts";
import {
  insertWhere,
  type Query,
  qb,
  rowOf,
  select,
  statement,
  updateSet,
} from "./store/statement.ts";

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
    reached_at: channels.reached_at,
  },
  last_error: { code: channels.error_code, at: channels.error_at },
  listening: { key: channels.listener, code: channels.listen_error, at: channels.listen_error_at },
  private: {
    secret: channels.secret,
    host: channels.host,
    revision: channels.revision,
    session_id: channels.session_id,
  },
};

const selected = qb.select(columns).from(channels);
type Selected = Awaited<ReturnType<typeof selected.execute>>[number];
/** All queries below leave out the webhooks of keys, so the type is that of a person's channel. */
const all = selected as unknown as Query<
  Selected & { readonly channel: { readonly type: Channel["type"] } }
>;

// The webhooks of keys are not channels of the person.
const of_person = sql`key_id is null`;
const own = sql`id = ${p("id")} and account_id = ${p("account_id")} and ${of_person}`;

/** A change writes all of `sends`, so a channel with a value of a newer version is left out. */
const sends_known = sql`not exists (select 1 from json_each(sends) where value not in (${sql.join(
  ChannelSubject.options.map((one) => sql.raw(`'${one}'`)),
  sql`, `,
)}))`;

/** The channels of an account, newest first; none once the account is deleted. */
export const channelsOfAccount = select(
  all,
  sql`where account_id = ${p("account_id")} and ${of_person} and ${isLiveAccount} and ${sends_known} order by created_at desc, id desc`,
);

/** The channel, if it is the account's. */
export const channelById = select(all, sql`where ${own} and ${isLiveAccount} and ${sends_known}`, {
  one: true,
});

/** True in SQL if `session_id` is null or a sign-in of the account. */
const liveSession = sql`(${p("session_id")} is null or exists (select 1 from credentials
  where id = ${p("session_id")} and account_id = ${p("account_id")} and kind = 'account_token'))`;
const full = sql.raw(LIMITS.channels_per_account);

/** Columns of a new channel that have no value yet. */
export const NEW_CHANNEL = {
  error_code: null,
  error_at: null,
  confirmed_at: null,
  held_until: null,
  claimed_at: null,
  key_id: null,
  set_by: null,
  due_at: null,
  listen_error: null,
  listen_error_at: null,
  reached_at: null,
} as const;

/** Inserts unless the account or the sign-in has ended, or the account has its full number of channels. */
export const insertChannel = statement(
  insertWhere(
    channels,
    sql`${isLiveAccount} and ${liveSession}
      and (select count(*) from channels where account_id = ${p("account_id")} and ${of_person}) < ${full}`,
  ),
);

/** The channels that a new one replaces: of any account with the same endpoint, and gone ones of the same sign-in. */
const replaced = sql`(c.endpoint_digest = ${p("endpoint_digest")}
  or (c.session_id = ${p("session_id")} and c.type = ${p("type")} and c.state = 'gone'))`;

/** Reads 1 if a sign-in of the account other than `session_id` has the endpoint. */
export const isEndpointOfOther = statement(
  sql`select exists (select 1 from channels where endpoint_digest = ${p("endpoint_digest")}
    and account_id = ${p("account_id")} and session_id is not ${p("session_id")})`,
  { returns: rowOf<[is_of_other: 0 | 1]>() },
);

/** Deletes the channels that a new one replaces, if {@link insertChannel} will then insert it. */
export const deleteReplacedChannels = statement(
  sql`delete from channels as c where ${replaced} and ${isLiveAccount} and ${liveSession}
    and (select count(*) from channels as c where c.account_id = ${p("account_id")} and c.key_id is null and not coalesce(${replaced}, 0)) < ${full}`,
);

/** Makes the channel a target, if it exists. */
export const insertTarget = statement(
  sql`insert into delivery_targets (account_id, purpose, recipient_id, subject, lane, address, label, updated_at)
    select account_id, 'alert', id, '', ${p("lane")}, ${p("address")}, label, ${p("now", deliveryTargets.updated_at)} from channels where ${own}
    on conflict do nothing`,
);

/** Copies the label to the target of the channel, if it has one. Follows {@link updateChannel} in the batch. */
export const labelTarget = statement(
  sql`update delivery_targets set label = (select label from channels where ${own})
    where account_id = ${p("account_id")} and purpose = 'alert' and recipient_id = ${p("id")} and subject = ''`,
);

/** Changes a channel, unless it has changed since the revision that the change was decided on. */
export const updateChannel = statement(
  updateSet(
    channels,
    ["label", "sends", "min_priority", "quiet_hours", "revision"],
    sql`${own} and revision = ${p("old_revision")} and ${isLiveAccount}`,
  ),
);

/** Deletes a channel. A trigger deletes its target and its queue. */
export const deleteChannel = statement(sql`delete from channels where ${own} and ${isLiveAccount}`);

/** Counts how often a client asked for a test of the channel. */
export const channelTests = usesOf(
  "channels",
  "tests",
  RATES.channel_tests,
  sql`${own} and ${isLiveAccount}`,
);

/**
 * Records that the receiver accepted a message, so the channel works. A test (`test`: 1) also confirms a webhook.
 * `replaces`: 1 or 0, or null if the answer did not say.
 */
export const channelSucceeded = statement(
  sql`update channels set state = 'ok', failures = 0, last_sent_at = ${p("now", channels.last_sent_at)},
      replaces = coalesce(${p("replaces")}, replaces),
      confirmed_at = case when ${p("test")} = 1 then coalesce(confirmed_at, ${p("now", channels.confirmed_at)}) else confirmed_at end
    where id = ${p("id")} and (state <> 'gone' or ${p("test")} = 1)`,
);

/** Failed attempts in a row after which a channel other than a webhook is failing. */
const FAILING_AFTER = sql.raw(3);

/**
 * Records a failed attempt. An unconfirmed webhook is failing at once; another channel if it refused the notification
 * (`refused`: 1), or after {@link FAILING_AFTER} failures. `hold`: milliseconds in which nothing is sent, or 0.
 */
export const channelFailed = statement(
  sql`update channels set failures = failures + 1, error_code = ${p("code")}, error_at = ${p("now", channels.error_at)},
      state = case when state <> 'ok' then state
        when type in ('webhook', 'key_webhook') then case when confirmed_at is null then 'failing' else 'ok' end
        when ${p("refused")} = 1 or failures + 1 >= ${FAILING_AFTER} then 'failing' else 'ok' end,
      held_until = case when ${p("hold")} > 0 then ${p("now", channels.held_until)} + ${p("hold")} else held_until end
    where id = ${p("id")}`,
);

/**
 * Marks a channel as gone, since its receiver wants no more messages. Queued ones count as missed, and {@link
 * dropQueueOfGone} removes them.
 */
export const channelGone = statement(
  sql`update channels set state = 'gone', failures = failures + 1, missed = missed + queued,
      error_code = ${p("code")}, error_at = ${p("now", channels.error_at)}
    where id = ${p("id")} and state <> 'gone'`,
);

export const dropQueueOfGone = statement(
  sql`delete from webhook_messages where channel_id = ${p("id")}
    and exists (select 1 from channels where id = ${p("id")} and state = 'gone')`,
);
