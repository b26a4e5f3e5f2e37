/** The write lane of a process: waiting batches share one commit, in the order of their calls. */

import type { Clock } from "../src/clock.ts";
import { ServiceError } from "../src/errors.ts";
import { createHistogram } from "../src/metrics.ts";
import { type Statement, type StoreStats, unavailable, type WriteResult } from "./store.ts";

/** Batches in one commit at most, so that none waits long for its neighbours. */
const GROUP = 256;

/** Seconds of a commit, and batches in one: the bounds of what is counted. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, GROUP];

interface Job {
  readonly statements: readonly Statement[];
  readonly resolve: (results: WriteResult[]) => void;
  readonly reject: (error: unknown) => void;
}

/** One group is under way at a time; `commit` does all of it or nothing. */
export function createLane(
  commit: (statements: readonly Statement[]) => Promise<WriteResult[]>,
  clock: Clock,
) {
  const queue: Job[] = [];
  const durations = createHistogram(SECONDS);
  const groups = createHistogram(BATCHES);
  let failed = 0;
  let running: Promise<void> | undefined;
  let closed = false;

  const settle = async (jobs: readonly Job[]): Promise<void> => {
    const started = clock.elapsed();
    try {
      const results = await commit(jobs.flatMap((job) => job.statements));
      durations.observe(clock.elapsed() - started);
      groups.observe(jobs.length);
      let from = 0;
      for (const job of jobs) {
        job.resolve(results.slice(from, from + job.statements.length));
        from += job.statements.length;
      }
    } catch (error) {
      // A bad statement undid its whole group: its neighbours then commit one by one.
      const shared = jobs.length > 1 && !(error instanceof ServiceError);
      if (shared) {
        for (const job of jobs) await settle([job]);
      } else {
        failed += jobs.length;
        for (const job of jobs) job.reject(error);
      }
    }
  };

  const run = async () => {
    while (queue.length > 0) {
      // A macrotask first, so that every request of this turn of the loop joins the group.
      await new Promise<void>((next) => setImmediate(next));
      await settle(queue.splice(0, GROUP));
    }
    running = undefined;
  };

  return {
    write(statements: readonly Statement[]): Promise<WriteResult[]> {
      if (closed) return Promise.reject(unavailable("closed"));
      return new Promise((resolve, reject) => {
        queue.push({ statements, resolve, reject });
        running ??= run();
      });
    },
    stats: (): StoreStats => ({ durations, groups, failed, queued: queue.length }),
    /** Refuses further batches and resolves when those under way are settled. */
    async close(): Promise<void> {
      closed = true;
      await running;
    },
  };
}
