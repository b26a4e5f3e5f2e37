/**
 * The store port: reads one query, or writes a batch of statements, all or none.
 *
 * There is no interactive transaction, so a file and a libSQL server behave alike. A change that depends on a row
 * reads it, decides in pure code, and writes under the condition that its `revision` is still the one it read.
 * Otherwise it decides again.
 */

import type { Clock } from "../../src/clock.ts";
import { ServiceError } from "../../src/errors.ts";
import { codeOf } from "../../src/log.ts";
import type { Histogram } from "../../src/observability/metrics.ts";
import type { LockHolder } from "./lock-holder.ts";
import type { Vault } from "./vault.ts";

/** Seconds within which the store must answer a read or a write, the wait for its turn included. */
export const STORE_SECONDS = 4;

/** A value of a column or a parameter. A boolean would abort the native binding. */
export type Cell = string | number | null;

/** One SQL statement with its parameters, and how to read its rows. */
export interface Statement<Row = unknown> {
  readonly sql: string;
  readonly args: readonly Cell[];
  /** `rows` for a SELECT or RETURNING. `row` for a SELECT of at most one row, which is quicker. */
  readonly returns: "rows" | "row" | "nothing";
  /**
   * False if a power cut may undo the write; a crash of the process never does. A batch of such statements alone
   * does not wait for the disk: the next synced batch writes it there too.
   */
  readonly synced?: boolean;
  /** The owner of a list. Lists that wait for the server take turns by owner. */
  readonly list_owner?: string | undefined;
  /**
   * A cheaper query that returns no row if the statement would do nothing. A file runs it first and then skips
   * the statement. A server runs it in place of the statement, until it has returned a row once.
   */
  readonly only_if?: Statement | undefined;
  /** An INSERT of many rows, with which a server replaces the equal INSERTs of one group. */
  readonly many?: ManyRows | undefined;
  /** True for the statements of a batch written as {@link WriteOptions.is_independent}. */
  readonly is_independent?: boolean | undefined;
  /** What is counted once the statement has changed something (db/storage.ts). */
  readonly stored?: readonly StoredBytes[] | undefined;
  /** Of an event: whose it is, and how long its data is. */
  readonly event?: { readonly account_id: string; readonly bytes: number } | undefined;
  /** True: it returns rows of an owner, its account, and bytes to count. */
  readonly frees?: boolean | undefined;
  readonly read: (rows: Cell[][]) => Row[];
}

/** Bytes that a key stores from now on, or an account for what belongs to none of its keys; negative if they are freed. */
export interface StoredBytes {
  /** The id of the key or account whose row has the count. */
  readonly owner: string;
  /** Of the key, if it is known: its count in this process is then right at once. */
  readonly account_id?: string | undefined;
  readonly bytes: number;
}

/** Bytes of texts in UTF-8. Those of short ones count as ASCII. */
export function textBytes(...texts: readonly unknown[]): number {
  let bytes = 0;
  for (const text of texts) {
    if (typeof text === "string") bytes += text.length > 64 ? Buffer.byteLength(text) : text.length;
  }
  return bytes;
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

/** The result of a statement of a batch. The numbers mean something only if it returns no rows. */
export interface WriteResult {
  readonly rows: Cell[][];
  /** Rows that the statement itself inserted, updated or deleted, without those of triggers. */
  readonly changes: number;
  /** The rowid that an INSERT added. */
  readonly row_id: number;
}

/** The writes of this process so far. */
export interface StoreStats {
  /** Seconds of each commit, and the number of batches that shared it. */
  readonly durations: Histogram;
  readonly groups: Histogram;
  /** Batches that failed, or whose outcome is unknown. */
  readonly failed: number;
  /** Batches that wait now. */
  readonly queued: number;
}

interface ReadOptions {
  /** Seconds until the read fails with `503 store_unavailable`; at most and by default `STORE_SECONDS`. */
  readonly within?: number | undefined;
  /**
   * True: a file runs the query together with the next read of one row, which saves the locks of one of them. Call
   * {@link Store.runHeld} if that read may not come.
   */
  readonly with_next?: boolean;
}

export interface WriteOptions {
  /**
   * True for writes that no client waits for, such as settling notifications or deleting old rows. They take turns
   * with the writes of requests, a few batches at a time.
   */
  readonly in_background?: boolean;
  /**
   * True for a batch that only adds rows with new ids. Its {@link Statement.many} may then run after the
   * statements of independent batches that follow it in the same commit.
   */
  readonly is_independent?: boolean;
}

export const IN_BACKGROUND: WriteOptions = { in_background: true };

export interface Store {
  readonly kind: "embedded" | "server";
  /** Encrypts what is stored of channels and secrets. */
  readonly vault: Vault;
  /**
   * Runs one query. Throws `503 store_unavailable` if the store cannot be reached or does not answer in time. The
   * read of a file runs on the event loop, so nothing cuts it short.
   */
  read<Row>(statement: Statement<Row>, options?: ReadOptions): Promise<Row[]>;
  /** Runs the query that a read `with_next` holds back, if there is one. */
  runHeld(): void;
  /**
   * Runs the statements as one atomic batch, and resolves once it is on disk (synchronous FULL), unless none of its
   * statements is synced. Batches of a process commit in the order of their calls; background work has its own order.
   * Throws `503 store_unavailable` if the store cannot be used, gives no result within `STORE_SECONDS`
   * seconds, or too many batches wait. The outcome is then unknown.
   */
  write(statements: readonly Statement[], options?: WriteOptions): Promise<WriteResult[]>;
  /**
   * The time of the store's clock in epoch seconds: of the server, or of the disk with the file, which marks writes with
   * it. Throws as {@link Store.read} and {@link Store.write} do.
   */
  time(): Promise<number>;
  /** False while writes fail, and for some seconds after a read of a file failed. */
  usable(): boolean;
  /** True once the file was deleted or replaced. No write is acknowledged from then on. */
  gone(): boolean;
  /**
   * While another process holds the write lock of a file for so long that writes fail: which one, if it can be seen, and
   * for how many seconds this process has waited for it. Null otherwise, and for a server.
   */
  writeLock(): { readonly seconds: number; readonly holder: LockHolder | null } | null;
  /** True while the server has a store other than that of {@link Store.keepTo}. */
  isOther(): boolean;
  /**
   * From now on uses only the store whose signing secret is stored as `signing_value`. While the server has another one, such as an empty
   * one after a loss, every use is `503 store_unavailable`. A file is known by itself ({@link Store.gone}).
   */
  keepTo(signing_value: string): void;
  /**
   * Calls `changed` soon after any process commits an event, and `reconnected` after a lost connection is back. A file
   * calls neither.
   */
  watch(on: { readonly changed: () => void; readonly reconnected: () => void }): void;
  /** Seconds between polls for events of other processes, while someone listens. */
  pollEvery(): number;
  stats(): StoreStats;
  /** Bytes of the write-ahead log beside the file; null if there is none, and for a server. */
  walBytes(): number | null;
  /** Finishes the batches under way, then closes the store. */
  close(): Promise<void>;
}

/** The number of parameters by SQL text. */
const parameters = new Map<string, number>();

/**
 * Throws a `TypeError` for parameters that a binding would misread: a missing one keeps the value of an earlier
 * call, NUL cuts a text off, and a lone surrogate is replaced.
 */
export function checkArgs(sql: string, args: readonly unknown[]): void {
  let count = parameters.get(sql);
  if (count === undefined) {
    // A question mark in a comment or in quotes is not a parameter.
    const quiet = /--[^\n]*|\/\*[\s\S]*?\*\/|'[^']*'|"[^"]*"|`[^`]*`/g;
    count = sql.replace(quiet, "").split("?").length - 1;
    parameters.set(sql, count);
  }
  if (args.length !== count) throw new TypeError("wrong number of parameters");
  for (const arg of args) {
    if (arg === null) continue;
    // An integer beyond 2^53 would come back changed, or not at all.
    if (typeof arg === "number" && Math.abs(arg) <= Number.MAX_SAFE_INTEGER) continue;
    if (typeof arg === "string" && !arg.includes("\0") && arg.isWellFormed()) continue;
    throw new TypeError(`a ${typeof arg} that the store cannot hold`);
  }
}

/** The error of a store that cannot be used now. */
export function unavailable(cause: unknown): ServiceError {
  return new ServiceError("store_unavailable", { cause });
}

/** True if another writer holds the lock. Nothing was written, so the attempt can be repeated. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

/** True if the file or its disk is at fault, not the statement. */
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
 * Repeats `attempt` while the store is busy, until `until` (by {@link Clock.elapsed}). Throws
 * `503 store_unavailable` if the store is away, or busy until then.
 */
export async function whenFree<T>(
  clock: Clock,
  attempt: () => T | Promise<T>,
  until = clock.elapsed() + STORE_SECONDS,
): Promise<T> {
  let busy: unknown = "too late to begin";
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
