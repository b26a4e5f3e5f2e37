/**
 * The store port: read one query, or write a batch that happens whole or not at all.
 *
 * There is no interactive transaction, so an embedded file and a libSQL server behave alike. A
 * change that needs old and new state reads, decides in pure code, and writes guarded by the
 * `revision` it read; when the guard misses, it decides again.
 */

import type { Clock } from "../src/clock.ts";
import { ServiceError } from "../src/errors.ts";
import { codeOf } from "../src/log.ts";
import type { Histogram } from "../src/observability/metrics.ts";

/** Seconds within which the store must answer a read or a write, the wait for its turn included. */
export const STORE_SECONDS = 4;

/** What a column holds and a parameter may be. A boolean would abort the native binding. */
export type Cell = string | number | null;

/** One SQL statement with its parameters, and how to read its rows. */
export interface Statement<Row = unknown> {
  readonly sql: string;
  readonly args: readonly Cell[];
  /**
   * What the statement gives: rows (a SELECT, or RETURNING), at most one row (a SELECT by a unique
   * column, which is quicker), or nothing.
   */
  readonly gives: "rows" | "row" | "nothing";
  /**
   * False for what a power cut may undo. A batch of such statements alone does not wait for the
   * disk; the next other one brings it there too. A crash of the process undoes nothing.
   */
  readonly synced?: boolean;
  /** Whose list it is: reads of several rows take turns by it where they wait for the store. */
  readonly of?: string | undefined;
  /**
   * A cheaper query that returns no row if the statement would do nothing. A file runs it first and then skips
   * the statement. A server runs it in place of the statement, until it has returned a row once.
   */
  readonly only_if?: Statement | undefined;
  /** The same INSERT for many rows, with which a server replaces those of one group. */
  readonly many?: ManyRows | undefined;
  /** True for the statements of a batch written as {@link WriteOptions.is_independent}. */
  readonly is_independent?: boolean | undefined;
  readonly read: (rows: Cell[][]) => Row[];
}

/** An INSERT of many rows in one statement. */
export interface ManyRows {
  /**
   * Takes one parameter, a JSON list of the parameters of each row. Returns, for each row that it inserts, the
   * number of that row and its value at `key`.
   */
  readonly sql: string;
  /** The parameter that tells the rows of one group apart. */
  readonly key: number;
}

/** What a statement of a batch did; the numbers are meaningful only where it gives no rows. */
export interface WriteResult {
  readonly rows: Cell[][];
  /** Rows inserted, updated or deleted by the statement itself, triggers aside. */
  readonly changes: number;
  /** The number of the row that an INSERT added. */
  readonly row_id: number;
}

/** The writes of this process so far. */
export interface StoreStats {
  /** Seconds of each commit, and batches that shared it. */
  readonly durations: Histogram;
  readonly groups: Histogram;
  /** Batches that were not written, or may not have been. */
  readonly failed: number;
  /** Batches that wait for their turn now. */
  readonly queued: number;
}

interface ReadOptions {
  /** Seconds until it is given up with `503 store_unavailable`; `STORE_SECONDS` at the most. */
  readonly within?: number | undefined;
}

export interface WriteOptions {
  /**
   * True for writes that no client waits for, such as settling notifications and deleting old rows. They take
   * turns with the writes of requests, a few batches at a time.
   */
  readonly in_background?: boolean;
  /**
   * True for a batch that only adds rows with new ids. Its {@link Statement.many} may then run after the
   * statements of independent batches that follow it in the same commit.
   */
  readonly is_independent?: boolean;
}

/** The options of background work. */
export const IN_BACKGROUND: WriteOptions = { in_background: true };

export interface Store {
  /** A file, or a libSQL server. */
  readonly kind: "embedded" | "server";
  /**
   * Runs one query. Throws `503 store_unavailable` when the store cannot be reached, or does not
   * answer in time; a file's read runs on the event loop, which nothing can cut short.
   */
  read<Row>(statement: Statement<Row>, options?: ReadOptions): Promise<Row[]>;
  /**
   * Runs the statements as one atomic batch. Resolves after the commit is durable (synchronous
   * FULL), unless no statement asks for it; batches of one process commit in the order of their calls,
   * background work in an order of its own.
   * Throws `503 store_unavailable` when the store cannot be used, when it gives no result within
   * `STORE_SECONDS` seconds, and when too many batches wait; the outcome is then unknown.
   */
  write(statements: readonly Statement[], options?: WriteOptions): Promise<WriteResult[]>;
  /** False while writes fail, and for some seconds after a read met a fault of a file. */
  usable(): boolean;
  /** True once the file was deleted or replaced: nothing is acknowledged any more. */
  gone(): boolean;
  /** True while the server has another store than the one of {@link Store.keepTo}. */
  isOther(): boolean;
  /**
   * From now on uses only the store with this signing secret. While the server has another one, such as an empty
   * one after a loss, every use is `503 store_unavailable`. A file is known by itself ({@link Store.gone}).
   */
  keepTo(signing_secret: string): void;
  /**
   * Calls `changed` soon after any process commits an event, and `reconnected` after the connection was lost, where
   * the store can tell.
   */
  watch(on: { readonly changed: () => void; readonly reconnected: () => void }): void;
  /** Seconds between polls for events of other processes, while someone listens. */
  pollEvery(): number;
  stats(): StoreStats;
  /** Bytes of the write-ahead log beside the file; null where there is none to be seen. */
  walBytes(): number | null;
  /** Finishes the batches under way, then lets go of the store. */
  close(): Promise<void>;
}

/** Number of parameters by SQL text; the texts are as few as the queries in the code. */
const parameters = new Map<string, number>();

/**
 * Refuses parameters that a binding would take wrongly: too few keep a previous caller's value,
 * NUL cuts a text off, a lone surrogate is replaced.
 */
export function checkArgs(sql: string, args: readonly unknown[]): void {
  let count = parameters.get(sql);
  if (count === undefined) {
    // A question mark in a comment or in quotes is no parameter.
    const quiet = /--[^\n]*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|`[^`]*`/g;
    count = sql.replace(quiet, "").split("?").length - 1;
    parameters.set(sql, count);
  }
  if (args.length !== count) throw new TypeError("the number of parameters is not the statement's");
  for (const arg of args) {
    if (arg === null) continue;
    // An integer beyond 2^53 would come back as another one, or not at all.
    if (typeof arg === "number" && Math.abs(arg) <= Number.MAX_SAFE_INTEGER) continue;
    if (typeof arg === "string" && !arg.includes("\0") && arg.isWellFormed()) continue;
    throw new TypeError(`a ${typeof arg} that the store cannot hold`);
  }
}

/** The error for every case in which the store cannot be used now. */
export function unavailable(cause: unknown): ServiceError {
  return new ServiceError("store_unavailable", { cause });
}

/** True when another writer holds the lock: nothing was written, and a repetition is safe. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

/** True when the file or its disk is at fault, rather than the statement. */
export function isAway(error: unknown): boolean {
  return /^(SQLITE_(IOERR|FULL|CANTOPEN|READONLY|CORRUPT|NOTADB|NOMEM|PROTOCOL)|FILE_GONE|OTHER_STORE)/.test(
    codeOf(error),
  );
}

/** False if the work does not end within `STORE_SECONDS` seconds. It must not reject. */
export async function endsInTime(clock: Clock, work: Promise<void> | undefined): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(STORE_SECONDS, () => resolve(false));
  void Promise.resolve(work).then(() => resolve(true));
  const ended = await promise;
  cancel();
  return ended;
}

/** Seconds between tries while another writer holds the lock. */
const RETRY_EVERY = 0.002;

/**
 * Repeats `attempt` while the store is busy, until `until` (as {@link Clock.elapsed}). What shows the
 * store to be away, or busy for too long, becomes a 503.
 */
export async function whenFree<T>(
  clock: Clock,
  attempt: () => T | Promise<T>,
  until = clock.elapsed() + STORE_SECONDS,
): Promise<T> {
  let busy: unknown = new Error("too late to begin");
  for (;;) {
    if (clock.elapsed() >= until) throw unavailable(busy);
    try {
      return await attempt();
    } catch (error) {
      busy = error;
      if (isAway(error)) throw unavailable(error);
      if (!isBusy(error)) throw error;
      await new Promise<void>((next) => clock.after(RETRY_EVERY, next));
    }
  }
}
