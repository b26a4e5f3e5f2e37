/** Copies the write-ahead log back into its file, off the event loop and beside the writes. */

import { statSync } from "node:fs";
import type { Clock } from "../../src/clock.ts";
import { openConnection } from "./connection.ts";
import type { ReportFault } from "./faults.ts";
import { endsInTime, isBusy, unavailable, type WriteResult } from "./store.ts";

/** Statements and changed rows between two checkpoints: up to 3,000 pages of the log. */
const EVERY = 1_500;

/**
 * Pages of the log at which a commit makes a checkpoint itself (SQLite's default is 1,000). The log starts over only
 * after a checkpoint without a write beside it. Under load that is one of these, which finds little left to copy.
 */
const LOG_PAGES = 4_000;

/** Seconds between attempts to empty the log at the end, while another process reads or writes. */
const EMPTY_EVERY = 0.02;
/** Seconds in which a stop tries to empty the log of a file that other processes use. */
const EMPTYING = 1;

/**
 * Runs checkpoints on a connection of their own, in a thread of the binding. A checkpoint copies pages and syncs the
 * file for about 5 ms, and within a commit all later writes would wait for it.
 */
export function createCheckpoints(
  path: string,
  file_key: string | null,
  clock: Clock,
  report: ReportFault,
) {
  const log = `${path}-wal`;
  const connection = openConnection(path, 0, file_key);
  let changes = 0;
  let running: Promise<void> | undefined;
  let closed = false;
  /** True if this process has changed the store. */
  let changed = false;

  const run = async (): Promise<void> => {
    try {
      await connection.execAsync("pragma wal_checkpoint(passive)");
    } catch {
      // The next one tries again. A fault of the file or its disk shows in the commits.
    }
  };

  /**
   * Copies the whole log into the file and empties it, so that the file alone is the store. Never waits for a lock:
   * while other processes hold one it tries again for a second, and leaves the rest to the last of them.
   */
  const empty = async (): Promise<void> => {
    const until = clock.elapsed() + EMPTYING;
    try {
      // First without the lock that stops other writers, so that little is left to do under it.
      await connection.execAsync("pragma wal_checkpoint(passive)");
      for (;;) {
        await connection.execAsync("pragma wal_checkpoint(truncate)");
        if (!statSync(log, { throwIfNoEntry: false })?.size || clock.elapsed() >= until) return;
        await new Promise<void>((next) => clock.after(EMPTY_EVERY, next));
      }
    } catch (error) {
      // Another process uses the file: its own stop does the rest.
      if (!isBusy(error)) report(unavailable(error));
    }
  };

  return {
    /** For the connection that writes. */
    pragma: `pragma wal_autocheckpoint = ${LOG_PAGES}`,

    /** Counts a commit, and starts a checkpoint when enough has changed since the last one. */
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
     * Empties the log if this process changed the store and `may_empty`, then closes the connection, unless a
     * checkpoint hangs: closing it would then block the process. Takes at most twice `STORE_SECONDS`.
     */
    async close({ may_empty }: { readonly may_empty: boolean }): Promise<void> {
      closed = true;
      if (!(await endsInTime(clock, running))) return;
      if (changed && may_empty && !(await endsInTime(clock, empty()))) return;
      connection.close();
    },
  };
}
