/** Copies the write-ahead log of a file back into the file, off the event loop and beside the writes. */

import type { Clock } from "../src/clock.ts";
import { LIMITS } from "../src/limits.ts";
import { openConnection } from "./connection.ts";
import type { WriteResult } from "./store.ts";

/** Statements and changed rows from one checkpoint to the next: up to some 3,000 pages of the log. */
const EVERY = 1_500;

/**
 * Pages of the log at which a commit makes a checkpoint itself, before it ends (SQLite's default is 1,000).
 * The log begins anew only after a checkpoint that no write ran beside, which under load is such a one: it
 * finds little left to copy.
 */
const LOG_PAGES = 4_000;

/**
 * A checkpoint copies pages and syncs the file, which takes some 5 ms: in a commit, every write behind it
 * would wait for that. Here it has a connection of its own, in a thread of the binding.
 */
export function createCheckpoints(path: string, clock: Pick<Clock, "after">) {
  const connection = openConnection(path, 0);
  let changes = 0;
  let running: Promise<void> | undefined;
  let closed = false;

  const run = async (): Promise<void> => {
    try {
      await connection.execAsync("pragma wal_checkpoint(passive)");
    } catch {
      // The next one tries again. What is wrong with the file or its disk shows in the commits.
    }
  };

  return {
    /** To be set on the connection that writes. */
    pragma: `pragma wal_autocheckpoint = ${LOG_PAGES}`,

    /** Counts a commit, and starts a checkpoint if enough has changed since the last one. */
    committed(results: readonly WriteResult[]): void {
      for (const result of results) changes += 1 + result.changes;
      if (closed || running || changes < EVERY) return;
      changes = 0;
      running = run().finally(() => {
        running = undefined;
      });
    },

    /** Closes the connection, unless a checkpoint hangs: closing it then would block the process. */
    async close(): Promise<void> {
      closed = true;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const cancel = clock.after(LIMITS.store_answer, () => resolve(false));
      void Promise.resolve(running).then(() => resolve(true));
      const ended = await promise;
      cancel();
      if (ended) connection.close();
    },
  };
}
