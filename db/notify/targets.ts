/** Targets in SQL: where a delivery goes, and the removal of an address that a service does not know. */

import { NOTIFICATION_KINDS, PURPOSES, type Purpose } from "../../src/model/notification.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import { deliveryTargets } from "./schema.ts";

const purposeOf = (kind: Sql) => {
  const cases = NOTIFICATION_KINDS.map((name) =>
    sql.raw(`when '${name}' then '${PURPOSES[name]}'`),
  );
  return sql`case ${kind} ${sql.join(cases, sql` `)} end`;
};

/** True for the row of `delivery_targets` that a row `q` of `deliveries` goes to. */
export const targetOf = (q: Sql) =>
  sql`delivery_targets.account_id = ${q}.account_id and delivery_targets.purpose = ${purposeOf(sql`${q}.kind`)}
    and delivery_targets.recipient_id = ${q}.recipient_id
    and delivery_targets.subject = case when ${q}.kind in ('update', 'end') then ${q}.task_id else '' end`;

/** The targets of an account for one purpose, in `lanes` (JSON list), named `d`. */
export const targetsFor = (purpose: Purpose) =>
  sql`from (select account_id, recipient_id, lane, address from delivery_targets
    where account_id = ${p("account_id")} and purpose = ${sql.raw(`'${purpose}'`)}) d
    where d.lane in (select value from json_each(${p("lanes")}))`;

/** Returns a row if the account has a target for this purpose, in any lane. */
export const hasTargetFor = (purpose: Purpose) =>
  statement(
    sql`select 1 from delivery_targets where account_id = ${p("account_id")} and purpose = ${sql.raw(`'${purpose}'`)} limit 1`,
    { returns: "row" },
  );

/** The target of a row `l` of `live_activities`, named `t`. */
export const joinActivityTarget = (l: Sql) =>
  sql`join delivery_targets t on t.account_id = ${l}.account_id and t.purpose = 'activity' and t.recipient_id = ${l}.device_id and t.subject = ${l}.task_id`;

/** Removes the target of a delivery, unless its address or lane has changed, or it was registered after `since`. */
export const forgetTarget = statement(
  sql`delete from delivery_targets where account_id = ${p("account_id")} and purpose = ${p("purpose")}
    and recipient_id = ${p("recipient_id")} and subject = ${p("subject")} and lane = ${p("lane")}
    and address = ${p("address")} and updated_at <= ${p("since", deliveryTargets.updated_at)}`,
);
