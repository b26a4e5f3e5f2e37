/** Bounds due times that were written before the store's clock was set back (§11.5.4). */

import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { p, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import { IN_BACKGROUND, type Store } from "../store/store.ts";
import { deliveries } from "./schema.ts";

/** Seconds: more than the longest delay of a delivery, an hour that a service asks for and a random part of an hour. */
const MOST = 7_260;
const MOST_OF_WEBHOOK = WEBHOOK_LIMITS.hold_most + 60;

const now = p("now", deliveries.due_at);
const later = (seconds: number) => sql`${now} + ${sql.raw(String(seconds * 1000))}`;
/** Webhooks whose next message is due later than any can be. */
const late = sql`select id from channels where due_at > ${later(MOST_OF_WEBHOOK)} limit ${p("limit")}`;

/** Each lane is found by one step in the index on what is due. */
const bounds = [
  statement(
    sql`update deliveries set due_at = ${now} where seq in (
      with recursive lanes(name) as (select min(lane) from deliveries
        union all select (select min(lane) from deliveries where lane > name) from lanes where name is not null)
      select seq from lanes cross join deliveries on lane = name and urgency in (0, 1, 2) and due_at > ${later(MOST)}
        where lease is null limit ${p("limit")})`,
    { synced: false },
  ),
  statement(
    sql`update webhook_messages set due_at = ${now} where channel_id in (${late}) and head = 1 and lease is null
      and due_at > ${later(MOST_OF_WEBHOOK)}`,
    { synced: false },
  ),
  statement(
    sql`update channels set held_until = null where id in (${late}) and held_until > ${later(MOST_OF_WEBHOOK)}`,
    { synced: false },
  ),
];

/** Makes due what is due later than any delay can be, at most `limit` of each kind. Returns the most of one kind. */
export async function boundDueTimes(store: Store, at: number, limit: number): Promise<number> {
  const done = await store.write(
    bounds.map((bound) => bound({ now: at, limit })),
    IN_BACKGROUND,
  );
  return Math.max(...done.map(({ changes }) => changes));
}
