/**
 * Queries on devices. The id of a device is unique within its account. Its tokens are targets (notify/schema.ts) in the
 * lane of its `apns_environment`.
 */

import { and, eq, getTableColumns, isNull, type SQL } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import type { Purpose } from "../src/model/notification.ts";
import { isLiveAccount } from "./accounts.ts";
import { accounts, devices } from "./schema.ts";
import { isLiveSession, isPastTrial, sessionsInTrial } from "./sessions.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { columnsBut, insertWhere, qb, rowOf, select, statement } from "./store/statement.ts";

const { account_id: _, ...columns } = getTableColumns(devices);

/** The token of a row of `devices` for one purpose, or null. */
const tokenFor = <Name extends string>(purpose: Purpose, name: Name) =>
  sql`(select address from delivery_targets t where t.account_id = ${devices.account_id}
    and t.purpose = ${sql.raw(`'${purpose}'`)} and t.recipient_id = ${devices.id} and t.subject = '')`
    .mapWith(String)
    .as(name) as unknown as SQL.Aliased<string | null>;

/** The devices of an account, the last registered first; none once the account is deleted. */
export const devicesOfAccount = select(
  qb
    .select({
      ...columns,
      apns_token: tokenFor("alert", "apns_token"),
      push_to_start_token: tokenFor("activity_start", "push_to_start_token"),
      widget_push_token: tokenFor("widget", "widget_push_token"),
    })
    .from(devices)
    .innerJoin(accounts, and(eq(accounts.id, devices.account_id), isNull(accounts.deleted_at))),
  sql`where ${devices.account_id} = ${p("account_id")} order by ${devices.updated_at} desc, ${devices.id} desc`,
);

/** The lane of a row `v` of `devices`. */
export const laneOf = (v: Sql) => sql`${v}.apns_environment`;

/** The name that the person knows a row `v` of `devices` by. Triggers write the same names (docs/triggers.md). */
export const labelOfDevice = (v: Sql) =>
  sql`case ${v}.platform when 'ios' then 'iPhone' when 'ipados' then 'iPad' when 'watchos' then 'Apple Watch' end`;

/** True in SQL if the sign-in may change the device `device_id`: its own, or any once it is past its trial (§4.1.6). */
export const mayChangeDevice = sql`(${isPastTrial} or exists (select 1 from devices
  where account_id = ${p("account_id")} and id = ${p("device_id")} and session_id = ${p("session_id")}))`;

/** The device that has this `apns_token`: one row of account and device. */
const holder = sql`select account_id, recipient_id from delivery_targets
  where purpose = 'alert' and label is null and address = ${p("apns_token")}`;

/**
 * True in SQL if the sign-in `session_id` may register the device `id` with `apns_token`. In its trial it cannot take
 * the id, the token or the place of a device of another sign-in of the account.
 */
const mayRegister = sql`(${isLiveAccount} and ${isLiveSession} and (${isPastTrial}
  or (not exists (select 1 from devices where account_id = ${p("account_id")}
      and (id = ${p("id")} or (account_id, id) in (${holder})) and session_id is not ${p("session_id")})
    and (exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("id")})
      or (select count(*) from devices where account_id = ${p("account_id")}) < ${sql.raw(LIMITS.devices_per_account)}))))`;

export const mayRegisterDevice = statement(sql`select ${mayRegister}`, {
  returns: rowOf<[may_register: 0 | 1]>(),
});

/** The device that loses this `apns_token` to the device `id` of the account: one row of account and device. */
const loser = sql`${holder} and not (account_id = ${p("account_id")} and recipient_id = ${p("id")})`;

/**
 * Removes the live activities of the device that loses `apns_token` (§5.3.2(6)). Goes before {@link releaseTokens}.
 */
export const endActivitiesOfToken = statement(
  sql`delete from live_activities where (account_id, device_id) in (${loser}) and ${mayRegister}`,
);

/**
 * Drops the deliveries of the device that loses `apns_token`, unless its account is deleted: the device is still to be
 * told so. Goes before {@link releaseTokens}.
 */
export const dropOfToken = statement(
  sql`delete from deliveries where (account_id, recipient_id) in (${loser}
      and exists (select 1 from accounts a where a.id = account_id and a.deleted_at is null))
    and ${mayRegister}`,
);

/** Removes all tokens of the device that loses `apns_token` (§5.3.2(3)). */
export const releaseTokens = statement(
  sql`delete from delivery_targets where subject = '' and (account_id, recipient_id) in (${loser}) and ${mayRegister}`,
);

const REPLACED = columnsBut(devices, ["account_id", "id", "updated_at"]);

/** Creates or replaces a device. `updated_at` always grows, so that the oldest one is known even if clocks differ. */
export const putDevice = statement(
  sql`${insertWhere(devices, mayRegister)}
    on conflict (account_id, id) do update set ${sql.raw(REPLACED.map((name) => `${name} = excluded.${name}`).join(", "))},
      updated_at = max(excluded.updated_at, devices.updated_at + 1)
    returning updated_at`,
  { returns: "rows" },
);

/**
 * Keeps the newest 20 of the account. Devices of sign-ins in their trial go first: they never take the place of others
 * (§4.1.6). A trigger removes what belongs to a removed device.
 */
export const trimDevices = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id in (
    select id from devices where account_id = ${p("account_id")}
    order by coalesce(session_id in ${sessionsInTrial}, 0), updated_at desc, id limit -1 offset ${sql.raw(LIMITS.devices_per_account)})`,
);

const is_registered = sql`exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("id")}) and ${mayRegister}`;
const tokens = sql`(select 'alert' as purpose, ${p("apns_token")} as token
  union all select 'widget', ${p("widget_push_token")} union all select 'activity_start', ${p("push_to_start_token")})`;

/** Makes the tokens of a device its targets, and moves its live activities to its lane. Goes after {@link putDevice}. */
export const putTokens = [
  statement(
    sql`delete from delivery_targets where account_id = ${p("account_id")} and recipient_id = ${p("id")} and subject = ''
      and purpose in (select purpose from ${tokens} where token is null) and ${is_registered}`,
  ),
  statement(
    sql`insert into delivery_targets (account_id, purpose, recipient_id, subject, lane, address, updated_at)
      select ${p("account_id")}, purpose, ${p("id")}, '', ${p("apns_environment")}, token, ${p("updated_at", devices.updated_at)}
      from ${tokens} where token is not null and ${is_registered}
      on conflict (account_id, purpose, recipient_id, subject) do update set lane = excluded.lane,
        address = excluded.address, updated_at = excluded.updated_at`,
  ),
  statement(
    sql`update delivery_targets set lane = ${p("apns_environment")} where account_id = ${p("account_id")} and purpose = 'activity'
      and recipient_id = ${p("id")} and ${is_registered}`,
  ),
];

/** Removes the device if the sign-in may change it. A trigger removes what belongs to it. */
export const deleteDevice = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id = ${p("device_id")} and ${mayChangeDevice}`,
);

export const hasDevice = statement(
  sql`select exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")})`,
  { returns: rowOf<[has_device: 0 | 1]>() },
);
