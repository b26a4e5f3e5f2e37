/** How a later change joins the pending push of the same device, kind and subject (push.md, Coalescing). */

import { type SQL, sql } from "drizzle-orm";

/** The union of JSON lists of strings. */
export const united = (...lists: SQL[]) =>
  sql`(select json_group_array(value) from (${sql.join(
    lists.map((list) => sql`select value from json_each(${list})`),
    sql` union `,
  )}))`;

/**
 * True when `parts` tell something that a failure of what was tried before must not hold back: ids to
 * clear, a start of another spell, or what alerts.
 */
export const isNews = (kind: SQL, parts: SQL) =>
  sql`(${kind} = 'start' or (${kind} = 'silent' and ${parts} <> '[]')
    or exists (select 1 from json_each(${parts}) where value in ('created', 'status', 'question')))`;

const news = sql`(lease is null and ${isNews(sql`excluded.kind`, sql`excluded.parts`)})`;

/**
 * One pending row for each device, kind and subject: a later change merges into it. While that row
 * is under way, what comes is kept aside and goes next (see db/push-queue.ts). News end a back-off;
 * `attempts` stays, as a notification that was tried may be shown.
 */
export const MERGED = sql`on conflict (account_id, device_id, kind, subject) do update set
  parts = case when lease is null then ${united(sql`pushes.parts`, sql`excluded.parts`)} else pushes.parts end,
  more = case when lease is null then null else ${united(sql`coalesce(pushes.more, '[]')`, sql`excluded.parts`)} end,
  apns_id = case when ${news} then excluded.apns_id else pushes.apns_id end,
  due_at = case when lease is null and (attempts = 0 or ${news}) then min(pushes.due_at, excluded.due_at) else pushes.due_at end,
  expires_at = max(pushes.expires_at, excluded.expires_at),
  urgency = min(pushes.urgency, excluded.urgency),
  key_id = case when pushes.key_id is excluded.key_id then pushes.key_id end,
  token = coalesce(excluded.token, pushes.token)`;
