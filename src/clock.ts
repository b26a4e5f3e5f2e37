/** Time as a port, so that a test moves it instead of sleeping. */

/** Cancels a timer; harmless when it has fired. */
export type Cancel = () => void;

export interface Clock {
  /** Unix epoch seconds with millisecond resolution (docs/interface.md 1.4.4). */
  now(): number;
  /** Seconds since some moment, for durations: finer than {@link now}, and never set back. */
  elapsed(): number;
  /** Calls `run` once after `seconds`, never at once. */
  after(seconds: number, run: () => void): Cancel;
}

/** The real clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now() / 1000,
  elapsed: () => performance.now() / 1000,
  after(seconds, run) {
    const timer = setTimeout(run, Math.max(0, seconds * 1000));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Longest delay that a timer takes: about 25 days. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Keeps the process alive until it is ended by `process.exit`: neither {@link systemClock} nor a
 * commit in a thread of the store's binding does.
 */
export function keepAlive(): void {
  setInterval(() => {}, FOREVER_MS);
}

/**
 * Seconds by which a timer is late after a stall: the process was stopped, or got no processor. Its
 * work could not go on either, and may be done later in the same turn of the loop.
 */
const STALL = 1;

/** What must be done by a moment of {@link Clock.elapsed}. */
export interface Due {
  due: number;
  /** Whether `due` was moved by a stall of the process. */
  moved: boolean;
}

/** Moves the moments by the seconds that a timer was `late`, if those are a stall: one for each of them. */
export function forgiveStall(late: number, those: Iterable<Due>): void {
  if (late <= STALL) return;
  for (const one of those) {
    if (!one.moved) one.due += late;
    one.moved = true;
  }
}

/** Seconds between two looks of {@link afterRunning}, at most: a look that is late shows a stall. */
const LOOK_EVERY = 0.5;

/** As {@link Clock.after}, for a process that runs: one stall does not count. */
export function afterRunning(clock: Clock, seconds: number, run: () => void): Cancel {
  const end = { due: clock.elapsed() + seconds, moved: false };
  let cancel: Cancel;
  const arm = () => {
    const wait = Math.min(Math.max(end.due - clock.elapsed(), 0.001), LOOK_EVERY);
    const expected = clock.elapsed() + wait;
    cancel = clock.after(wait, () => {
      forgiveStall(clock.elapsed() - expected, [end]);
      if (clock.elapsed() < end.due) arm();
      else run();
    });
  };
  arm();
  return () => cancel();
}
