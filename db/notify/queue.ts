/** The queue of pushes as the sender sees it: claim by lease, read, finish, put back, expire. */

import { and, eq, type SQL, sql } from "drizzle-orm";
import { PUSH } from "../../src/limits.ts";
import { questionColumns } from "../questions.ts";
import {
  accounts,
  devices,
  keys,
  live_activities,
  pushes,
  questions,
  tasks,
  UUID,
} from "../schema.ts";
import { qb, select, statement } from "../statement.ts";
import { taskColumns } from "../tasks.ts";
import { isNews, MERGED, united } from "./merge.ts";
import { PACE } from "./plan.ts";

const p = sql.placeholder;
const ms = (seconds: number) => sql.raw(String(seconds * 1000));
const at = (name: string) => sql.param(p(name), pushes.due_at);
const now = at("now");

/** When the first push of `environment` that nobody sends falls due. */
export const nextDue = statement(
  sql`select min(at) from (${sql.join(
    [0, 1, 2].map(
      (urgency) =>
        sql`select min(due_at) as at from pushes where environment = ${p("environment")} and urgency = ${sql.raw(String(urgency))} and lease is null`,
    ),
    sql` union all `,
  )})`,
  { gives: "row" },
);

/** The leases on pushes of `environment`, up to `limit` of them. */
export const leasesOf = statement(
  sql`select distinct lease from pushes where environment = ${p("environment")} and lease is not null
    and expires_at > ${now} order by lease limit ${p("limit")}`,
  { gives: "rows" },
);

const some = (where: SQL) =>
  sql`select * from (select seq from pushes where ${where} limit ${p("limit")})`;
/** Nobody sends them. When a lease ends is not for its stamp to say: clocks differ. */
const due = (urgency: number) =>
  some(sql`environment = ${p("environment")} and urgency = ${sql.raw(String(urgency))}
    and due_at <= ${now} and lease is null and expires_at > ${now} order by due_at`);
/** Without the plus it would go through all that waits, by the index on what is due. */
const lapsed = (urgency: number) =>
  some(sql`environment = ${p("environment")} and lease in (select value from json_each(${p("lapsed")}))
    and +urgency = ${sql.raw(String(urgency))} and expires_at > ${now}`);
const claimable = sql.join(
  [0, 1, 2].flatMap((urgency) => [lapsed(urgency), due(urgency)]),
  sql` union all `,
);

/**
 * Leases up to `limit` pushes, the urgent ones first: those that are due, and those whose lease is
 * one of `lapsed` (JSON list). Of two processes each gets its own. Placeholders `lease`,
 * `environment`, `now`, `until` (timestamps), `limit`. A version before 0.2.0 takes a lease to end
 * at `until`.
 */
export const claimDue = statement(
  sql`update pushes set unclear = lease is not null, lease = ${p("lease")}, due_at = ${at("until")}, attempts = attempts + 1, tried_at = ${now}
    where seq in (select seq from (${claimable}) limit ${p("limit")})`,
);

/** Those that a claim leased: with its end of the lease, the index on what is due finds them. */
const leased = (q: SQL) =>
  sql`${q}.environment = ${p("environment")} and ${q}.urgency in (0, 1, 2) and ${q}.due_at = ${at("until")} and ${q}.lease = ${p("lease")}`;

/** Moves the `timestamp` on of each live activity that the claimed pushes are about. */
export const stampActivities = statement(
  sql`update live_activities set stamp = max(stamp + 1, cast(${now} / 1000 as integer)) where rowid in (
    select l.rowid from pushes q join live_activities l on l.account_id = q.account_id and l.device_id = q.device_id and l.task_id = q.task_id
    where ${leased(sql`q`)} and q.kind in ('update', 'end'))`,
);

/** A claimed push beside all that it is rendered from; what is not there has null fields. */
const claimed = qb
  .select({
    push: {
      seq: pushes.seq,
      lease: pushes.lease,
      apns_id: pushes.apns_id,
      account_id: pushes.account_id,
      device_id: pushes.device_id,
      kind: pushes.kind,
      key_id: pushes.key_id,
      task_id: pushes.task_id,
      question_id: pushes.question_id,
      environment: pushes.environment,
      token: pushes.token,
      parts: pushes.parts,
      expires_at: pushes.expires_at,
      created_at: pushes.created_at,
      unclear: pushes.unclear,
      attempts: pushes.attempts,
      tried_at: pushes.tried_at,
    },
    device: {
      apns_environment: devices.apns_environment,
      apns_token: devices.apns_token,
      push_to_start_token: devices.push_to_start_token,
      widget_push_token: devices.widget_push_token,
    },
    account: { live_activities: accounts.live_activities },
    key: { label: keys.label, last_host: keys.last_host },
    task: taskColumns.task,
    question: questionColumns,
    activity: {
      push_token: live_activities.push_token,
      ended_at: live_activities.ended_at,
      stamp: live_activities.stamp,
    },
  })
  .from(pushes)
  .leftJoin(
    devices,
    and(eq(devices.account_id, pushes.account_id), eq(devices.id, pushes.device_id)),
  )
  .leftJoin(accounts, sql`${accounts.id} = ${pushes.account_id} and ${accounts.deleted_at} is null`)
  .leftJoin(keys, sql`${keys.id} = ${pushes.key_id} and ${keys.deleted_at} is null`)
  .leftJoin(tasks, sql`${tasks.id} = ${pushes.task_id} and ${tasks.key_id} = ${keys.id}`)
  .leftJoin(
    questions,
    sql`${questions.id} = ${pushes.question_id} and ${questions.key_id} = ${keys.id}`,
  )
  .leftJoin(
    live_activities,
    and(
      eq(live_activities.account_id, pushes.account_id),
      eq(live_activities.device_id, pushes.device_id),
      eq(live_activities.task_id, pushes.task_id),
    ),
  )
  .where(leased(sql`pushes`))
  .orderBy(pushes.urgency, pushes.seq);

type Nullable<T> = { [Name in keyof T]: T[Name] | null };
type Joined = Awaited<ReturnType<typeof claimed.execute>>[number];
type Part<Name extends keyof Joined> = Nullable<NonNullable<Joined[Name]>>;

export interface ClaimedPush {
  readonly push: Joined["push"];
  readonly device: Part<"device">;
  readonly account: Part<"account">;
  readonly key: Part<"key">;
  readonly task: Part<"task">;
  readonly question: Part<"question">;
  readonly activity: Part<"activity">;
}

/** Placeholders as {@link claimDue}. */
export const claimedPushes = select(
  claimed as unknown as Parameters<typeof select<ClaimedPush>>[0],
);

/** Pending questions at `now` of each task in `ids` (JSON list). */
export const pendingCounts = statement(
  sql`select task_id, count(*) from questions where task_id in (select value from json_each(${p("ids")}))
    and status = 'pending' and expires_at > ${now} group by task_id`,
  { gives: "rows" },
);

const mine = sql`seq = ${p("seq")} and lease = ${p("lease")}`;
const together = united(sql`parts`, sql`coalesce(more, '[]')`);
const left = united(sql`${p("rest")}`, sql`coalesce(more, '[]')`);

const d = sql`(select pushes.account_id, pushes.device_id, pushes.task_id)`;
const pace = (due: SQL) => sql`(select ${due} from ${d} d)`;
const next = sql`case kind
  when 'silent' then case when more <> '[]' then ${pace(PACE.clear())} else ${pace(PACE.silent())} end
  when 'widget' then ${pace(PACE.widget())}
  when 'update' then ${pace(PACE.update(sql`d.task_id`))}
  when 'task' then case when exists (select 1 from json_each(more) where value in ('created', 'status')) then ${now}
    else ${pace(PACE.passive(sql`d.task_id`))} end
  else ${now} end`;
const again = sql`case when kind = 'silent' and ${p("rest")} <> '[]' then ${now} else ${next} end`;

/**
 * A push that is done goes on with what came meanwhile and with the ids in `rest` (JSON list), as a
 * new one; {@link dropDone} takes it where nothing did. Placeholders `seq`, `lease`, `now`.
 */
export const goOn = statement(
  sql`update pushes set lease = null, unclear = 0, attempts = 0, apns_id = ${UUID}, created_at = ${now}, parts = ${left}, more = null,
      due_at = ${again}, expires_at = max(expires_at, ${again} + case when kind = 'task' then ${ms(PUSH.alert_life)}
        when kind = 'update' then ${ms(PUSH.activity_life)} else ${ms(PUSH.silent_life)} end)
    where ${mine} and (more is not null or ${p("rest")} <> '[]')`,
);
export const dropDone = statement(sql`delete from pushes where ${mine}`);

const came = sql`(more is not null and ${isNews(sql`kind`, sql`more`)})`;
const back_at = sql`case when ${came} then min(${at("due_at")}, ${next}) else ${at("due_at")} end`;

/**
 * Puts a push back until `due_at`, with what came meanwhile; news do not wait so long. `tried`: 0
 * when this was no attempt. A `clear` lives on to be tried again: without it a notification stays.
 * Placeholders `seq`, `lease`, `now`, `due_at` (timestamps), `tried`, `environment` (null: as it is).
 */
export const putBack = statement(
  sql`update pushes set lease = null, unclear = 0, parts = ${together}, more = null, due_at = ${back_at},
      apns_id = case when ${came} then ${UUID} else apns_id end,
      expires_at = case when kind = 'silent' and ${together} <> '[]'
        then max(expires_at, min(${back_at} + ${ms(PUSH.silent_life)}, created_at + ${ms(PUSH.clear_life)})) else expires_at end,
      attempts = attempts - 1 + ${p("tried")},
      environment = case when token is null then coalesce(${p("environment")}, environment) else environment end
    where ${mine}`,
);

const set_back = sql`lease = null, unclear = 0, parts = ${together}, more = null`;

/**
 * Puts it back if the device has a token for it still: a newer one, for `due_at`, or the same one
 * that was registered again, for `later` (timestamps).
 */
const putBackIf = (column: string) => {
  const now_token = sql`(select v.${sql.identifier(column)} from devices v where v.account_id = pushes.account_id and v.id = device_id)`;
  return statement(
    sql`update pushes set ${set_back}, due_at = case when ${now_token} = ${p("token")} then ${at("later")} else ${at("due_at")} end
      where ${mine} and token is null and ${now_token} is not null`,
  );
};

/**
 * Takes the token back, unless it is another one by now, of another environment, or was registered
 * again after `since` (a timestamp).
 */
const forget = (column: string) =>
  statement(
    sql`update devices set ${sql.identifier(column)} = null where account_id = ${p("account_id")} and id = ${p("device_id")}
      and apns_environment = ${p("environment")} and ${sql.identifier(column)} = ${p("token")} and updated_at <= ${at("since")}`,
  );

const COLUMN = {
  question: "apns_token",
  task: "apns_token",
  silent: "apns_token",
  widget: "widget_push_token",
  start: "push_to_start_token",
} as const;
type DeviceTokenKind = keyof typeof COLUMN;
const perKind = <T>(make: (column: string) => T) =>
  Object.fromEntries(
    Object.entries(COLUMN).map(([kind, column]) => [kind, make(column)]),
  ) as Record<DeviceTokenKind, T>;

/** What an invalid device token means, in this order, before {@link dropDone}. */
export const INVALID_TOKEN = { forget: perKind(forget), retry: perKind(putBackIf) };

const live_token = sql`(select l.push_token from live_activities l where l.account_id = pushes.account_id
  and l.device_id = pushes.device_id and l.task_id = pushes.task_id and l.ended_at is null)`;

/** As the ones above, for an update of a live activity. */
export const retryUpdate = statement(
  sql`update pushes set ${set_back}, due_at = case when ${live_token} = ${p("token")} then ${at("later")} else ${at("due_at")} end
    where ${mine} and ${live_token} is not null`,
);

/** A live activity's token that is invalid or has ended. Placeholders as forget, by task. */
export const dropActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("device_id")} and task_id = ${p("task_id")}
    and push_token = ${p("token")} and updated_at <= ${at("since")}`,
);
export const dropEndedActivity = statement(
  sql`delete from live_activities where account_id = ${p("account_id")} and device_id = ${p("device_id")} and task_id = ${p("task_id")}
    and push_token = ${p("token")} and ended_at is not null`,
);

const live_account = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null)`;

/**
 * A last-minute silent push that takes back an alert whose reason ended while it was under way. Of an
 * account that is deleted it has a copy of the token, as its devices go too; of one of which nothing
 * is left there is none.
 */
export const clearLate = statement(
  sql`insert into pushes (account_id, device_id, kind, subject, key_id, environment, token, parts, urgency, due_at, expires_at, created_at)
    select ${p("account_id")}, ${p("device_id")}, 'silent', '', ${p("key_id")}, ${p("environment")},
      case when ${live_account} and exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")}) then null else ${p("token")} end,
      json_array(${p("about")}), 2, ${PACE.clear()}, ${PACE.clear()} + ${ms(PUSH.silent_life)}, ${now}
    where not exists (select 1 from questions q join keys k on k.id = q.key_id and k.deleted_at is null where q.id = ${p("about")} and q.status = 'pending')
      and not exists (select 1 from tasks t join keys k on k.id = t.key_id and k.deleted_at is null where t.id = ${p("about")})
      and (exists (select 1 from devices where account_id = ${p("account_id")} and id = ${p("device_id")} and apns_token = ${p("token")})
        or exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is not null))
    ${MERGED}`,
);
