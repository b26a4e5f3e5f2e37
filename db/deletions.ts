/** Removes the rows of deleted keys and accounts, a few at a time (docs/interface.md 5.4.6). */

import type { Clock } from "../src/clock.ts";
import { LIMITS } from "../src/limits.ts";
import { p, type Sql, sql } from "./sql.ts";
import { rowOf, rowsOf, statement } from "./statement.ts";
import type { Store } from "./store.ts";

const deadKey = statement(
  sql`select id from keys where deleted_at is not null order by deleted_at, id limit 1`,
  { gives: rowOf<[id: string]>() },
);

/** The next deleted accounts after one. */
const deadAccounts = statement(
  sql`select deleted_at, id from accounts where deleted_at is not null
    and (deleted_at, id) > (${p("after_ms")}, ${p("after_id")}) order by deleted_at, id limit ${p("limit")}`,
  { gives: rowsOf<[deleted_ms: number, id: string]>() },
);

/** Up to `limit` rows of `owner` in a table that has an index on the owner. */
const some = (table: string, owner: "key_id" | "account_id", which: Sql = sql`true`) =>
  statement(
    sql`delete from ${sql.raw(table)} where rowid in (
      select rowid from ${sql.raw(table)} where ${sql.raw(owner)} = ${p("owner")} and ${which} limit ${p("limit")})`,
  );

/** A registration goes once its `end` push was sent or has expired (docs/interface.md 5.6.2(2)). */
const ended = sql`not exists (select 1 from pushes where token = push_token and kind = 'end')`;

/** What belongs to a key and to an account, besides keys and events. */
const OF_KEY = [
  some("live_activities", "key_id", ended),
  some("push_records", "key_id"),
  some("idempotency", "key_id"),
  some("items", "key_id"),
  // Before the questions, whose removal would take them along: a step stays within its limit.
  statement(
    sql`delete from question_deliveries where (question_id, target_id) in (
      select d.question_id, d.target_id from questions q join question_deliveries d on d.question_id = q.id
      where q.key_id = ${p("owner")} limit ${p("limit")})`,
  ),
  some("questions", "key_id"),
  some("tasks", "key_id"),
  some("activity_blocks", "key_id"),
];
const OF_ACCOUNT = [
  some("live_activities", "account_id", ended),
  some("push_records", "account_id"),
  // Those with a copy of the token tell the devices of the deletion.
  some("pushes", "account_id", sql`token is null`),
  some("idempotency", "account_id"),
  some("webhook_messages", "account_id"),
  some("channels", "account_id"),
  some("open_pages", "account_id"),
  // Before the devices, whose removal would take them along: a step stays within its limit.
  some("push_targets", "account_id"),
  some("devices", "account_id"),
];

const dropKey = statement(sql`delete from keys where id = ${p("id")} and deleted_at is not null`);

/** Its own row is the last one: while anything is left, it says that the account is to be swept. */
const dropAccount = statement(
  sql`delete from accounts where id = ${p("owner")} and deleted_at is not null and not exists (
    ${sql.join(
      [
        ...["keys", "pushes", "live_activities", "push_records", "idempotency"],
        ...["open_pages", "push_targets", "devices", "channels", "webhook_messages"],
      ].map((table) => sql`select 1 from ${sql.raw(table)} where account_id = ${p("owner")}`),
      sql` union all `,
    )})`,
);
const accountIsLeft = statement(sql`select 1 from accounts where id = ${p("id")}`, {
  gives: rowOf<[1]>(),
});

const firstEvent = statement(sql`select min(seq) from events`, {
  gives: rowOf<[seq: number | null]>(),
});
const lastEvent = statement(sql`select seq from sqlite_sequence where name = 'events'`, {
  gives: rowOf<[seq: number]>(),
});
/**
 * Events of some accounts (`ids`, JSON list) between two numbers. There is no index on the account,
 * which each write would pay for: the events are gone through by their numbers.
 */
const theirs = sql`select seq from events where seq > ${p("from")} and seq <= ${p("to")}
  and account_id in (select value from json_each(${p("ids")})) limit ${p("limit")}`;
const findEvents = statement(theirs, { gives: rowsOf<[seq: number]>() });
const dropEvents = statement(sql`delete from events where seq in (${theirs})`);

/** Deleted accounts that one read takes, and that share one walk through the events. */
const PAGE = 50;
const COMPANY = 200;
/** Seconds between two looks for deleted accounts, each through all of them. */
const LOOK_EVERY = 0.5;

/** A deleted account of which nothing is left but events, pushes on their way, and its own row. */
interface Waiting {
  /** Its events have no higher number. */
  readonly seq: number;
  /** When it may be finished, by {@link Clock.elapsed}. */
  due: number;
  /** Whether its events are gone. */
  silent: boolean;
}

/** Goes through the events once, for all accounts that are due then. */
interface Walk {
  readonly ids: readonly string[];
  from: number;
  readonly to: number;
}

/**
 * Makes small steps: at most `limit` rows of one deleted key or account, or a stretch of the events.
 * A step gives whether another one may find work now. What rows to remove follows from the tables
 * alone, so a step that a crash cut off, or that two processes do at once, is done again.
 *
 * The events of an account go some seconds after all else, once no process has any to deliver: a
 * stream whose process meets a gap in their numbers ends (docs/interface.md 5.4.6).
 * The account's own row goes last.
 */
export function createSweeper(store: Store, clock: Pick<Clock, "elapsed">) {
  const waiting = new Map<string, Waiting>();
  let walk: Walk | undefined;
  const BEGINNING = { after_ms: 0, after_id: "" };
  let after = BEGINNING;
  let next_look = clock.elapsed();

  /** Removes some rows of the owner; false when there were none. */
  const removeSome = async (
    removals: typeof OF_KEY,
    owner: string,
    limit: number,
  ): Promise<boolean> => {
    for (const remove of removals) {
      const [result] = await store.write([remove({ owner, limit })]);
      if (result!.changes > 0) return true;
    }
    return false;
  };

  const sweepKey = async (limit: number): Promise<boolean> => {
    const [key] = await store.read(deadKey({}));
    if (key === undefined) return false;
    const owner = key[0];
    const removed = await removeSome(OF_KEY, owner, limit);
    if (!removed) await store.write([dropKey({ id: owner })]);
    return true;
  };

  /** Takes up the deleted accounts that are not yet known; true while there may be more. */
  const sweepAccounts = async (limit: number): Promise<boolean> => {
    if (after === BEGINNING && clock.elapsed() < next_look) return false;
    const rows = await store.read(deadAccounts({ ...after, limit: PAGE }));
    for (const [deleted_ms, id] of rows) {
      if (!waiting.has(id)) {
        if (waiting.size >= LIMITS.deleted_accounts) break;
        if (await removeSome(OF_ACCOUNT, id, limit)) return true;
        const [row] = await store.read(lastEvent({}));
        // The moment after the read: no event must seem older than it is.
        const due = clock.elapsed() + LIMITS.deleted_events_kept;
        waiting.set(id, { seq: row?.[0] ?? 0, due, silent: false });
      }
      after = { after_ms: deleted_ms, after_id: id };
    }
    if (rows.length === PAGE && waiting.size < LIMITS.deleted_accounts) return true;
    // From the beginning the next time: times of processes whose clocks differ are in no order.
    after = BEGINNING;
    next_look = clock.elapsed() + LOOK_EVERY;
    return false;
  };

  const startWalk = async (): Promise<void> => {
    const now = clock.elapsed();
    const due = [...waiting]
      .filter(([, { silent, due }]) => !silent && due <= now)
      .slice(0, COMPANY);
    if (due.length === 0) return;
    const [row] = await store.read(firstEvent({}));
    const to = Math.max(...due.map(([, { seq }]) => seq));
    const first = row?.[0] ?? to + 1;
    walk = { ids: due.map(([id]) => id), from: first - 1, to };
  };

  /** One stretch of the walk. */
  const goOn = async (current: Walk, limit: number): Promise<void> => {
    const to = Math.min(current.to, current.from + LIMITS.deleted_events_step);
    const values = { ids: JSON.stringify(current.ids), from: current.from, to };
    const [found] = to > current.from ? await store.read(findEvents({ ...values, limit: 1 })) : [];
    const removed = found ? (await store.write([dropEvents({ ...values, limit })]))[0]!.changes : 0;
    // The rest of this stretch with the next step.
    if (removed === limit) return;
    current.from = to;
    if (to < current.to) return;
    for (const id of current.ids) waiting.get(id)!.silent = true;
    walk = undefined;
  };

  /** Ends one account of which nothing is left, and what a request under way has added since. */
  const finish = async (limit: number): Promise<boolean> => {
    const now = clock.elapsed();
    const next = waiting.entries().find(([, { silent, due }]) => silent && due <= now);
    if (next === undefined) return false;
    const [id, state] = next;
    const values = { owner: id, limit };
    await store.write([...OF_ACCOUNT.map((remove) => remove(values)), dropAccount(values)]);
    if ((await store.read(accountIsLeft({ id }))).length === 0) waiting.delete(id);
    else state.due = now + LIMITS.deleted_account_retry;
    return true;
  };

  return async (limit: number): Promise<boolean> => {
    if (await sweepKey(limit)) return true;
    if (await sweepAccounts(limit)) return true;
    if (!walk) await startWalk();
    if (walk) {
      await goOn(walk, limit);
      return true;
    }
    return finish(limit);
  };
}
