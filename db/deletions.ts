/** Removes the rows of deleted keys and accounts, a few at a time (§5.4.6). */

import type { Clock } from "../src/clock.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { rowOf, rowsOf, statement } from "./store/statement.ts";
import { IN_BACKGROUND, type Store } from "./store/store.ts";

/**
 * Seconds between the removal of everything else of a deleted account and the removal of its events: longer than the 6
 * seconds within which every process has delivered them or has ended its streams.
 */
export const EVENTS_KEPT = 10;
/** Events that one step searches for those of deleted accounts: under 1 ms. */
const EVENTS_STEP = 2_000;
/** Deleted accounts that one process removes at once; the others wait. */
const ACCOUNTS = 10_000;
/** Seconds until a deleted account that has notifications to send is looked at again. */
const RETRY_AFTER = 30;

const deadKey = statement(
  sql`select id from keys where deleted_at is not null order by deleted_at, id limit 1`,
  { returns: rowOf<[id: string]>() },
);

/** Deleted accounts after a given one, in the order of their deletion. */
const deadAccounts = statement(
  sql`select deleted_at, id from accounts where deleted_at is not null
    and (deleted_at, id) > (${p("after_ms")}, ${p("after_id")}) order by deleted_at, id limit ${p("limit")}`,
  { returns: rowsOf<[deleted_ms: number, id: string]>() },
);

/** Deletes up to `limit` rows of `owner` from a table that has an index on the owner. */
const deleteSome = (table: string, owner: "key_id" | "account_id", which: Sql = sql`true`) =>
  statement(
    sql`delete from ${sql.raw(table)} where rowid in (
      select rowid from ${sql.raw(table)} where ${sql.raw(owner)} = ${p("owner")} and ${which} limit ${p("limit")})`,
  );

/** A live activity goes once its `end` notification was sent or has expired (§5.6.2(2)). */
const ended = sql`not exists (select 1 from deliveries where address = push_token and kind = 'end')`;

// The rows of a key and of an account, besides keys and events.
const OF_KEY = [
  deleteSome("live_activities", "key_id", ended),
  deleteSome("delivery_records", "key_id"),
  deleteSome("idempotency", "key_id"),
  deleteSome("items", "key_id"),
  // Before the questions, whose triggers would remove them beyond the limit of a step.
  statement(
    sql`delete from question_deliveries where (question_id, target_id) in (
      select d.question_id, d.target_id from questions q join question_deliveries d on d.question_id = q.id
      where q.key_id = ${p("owner")} limit ${p("limit")})`,
  ),
  deleteSome("questions", "key_id"),
  // Before the tasks, for the same reason.
  statement(
    sql`delete from task_history where (task_id, seq) in (
      select h.task_id, h.seq from tasks t join task_history h on h.task_id = t.id
      where t.key_id = ${p("owner")} limit ${p("limit")})`,
  ),
  deleteSome("tasks", "key_id"),
  deleteSome("request_log", "key_id"),
];
const OF_ACCOUNT = [
  deleteSome("live_activities", "account_id", ended),
  deleteSome("delivery_records", "account_id"),
  // A delivery with its own address still tells a device of the deletion.
  deleteSome("deliveries", "account_id", sql`address is null`),
  deleteSome("idempotency", "account_id"),
  deleteSome("webhook_messages", "account_id"),
  // Before the channels, whose triggers would remove them beyond the limit of a step.
  statement(
    sql`delete from channel_messages where (channel_id, handle) in (
      select m.channel_id, m.handle from channels c join channel_messages m on m.channel_id = c.id
      where c.account_id = ${p("owner")} limit ${p("limit")})`,
  ),
  deleteSome("channels", "account_id"),
  deleteSome("open_pages", "account_id"),
  // Before the devices, whose triggers would remove them beyond the limit of a step.
  deleteSome("delivery_targets", "account_id"),
  deleteSome("devices", "account_id"),
];

const dropKey = statement(sql`delete from keys where id = ${p("id")} and deleted_at is not null`);

/** The account row goes last, since the sweeper looks for rows of the accounts that have one. */
const dropAccount = statement(
  sql`delete from accounts where id = ${p("owner")} and deleted_at is not null and not exists (
    ${sql.join(
      [
        ...["keys", "deliveries", "live_activities", "delivery_records", "idempotency"],
        ...["open_pages", "delivery_targets", "devices", "channels", "webhook_messages"],
      ].map((table) => sql`select 1 from ${sql.raw(table)} where account_id = ${p("owner")}`),
      sql` union all `,
    )})`,
);
const accountIsLeft = statement(sql`select 1 from accounts where id = ${p("id")}`, {
  returns: rowOf<[1]>(),
});

const firstEvent = statement(sql`select min(seq) from events`, {
  returns: rowOf<[seq: number | null]>(),
});
const lastEvent = statement(sql`select seq from sqlite_sequence where name = 'events'`, {
  returns: rowOf<[seq: number]>(),
});
/**
 * Events of the accounts `ids` (JSON list) in a range of numbers. They are scanned by number: an index on the account
 * would slow every write.
 */
const eventsOfAccounts = sql`select seq from events where seq > ${p("from")} and seq <= ${p("to")}
  and account_id in (select value from json_each(${p("ids")})) limit ${p("limit")}`;
const findEvents = statement(eventsOfAccounts, { returns: rowsOf<[seq: number]>() });
const dropEvents = statement(sql`delete from events where seq in (${eventsOfAccounts})`);

/** Deleted accounts per read. */
const PAGE = 50;
/** Deleted accounts whose events are removed in one scan. */
const ACCOUNTS_PER_SCAN = 200;
/** Seconds between two passes over the deleted accounts. */
const PASS_EVERY = 0.5;

/** A deleted account of which only events, deliveries under way and its own row are left. */
interface Waiting {
  /** Its events have no higher number. */
  readonly seq: number;
  /** When its next step may begin, by {@link Clock.elapsed}. */
  due: number;
  events_deleted: boolean;
}

/** A scan of the events for all accounts that were due when it began. */
interface EventScan {
  readonly ids: readonly string[];
  /** Events up to this number have been scanned. */
  from: number;
  /** The last number to scan. */
  readonly to: number;
}

/**
 * Returns a function that makes one small step: it deletes up to `limit` rows of a deleted key or account, or scans a
 * range of events, and returns true if there may be more to do at once. The tables say what is left, so a step may be
 * repeated after a crash, or run in two processes at once.
 *
 * The events of an account are deleted some seconds after everything else, when every process has delivered them: a
 * process that meets a gap in the numbers ends its streams (§5.4.6). The account row goes last.
 */
export function createSweeper(store: Store, clock: Pick<Clock, "elapsed">) {
  const waiting = new Map<string, Waiting>();
  let scan: EventScan | undefined;
  const START = { after_ms: 0, after_id: "" };
  let after = START;
  let next_pass = clock.elapsed();

  /** Removes some rows of the owner; returns false if there were none. */
  const removeSome = async (
    removals: typeof OF_KEY,
    owner: string,
    limit: number,
  ): Promise<boolean> => {
    for (const remove of removals) {
      const [result] = await store.write([remove({ owner, limit })], IN_BACKGROUND);
      if (result!.changes > 0) return true;
    }
    return false;
  };

  const sweepKey = async (limit: number): Promise<boolean> => {
    const [key] = await store.read(deadKey({}));
    if (key === undefined) return false;
    const owner = key[0];
    const removed = await removeSome(OF_KEY, owner, limit);
    if (!removed) await store.write([dropKey({ id: owner })], IN_BACKGROUND);
    return true;
  };

  /** Deletes rows of deleted accounts that are not yet in `waiting`; returns true while there may be more. */
  const sweepAccounts = async (limit: number): Promise<boolean> => {
    if (after === START && clock.elapsed() < next_pass) return false;
    const rows = await store.read(deadAccounts({ ...after, limit: PAGE }));
    for (const [deleted_ms, id] of rows) {
      if (!waiting.has(id)) {
        if (waiting.size >= ACCOUNTS) break;
        if (await removeSome(OF_ACCOUNT, id, limit)) return true;
        const [row] = await store.read(lastEvent({}));
        // Read before the clock, so that no event seems older than it is.
        const due = clock.elapsed() + EVENTS_KEPT;
        waiting.set(id, { seq: row?.[0] ?? 0, due, events_deleted: false });
      }
      after = { after_ms: deleted_ms, after_id: id };
    }
    if (rows.length === PAGE && waiting.size < ACCOUNTS) return true;
    // Start over: clocks of processes differ, so a deletion with an earlier time may come later.
    after = START;
    next_pass = clock.elapsed() + PASS_EVERY;
    return false;
  };

  const startScan = async (): Promise<void> => {
    const now = clock.elapsed();
    const due = [...waiting]
      .filter(([, { events_deleted, due }]) => !events_deleted && due <= now)
      .slice(0, ACCOUNTS_PER_SCAN);
    if (due.length === 0) return;
    const [row] = await store.read(firstEvent({}));
    const to = Math.max(...due.map(([, { seq }]) => seq));
    const first = row?.[0] ?? to + 1;
    scan = { ids: due.map(([id]) => id), from: first - 1, to };
  };

  /** Scans the next range of events, and deletes up to `limit` of those accounts. */
  const scanEvents = async (current: EventScan, limit: number): Promise<void> => {
    const to = Math.min(current.to, current.from + EVENTS_STEP);
    const values = { ids: JSON.stringify(current.ids), from: current.from, to };
    const [found] = to > current.from ? await store.read(findEvents({ ...values, limit: 1 })) : [];
    const removed = found
      ? (await store.write([dropEvents({ ...values, limit })], IN_BACKGROUND))[0]!.changes
      : 0;
    // The next step deletes the rest of this range.
    if (removed === limit) return;
    current.from = to;
    if (to < current.to) return;
    for (const id of current.ids) waiting.get(id)!.events_deleted = true;
    scan = undefined;
  };

  /** Deletes the row of an account without other rows, and rows that a late request added. */
  const finish = async (limit: number): Promise<boolean> => {
    const now = clock.elapsed();
    const next = waiting
      .entries()
      .find(([, { events_deleted, due }]) => events_deleted && due <= now);
    if (next === undefined) return false;
    const [id, state] = next;
    const values = { owner: id, limit };
    await store.write(
      [...OF_ACCOUNT.map((remove) => remove(values)), dropAccount(values)],
      IN_BACKGROUND,
    );
    if ((await store.read(accountIsLeft({ id }))).length === 0) waiting.delete(id);
    else state.due = now + RETRY_AFTER;
    return true;
  };

  return async (limit: number): Promise<boolean> => {
    if (await sweepKey(limit)) return true;
    if (await sweepAccounts(limit)) return true;
    if (!scan) await startScan();
    if (scan) {
      await scanEvents(scan, limit);
      return true;
    }
    return finish(limit);
  };
}
