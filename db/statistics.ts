/** Figures of the store for the operator: counts, sizes, ids and times. */

import type { AccountFigures, Counts } from "../src/model/admin.ts";
import { storedBy } from "./storage.ts";
import { p, type Sql, sql } from "./store/sql.ts";
import { rowOf, rowsOf, statement } from "./store/statement.ts";
import type { Store } from "./store/store.ts";

/** Rows of a read, which takes about 0.5 ms. Meanwhile a file answers no other read. */
const STEP = 1_000;

/** Reads the rowid of the last of the next rows of a table, and sums over them. */
const step = (table: string, columns: string, sums: string) =>
  statement(
    sql`select max(nr), ${sql.raw(sums)} from (
      select rowid as nr, ${sql.raw(columns)} from ${sql.raw(table)} where rowid > ${p("after")}
      order by rowid limit ${p("limit")})`,
    { returns: rowOf<[last: number | null, ...sums: (number | null)[]]>() },
  );

const LIVE = "deleted_at is null as live";
const TASKS = ["tasks_todo", "tasks_in_progress", "tasks_done", "tasks_cancelled"];
const OF_KEYS = [...TASKS, "unread"];
const STATUSES = ["pending", "answered", "expired", "cancelled"];

const accounts = step("accounts", LIVE, "sum(live)");
const keys = step(
  "keys",
  `${LIVE}, ${OF_KEYS.join()}`,
  `sum(live), ${OF_KEYS.map((column) => `sum(live * ${column})`).join()}`,
);
const devices = step("devices", "1 as one", "sum(one)");
const questions = step(
  "questions",
  "status",
  STATUSES.map((status) => `sum(status = '${status}')`).join(),
);

/** Adds up the sums of all steps. `pause` lets other work run between two steps. */
async function sumRows(store: Store, next: typeof accounts, pause: () => Promise<void>) {
  const totals: number[] = [];
  let after = 0;
  for (;;) {
    const [row] = await store.read(next({ after, limit: STEP }));
    const [last, ...sums] = row!;
    sums.forEach((sum, i) => {
      totals[i] = (totals[i] ?? 0) + (sum ?? 0);
    });
    if (last === null) return totals;
    after = last;
    await pause();
  }
}

/** Counts rows in small reads, so a change made meanwhile may be missing. Tasks are counted in columns of their keys. */
export async function countRows(
  store: Store,
  pause: () => Promise<void>,
): Promise<Omit<Counts, "counted_at" | "took">> {
  const [all_accounts = 0] = await sumRows(store, accounts, pause);
  const [all_keys = 0, todo = 0, in_progress = 0, done = 0, cancelled = 0, unread_items = 0] =
    await sumRows(store, keys, pause);
  const [all_devices = 0] = await sumRows(store, devices, pause);
  const [pending = 0, answered = 0, expired = 0, given_up = 0] = await sumRows(
    store,
    questions,
    pause,
  );
  return {
    accounts: all_accounts,
    keys: all_keys,
    devices: all_devices,
    tasks: { todo, in_progress, done, cancelled },
    questions: { pending, answered, expired, cancelled: given_up },
    unread_items,
  };
}

type FiguresOfAccount = [
  ...[keys: number, todo: number, in_progress: number, done: number, cancelled: number],
  ...[last_used_ms: number | null, devices: number, pending: number],
  ...[name: string | null, blocked_ms: number | null, sign_ins: number, here_ms: number | null],
  stored_bytes: number,
];

/** The figures of the live accounts that `which` chooses, newest first. An account has at most 100 keys. */
const figuresOf = <P>(which: Sql<P>) =>
  statement(
    sql`select a.id, a.created_at, count(k.id), coalesce(sum(k.tasks_todo), 0),
        coalesce(sum(k.tasks_in_progress), 0), coalesce(sum(k.tasks_done), 0),
        coalesce(sum(k.tasks_cancelled), 0), max(k.last_used_at),
        (select count(*) from devices where devices.account_id = a.id),
        (select count(*) from questions where questions.account_id = a.id and status = 'pending'),
        a.admin_name, a.blocked_at,
        (select count(*) from credentials c where c.account_id = a.id and c.key_id is null),
        (select max(c.last_used_at) from credentials c where c.account_id = a.id and c.key_id is null),
        ${storedBy("a")}
      from (select id, created_at, admin_name, blocked_at, stored_bytes from accounts where deleted_at is null and ${which}) as a
      left join keys as k on k.account_id = a.id and k.deleted_at is null
      group by a.id order by a.id desc`,
    { returns: rowsOf<[id: string, created_ms: number, ...FiguresOfAccount]>() },
  );

// The inner query reads a page by the primary key.
const page = figuresOf(sql`id < ${p("before")} order by id desc limit ${p("limit")}`);
const listed = figuresOf(sql`id in (select value from json_each(${p("ids")}))`);

// Reads as many rows as it may, whatever their names are.
const names = statement(
  sql`select id, admin_name from accounts where deleted_at is null and id < ${p("before")}
    order by id desc limit ${p("limit")}`,
  { returns: rowsOf<[id: string, name: string | null]>() },
);

/** Sorts after every id. */
const LAST = "~";

/** Up to `limit` accounts before the id `before`, newest first. Null: from the newest on. */
export async function accountFigures(
  store: Store,
  before: string | null,
  limit: number,
): Promise<AccountFigures[]> {
  return (await store.read(page({ before: before ?? LAST, limit }))).map(toFigures);
}

/** Those of at most some hundred accounts that exist, newest first. */
export async function accountFiguresOf(
  store: Store,
  ids: readonly string[],
): Promise<AccountFigures[]> {
  return (await store.read(listed({ ids: JSON.stringify(ids) }))).map(toFigures);
}

/** Ids and names of up to `limit` accounts before the id `before`, newest first. Null: from the newest on. */
export const accountNames = (store: Store, before: string | null, limit: number) =>
  store.read(names({ before: before ?? LAST, limit }));

function toFigures([id, created_ms, ...figures]: readonly [
  id: string,
  created_ms: number,
  ...FiguresOfAccount,
]): AccountFigures {
  const [keys, todo, in_progress, done, cancelled, last_used_ms, devices, pending, ...person] =
    figures;
  const [name, blocked_ms, sign_ins, here_ms, stored_bytes] = person;
  return {
    id,
    created_at: created_ms / 1000,
    keys,
    devices,
    tasks: { todo, in_progress, done, cancelled },
    pending_questions: pending,
    last_used_at: last_used_ms === null ? null : last_used_ms / 1000,
    name,
    blocked_at: blocked_ms === null ? null : blocked_ms / 1000,
    sign_ins,
    last_here_at: here_ms === null ? null : here_ms / 1000,
    stored_bytes,
  };
}

const size = statement(
  sql`select page_count * page_size from pragma_page_count(), pragma_page_size()`,
  { returns: rowOf<[bytes: number]>() },
);

/** Bytes of the store, without the log beside a file. */
export async function storeBytes(store: Store): Promise<number> {
  const [row] = await store.read(size({}));
  return row![0];
}

type Figure = number | null;

// The oldest events are removed first and the numbers have no gaps, so first and last give the count.
const ends = statement(
  sql`select (select min(seq) from events), (select max(seq) from events),
    (select created_at from events order by seq limit 1),
    (select seq from sqlite_sequence where name = 'events')`,
  { returns: rowOf<[first: Figure, last: Figure, oldest_ms: Figure, latest: Figure]>() },
);

/** The stored events; `latest` is the newest number that was given. */
export async function eventFigures(store: Store) {
  const [row] = await store.read(ends({}));
  const [first, last, oldest_ms, latest] = row!;
  return {
    rows: first === null || last === null ? 0 : last - first + 1,
    oldest_at: oldest_ms === null ? null : oldest_ms / 1000,
    latest: latest ?? 0,
  };
}
