/** Time as a port, which a test moves instead of sleeping. */

/** Cancels a timer; does nothing after it has fired. */
export type Cancel = () => void;

export interface Clock {
  /** Unix epoch seconds with millisecond resolution (§1.4.4): the store's time, once there is a store (§11.5). */
  now(): number;
  /** Epoch seconds by this machine's own clock, for what other services compare with theirs. */
  wall(): number;
  /** Seconds since some moment, for durations. Finer than {@link now}, and never set back. */
  elapsed(): number;
  /** Calls `run` once after `seconds`, never synchronously. */
  after(seconds: number, run: () => void): Cancel;
}

/** The real clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now() / 1000,
  wall: () => Date.now() / 1000,
  elapsed: () => performance.now() / 1000,
  after(seconds, run) {
    const timer = setTimeout(run, Math.max(0, seconds * 1000));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** The longest delay of a timer: about 25 days. */
const FOREVER_MS = 2 ** 31 - 1;

/**
 * Keeps the process alive until `process.exit`. Neither {@link systemClock} nor a commit in a thread of the store's
 * binding does.
 */
export function keepAlive(): void {
  setInterval(() => {}, FOREVER_MS);
}

/**
 * A timer that is late by more seconds shows a stall: the process was stopped or got no processor. Its work could not
 * go on either, and may be done later in the same turn of the event loop.
 */
const STALL = 1;

/** A deadline, as a moment of {@link Clock.elapsed}. */
export interface Due {
  due: number;
  /** True if a stall of the process has moved `due`. */
  moved: boolean;
}

/** If a timer was `late` by a stall, moves each deadline by those seconds, at most once. */
export function forgiveStall(late: number, deadlines: Iterable<Due>): void {
  if (late <= STALL) return;
  for (const one of deadlines) {
    if (!one.moved) one.due += late;
    one.moved = true;
  }
}

/** Most seconds between two looks of {@link afterRunning}: a late look shows a stall. */
const LOOK_EVERY = 0.5;

/** Calls `run` once after `seconds` in which the process ran: one stall does not count. */
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
