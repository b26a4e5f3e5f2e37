/** Merges a later change into the delivery that waits for the same recipient, kind and subject (§14.4). */

import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { type Sql, sql } from "../store/sql.ts";

const union = <P>(lists: readonly Sql<P>[]) =>
  sql.join(
    lists.map((list) => sql`select value from json_each(${list})`),
    sql` union `,
  );

/** The union of JSON lists of strings. */
export const united = <P>(...lists: Sql<P>[]) =>
  sql`(select json_group_array(value) from (${union(lists)}))`;

/**
 * The union of JSON lists of ids, the newest first: at most `clear_most`, or as many as one of the lists
 * has. For lists of names, which are few, it cuts nothing.
 */
const newest = (...lists: Sql[]) => {
  const lengths = lists.map((list) => sql`json_array_length(${list})`);
  return sql`(select json_group_array(value) from (
    select value, row_number() over (order by substr(value, 5) desc) as place from (${union(lists)}))
    where place <= max(${sql.raw(NOTIFICATION_LIMITS.clear_most)}, ${sql.join(lengths, sql`, `)}))`;
};

/**
 * True if `parts` are news, which the back-off of an earlier attempt must not hold back: ids to clear, the
 * start of a live activity, or what alerts.
 */
export const isNews = (kind: Sql, parts: Sql) =>
  sql`(${kind} = 'start' or (${kind} = 'silent' and ${parts} <> '[]')
    or exists (select 1 from json_each(${parts}) where value in ('created', 'status', 'question', 'nudge', 'reminder', 'silent')))`;

const moves = sql`deliveries.lane <> excluded.lane`;
/** True if nobody sends it now: after a move to another lane, nobody may be left to end a lease in the old one. */
const free = sql`(lease is null or (${moves} and due_at <= excluded.created_at))`;
const news = sql`(${free} and ${isNews(sql`excluded.kind`, sql`excluded.parts`)})`;
const more = sql`coalesce(deliveries.more, '[]')`;
/** Since when the row waits. A row that has expired starts over. */
const since = sql`case when deliveries.expires_at > excluded.created_at then deliveries.created_at else excluded.created_at end`;
const CLEAR_LIFE = sql.raw(NOTIFICATION_LIMITS.clear_life * 1000);

/**
 * At most one row waits for each recipient, kind and subject. A later change merges into it, and takes it
 * to the lane that the target has by now. While the row is under way, the change is kept aside in `more`
 * and goes next (see queue.ts). News end a back-off; `attempts` stays, since a notification that was tried
 * may be shown. Silent deliveries that nobody can send expire, whatever joins them.
 */
export const MERGED = sql`on conflict (account_id, recipient_id, kind, subject) do update set
  parts = case when ${free} then ${newest(sql`deliveries.parts`, more, sql`excluded.parts`)} else deliveries.parts end,
  more = case when ${free} then null else ${newest(more, sql`excluded.parts`)} end,
  lease = case when ${free} then null else lease end,
  unclear = case when ${free} then 0 else unclear end,
  delivery_id = case when ${news} then excluded.delivery_id else deliveries.delivery_id end,
  due_at = case when ${free} and (attempts = 0 or ${moves} or ${news}) then min(deliveries.due_at, excluded.due_at) else deliveries.due_at end,
  created_at = ${since},
  expires_at = max(deliveries.expires_at, case when deliveries.kind = 'silent'
    then min(excluded.expires_at, (${since}) + ${CLEAR_LIFE}) else excluded.expires_at end),
  urgency = min(deliveries.urgency, excluded.urgency),
  key_id = case when deliveries.key_id is excluded.key_id then deliveries.key_id end,
  lane = case when excluded.address is not null or (${free} and deliveries.address is null)
    then excluded.lane else deliveries.lane end,
  address = coalesce(excluded.address, deliveries.address)`;
