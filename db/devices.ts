/**
 * Queries on devices. The id of a device is unique within its account. Its tokens are addresses in the lane of its
 * `apns_environment`, and triggers make them targets (docs/triggers.md).
 */

import { and, eq, getTableColumns, isNull } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { isLiveAccount } from "./accounts.ts";
import { accounts, devices } from "./schema.ts";
import { isLiveSession, isPastTrial, sessionsInTrial } from "./sessions.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { columnsBut, insertWhere, qb, rowOf, select, statement } from "./store/statement.ts";

const { account_id: _, ...columns } = getTableColumns(devices);

/** The devices of an account, the last registered first; none once the account is deleted. */
export const devicesOfAccount = select(
  qb
    .select(columns)
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

/**
 * True in SQL if the sign-in `session_id` may register the device `id` with `apns_token`. In its trial it cannot take
 * the id, the token or the place of a device of another sign-in of the account.
 */
const mayRegister = sql`(${isLiveAccount} and ${isLiveSession} and (${isPastTrial}
  or (not exists (select 1 from devices where account_id = ${p("account_id")}
      and (id = ${p("id")} or apns_token = ${p("apns_token")}) and session_id is not ${p("session_id")})
    and (exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("id")})
      or (select count(*) from devices where account_id = ${p("account_id")}) < ${sql.raw(LIMITS.devices_per_account)}))))`;

export const mayRegisterDevice = statement(sql`select ${mayRegister}`, {
  returns: rowOf<[may_register: 0 | 1]>(),
});

/** The registration that loses this `apns_token` to the device `id` of the account. */
const losing = sql`apns_token = ${p("apns_token")} and not (account_id = ${p("account_id")} and id = ${p("id")})`;

/**
 * Removes the live activities of the registration that loses `apns_token` (§5.3.2(6)). Goes before
 * {@link releaseTokens}.
 */
export const endActivitiesOfToken = statement(
  sql`delete from live_activities where (account_id, device_id) in (select account_id, id from devices where ${losing})
    and ${mayRegister}`,
);

/**
 * Drops the deliveries of the registration that loses `apns_token`, unless its account is deleted: the device is still
 * to be told so. Goes before {@link releaseTokens}.
 */
export const dropOfToken = statement(
  sql`delete from pushes where (account_id, device_id) in (
      select v.account_id, v.id from (select * from devices where ${losing}) v
      where exists (select 1 from accounts a where a.id = v.account_id and a.deleted_at is null))
    and ${mayRegister}`,
);

/** Removes all tokens of the registration that loses `apns_token` (§5.3.2(3)). */
export const releaseTokens = statement(
  sql`update devices set apns_token = null, push_to_start_token = null, widget_push_token = null
    where ${losing} and ${mayRegister}`,
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
 * (§4.1.6).
 */
export const trimDevices = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id in (
    select id from devices where account_id = ${p("account_id")}
    order by coalesce(session_id in ${sessionsInTrial}, 0), updated_at desc, id limit -1 offset ${sql.raw(LIMITS.devices_per_account)})`,
);

/** Removes the device if the sign-in may change it. */
export const deleteDevice = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id = ${p("device_id")} and ${mayChangeDevice}`,
);

export const hasDevice = statement(
  sql`select exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")})`,
  { returns: rowOf<[has_device: 0 | 1]>() },
);

/** Drops the deliveries for devices that the account no longer has. */
export const dropOfMissingDevices = statement(
  sql`delete from pushes where account_id = ${p("account_id")}
    and device_id not in (select id from devices where account_id = ${p("account_id")})
    and device_id not in (select recipient_id from push_targets where account_id = ${p("account_id")})`,
);
