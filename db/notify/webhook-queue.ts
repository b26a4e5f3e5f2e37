/**
 * The queue of webhooks: one row of `webhook_messages` for each event and channel, and for each inbox item
 * of a key that has a webhook. The states of a row, and what moves it there:
 *
 *   queued    A trigger, with the event or the item; the creation of a channel, for
 *             its test; or the setting of a key's webhook, for what is unread. Only the head of a subject is
 *             sent: the oldest message about it.
 *   leased    A worker (`claimMessages`): `lease` is set, `attempts` grows. Only the holder moves it now.
 *   put back  The holder (`putBackMessage`), due later; or a worker that found a lease which ran out
 *             (`releaseLapsed`): it may have been sent, and the receiver recognizes its id.
 *   gone      The holder (`dropMessage`); a job once it has expired; the end of its channel; or, unless it is
 *             leased, the end or reading of its item. A trigger makes the next message of the subject the head.
 *
 * `due_at` of a channel says when the next of its messages may be sent. Triggers keep it,
 * so that a look costs only by what is due. Leases work as in queue.ts.
 */

import { getTableColumns } from "drizzle-orm";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { insertWhere, isKnown, qb, rowOf, rowsOf, select, statement } from "../store/statement.ts";
import { IN_BACKGROUND, type Store } from "../store/store.ts";
import { channels, TEST_TYPES, webhookMessages } from "./schema.ts";

/** Messages that one read considers, and those of one channel among them. */
const CANDIDATES = 400;
const PER_CHANNEL = 4;

const number = (value: number) => sql.raw(String(value));
const now = p("now", webhookMessages.due_at);
/** Attempts of the last minute. Later ones than now were written by a clock that was set back. */
const counted = sql`value > ${p("now_ms")} - 60000 and value <= ${p("now_ms")} + 60000`;
const attemptsOf = (c: Sql) =>
  sql`(select count(*) from json_each(${c}.attempts) where ${counted})`;

export const TESTS: readonly string[] = TEST_TYPES;
const isTest = sql`type in (${sql.join(
  TESTS.map((type) => sql.raw(`'${type}'`)),
  sql`, `,
)})`;

/** Queues the test of a channel that the same batch creates. */
export const insertTestMessage = statement(
  insertWhere(webhookMessages, sql`exists (select 1 from channels where id = ${p("channel_id")})`),
);

/** The leases on messages, at most `limit`. */
export const messageLeases = statement(
  sql`select distinct lease from webhook_messages where lease is not null order by lease limit ${p("limit")}`,
  { returns: rowsOf<[lease: string]>() },
);

/** Puts back the messages that have one of the leases `lapsed` (JSON list). */
export const releaseLapsed = statement(
  sql`update webhook_messages set lease = null, due_at = ${now}
    where lease in (select value from json_each(${p("lapsed")}))`,
);

/** Of the 1,000 webhooks with a message that is due first: when the first is due that nothing holds up on purpose. */
const firstDue = sql`select min(max(c.due_at, coalesce(c.held_until, 0)))
  from (select account_id, state, held_until, due_at from channels where due_at is not null order by due_at limit 1000) c
  where c.state in ('ok', 'failing')
    and exists (select 1 from accounts where id = c.account_id and deleted_at is null and blocked_at is null)`;

/**
 * How many of the oldest 10,000 messages wait, since when the oldest one does, and when the first is due; null if none
 * waits.
 */
export const queuedMessages = statement(
  sql`select count(*), min(created_at), (${firstDue}) from (select created_at from webhook_messages order by seq limit 10000)`,
  { returns: rowOf<[rows: number, oldest_ms: number | null, due_ms: number | null]>() },
);

const LAST = sql`order by due_at limit ${number(PER_CHANNEL)}`;

/** When a channel was last served. A later time than now was written by a clock that was set back. */
const SERVED = sql`min(coalesce(claimed_at, 0), ${now})`;

/**
 * Messages that are due: of one channel of each account after the other, the channels served longest ago
 * first. Leaves out `hosts` and `accounts` (JSON lists) that have their full number under way, and with
 * `failing` = 0 the channels whose last attempt failed.
 */
export const dueMessages = statement(
  sql`select m.seq, c.id, c.account_id, c.host, c.failures > 0 or c.confirmed_at is null, ${number(WEBHOOK_LIMITS.per_minute)} - ${attemptsOf(sql`c`)}
    from (select *, row_number() over (partition by account_id order by ${SERVED}) as place from channels c
      where c.due_at <= ${now} and c.state in ('ok', 'failing') and (c.held_until is null or c.held_until <= ${now})
        and c.host not in (select value from json_each(${p("hosts")}))
        and c.account_id not in (select value from json_each(${p("accounts")}))
        and (${p("failing")} = 1 or (c.failures = 0 and c.confirmed_at is not null))
        and exists (select 1 from accounts where id = c.account_id and deleted_at is null and blocked_at is null)
        and (c.key_id is null or exists (select 1 from keys where id = c.key_id and deleted_at is null))
        and ${attemptsOf(sql`c`)} < ${number(WEBHOOK_LIMITS.per_minute)}) c
    join webhook_messages m on m.seq in (
      select seq from webhook_messages where channel_id = c.id and head = 1 and lease is null and due_at <= ${now}
        and expires_at > ${now} and (c.confirmed_at is not null or ${isTest}) and ${isKnown(webhookMessages)} ${LAST})
     order by c.place, ${SERVED} limit ${number(CANDIDATES)}`,
  {
    returns:
      rowsOf<
        [
          seq: number,
          channel: string,
          account_id: string,
          host: string,
          failing: 0 | 1,
          left: number,
        ]
      >(),
  },
);

/** Leases the messages `seqs` (JSON list) that have no lease, within the limit of attempts of each channel. */
export const claimMessages = statement(
  sql`update webhook_messages set lease = ${p("lease")}, due_at = ${p("until", webhookMessages.due_at)}, attempts = attempts + 1
    where seq in (select seq from (
      select m.seq, row_number() over (partition by m.channel_id order by m.due_at) as place, c.id as channel
      from webhook_messages m join channels c on c.id = m.channel_id
      where m.seq in (select value from json_each(${p("seqs")})) and m.head = 1 and m.lease is null)
    join channels c on c.id = channel where place + ${attemptsOf(sql`c`)} <= ${number(WEBHOOK_LIMITS.per_minute)})`,
);

/** Counts the attempts that a claim is about to make. */
export const countAttempts = statement(
  sql`update channels set claimed_at = ${now}, attempts = (select json_group_array(value) from (
      select value from json_each(channels.attempts) where ${counted}
      union all select ${p("now_ms")} from webhook_messages where lease = ${p("lease")} and channel_id = channels.id))
    where id in (select channel_id from webhook_messages where lease = ${p("lease")})`,
);

/** The columns of a message that a worker reads. */
const {
  account_id: _a,
  channel_id: _c,
  due_at: _d,
  expires_at: _e,
  head: _h,
  ...message
} = getTableColumns(webhookMessages);

const claimed = qb
  .select({
    message,
    channel: {
      id: channels.id,
      account_id: channels.account_id,
      host: channels.host,
      sends: channels.sends,
      min_priority: channels.min_priority,
      secret: channels.secret,
      failures: channels.failures,
    },
  })
  .from(webhookMessages)
  .innerJoin(channels, sql`${channels.id} = ${webhookMessages.channel_id}`);

export type ClaimedMessage = Awaited<ReturnType<typeof claimed.execute>>[number];

/** The messages that a claim leased, with their channels. */
export const claimedMessages = select(claimed, sql`where webhook_messages.lease = ${p("lease")}`, {
  unknown: "row",
});

const mine = sql`seq = ${p("seq")} and lease = ${p("lease")}`;

/** Removes a message that was accepted or is not to be sent. */
export const dropMessage = statement(sql`delete from webhook_messages where ${mine}`);

/** Puts a message back until `due_at`. `tried`: 0 if no attempt was made. */
export const putBackMessage = statement(
  sql`update webhook_messages set lease = null, due_at = ${p("due_at", webhookMessages.due_at)}, attempts = attempts - 1 + ${p("tried")}
    where ${mine}`,
);

/** Expired messages that no worker has leased, or whose lease is over too. */
const expired = sql`select seq from webhook_messages where expires_at <= ${now} and (lease is null or due_at <= ${now})
  order by expires_at limit ${p("limit")}`;
const expire = [
  // Without the plus, it would go through the whole queue of each channel.
  statement(
    sql`update channels set state = case state when 'ok' then 'failing' else state end, missed = missed + (
        select count(*) from webhook_messages m where +m.channel_id = channels.id and not ${isTest} and m.seq in (${expired}))
      where id in (select channel_id from webhook_messages where seq in (${expired}))`,
  ),
  statement(sql`delete from webhook_messages where seq in (${expired})`),
];

/** Drops at most `limit` messages that are expired at `now` (epoch seconds). Returns their number. */
export async function expireMessages(store: Store, now: number, limit: number): Promise<number> {
  const results = await store.write(
    expire.map((step) => step({ now, limit })),
    IN_BACKGROUND,
  );
  return results.at(-1)!.changes;
}
