/** Queries on what listens for answers: leases, positions, channels and messages (§19.8). */

import { pruner } from "../retention.ts";
import { p, sql } from "../store/sql.ts";
import { rowOf, rowsOf, statement } from "../store/statement.ts";
import { IN_BACKGROUND, type Store } from "../store/store.ts";
import { channelLinks, channelMessages, listeners } from "./listen-schema.ts";
import { channels } from "./schema.ts";

/** The leases of a process, a JSON list: one, or two while it is not known whether a renewal was written. */
const mine = sql`lease in (select value from json_each(${p("leases")}))`;
/** Channels of newer versions are left to processes that know them. */
const known = sql`(select value from json_each(${p("types")}))`;
const served = sql`(exists (select 1 from channels c where c.listener = l.key and c.type in ${known})
  or exists (select 1 from channel_links c where c.listener = l.key and c.type in ${known}))`;

/**
 * How many listening channels the account of a listener (`l`) had before this one; the least, over some of its accounts.
 * By this order, an account with many channels does not take the places of accounts with one.
 */
const place = sql`(select min(place) from (
    select (select count(*) from channels b where b.account_id = c.account_id and b.listener is not null and b.state <> 'gone' and b.id < c.id) as place
      from (select account_id, id from channels where listener = l.key limit 20) c
    union all
    select (select count(*) from channels b where b.account_id = c.account_id and b.listener is not null and b.state <> 'gone')
      from (select account_id from channel_links where listener = l.key limit 20) c))`;

const free = (side: ReturnType<typeof sql>) => sql`select * from (
    select key from listeners l where (+lease is null or +lease in (select value from json_each(${p("lapsed")})))
      and key ${side} ${p("start")} and ${served} order by key limit 1000)`;
/**
 * Listeners (`l`) that are free or whose lease is one of `lapsed` (JSON list): a thousand on either side of `start`. A
 * random digest as `start` lets each of more have its turn, whatever keys somebody has chosen. The `+` keeps SQLite to the
 * order of keys, so that it stops after a thousand.
 */
const candidates = sql`(${free(sql`>=`)} union all ${free(sql`<`)}) l`;

/** The newest version, and whether a listener that this process could serve (`types`: JSON list) has no lease. */
export const listenerNews = statement(
  sql`select coalesce((select max(version) from listeners), 0), exists (select 1 from listeners l where lease is null and ${served})`,
  { returns: rowOf<[version: number, free: 0 | 1]>() },
);

/** The leases on listeners, at most `limit`. */
export const leasesOfListeners = statement(
  sql`select distinct lease from listeners where lease is not null limit ${p("limit")}`,
  { returns: rowsOf<[lease: string]>() },
);

/** Leases at most `limit` of the {@link candidates}, the first of each account first. */
export const claimListeners = statement(
  sql`update listeners set lease = ${p("lease")} where key in (
    select key from ${candidates} order by ${place} limit ${p("limit")})
    returning key, position, version`,
  { returns: rowsOf<[key: string, position: string | null, version: number]>() },
);

/** Gives the leases of a process a new name. Two reads by another process that see the same name are too far apart. */
export const renewListeners = statement(
  sql`update listeners set lease = ${p("lease")} where ${mine} returning key`,
  { returns: rowsOf<[key: string]>() },
);

/**
 * Listeners of a process, the last of each account first, and {@link candidates} in the opposite order; at most `limit`
 * of each.
 */
export const placesOfListeners = statement(
  sql`select * from (select key, 1, ${place} as place from listeners l where ${mine} order by place desc limit ${p("limit")})
    union all select * from (select key, 0, ${place} as place from ${candidates} order by place limit ${p("limit")})`,
  { returns: rowsOf<[key: string, mine: 0 | 1, place: number | null]>() },
);

/** Gives listeners back: those in `keys` (JSON list). */
export const releaseListeners = statement(
  sql`update listeners set lease = null where key in (select value from json_each(${p("keys")})) and ${mine}`,
);

/** Listeners of a process that changed after `version`. */
export const changedListeners = statement(
  sql`select key from listeners where version > ${p("version")} and ${mine}`,
  { returns: rowsOf<[key: string]>() },
);

/** Stores how far the answers of a listener were handled, while its lease is still held. */
export const moveListener = statement(
  sql`update listeners set position = ${p("position")} where key = ${p("key")} and ${mine}`,
);

/** Channels and links of listeners in `keys` (JSON list), in no order. `link`: 1 for a link. */
export const membersOfListeners = statement(
  sql`select c.listener, c.type, c.id, c.account_id, coalesce(c.secret ->> '$.address', ''), 0, c.listen_error
      from channels c where c.listener in (select value from json_each(${p("keys")})) and c.state <> 'gone'
        and exists (select 1 from accounts where id = c.account_id and deleted_at is null)
    union all select listener, type, id, account_id, address, 1, null from channel_links
      where listener in (select value from json_each(${p("keys")})) and expires_at > ${p("now", channelLinks.expires_at)}`,
  {
    returns:
      rowsOf<
        [
          key: string,
          type: string,
          id: string,
          account_id: string,
          address: string,
          link: 0 | 1,
          error: string | null,
        ]
      >(),
  },
);

/**
 * Records since when and why the answers of channels (`ids`, JSON list) do not arrive; `code` null: they do. What a
 * test found (`replies_…`) stays until a test (`test`: 1) finds something else, since listening does not show it.
 */
export const noteListening = statement(
  sql`update channels set listen_error = ${p("code")},
      listen_error_at = case when ${p("code")} is null then null else ${p("now", channels.created_at)} end
    where id in (select value from json_each(${p("ids")})) and listen_error is not ${p("code")}
      and (${p("test")} = 1 or coalesce(listen_error, '') not like 'replies!_%' escape '!')`,
);

/** The condition that a channel and its account exist. */
const live = sql`id = ${p("channel_id")}
    and exists (select 1 from accounts a where a.id = channels.account_id and a.deleted_at is null)`;

/** Records that the test of `asked_at` was answered, unless it or a later one was. */
export const channelReached = statement(
  sql`update channels set reached_at = ${p("reached_at", channels.created_at)}
    where ${live} and (reached_at is null or reached_at < ${p("asked_at", channels.created_at)})`,
);

/** When a test of the channel was last answered; no row if the channel is gone. */
export const reachedAt = statement(
  sql`select reached_at from channels where ${live} and reached_at is not null`,
  { returns: rowOf<[reached_at_ms: number]>() },
);

/** Keeps what the service calls a message, while the channel exists. */
export const keepMessage = statement(
  sql`insert into channel_messages (channel_id, subject, handle, at)
    select id, ${p("subject")}, ${p("handle")}, ${p("now", channelMessages.at)} from channels where id = ${p("channel_id")}
    on conflict (channel_id, handle) do update set subject = excluded.subject, at = excluded.at`,
);

/** The subject of the message that the service calls `handle`. */
export const subjectOfMessage = statement(
  sql`select subject from channel_messages where channel_id = ${p("channel_id")} and handle = ${p("handle")}`,
  { returns: rowOf<[subject: string]>() },
);

const at = <Name extends string>(name: Name) => p(name, channelMessages.at);
const aged = sql`select rowid, subject, at from channel_messages
  where (at, rowid) > (${p("after_ms")}, ${p("after_row")}) and at < ${at("before")} order by at, rowid limit ${p("limit")}`;
const readAged = statement(aged, {
  returns: rowsOf<[row: number, subject: string, at_ms: number]>(),
});
/** Those of {@link readAged} whose subject is gone, or ended before `before`. */
const dropAged = statement(
  sql`delete from channel_messages where rowid in (select rowid from (${aged}) m
    where not exists (select 1 from questions q where q.id = m.subject
        and (q.status = 'pending' or coalesce(q.answered_at, q.cancelled_at, q.expires_at) >= ${at("before")}))
      and not exists (select 1 from tasks t where t.id = m.subject
        and (t.status in ('todo', 'in_progress') or t.updated_at >= ${at("before")})))`,
);

/**
 * Makes a function that deletes messages whose subject ended before `before` (epoch seconds). A call looks at the next
 * `limit` of those that are older themselves, and returns whether there are more. After the last it starts over.
 */
export function createMessagePruner(store: Store) {
  let after = { after_ms: 0, after_row: 0 };
  return async (before: number, limit: number): Promise<boolean> => {
    const step = { ...after, before, limit };
    const rows = await store.read(readAged(step));
    if (rows.length > 0) await store.write([dropAged(step)], IN_BACKGROUND);
    const [row = 0, , at_ms = 0] = rows.at(-1) ?? [];
    const more = rows.length === limit;
    after = more ? { after_ms: at_ms, after_row: row } : { after_ms: 0, after_row: 0 };
    return more;
  };
}

/**
 * Deletes listeners that nothing has used since `before`, but for the newest, whose version others compare. Returns
 * their number, at most `limit`.
 */
export const pruneListeners = pruner(
  sql`delete from listeners where key in (
    select key from listeners l where changed_at < ${p("before", listeners.changed_at)} and lease is null
      and version < (select max(version) from listeners)
      and not exists (select 1 from channels c where c.listener = l.key)
      and not exists (select 1 from channel_links c where c.listener = l.key) limit ${p("limit")})`,
);

/** Deletes links that expired before `before`, at most `limit`. Returns their number. */
export const pruneLinks = pruner(
  sql`delete from channel_links where id in (
    select id from channel_links where expires_at < ${p("before", channelLinks.expires_at)} order by expires_at limit ${p("limit")})`,
);
