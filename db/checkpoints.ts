/** Copies the write-ahead log of a file back into the file, off the event loop and beside the writes. */

import { statSync } from "node:fs";
import type { Clock } from "../src/clock.ts";
import { openConnection } from "./connection.ts";
import type { ReportFault } from "./faults.ts";
import { endsInTime, unavailable, type WriteResult } from "./store.ts";

/** Statements and changed rows from one checkpoint to the next: up to some 3,000 pages of the log. */
const EVERY = 1_500;

/**
 * Pages of the log at which a commit makes a checkpoint itself, before it ends (SQLite's default is 1,000).
 * The log begins anew only after a checkpoint that no write ran beside, which under load is such a one: it
 * finds little left to copy.
 */
const LOG_PAGES = 4_000;

/** Seconds between tries to empty the log at the end, while another process reads or writes. */
const EMPTY_EVERY = 0.02;
/** Seconds in which a stop tries to empty the log of a file that other processes use. */
const EMPTYING = 1;

/**
 * A checkpoint copies pages and syncs the file, which takes some 5 ms: in a commit, every write behind it
 * would wait for that. Here it has a connection of its own, in a thread of the binding.
 */
export function createCheckpoints(path: string, clock: Clock, report: ReportFault) {
  const log = `${path}-wal`;
  const connection = openConnection(path, 0);
  let changes = 0;
  let running: Promise<void> | undefined;
  let closed = false;
  /** Whether this process has changed the store. */
  let changed = false;

  const run = async (): Promise<void> => {
    try {
      await connection.execAsync("pragma wal_checkpoint(passive)");
    } catch {
      // The next one tries again. What is wrong with the file or its disk shows in the commits.
    }
  };

  /**
   * Copies the whole log into the file and empties it, so that the file alone is the store. Never waits for a lock: while
   * other processes are at work it tries again for a second, and leaves the rest to the last of them.
   */
  const empty = async (): Promise<void> => {
    const until = clock.elapsed() + EMPTYING;
    try {
      // First without the lock that keeps others from writing, so that little is left to do with it.
      await connection.execAsync("pragma wal_checkpoint(passive)");
      for (;;) {
        await connection.execAsync("pragma wal_checkpoint(truncate)");
        if (!statSync(log, { throwIfNoEntry: false })?.size || clock.elapsed() >= until) return;
        await new Promise<void>((next) => clock.after(EMPTY_EVERY, next));
      }
    } catch (error) {
      report(unavailable(error));
    }
  };

  return {
    /** To be set on the connection that writes. */
    pragma: `pragma wal_autocheckpoint = ${LOG_PAGES}`,

    /** Counts a commit, and starts a checkpoint if enough has changed since the last one. */
    committed(results: readonly WriteResult[]): void {
      changed = true;
      for (const result of results) changes += 1 + result.changes;
      if (closed || running || changes < EVERY) return;
      changes = 0;
      running = run().finally(() => {
        running = undefined;
      });
    },

    /**
     * Empties the log, if this process has changed the store and `may_empty`, and closes the connection, unless a
     * checkpoint hangs: closing it then would block the process. Takes twice `STORE_SECONDS` at the most.
     */
    async close({ may_empty }: { readonly may_empty: boolean }): Promise<void> {
      closed = true;
      if (!(await endsInTime(clock, running))) return;
      if (changed && may_empty && !(await endsInTime(clock, empty()))) return;
      connection.close();
    },
  };
}
