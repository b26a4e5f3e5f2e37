/**
 * Queries on devices; a device is known by its account and id together. Its tokens are addresses of
 * the lane that is its `apns_environment`; triggers make them targets (db/notify/schema.ts).
 */

import { and, eq, getTableColumns, isNull } from "drizzle-orm";
import { LIMITS } from "../src/limits.ts";
import { accounts, devices } from "./schema.ts";
import { isLiveSession, isPastTrial, sessionsInTrial } from "./sessions.ts";
import { p, type Sql, sql } from "./sql.ts";
import { columnsBut, insertWhere, qb, rowOf, select, statement } from "./statement.ts";

const { account_id: _, ...columns } = getTableColumns(devices);

/** The devices of an account, the last registered first; none once it is deleted. */
export const devicesOfAccount = select(
  qb
    .select(columns)
    .from(devices)
    .innerJoin(accounts, and(eq(accounts.id, devices.account_id), isNull(accounts.deleted_at))),
  sql`where ${devices.account_id} = ${p("account_id")} order by ${devices.updated_at} desc, ${devices.id} desc`,
);

/** The lane of a row `v` of `devices`. */
export const laneOf = (v: Sql) => sql`${v}.apns_environment`;

/** How a person knows a row `v` of `devices`; triggers of migration 0024 have the same names. */
export const labelOfDevice = (v: Sql) =>
  sql`case ${v}.platform when 'ios' then 'iPhone' when 'ipados' then 'iPad' when 'watchos' then 'Apple Watch' end`;

const liveAccount = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)`;

/**
 * True in SQL of the device `device_id` of the account while the sign-in `session_id` may change it: its own, or any
 * once it is past its trial (docs/interface.md §4.1.6).
 */
export const mayChangeDevice = sql`(${isPastTrial} or exists (select 1 from devices
  where account_id = ${p("account_id")} and id = ${p("device_id")} and session_id = ${p("session_id")}))`;

/**
 * True in SQL while the sign-in `session_id` may register the device `id` with `apns_token`. In its trial it takes
 * neither id nor token nor place from a device of another sign-in of the account.
 */
const mayRegister = sql`(${liveAccount} and ${isLiveSession} and (${isPastTrial}
  or (not exists (select 1 from devices where account_id = ${p("account_id")}
      and (id = ${p("id")} or apns_token = ${p("apns_token")}) and session_id is not ${p("session_id")})
    and (exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("id")})
      or (select count(*) from devices where account_id = ${p("account_id")}) < ${sql.raw(LIMITS.devices_per_account)}))))`;

/** Whether {@link mayRegister}. */
export const mayRegisterDevice = statement(sql`select ${mayRegister}`, {
  gives: rowOf<[may_register: 0 | 1]>(),
});

/** A registration that is about to lose this `apns_token` to the device `id` of the account. */
const losing = sql`apns_token = ${p("apns_token")} and not (account_id = ${p("account_id")} and id = ${p("id")})`;

/**
 * Removes the live activities of the registrations that are about to lose this `apns_token`
 * (docs/interface.md §5.3.2(6)): stands before {@link releaseTokens}.
 */
export const endActivitiesOfToken = statement(
  sql`delete from live_activities where (account_id, device_id) in (select account_id, id from devices where ${losing})
    and ${mayRegister}`,
);

/**
 * Drops what is queued for these registrations; what tells of the deletion of an account is sent all
 * the same. Stands before {@link releaseTokens}.
 */
export const dropOfToken = statement(
  sql`delete from pushes where (account_id, device_id) in (
      select v.account_id, v.id from (select * from devices where ${losing}) v
      where exists (select 1 from accounts a where a.id = v.account_id and a.deleted_at is null))
    and ${mayRegister}`,
);

/** Takes every token from another registration that holds this `apns_token` (§5.3.2(3)). */
export const releaseTokens = statement(
  sql`update devices set apns_token = null, push_to_start_token = null, widget_push_token = null
    where ${losing} and ${mayRegister}`,
);

const REPLACED = columnsBut(devices, ["account_id", "id", "updated_at"]);

/**
 * Creates or replaces while {@link mayRegister}. `updated_at` always grows, so that the oldest
 * registration is known also when clocks differ.
 */
export const putDevice = statement(
  sql`${insertWhere(devices, mayRegister)}
    on conflict (account_id, id) do update set ${sql.raw(REPLACED.map((name) => `${name} = excluded.${name}`).join(", "))},
      updated_at = max(excluded.updated_at, devices.updated_at + 1)
    returning updated_at`,
  { gives: "rows" },
);

/**
 * Leaves the newest 20 of the account. Devices of a sign-in in its trial go first: what is registered in a trial takes
 * no place from others, also when one of the others registers the next device (docs/interface.md §4.1.6).
 */
export const trimDevices = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id in (
    select id from devices where account_id = ${p("account_id")}
    order by coalesce(session_id in ${sessionsInTrial}, 0), updated_at desc, id limit -1 offset ${sql.raw(LIMITS.devices_per_account)})`,
);

/** Removes the device while {@link mayChangeDevice}. */
export const deleteDevice = statement(
  sql`delete from devices where account_id = ${p("account_id")} and id = ${p("device_id")} and ${mayChangeDevice}`,
);

/** Whether the account has the device `device_id`. */
export const hasDevice = statement(
  sql`select exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")})`,
  { gives: rowOf<[has_device: 0 | 1]>() },
);

/**
 * Drops what is queued for devices that the account no longer has. What is queued for other targets
 * stays.
 */
export const dropOfMissingDevices = statement(
  sql`delete from pushes where account_id = ${p("account_id")}
    and device_id not in (select id from devices where account_id = ${p("account_id")})
    and device_id not in (select recipient_id from push_targets where account_id = ${p("account_id")})`,
);
