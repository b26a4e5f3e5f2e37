/**
 * Ends attempts that the service accepted, many at once, since nearly all end so. Any other end has
 * statements of its own for each delivery (settling.ts).
 */

import type { DeliveryRecord } from "../../src/model/notification.ts";
import { NOTIFICATION_LIMITS } from "../../src/notification-limits.ts";
import { COUNTED } from "../storage.ts";
import { p, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import type { Statement } from "../store/store.ts";
import { MERGED } from "./merge.ts";
import { PACE } from "./plan.ts";
import type { ClaimedDelivery } from "./queue.ts";
import { RECORD_COLUMNS } from "./records.ts";
import { deliveries } from "./schema.ts";
import { continued } from "./settling.ts";

type Claimed = Pick<ClaimedDelivery["delivery"], "seq" | "lease" | "account_id" | "key_id">;

/** An accepted delivery as it was claimed, and what its record says; times in epoch seconds. */
export interface AcceptedDelivery extends Claimed, Omit<DeliveryRecord, "outcome"> {
  /** Id of the question or task; empty for other kinds. */
  readonly about: string;
  /** The address it was sent to if it shows an alert, which may have to be taken back; otherwise null. */
  readonly address: string | null;
}

/** The members of a row of the JSON list, in order. */
const MEMBERS = [
  "seq",
  "lease",
  "delivery_id",
  "account_id",
  "recipient_id",
  "key_id",
  "lane",
  "kind",
  "about",
  "reason",
  "attempts",
  "created_at",
  "tried_at",
  "done_at",
  "address",
] as const satisfies readonly (keyof AcceptedDelivery)[];

const TIMES: readonly string[] = ["created_at", "tried_at", "done_at"];

const now = p("now", deliveries.due_at);
const rows = sql`json_each(${p("rows")}) r`;
const of = (name: (typeof MEMBERS)[number]) => sql`(r.value ->> ${sql.raw(MEMBERS.indexOf(name))})`;

/** The rows of the list that are still under their lease. */
const mine = sql`seq in (select l.seq from ${rows} cross join deliveries l on l.seq = ${of("seq")} where l.lease = ${of("lease")})`;

const addRecords = statement(
  sql`insert into delivery_records (${RECORD_COLUMNS})
    select ${of("delivery_id")}, ${of("account_id")}, ${of("recipient_id")}, ${of("key_id")}, ${of("kind")}, ${of("about")}, ${of("lane")},
      'sent', ${of("reason")}, ${of("attempts")}, ${of("created_at")}, ${of("tried_at")}, ${of("done_at")}
    from ${rows} where exists (select 1 from accounts where id = ${of("account_id")})`,
);
const continueAll = statement(continued(mine, sql`'[]'`));
const dropAll = statement(sql`delete from deliveries where ${mine}`);

const registered = sql`exists (select 1 from delivery_targets where account_id = ${of("account_id")} and purpose = 'alert'
  and recipient_id = ${of("recipient_id")} and subject = '' and address = ${of("address")})`;
/** The targets of a deleted account are gone, so the delivery gets a copy of the address. */
const deleted = sql`exists (select 1 from accounts where id = ${of("account_id")} and deleted_at is not null)`;
const clearRows = statement(
  sql`insert into deliveries (account_id, recipient_id, kind, subject, key_id, lane, address, parts, urgency, due_at, expires_at, created_at)
    select ${of("account_id")}, ${of("recipient_id")}, 'silent', '', ${of("key_id")}, ${of("lane")}, case when ${deleted} then ${of("address")} end,
      json_array(${of("about")}), 2, ${PACE.clear()}, ${PACE.clear()} + ${sql.raw(NOTIFICATION_LIMITS.silent_life * 1000)}, ${now}
    from ${rows} where ${of("address")} is not null
      and not exists (select 1 from questions q join keys k on k.id = q.key_id and k.deleted_at is null where q.id = ${of("about")} and q.status = 'pending')
      and not exists (select 1 from tasks t join keys k on k.id = t.key_id and k.deleted_at is null where t.id = ${of("about")})
      and (${registered} or ${deleted})
    ${MERGED}`,
);

const listOf = (list: readonly Partial<AcceptedDelivery>[]): string =>
  JSON.stringify(
    list.map((one) =>
      MEMBERS.map((name) => {
        const value = one[name];
        return typeof value === "number" && TIMES.includes(name)
          ? deliveries.due_at.mapToDriverValue(value)
          : value;
      }),
    ),
  );

type LateAlert = Pick<
  AcceptedDelivery,
  "account_id" | "recipient_id" | "key_id" | "lane" | "about" | "address"
>;

/** Plans a silent delivery that takes an alert back if its subject ended while it was under way. */
export const clearLate = (alert: LateAlert, now: number): Statement =>
  clearRows({ rows: listOf([alert]), now });

/** The statements that settle deliveries in one batch, in this order. `now`: epoch seconds. */
export function settleAccepted(accepted: readonly AcceptedDelivery[], now: number): Statement[] {
  const values = { rows: listOf(accepted), now };
  const late = accepted.some(({ address }) => address !== null) ? [clearRows(values)] : [];
  const stored = accepted.map(({ account_id, key_id }) => ({
    owner: key_id ?? account_id,
    account_id,
    bytes: COUNTED.delivery_records.row,
  }));
  return [{ ...addRecords(values), stored }, continueAll(values), dropAll(values), ...late];
}
