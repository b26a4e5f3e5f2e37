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
export const STALL = 1;
