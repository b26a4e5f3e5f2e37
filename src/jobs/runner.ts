/** Runs the background jobs: small passes, resumable from what the tables say. */

import type { Cancel, Clock } from "../clock.ts";
import { describeError, type Log } from "../log.ts";

/** Work that has no request of its own. */
export interface Job {
  readonly name: string;
  /** Seconds between passes. */
  readonly every: number;
  /** One pass over at most `limit` rows; `more` asks for another one at once. */
  run(pass: { now: number; limit: number }): Promise<{ more: boolean }>;
}

/** Rows of one pass. */
const LIMIT = 200;

interface RunnerOptions {
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  readonly log: Log;
}

export function createRunner({ jobs, clock, log }: RunnerOptions) {
  const timers = new Map<string, Cancel>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  const runOnce = async (job: Job): Promise<void> => {
    try {
      while (!stopped && (await job.run({ now: clock.now(), limit: LIMIT })).more);
    } catch (error) {
      log.warn("job failed", { job: job.name, ...describeError(error) });
    }
  };

  const arm = (job: Job) => {
    const cancel = clock.after(job.every, () => {
      const pass = runOnce(job).finally(() => {
        running.delete(pass);
        if (!stopped) arm(job);
      });
      running.add(pass);
    });
    timers.set(job.name, cancel);
  };

  return {
    start(): void {
      for (const job of jobs) arm(job);
    },
    /** Resolves when the passes under way are done, and their next ones set. */
    async settled(): Promise<void> {
      await Promise.all(running);
    },
    /** Starts no further pass and resolves when those under way are done. */
    async stop(): Promise<void> {
      stopped = true;
      for (const cancel of timers.values()) cancel();
      await Promise.all(running);
    },
  };
}
