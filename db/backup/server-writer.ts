/** Fills an empty libSQL server with the tables of a store, so that it is a store only once everything is there. */

import { afterRunning } from "../../src/clock.ts";
import { createHranaStream, type Endpoint, HranaError } from "../store/hrana.ts";
import { type Cell, type Statement, whenFree } from "../store/store.ts";
import { UNFINISHED_TABLE as MARK } from "../store/store-contents.ts";
import { isDisproof } from "../store/store-proof.ts";
import { BackupError } from "./backup-files.ts";
import { readServer, serverSchema } from "./cursor.ts";
import {
  createSums,
  differences,
  quoted,
  type RowTaker,
  type Schema,
  SEQUENCE,
  type TableSum,
  type Value,
} from "./rows.ts";
import type { Work } from "./snapshot.ts";

/** Characters and rows that are sent at once, and indexes and triggers. */
const BATCH = { characters: 500_000, rows: 1_000, others: 20 } as const;
/** Seconds for a batch, and for an index of a large table. */
const WITHIN = { batch: 60, index: 600 } as const;

/** Without these tables it is no store of Relay (store-contents.ts), so they come last. */
const LAST: ReadonlySet<string> = new Set(["relay_migrations", "store_facts"]);

/** Reads a store into a taker, which first gets the tables by `begin`. */
export type ReadStore = (
  taker: RowTaker,
  begin: (schema: Schema) => Promise<void>,
) => Promise<Schema>;

/**
 * Copies all tables to a server without tables, in several transactions, and compares the rows of both. `settled` runs
 * before the last transaction, and may throw. If it fails or is killed, the server is no store, and the next call begins
 * again. Throws {@link BackupError} for a server that has tables of something else.
 */
export async function fillServer(
  endpoint: Endpoint,
  read: ReadStore,
  run: string,
  { clock, signal }: Work,
  settled: (sums: ReadonlyMap<string, TableSum>) => Promise<void> = async () => {},
): Promise<ReadonlyMap<string, TableSum>> {
  const write = writerOf(endpoint, { clock, signal });
  /** Fails if another command fills the same server. */
  const ours: Text = [
    `select case when exists (select 1 from ${MARK} where run = ?) then 1 else json('') end`,
    [run],
  ];
  const fill = (statements: readonly Text[], within?: number) =>
    write([ours, ...statements], within);

  const left = await claimServer(endpoint, run, { clock, signal });
  for (const name of left) await fill([[`drop table ${quoted(name)}`]], WITHIN.index);

  const last: Text[] = [];
  let schema: Schema | undefined;
  let insert = "";
  let is_last = false;
  let rows: string[] = [];
  let characters = 0;
  const flush = async () => {
    if (rows.length === 0) return;
    const statement: Text = [insert, [`[${rows.join(",")}]`]];
    rows = [];
    characters = 0;
    if (is_last) last.push(statement);
    else await fill([statement]);
  };
  const { taker, sums } = createSums({
    async table(name, columns) {
      await flush();
      is_last = LAST.has(name);
      const cells = columns.map((_, i) => `value ->> ${i}`);
      insert = `insert into ${quoted(name)} (${columns.map(quoted).join(", ")}) select ${cells.join(", ")} from json_each(?)`;
      if (name === SEQUENCE.name) await fill([["delete from sqlite_sequence"]]);
    },
    row(values) {
      const text = JSON.stringify(values.map(toCell));
      rows.push(text);
      characters += text.length;
      const is_full = characters >= BATCH.characters || rows.length >= BATCH.rows;
      return is_full ? flush() : undefined;
    },
  });
  const copied = await read(taker, async (its) => {
    schema = its;
    const tables = its.tables.map(({ name, sql }): [boolean, Text] => [LAST.has(name), [sql]]);
    for (const [is_late, text] of tables) if (is_late) last.push(text);
    await fill(tables.filter(([is_late]) => !is_late).map(([, text]) => text));
  });
  await flush();
  if (!schema) throw new BackupError("the store has no tables");
  for (let i = 0; i < copied.others.length; i += BATCH.others) {
    const texts = copied.others.slice(i, i + BATCH.others).map(({ sql }): Text => [sql]);
    await fill(texts, WITHIN.index);
  }

  const written = createSums();
  await readServer(endpoint, written.taker, clock, signal);
  const wrong = differences(without(sums), without(written.sums));
  if (wrong.length > 0) throw new BackupError(`the copy differs in ${wrong.join(", ")}`);
  await settled(sums);
  await fill([...last, [`drop table ${MARK}`]]);
  return sums;
}

/**
 * Marks a server without tables, so that no Relay starts on it before {@link fillServer} is complete. Returns the tables
 * that an earlier call has left.
 */
export async function claimServer(
  endpoint: Endpoint,
  run: string,
  work: Work,
): Promise<readonly string[]> {
  const write = writerOf(endpoint, work);
  const found = await tablesOf(endpoint, work);
  await write(
    found.includes(MARK)
      ? [[`update ${MARK} set run = ?`, [run]]]
      : [[`create table ${MARK} (run text)`], [`insert into ${MARK} values (?)`, [run]]],
  );
  return found.filter((name) => name !== MARK);
}

/** Returns a function that writes statements in one transaction. */
function writerOf(endpoint: Endpoint, { clock, signal }: Work) {
  const stream = createHranaStream(endpoint, clock);
  return async (statements: readonly Text[], within: number = WITHIN.batch): Promise<void> => {
    signal?.throwIfAborted();
    const overdue = new AbortController();
    const cancel = afterRunning(clock, within, () => overdue.abort());
    try {
      // The server may be busy with a checkpoint.
      await whenFree(
        clock,
        () => stream.write(statements.map(toStatement), overdue.signal),
        clock.elapsed() + within,
      );
    } catch (error) {
      throw refusal(error);
    } finally {
      cancel();
    }
  };
}

/** The tables that an earlier call has left. Throws {@link BackupError} if the server has others. */
export async function tablesOf(endpoint: Endpoint, { clock, signal }: Work): Promise<string[]> {
  const found = (await serverSchema(endpoint, clock, signal)).tables.map(({ name }) => name);
  if (found.length === 0 || found.includes(MARK)) return found;
  throw new BackupError("the libSQL server has tables already; it must be empty");
}

const without = (sums: ReadonlyMap<string, TableSum>) =>
  new Map([...sums].filter(([name]) => name !== MARK && !LAST.has(name)));

type Text = readonly [sql: string, args?: readonly Cell[]];

const toStatement = ([sql, args = []]: Text): Statement => ({
  sql,
  args,
  returns: "nothing",
  read: () => [],
});

function toCell(value: Value): Cell {
  if (typeof value === "bigint" || value instanceof Uint8Array) {
    throw new BackupError("the store has a value that Relay did not write");
  }
  return value;
}

function refusal(error: unknown): BackupError {
  if (error instanceof HranaError && isDisproof(error)) {
    return new BackupError("another command began to fill the same libSQL server", {
      cause: error,
    });
  }
  const why =
    error instanceof HranaError
      ? `refused a change: ${error.message}`
      : "cannot be reached, or does not answer";
  return new BackupError(`the libSQL server ${why}`, { cause: error });
}
