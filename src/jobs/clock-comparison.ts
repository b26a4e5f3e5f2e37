/**
 * Compares this process's wall clock with that of a libSQL server, or with those of the other processes on a file, and
 * reports a difference (§11.5.3). What cannot be undone goes by the earliest of the clocks.
 */

import type { createSharedTime } from "../../db/store/store-time.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** Seconds. */
const CLOCKS = {
  /** A larger difference is reported (§11.5.3). */
  differ: 5,
  /** Between two writes of this process's time to a file. */
  write_every: 10,
  /** A longer time between two looks says nothing about another process. */
  gap: 4,
  /** How long a comparison holds without a newer one; `kept`: one with the past. */
  known: 30,
  kept: 600,
  /** Between two log lines about one source. */
  report_every: 60,
  /** A file that was written this recently before the start shows a current time. */
  recent: 15,
  /** After the start on a file with no recent time: enough for other processes to write theirs. */
  careful: 5,
  /** How long a start waits for the time of other processes, and between its looks. */
  answered_within: 2.5,
  look_every: 0.25,
} as const;

/** What the clock was compared with: a server's clock, that of another process, or times written before. */
type ClockSource = "store" | "process" | "past";

interface ComparisonOptions {
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** Real time, for the waits at the start. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
  /** The store's time in epoch seconds; null for a file. */
  readonly storeTime: () => Promise<number | null>;
  /** Where processes on a file leave their times. */
  readonly shared: ReturnType<typeof createSharedTime>;
  readonly log: Log;
}

interface Offset {
  /** Seconds that this process is ahead; negative: behind. */
  readonly seconds: number;
  /** When it no longer holds, by {@link Clock.elapsed}. */
  readonly until: number;
}

export function createClockComparison(options: ComparisonOptions) {
  const { clock, timers, storeTime, shared, log } = options;
  const offsets = new Map<ClockSource, Offset>();
  /** What was logged last. */
  const reported = new Map<ClockSource, { readonly seconds: number; readonly at: number }>();
  /** The last look at the shared time. */
  let last: {
    readonly elapsed: number;
    readonly now: number;
    readonly value: number | null;
  } | null = null;
  /** What this process wrote last, and when, by {@link Clock.elapsed}. */
  let own: { readonly value: number; readonly elapsed: number } | null = null;
  /** True if the store is a file, without a clock of its own; null before the first look. */
  let is_file: boolean | null = null;
  /** Until then, by {@link Clock.elapsed}, jobs use a time that was written before the start. */
  let careful: { readonly until: number; readonly time: number } | null = null;

  const isOff = (seconds: number) => Math.abs(seconds) > CLOCKS.differ;

  /** The differences that hold now. */
  const current = (): (readonly [ClockSource, number])[] => {
    const now = clock.elapsed();
    return [...offsets].flatMap(([source, { seconds, until }]) =>
      now < until ? [[source, seconds] as const] : [],
    );
  };

  /** Logs a difference that begins, changes by much or ends; each source at most once a minute. */
  const report = (against: ClockSource, seconds: number) => {
    const before = reported.get(against);
    if (before && clock.elapsed() - before.at < CLOCKS.report_every) return;
    const was_off = before !== undefined && isOff(before.seconds);
    const is_off = isOff(seconds);
    if (is_off ? was_off && !isOff(seconds - before.seconds) : !was_off) return;
    reported.set(against, { seconds, at: clock.elapsed() });
    if (!is_off) log.info("clock agrees", { against });
    else log.warn("clock differs", { against, seconds_ahead: Math.round(seconds * 10) / 10 });
  };

  const record = (against: ClockSource, seconds: number, kept: number) => {
    const held = current().find(([source]) => source === against)?.[1] ?? 0;
    // Of several other processes, the one with the largest recent difference counts.
    if (against === "process" && Math.abs(held) > Math.abs(seconds)) return;
    offsets.set(against, { seconds, until: clock.elapsed() + kept });
    report(against, seconds);
  };

  /** Reads the store's time and compares it; null for a file. */
  const measure = async (): Promise<number | null> => {
    const from = clock.elapsed();
    const time = await storeTime();
    const took = clock.elapsed() - from;
    if (time !== null) {
      // The store answered at some moment in between.
      const most = clock.now() - time;
      const least = most - took;
      const seconds = least > 0 ? least : Math.min(most, 0);
      record("store", seconds, CLOCKS.known);
    }
    return time;
  };

  const write = async () => {
    const value = Math.round(clock.now() * 1000) / 1000;
    own = { value, elapsed: clock.elapsed() };
    await shared.write(value);
  };

  const lookAtShared = async (): Promise<void> => {
    const value = await shared.read();
    const [now, elapsed] = [clock.now(), clock.elapsed()];
    const before = last;
    last = { elapsed, now, value };
    if (before === null) {
      if (value !== null && now - value > CLOCKS.recent) {
        // Nobody wrote recently, or this clock is ahead: then others will have written by the end of `careful`.
        careful = { until: elapsed + CLOCKS.careful, time: value };
      }
      if (value !== null && isOff(Math.min(now - value, 0)))
        record("past", now - value, CLOCKS.kept);
      return write();
    }
    const gap = elapsed - before.elapsed;
    const jump = now - before.now - gap;
    // A jump forwards may be a sleep of the machine, during which the monotonic clock stands still.
    if (isOff(Math.min(jump, 0))) record("past", jump, CLOCKS.kept);
    const is_new = value !== before.value && value !== own?.value && value !== null;
    if (is_new && gap < CLOCKS.gap && Math.abs(jump) < 1) {
      // It was written at some moment in the gap.
      const most = now - value;
      record("process", most < 0 ? most : Math.max(0, most - gap), CLOCKS.known);
      if (isOff(most) && (own === null || elapsed - own.elapsed >= 1)) return write();
    }
    if (own === null || elapsed - own.elapsed >= CLOCKS.write_every) await write();
  };

  /** Seconds by which this clock is certainly ahead of another one. */
  const ahead = (): number =>
    Math.max(0, ...current().flatMap(([source, s]) => (source !== "past" && isOff(s) ? [s] : [])));

  return {
    /** The store's time in epoch seconds; null for a file. */
    storeTime: measure,

    /** Call it once a second, and once before the service begins. */
    async look(): Promise<void> {
      is_file ??= (await measure()) === null;
      // A server's time is compared when jobs read it.
      if (is_file) await lookAtShared();
    },

    /**
     * Await it before the service begins, if this clock says that a question has expired: on a file without a recent
     * time, it gives other processes time to write an earlier one.
     */
    async settle(): Promise<void> {
      const until = timers.elapsed() + CLOCKS.answered_within;
      while (careful && !offsets.has("process") && timers.elapsed() < until) {
        await new Promise<void>((next) => timers.after(CLOCKS.look_every, next));
        await lookAtShared();
      }
    },

    /** Epoch seconds by this clock, or by another one that is earlier. */
    agreedNow: (): number => clock.now() - ahead(),

    /** Epoch seconds by the earliest of the clocks, for retention and the expiry of questions. */
    async retentionTime(): Promise<number> {
      const time = (await measure()) ?? Number.POSITIVE_INFINITY;
      const early = careful && clock.elapsed() < careful.until ? careful.time : time;
      return Math.min(clock.now() - ahead(), time, early);
    },

    /** Seconds that this clock is ahead, by source; empty before the first comparison. */
    offsets: (): ReadonlyMap<ClockSource, number> => new Map(current()),

    /** True while a difference is large enough to be reported. */
    differs: (): boolean => current().some(([, seconds]) => isOff(seconds)),
  };
}
