/**
 * The loop under both workers (notifications and webhooks): claims what is due, waits for the next
 * look, keeps track of what is under way, and stops.
 */

import type { Cancel, Clock } from "../../clock.ts";
import { describeError, type Log, type LogFields } from "../../log.ts";
import { createOutage, isStoreAway } from "../../observability/outages.ts";

/** Seconds between two looks for what is due, and between two tries to reach the store. */
export const POLL_EVERY = 1;
/** Seconds that a stop waits for what is under way. */
const STOP_WAIT = 10;
/** Distinct reasons that are counted; further ones count as `other`. */
const REASONS = 100;

interface WorkerLoopOptions {
  readonly clock: Clock;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after">;
  readonly log: Log;
  /** The things that the worker sends, named in log lines. */
  readonly name: "notifications" | "webhooks";
  /** Fields of its log lines. */
  readonly named?: LogFields;
  /**
   * Claims what is due and starts to send it. Returns the seconds until the next look: 0 for another
   * claim at once, null to wait for a call of `run`.
   */
  readonly claim: () => Promise<number | null>;
}

export type WorkerLoop = ReturnType<typeof createWorkerLoop>;

export function createWorkerLoop(options: WorkerLoopOptions) {
  const { clock, timers, log, name, named = {}, claim } = options;
  const claiming = createOutage({ clock, log, over: `${name} claimed again`, named });
  const single = createOutage({ clock, log, named });
  const deliveries = new Set<Promise<void>>();
  const counts: Record<string, number> = Object.create(null);
  let timer: Cancel | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopping = false;

  const arm = (seconds: number) => {
    timer?.();
    timer = clock.after(Math.max(0.001, seconds), run);
  };

  const pass = async () => {
    for (;;) {
      again = false;
      const wait = stopping ? null : await claim();
      claiming.works();
      if (wait === null) return;
      if (wait > 0 && !again) return arm(wait);
    }
  };

  function run(): void {
    if (stopping) return;
    again = true;
    running ??= pass()
      .catch((error: unknown) => {
        claiming.failed(`${name} not claimed`, error);
        arm(POLL_EVERY);
      })
      .finally(() => {
        running = undefined;
        if (again) run();
      });
  }

  const settled = async (): Promise<void> => {
    while (running || deliveries.size > 0) await Promise.all([running, ...deliveries]);
  };

  return {
    /** Sends what is due. Call it when something may have fallen due. */
    run,

    /** Resolves when nothing is under way. */
    settled,

    isStopping: (): boolean => stopping,

    /** Logs an error that ended one delivery; each event at most once a minute. */
    failed(event: string, error: unknown, fields: LogFields = {}): void {
      const why = isStoreAway(error) ? { reason: error.code } : describeError(error);
      single.note(event, { ...fields, ...why });
    },

    /** Adds a delivery, which must not reject, to what is under way. Looks again when it ends. */
    track(delivery: Promise<void>): void {
      const tracked = delivery.then(() => {
        deliveries.delete(tracked);
        run();
      });
      deliveries.add(tracked);
    },

    /**
     * Retries `attempt` while the store is unavailable, until the moment `until` of
     * {@link Clock.elapsed} or a stop. Then it throws the last error.
     */
    async retryUntil<T>(attempt: () => Promise<T>, until: number): Promise<T> {
      for (;;) {
        try {
          return await attempt();
        } catch (error) {
          if (stopping || clock.elapsed() + POLL_EVERY >= until) throw error;
          single.failed(`${name} wait for the store`, error);
          await new Promise<void>((next) => clock.after(POLL_EVERY, next));
        }
      }
    },

    /** Counts an answer or fault by its reason. */
    count(reason: string): void {
      const known = reason in counts || Object.keys(counts).length < REASONS;
      const slot = known ? reason : "other";
      counts[slot] = (counts[slot] ?? 0) + 1;
    },

    counts: (): Record<string, number> => ({ ...counts }),

    /** Starts nothing more, and waits for what is under way; calls `abort` after `seconds`. */
    async stop(abort: () => void, seconds = STOP_WAIT): Promise<void> {
      stopping = true;
      timer?.();
      const cancel = timers.after(seconds, abort);
      await settled();
      cancel();
    },
  };
}
