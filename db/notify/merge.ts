/** How a later change joins the delivery that waits for the same recipient, kind and subject (docs/interface.md §14.4). */

import { PUSH } from "../../src/notification-limits.ts";
import { type Sql, sql } from "../sql.ts";

const union = <P>(lists: readonly Sql<P>[]) =>
  sql.join(
    lists.map((list) => sql`select value from json_each(${list})`),
    sql` union `,
  );

/** The union of JSON lists of strings. */
export const united = <P>(...lists: Sql<P>[]) =>
  sql`(select json_group_array(value) from (${union(lists)}))`;

/**
 * The union of JSON lists of ids, the newest first: as many as `clear_most`, or as one of the lists
 * had by itself, so that it does not grow without end. Names are too few for that.
 */
const newest = (...lists: Sql[]) => {
  const lengths = lists.map((list) => sql`json_array_length(${list})`);
  return sql`(select json_group_array(value) from (
    select value, row_number() over (order by substr(value, 5) desc) as place from (${union(lists)}))
    where place <= max(${sql.raw(PUSH.clear_most)}, ${sql.join(lengths, sql`, `)}))`;
};

/**
 * True when `parts` tell something that a failure of what was tried before must not hold back: ids to
 * clear, a start of another activity period, or what alerts.
 */
export const isNews = (kind: Sql, parts: Sql) =>
  sql`(${kind} = 'start' or (${kind} = 'silent' and ${parts} <> '[]')
    or exists (select 1 from json_each(${parts}) where value in ('created', 'status', 'question')))`;

const moves = sql`pushes.environment <> excluded.environment`;
/** Nobody sends it now. The lease of a lane that is no more ends without another one to take the row. */
const free = sql`(lease is null or (${moves} and due_at <= excluded.created_at))`;
const news = sql`(${free} and ${isNews(sql`excluded.kind`, sql`excluded.parts`)})`;
const more = sql`coalesce(pushes.more, '[]')`;
/** Since when the row waits; one that has expired already starts over. */
const since = sql`case when pushes.expires_at > excluded.created_at then pushes.created_at else excluded.created_at end`;
const CLEAR_LIFE = sql.raw(PUSH.clear_life * 1000);

/**
 * One row that waits for each recipient, kind and subject: a later change merges into it, and takes
 * it to the lane that the target has by now. While that row is under way, what comes is kept aside
 * and goes next (see db/notify/queue.ts). News end a back-off; `attempts` stays, as a notification
 * that was tried may be shown. Silent pushes that nobody can send end, whatever joins them.
 */
export const MERGED = sql`on conflict (account_id, device_id, kind, subject) do update set
  parts = case when ${free} then ${newest(sql`pushes.parts`, more, sql`excluded.parts`)} else pushes.parts end,
  more = case when ${free} then null else ${newest(more, sql`excluded.parts`)} end,
  lease = case when ${free} then null else lease end,
  unclear = case when ${free} then 0 else unclear end,
  apns_id = case when ${news} then excluded.apns_id else pushes.apns_id end,
  due_at = case when ${free} and (attempts = 0 or ${moves} or ${news}) then min(pushes.due_at, excluded.due_at) else pushes.due_at end,
  created_at = ${since},
  expires_at = max(pushes.expires_at, case when pushes.kind = 'silent'
    then min(excluded.expires_at, (${since}) + ${CLEAR_LIFE}) else excluded.expires_at end),
  urgency = min(pushes.urgency, excluded.urgency),
  key_id = case when pushes.key_id is excluded.key_id then pushes.key_id end,
  environment = case when excluded.token is not null or (${free} and pushes.token is null)
    then excluded.environment else pushes.environment end,
  token = coalesce(excluded.token, pushes.token)`;
