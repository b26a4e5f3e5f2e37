/**
 * The queue of deliveries: one row of the table `deliveries` for each recipient (a device or channel), kind
 * and subject. The states of a row, and what moves it there:
 *
 *   planned    The batch of a change (plan.ts, activity-ends.ts). It waits until `due_at`. A later change
 *              of the same recipient, kind and subject merges into it (merge.ts).
 *   leased     A worker (`claimDue`): `lease` is set, `attempts` grows. Only the holder moves it now;
 *              what a change adds meanwhile waits in `more`.
 *   unclear    A worker that found a lease which ran out: leased by it now, and perhaps sent before
 *              (`unclear` = 1). The start of a live activity is then not sent again.
 *   put back   The holder (`putBack`, `retryWithTarget` in settling.ts): planned again, with what came
 *              meanwhile.
 *   continued  The holder (`continueDelivery`): it was settled, and what came meanwhile is a new delivery
 *              in the same row.
 *   gone       The holder (`dropDone`), or a job once it has expired (records.ts), each with a row of
 *              `delivery_records` that says how it ended; or the batch of a deletion (plan.ts), without one.
 *
 * A lease is a random name. It is over once one process has seen it for 15 seconds by its own clock
 * (src/notify/core/leases.ts). This file claims and reads; settling.ts and accepted.ts end what was claimed.
 */

import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import { questionColumns } from "../questions.ts";
import { accounts, keys, live_activities, questions, tasks } from "../schema.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { type Query, qb, rowOf, rowsOf, select, statement } from "../store/statement.ts";
import { taskColumns } from "../tasks.ts";
import { channels, deliveries, deliveryTargets, questionDeliveries } from "./schema.ts";
import { targetOf } from "./targets.ts";

/** The highest number of pending questions that a badge shows. */
const BADGE_MOST = 1_000;
/** Characters of a context that are read for a notification. */
const CONTEXT_READ = 1_000;

const at = <Name extends string>(name: Name) => p(name, deliveries.due_at);
const now = at("now");

/** Questions, what else is shown, and what is not shown. */
const URGENCIES = [0, 1, 2];

/** When the first delivery of `lane` without a lease is due. */
export const nextDue = statement(
  sql`select min(at) from (${sql.join(
    URGENCIES.map(
      (urgency) =>
        sql`select min(due_at) as at from deliveries where lane = ${p("lane")} and urgency = ${sql.raw(urgency)} and lease is null`,
    ),
    sql` union all `,
  )})`,
  { returns: rowOf<[due_ms: number | null]>() },
);

/** The leases on deliveries of `lane`, at most `limit`. */
export const leasesOf = statement(
  sql`select distinct lease from deliveries where lane = ${p("lane")} and lease is not null
    and expires_at > ${now} order by lease limit ${p("limit")}`,
  { returns: rowsOf<[lease: string]>() },
);

/** The columns by which a claim chooses. */
const CANDIDATE = sql`seq, account_id, urgency, due_at`;
const some = <P>(where: Sql<P>) =>
  sql`select * from (select ${CANDIDATE} from deliveries where ${where} limit ${p("window")})`;
/** Due and without a lease. The time on a lease does not say when it ends: clocks differ. */
const isDue = (urgency: number) => sql`lane = ${p("lane")} and urgency = ${sql.raw(urgency)}
    and due_at <= ${now} and lease is null and expires_at > ${now}`;
/** Without the plus, it would use the index on what is due and go through all that waits. */
const lapsed = (urgency: number) =>
  some(sql`lane = ${p("lane")} and lease in (select value from json_each(${p("lapsed")}))
    and +urgency = ${sql.raw(urgency)} and expires_at > ${now}`);
const oldest = sql.join(
  URGENCIES.flatMap((urgency) => [lapsed(urgency), some(sql`${isDue(urgency)} order by due_at`)]),
  sql` union all `,
);
const ofAccount = sql.join(
  URGENCIES.map(
    (urgency) =>
      sql`select * from (select seq from deliveries where account_id = a.value and ${isDue(urgency)} order by due_at limit ${p("window")})`,
  ),
  sql` union all `,
);
const ofAccounts = sql`select q.seq, q.account_id, q.urgency, q.due_at from json_each(${p("accounts")}) a join deliveries q on q.seq in (${ofAccount})`;

/**
 * Leases at most `limit` candidates: urgent ones first, and accounts in turn, one delivery at a time. `busy`: how many
 * requests each account has under way, as a JSON object. An account may have `share` requests under way for each of the
 * `room` that it leaves to others, and always one: see src/notify/core/account-turns.ts.
 */
const claim = <P>(candidates: Sql<P>) =>
  statement(
    sql`update deliveries set unclear = lease is not null, lease = ${p("lease")}, due_at = ${at("until")}, attempts = attempts + 1, tried_at = ${now}
    where seq in (with busy(account_id, n) as materialized (select key, value from json_each(${p("busy")}))
    select seq from (
      select c.seq, c.urgency, c.due_at, coalesce(b.n, 0) as n,
        row_number() over (partition by c.account_id order by c.urgency, c.due_at, c.seq) as place
      from (${candidates}) c left join busy b on b.account_id = c.account_id)
    where n + place = 1 or n + place <= ${p("share")} * (${p("room")} - place)
    order by urgency, n + place, due_at limit ${p("limit")})`,
  );

/**
 * Claims from the `window` deliveries of each urgency that have been due for longest, and from those whose lease is one
 * of `lapsed` (JSON list). Two processes never claim the same one. Versions before 0.2.0 end a lease at `until`.
 */
export const claimDue = claim(oldest);

/** Claims due deliveries of `accounts` (JSON list), at most `window` of each account and urgency. */
export const claimOfAccounts = claim(ofAccounts);

/**
 * Accounts with something waiting in `lane`, after `after` in the order of ids, at most `limit`; and whether
 * any of it is due. The cost of an account does not depend on how much it has.
 */
export const waitingAccounts = statement(
  sql`with recursive a(id) as (
      select (select min(account_id) from deliveries where lane = ${p("lane")} and lease is null and account_id > ${p("after")})
      union all select (select min(account_id) from deliveries where lane = ${p("lane")} and lease is null and account_id > a.id)
        from a where a.id is not null limit ${p("limit")})
    select id, ${sql.join(
      URGENCIES.map(
        (urgency) =>
          sql`exists (select 1 from deliveries where lane = ${p("lane")} and account_id = a.id and urgency = ${sql.raw(urgency)} and lease is null and due_at <= ${now})`,
      ),
      sql` or `,
    )} from a where id is not null`,
  { returns: rowsOf<[account_id: string, due: number]>() },
);

/** The rows that a claim leased, found by the end of the lease in the index on what is due. */
const leased = (q: Sql) =>
  sql`${q}.lane = ${p("lane")} and ${q}.urgency in (0, 1, 2) and ${q}.due_at = ${at("until")} and ${q}.lease = ${p("lease")}`;

/** Advances the `timestamp` of each live activity that the claimed deliveries are about. */
export const stampActivities = statement(
  sql`update live_activities set push_timestamp = max(push_timestamp + 1, cast(${now} / 1000 as integer)) where rowid in (
    select l.rowid from deliveries q join live_activities l on l.account_id = q.account_id and l.device_id = q.recipient_id and l.task_id = q.task_id
    where ${leased(sql`q`)} and q.kind in ('update', 'end'))`,
);

/** Pending questions of the account, at most `BADGE_MOST`; null for a device, whose app counts them. */
const pendingOfAccount = sql`case when ${channels.id} is not null then (select count(*) from (
  select 1 from questions q where q.account_id = ${deliveries.account_id} and q.status = 'pending' and q.expires_at > ${deliveries.tried_at}
    and exists (select 1 from keys k where k.id = q.key_id and k.deleted_at is null) limit ${sql.raw(BADGE_MOST)})) end` as unknown as SQL<
  number | null
>;

/** What the service called the last message about the subject; null for a channel without such names. */
const lastHandle =
  sql`case when ${channels.listener} is not null then (select m.handle from channel_messages m
  where m.channel_id = ${channels.id} and m.subject = ${deliveries.subject} order by m.at desc limit 1) end` as unknown as SQL<
    string | null
  >;

/** The beginning of a context; null if there is none. */
const contextHead = sql`substr(${questions.context}, 1, ${sql.raw(CONTEXT_READ)})` as SQL<string>;

/** A task without its description, which no notification shows. */
const { description: _, ...task } = taskColumns.task;

/** The columns of a row that a worker reads. */
const {
  more: _more,
  urgency: _urgency,
  due_at: _due_at,
  ...delivery
} = getTableColumns(deliveries);

/** A claimed delivery with everything it is rendered from. Rows that do not exist have null fields. */
const claimed = qb
  .select({
    delivery,
    target: { lane: deliveryTargets.lane, address: deliveryTargets.address },
    account: { live_activities: accounts.live_activities },
    key: { label: keys.label, last_host: keys.last_host },
    task,
    question: { ...questionColumns, context: contextHead },
    channel: {
      id: channels.id,
      host: channels.host,
      sends: channels.sends,
      min_priority: channels.min_priority,
      quiet_hours: channels.quiet_hours,
      state: channels.state,
      replaces: channels.replaces,
      pending: pendingOfAccount,
      listener: channels.listener,
      handle: lastHandle,
    },
    question_delivery: {
      sent_at: questionDeliveries.sent_at,
      shown_at: questionDeliveries.shown_at,
    },
    activity: {
      task_id: live_activities.task_id,
      ended_at: live_activities.ended_at,
      timestamp: live_activities.push_timestamp,
    },
  })
  .from(deliveries)
  .leftJoin(deliveryTargets, targetOf(sql`deliveries`))
  .leftJoin(
    accounts,
    sql`${accounts.id} = ${deliveries.account_id} and ${accounts.deleted_at} is null`,
  )
  .leftJoin(keys, sql`${keys.id} = ${deliveries.key_id} and ${keys.deleted_at} is null`)
  .leftJoin(tasks, sql`${tasks.id} = ${deliveries.task_id} and ${tasks.key_id} = ${keys.id}`)
  .leftJoin(
    questions,
    sql`${questions.id} = ${deliveries.question_id} and ${questions.key_id} = ${keys.id}`,
  )
  .leftJoin(channels, eq(channels.id, deliveries.recipient_id))
  .leftJoin(
    questionDeliveries,
    and(
      eq(questionDeliveries.question_id, deliveries.question_id),
      eq(questionDeliveries.target_id, deliveries.recipient_id),
    ),
  )
  .leftJoin(
    live_activities,
    and(
      eq(live_activities.account_id, deliveries.account_id),
      eq(live_activities.device_id, deliveries.recipient_id),
      eq(live_activities.task_id, deliveries.task_id),
    ),
  );

type Nullable<T> = { readonly [Name in keyof T]: T[Name] | null };
type Joined = Awaited<ReturnType<typeof claimed.execute>>[number];

/**
 * A claimed delivery. `target`: where it is sent now, unless the row has a copy of the address. `channel`: all null for
 * a device.
 */
export type ClaimedDelivery = Pick<Joined, "delivery"> & {
  readonly [Name in Exclude<keyof Joined, "delivery">]: Nullable<NonNullable<Joined[Name]>>;
};

/** The deliveries that a claim leased, the urgent ones first. */
export const claimedDeliveries = select(
  claimed as unknown as Query<ClaimedDelivery>,
  sql`where ${leased(sql`deliveries`)} order by deliveries.urgency, deliveries.seq`,
  // A delivery about something of a newer version stays leased until a process of that version takes it.
  { unknown: "row" },
);

/** Pending questions at `now` of each task in `ids` (JSON list). */
export const pendingCounts = statement(
  sql`select task_id, count(*) from questions where task_id in (select value from json_each(${p("ids")}))
    and status = 'pending' and expires_at > ${now} group by task_id`,
  { returns: rowsOf<[task_id: string, count: number]>() },
);
