/** The last three hours of this process, minute by minute, for the charts of whoever runs it. */

import type { Cancel, Clock } from "./clock.ts";

/** Minutes that are kept. */
const KEPT = 180;

/** Durations are counted in steps of a fifth: four to each doubling, from 0.05 ms on. */
const SHORTEST = 0.000_05;
const PER_DOUBLING = 4;
/** Up to 105 seconds, longer than any request is held. */
const STEPS = 84;

/** Figures that are looked at once a minute. */
interface Levels {
  readonly streams: number;
  readonly waits: number;
  /** Bytes of memory that the process holds. */
  readonly resident_bytes: number;
}

/** One minute. */
export interface Minute extends Levels {
  /** When it began. */
  readonly at: number;
  readonly requests: number;
  /** Answers with a status from 400 to 499, and from 500 on. */
  readonly client_errors: number;
  readonly server_errors: number;
  /** Seconds that half, and 99 of 100, of the requests took at most; null when there was none. */
  readonly p50: number | null;
  readonly p99: number | null;
}

interface Slot {
  minute: number;
  requests: number;
  client_errors: number;
  server_errors: number;
  readonly steps: Uint32Array;
  levels: Levels;
}

interface SeriesOptions {
  readonly clock: Clock;
  /** Read when a minute begins. */
  readonly levels: () => Levels;
}

export type Series = ReturnType<typeof createSeries>;

export function createSeries({ clock, levels }: SeriesOptions) {
  const slots: Slot[] = [];
  const minuteNow = () => Math.floor(clock.now() / 60);
  const first = minuteNow();
  let cancel: Cancel = () => {};

  /** The slot of the current minute, emptied of what it held three hours before. */
  const current = (): Slot => {
    const minute = minuteNow();
    const slot = slots[minute % KEPT];
    if (slot?.minute === minute) return slot;
    const fresh: Slot = {
      minute,
      requests: 0,
      client_errors: 0,
      server_errors: 0,
      steps: slot?.steps.fill(0) ?? new Uint32Array(STEPS),
      levels: levels(),
    };
    slots[minute % KEPT] = fresh;
    return fresh;
  };

  const arm = () => {
    cancel = clock.after(60 - (clock.now() % 60), () => {
      current();
      arm();
    });
  };

  return {
    /** Looks at the levels at each minute's beginning, also when no request comes. */
    start(): void {
      current();
      arm();
    },
    stop: (): void => cancel(),

    /** Counts an answer; `seconds` is null where its duration says nothing of the server. */
    record(status: number, seconds: number | null): void {
      const slot = current();
      slot.requests++;
      if (status >= 500) slot.server_errors++;
      else if (status >= 400) slot.client_errors++;
      if (seconds === null) return;
      const step = Math.floor(Math.log2(seconds / SHORTEST) * PER_DOUBLING);
      slot.steps[Math.min(STEPS - 1, Math.max(0, step))]!++;
    },

    /** Every minute since the start, at most the last 180, oldest first; the last one is not over. */
    read(): Minute[] {
      const now = current().minute;
      const minutes: Minute[] = [];
      let last: Slot | undefined;
      for (let minute = Math.max(first, now - KEPT + 1); minute <= now; minute++) {
        const slot = slots[minute % KEPT];
        // A minute in which the machine slept has none of its own.
        const own = slot?.minute === minute ? slot : undefined;
        last = own ?? last;
        minutes.push({
          at: minute * 60,
          requests: own?.requests ?? 0,
          client_errors: own?.client_errors ?? 0,
          server_errors: own?.server_errors ?? 0,
          p50: own ? quantile(own.steps, 0.5) : null,
          p99: own ? quantile(own.steps, 0.99) : null,
          ...(last?.levels ?? { streams: 0, waits: 0, resident_bytes: 0 }),
        });
      }
      return minutes;
    },
  };
}

/** The end of the step in which so large a part is reached; null when nothing was counted. */
function quantile(steps: Uint32Array, part: number): number | null {
  const total = steps.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let step = 0;
  for (let left = part * total - steps[0]!; left > 0; left -= steps[step]!) step++;
  return SHORTEST * 2 ** ((step + 1) / PER_DOUBLING);
}
