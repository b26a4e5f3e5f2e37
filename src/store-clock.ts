/** The time of the store, by which all its processes go: this machine's clock, corrected by a comparison (§11.5). */

import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Seconds. */
const CLOCKS = {
  /** Between two comparisons. */
  compare_every: 60,
  /** A change of the wall clock against the monotonic one that calls for a comparison at once. */
  set: 1,
  /** A difference that is not corrected: file systems round times. */
  rounded: 2,
  /** A larger difference is reported (§11.5.3). */
  differ: 5,
  /** A larger jump of the store's own clock is reported, and for how long nothing ends because of it (§11.5.4). */
  jump: 60,
  held: 600,
} as const;

/** Seconds to the millisecond. */
const ms = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** The store's clock jumped while this process ran. */
interface Jump {
  /** Seconds forwards; negative: backwards. */
  readonly seconds: number;
  /** Until when nothing ends because of it, by {@link Clock.elapsed}. */
  readonly until: number;
}

interface StoreClockOptions {
  readonly machine: Clock;
  /** The store's time in epoch seconds. */
  readonly read: () => Promise<number>;
  readonly log: Log;
}

export type StoreClock = ReturnType<typeof createStoreClock>;

/** Until the first {@link StoreClock.compare}, it shows this machine's time. */
export function createStoreClock({ machine, read, log }: StoreClockOptions) {
  /** Seconds by which this machine's clock is corrected, and by which it was ahead when compared last. */
  let ahead = 0;
  let measured: number | null = null;
  let reported = 0;
  /** When it was compared last, and the wall clock less the monotonic one then: it changes when the clock is set. */
  let compared_at = Number.NEGATIVE_INFINITY;
  let started = machine.wall() - machine.elapsed();
  let jump: Jump | null = null;

  const isSet = (since = started) =>
    Math.abs(machine.wall() - machine.elapsed() - since) > CLOCKS.set;
  /** After the machine's clock was set, the time goes on as if it were not, until the store's is known. */
  const now = () => ms((isSet() ? machine.elapsed() + started : machine.wall()) - ahead);
  const lastJump = () => (jump && machine.elapsed() < jump.until ? jump : null);

  const report = (seconds: number) => {
    const is_off = Math.abs(seconds) > CLOCKS.differ;
    if (is_off && Math.abs(seconds - reported) > CLOCKS.differ) {
      log.warn("clock differs", { against: "store", seconds_ahead: Math.round(seconds * 10) / 10 });
      reported = seconds;
    } else if (!is_off && reported !== 0) {
      log.info("clock agrees", { against: "store" });
      reported = 0;
    }
  };

  const noteJump = (by: number) => {
    if (Math.abs(by) <= CLOCKS.jump) return;
    log.info("time jumped", { seconds: Math.round(by) });
    const last = lastJump();
    // A jump back may correct one forwards. The time is not prolonged, or a machine that often sleeps would end nothing.
    const seconds = by + Math.max(0, last?.seconds ?? 0);
    const until = last?.until ?? machine.elapsed() + CLOCKS.held;
    jump = Math.abs(seconds) > CLOCKS.jump ? { seconds, until } : null;
  };

  const measure = async () => {
    const from = machine.elapsed();
    const since = machine.wall() - from;
    const time = await read();
    const to = machine.elapsed();
    // It was set meanwhile: the next call compares again.
    if (isSet(since)) return;
    const before = now();
    // The store answered at some moment in between.
    const most = machine.wall() - time;
    const least = most - (to - from);
    const isWithin = (seconds: number, by: number) => seconds >= least - by && seconds <= most + by;
    if (!isWithin(ahead, CLOCKS.rounded)) {
      ahead = isWithin(0, CLOCKS.rounded) ? 0 : (least + most) / 2;
    }
    started = machine.wall() - to;
    measured = isWithin(0, 0) ? 0 : (least + most) / 2;
    report(measured);
    if (compared_at !== Number.NEGATIVE_INFINITY) noteJump(now() - before);
    compared_at = to;
  };
  let measuring: Promise<void> | undefined;

  return {
    ...machine,

    /** Epoch seconds of the store, with millisecond resolution (§1.4.4). */
    now,

    /**
     * {@link now}, for what cannot be undone: without a jump forwards of the store's clock, for some minutes after it.
     */
    agreedNow: (): number => ms(now() - Math.max(0, lastJump()?.seconds ?? 0)),

    /**
     * Compares with the store's clock, if the last comparison is a minute old or the machine's clock was set since. Call
     * it before anything is ended or removed. Rejects if the store cannot be reached.
     */
    async compare(): Promise<void> {
      if (!isSet() && machine.elapsed() - compared_at < CLOCKS.compare_every) return;
      measuring ??= measure().finally(() => {
        measuring = undefined;
      });
      await measuring;
    },

    /** Seconds by which this machine's clock is corrected. */
    corrected: (): number => ahead,

    /** Seconds that this machine's clock was ahead of the store's; null before the first comparison. */
    ahead: (): number | null => measured,

    /** True while {@link ahead} is large enough to be reported. */
    differs: (): boolean => Math.abs(measured ?? 0) > CLOCKS.differ,

    /** The last jump of the store's own clock, in seconds, while nothing ends because of it; null without one. */
    jumped: (): number | null => lastJump()?.seconds ?? null,
  };
}
