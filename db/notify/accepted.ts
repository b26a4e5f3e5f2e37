/**
 * How a worker ends the rounds of deliveries that the service accepted: many at once, since nearly all
 * end so. Any other end is a statement of its own for each (rounds.ts).
 */

import type { DeliveryRecord } from "../../src/model/notification.ts";
import { p, sql } from "../sql.ts";
import { statement } from "../statement.ts";
import type { Statement } from "../store.ts";
import { continued, takenBack } from "./rounds.ts";
import { deliveries } from "./schema.ts";

/** A delivery that was accepted, as it was claimed; times in epoch seconds. */
export interface AcceptedDelivery {
  readonly seq: number;
  readonly lease: string | null;
  readonly delivery_id: string;
  readonly account_id: string;
  readonly recipient_id: string;
  readonly key_id: string | null;
  readonly lane: string;
  /** As its record says it. */
  readonly kind: DeliveryRecord["kind"];
  readonly about: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly created_at: number;
  readonly tried_at: number | null;
  readonly done_at: number;
  /** The address that it was sent to, where it shows what may have to be taken back. */
  readonly address: string | null;
}

/** The members of a row of the JSON list, in their order. */
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

const rows = sql`json_each(${p("rows")}) r`;
const of = (name: (typeof MEMBERS)[number]) => sql`(r.value ->> ${sql.raw(MEMBERS.indexOf(name))})`;

/** Those of the list that are under their lease still. */
const mine = sql`seq in (select l.seq from ${rows} cross join pushes l on l.seq = ${of("seq")} where l.lease = ${of("lease")})`;

const addRecords = statement(
  sql`insert into push_records (apns_id, account_id, device_id, key_id, kind, about, environment, outcome, reason, attempts, created_at, tried_at, done_at)
    select ${of("delivery_id")}, ${of("account_id")}, ${of("recipient_id")}, ${of("key_id")}, ${of("kind")}, ${of("about")}, ${of("lane")},
      'sent', ${of("reason")}, ${of("attempts")}, ${of("created_at")}, ${of("tried_at")}, ${of("done_at")}
    from ${rows} where exists (select 1 from accounts where id = ${of("account_id")})`,
);
const continueAll = statement(continued(mine, sql`'[]'`));
const dropAll = statement(sql`delete from pushes where ${mine}`);
const clearAllLate = statement(
  takenBack({
    account_id: of("account_id"),
    recipient_id: of("recipient_id"),
    key_id: of("key_id"),
    lane: of("lane"),
    address: of("address"),
    about: of("about"),
    source: sql`from ${rows} where ${of("address")} is not null`,
  }),
);

/** The statements of one batch, in whose order each relies on those before it. `now`: epoch seconds. */
export function settleAccepted(accepted: readonly AcceptedDelivery[], now: number): Statement[] {
  const list = accepted.map((one) =>
    MEMBERS.map((name) => {
      const value = one[name];
      return typeof value === "number" && TIMES.includes(name)
        ? deliveries.due_at.mapToDriverValue(value)
        : value;
    }),
  );
  const values = { rows: JSON.stringify(list), now };
  const late = accepted.some(({ address }) => address !== null) ? [clearAllLate(values)] : [];
  return [addRecords(values), continueAll(values), dropAll(values), ...late];
}
