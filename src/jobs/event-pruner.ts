/**
 * Removes events that every process has had time to read (§11.5). Their age counts from when this process first saw
 * them, by its monotonic clock, so a wall clock that is ahead removes none too early.
 */

import type { Clock } from "../clock.ts";

/** Seconds that events stay in the store for processes that fell behind. */
export const RETENTION = 300;
/** Seconds between two reads of the newest event's number, from which a process tells the age of events. */
export const LOOK_EVERY = 10;

interface EventPrunerOptions {
  readonly outbox: {
    /** The newest event's number. */
    latest(): Promise<number>;
    /** Deletes up to `limit` events up to a number; returns how many. */
    prune(upto: number, limit: number): Promise<number>;
  };
  readonly clock: Pick<Clock, "elapsed">;
}

/** Returns a step that deletes up to `limit` events, and returns whether more may be left. */
export function createEventPruner({ outbox, clock }: EventPrunerOptions) {
  /** The newest event at some moments within the retention; empty after a restart. */
  const marks: { readonly seq: number; readonly at: number }[] = [];
  let upto = 0;

  return async (limit: number): Promise<boolean> => {
    const last = marks.at(-1);
    if (!last || clock.elapsed() - last.at >= LOOK_EVERY) {
      const seq = await outbox.latest();
      // An older copy has replaced the store: its next events get numbers that were used before.
      if (last && seq < last.seq) {
        marks.length = 0;
        upto = 0;
      }
      // After the read, so that no event seems older than it is.
      marks.push({ seq, at: clock.elapsed() });
    }
    while (clock.elapsed() - marks[0]!.at >= RETENTION) upto = marks.shift()!.seq;
    return upto > 0 && (await outbox.prune(upto, limit)) === limit;
  };
}
