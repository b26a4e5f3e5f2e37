/** Queries on what reads replies: the lease, positions, channels and messages (§19.8). */

import { pruner } from "../retention.ts";
import { p, sql } from "../store/sql.ts";
import { rowOf, rowsOf, statement } from "../store/statement.ts";
import { IN_BACKGROUND, type Store } from "../store/store.ts";
import { channelLinks, channelMessages, listeners } from "./reply-schema.ts";
import { channels } from "./schema.ts";

/** The key of the row whose `lease` is that of all connections. Other keys are digests. */
const LEASE_ROW = sql`'lease'`;
/** The lease is one of this process, a JSON list: one name, or two while it is not known whether a renewal was written. */
const mine = sql`exists (select 1 from listeners where key = ${LEASE_ROW} and lease in (select value from json_each(${p("leases")})))`;

/** The lease of the process that reads replies, null without one, and the newest version; 0 if there are no keys. */
export const replyLease = statement(
  sql`select (select lease from listeners where key = ${LEASE_ROW}), coalesce((select max(version) from listeners), 0)`,
  { returns: rowOf<[lease: string | null, version: number]>() },
);

/**
 * Takes or renews the lease if it is free or one of `from` (JSON list). Another process takes over a lease whose name has
 * not changed for the length of a lease, so each renewal has another name.
 */
export const takeReplyLease = statement(
  sql`insert into listeners (key, lease, changed_at, version) values (${LEASE_ROW}, ${p("lease")}, unixepoch() * 1000, 0)
    on conflict (key) do update set lease = excluded.lease, changed_at = excluded.changed_at
      where lease is null or lease in (select value from json_each(${p("from")}))`,
);

/** Gives the lease back. */
export const releaseReplyLease = statement(
  sql`update listeners set lease = null where key = ${LEASE_ROW} and ${mine}`,
);

/** Keys that changed after `version`, at most `limit`, by their version. */
export const changedReplies = statement(
  sql`select key, position, version from listeners where version > ${p("version")} order by version limit ${p("limit")}`,
  { returns: rowsOf<[key: string, position: string | null, version: number]>() },
);

/** Stores how far the replies of a key were handled, while the lease is still held. */
export const moveReplies = statement(
  sql`update listeners set position = ${p("position")} where key = ${p("key")} and ${mine}`,
);

/** Channels and links of the keys in `keys` (JSON list), in no order. `link`: 1 for a link. */
export const membersOfReplies = statement(
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
export const noteReplies = statement(
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
 * Deletes keys that nothing has used since `before`, but for the newest, whose version others compare. Returns
 * their number, at most `limit`.
 */
export const pruneReplies = pruner(
  sql`delete from listeners where key in (
    select key from listeners l where changed_at < ${p("before", listeners.changed_at)} and key <> ${LEASE_ROW}
      and version < (select max(version) from listeners)
      and not exists (select 1 from channels c where c.listener = l.key)
      and not exists (select 1 from channel_links c where c.listener = l.key) limit ${p("limit")})`,
);

/** Deletes links that expired before `before`, at most `limit`. Returns their number. */
export const pruneLinks = pruner(
  sql`delete from channel_links where id in (
    select id from channel_links where expires_at < ${p("before", channelLinks.expires_at)} order by expires_at limit ${p("limit")})`,
);
