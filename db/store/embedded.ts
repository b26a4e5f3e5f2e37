/** The embedded store: a libSQL file through the native binding, with group commit. */

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../src/clock.ts";
import { ServiceError } from "../../src/errors.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { openConnection } from "./connection.ts";
import { FileGone, type ReportFault, WriteLockHeld } from "./faults.ts";
import { findLockHolder, type LockHolder } from "./lock-holder.ts";
import { createPairedReads } from "./read-pair.ts";
import { sql } from "./sql.ts";
import { statement } from "./statement.ts";
import {
  IN_BACKGROUND,
  isAway,
  isBusy,
  STORE_SECONDS,
  type Statement,
  type Store,
  unavailable,
  type WriteResult,
  whenFree,
} from "./store.ts";
import { checkStoreFile, createStoreFile, watchStoreFile } from "./store-file.ts";
import { PLAIN, type Vault } from "./vault.ts";
import { createWriteQueue } from "./write-queue.ts";

/** Milliseconds that the reading connection waits for a lock: short, since it blocks the event loop. */
const LOCK_WAIT_MS = 5;

/** Seconds between polls for new events; a poll takes 4 µs. */
const POLL_EVERY = 0.01;

/** Seconds of SQL on the event loop after which a group yields to other work. */
const SLICE = 0.001;

/** Seconds after a read met a fault of the file during which `GET /health` says so. */
const READ_FAULT_REST = 10;

/** The path in a `file:` URL. */
export const pathOf = (url: string): string =>
  url.startsWith("file://") ? fileURLToPath(url) : url.slice("file:".length);

/** Writes something to the log. Earlier versions compare the value with their clocks. */
const touch = statement(
  sql`insert into store_facts (name, value) values ('clock', cast(unixepoch('subsec') * 1000 as integer))
    on conflict (name) do update set value = excluded.value`,
  { synced: false },
);

/** When the log was written last by the clock of its disk, in epoch seconds. */
const markOf = (path: string): number => statSync(`${path}-wal`).mtimeMs / 1000;

/** The result of a skipped statement. */
const NOTHING: WriteResult = { rows: [], changes: 0, row_id: 0 };

/**
 * Opens the file in WAL mode with synchronous FULL, and creates it and its folder if they are missing. Throws
 * `RefusedStore` for a file that must not be used, before anything is written.
 *
 * Reads have their own connection. The statements of a group run on the writing connection, on the event loop; its
 * COMMIT, which waits for the disk, runs in a thread of the binding. With FULL, other connections see a commit only
 * once it is synced, so what is read is durable.
 */
export async function openEmbedded(
  url: string,
  clock: Clock,
  report: ReportFault,
  vault: Vault = PLAIN,
): Promise<Store> {
  const given = pathOf(url);
  const { file_key } = vault;
  await checkStoreFile(given, file_key, clock);
  const path = createStoreFile(given);
  const reader = openConnection(path, LOCK_WAIT_MS, file_key);
  // Never waits for a lock: another process may hold it for as long as its disk takes.
  const writer = openConnection(path, 0, file_key);
  let closed = false;

  // Two processes that start at once may both switch the journal.
  await whenFree(clock, () => writer.prepare("pragma journal_mode = wal").all());
  writer.exec("pragma synchronous = full");
  const checkpoints = createCheckpoints(path, file_key, clock, report);
  writer.exec(checkpoints.pragma);
  // The first transaction creates the log.
  await whenFree(clock, () => writer.exec("begin immediate; commit"));
  const isSame = watchStoreFile([given, `${path}-wal`]);
  let gone = false;
  /** The time of the last write that {@link Store.time} knows, as the disk has it. */
  let marked_at = markOf(path);
  /** Set when a read fails; by {@link Clock.elapsed}. */
  let faulty_until = 0;

  const isGone = (): boolean => {
    gone ||= !isSame();
    return gone;
  };

  /** Throws once the file or its log is gone, since later commits would be lost. */
  const assertThere = () => {
    if (isGone()) throw unavailable(new FileGone());
  };

  const doesNothing = ({ only_if }: Statement): boolean =>
    only_if !== undefined && writer.run(only_if).rows.length === 0;

  const commit = async (statements: readonly Statement[]): Promise<WriteResult[]> => {
    writer.prepare("begin immediate").run();
    try {
      const results: WriteResult[] = [];
      let turn = clock.elapsed();
      for (const statement of statements) {
        results.push(doesNothing(statement) ? NOTHING : writer.run(statement));
        if (clock.elapsed() - turn < SLICE) continue;
        await new Promise<void>((next) => setImmediate(next));
        turn = clock.elapsed();
      }
      await writer.execAsync("commit");
      checkpoints.committed(results);
      return results;
    } catch (error) {
      if (writer.inTransaction()) writer.prepare("rollback").run();
      throw error;
    }
  };

  const commitUnsynced = async (statements: readonly Statement[]): Promise<WriteResult[]> => {
    writer.exec("pragma synchronous = normal");
    try {
      return await commit(statements);
    } finally {
      writer.exec("pragma synchronous = full");
    }
  };

  const commitGroup = async (statements: readonly Statement[]): Promise<WriteResult[]> => {
    const is_synced = statements.some(({ synced }) => synced !== false);
    const results = await (is_synced ? commit(statements) : commitUnsynced(statements));
    assertThere();
    return results;
  };

  /** Since when no write got the lock that another process holds, by {@link Clock.elapsed}; null while writes do. */
  let locked_since: number | null = null;
  let holder: LockHolder | null = null;

  const commitOnce = async (statements: readonly Statement[]): Promise<WriteResult[]> => {
    try {
      const results = await commitGroup(statements);
      locked_since = null;
      return results;
    } catch (error) {
      locked_since = isBusy(error) ? (locked_since ?? clock.elapsed()) : null;
      throw error;
    }
  };

  const commitWhenFree = (statements: readonly Statement[], until: number) =>
    whenFree(clock, () => commitOnce(statements), until).catch((error: unknown) => {
      if (locked_since === null || !(error instanceof ServiceError)) throw error;
      holder = findLockHolder(path);
      throw unavailable(new WriteLockHeld(holder));
    });

  /** Makes a promise only if the read has to be repeated. */
  const runRead = (statement: Statement, within: number): WriteResult | Promise<WriteResult> => {
    try {
      return reader.run(statement);
    } catch (error) {
      if (!isBusy(error) && !isAway(error)) throw error;
      const until = clock.elapsed() + within;
      return whenFree(clock, () => reader.run(statement), until).catch((thrown: unknown) => {
        if (thrown instanceof ServiceError) {
          faulty_until = clock.elapsed() + READ_FAULT_REST;
          report(thrown);
        }
        throw thrown;
      });
    }
  };
  const reads = createPairedReads({ connection: reader, runAlone: runRead });
  const writes = createWriteQueue(commitWhenFree, clock, report);

  return {
    kind: "embedded",
    vault,
    async read(statement, { within = STORE_SECONDS, with_next = false } = {}) {
      if (closed) throw unavailable("closed");
      const result = with_next ? reads.hold(statement, within) : reads.run(statement, within);
      return statement.read((await result).rows);
    },
    runHeld: reads.runHeld,
    write: writes.write,
    async time() {
      await writes.write([touch({})], IN_BACKGROUND);
      const before = marked_at;
      marked_at = markOf(path);
      // Some file systems mark a file only once it is closed.
      return marked_at === before ? clock.now() : marked_at;
    },
    usable: () => writes.writable() && !gone && clock.elapsed() >= faulty_until,
    gone: isGone,
    writeLock() {
      if (locked_since === null || writes.writable()) return null;
      return { seconds: clock.elapsed() - locked_since, holder };
    },
    isOther: () => false,
    keepTo() {
      // A file is watched: one that takes its place is never used.
    },
    watch() {
      // Nothing reports another process's commit to a file: the feed polls.
    },
    pollEvery: () => POLL_EVERY,
    stats: writes.stats,
    walBytes: () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? null,
    async close() {
      const drained = await writes.close();
      reads.runHeld();
      closed = true;
      // A file or a log that took the place of ours is not to be touched.
      await checkpoints.close({ may_empty: drained && !isGone() });
      reader.close();
      // Closing a connection whose commit hangs would block the process.
      if (drained) writer.close();
    },
  };
}
