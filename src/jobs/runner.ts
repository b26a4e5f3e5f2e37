/** Runs the background jobs in small steps. The tables say what is left to do, so a stop loses nothing. */

import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import { createHistogram } from "../observability/metrics.ts";
import { createOutage } from "../observability/outages.ts";
import type { JobStats } from "../observability/service-metrics.ts";

export interface Job {
  readonly name: string;
  /** Seconds between passes. */
  readonly every: number;
  /** One step of a pass, over at most `limit` rows; true asks for another one at once. */
  run(pass: Pass): Promise<boolean>;
}

interface Pass {
  /** The time that retention goes by, in epoch seconds. It stays the same during a pass. */
  now(): Promise<number>;
  readonly limit: number;
}

/** Rows of one step. */
const LIMIT = 200;

/** Buckets of the durations of passes, in seconds. */
const BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

interface RunnerOptions {
  readonly jobs: readonly Job[];
  readonly clock: Clock;
  /** For {@link Pass.now}; asked at most once in a pass. */
  readonly retentionTime: () => Promise<number>;
  readonly log: Log;
}

const newStats = ({ name, every }: Job) => ({
  name,
  every,
  running: false,
  done: 0,
  failed: 0,
  last: null as JobStats["last"],
  last_done_at: null as number | null,
  last_error: null as string | null,
  durations: createHistogram(BOUNDS),
});

export function createRunner({ jobs, clock, retentionTime, log }: RunnerOptions) {
  const timers = new Map<string, Cancel>();
  const running = new Set<Promise<void>>();
  const stats = new Map(jobs.map((job) => [job.name, newStats(job)]));
  const outages = new Map(
    jobs.map(({ name: job }) => [
      job,
      createOutage({ clock, log, over: "job works again", named: { job } }),
    ]),
  );
  let stopped = false;

  const runOnce = async (job: Job): Promise<void> => {
    const own = stats.get(job.name)!;
    const outage = outages.get(job.name)!;
    const at = clock.now();
    const from = clock.elapsed();
    own.running = true;
    let time: Promise<number> | undefined;
    const pass = { now: () => (time ??= retentionTime()), limit: LIMIT };
    try {
      while (!stopped && (await job.run(pass)));
      own.done++;
      outage.works();
      own.last_error = null;
      own.last_done_at = clock.now();
    } catch (error) {
      own.failed++;
      own.last_error =
        error instanceof ServiceError ? error.code : String(describeError(error).error);
      outage.failed("job failed", error);
    }
    own.running = false;
    own.last = { at, seconds: clock.elapsed() - from };
    own.durations.observe(own.last.seconds);
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
    /** Resolves when the passes under way are done and the next ones are scheduled. */
    async settled(): Promise<void> {
      await Promise.all(running);
    },
    stats: (): JobStats[] => [...stats.values()].map((own) => ({ ...own })),
    /** Starts no further pass and resolves when those under way are done. */
    async stop(): Promise<void> {
      stopped = true;
      for (const cancel of timers.values()) cancel();
      await Promise.all(running);
    },
  };
}
