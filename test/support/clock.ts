/** A clock that stands still until a test moves it. */

import { type Clock, systemClock } from "../../src/clock.ts";
import { OUTBOUND } from "../../src/limits.ts";
import { until } from "./until.ts";

export interface TestClock extends Clock {
  /** Moves time and fires the timers that become due, in order, and lets their work begin. */
  advance(seconds: number): Promise<void>;
  /** Time jumps as if the machine had slept, and each due timer fires once. */
  skip(seconds: number): Promise<void>;
  /** As if someone had set the machine's clock: changes only what {@link Clock.now} returns. */
  shiftWall(seconds: number): void;
  /** The number of timers that wait to fire. */
  pending(): number;
  /** The number of timers due in exactly this many seconds: those set since time last moved. */
  pendingIn(seconds: number): number;
}

/** Starts at the real time, so that timestamps look real; several clocks that are to agree start at the same one. */
export function createTestClock(start_ms = Date.now()): TestClock {
  let wall_ms = start_ms;
  /** Since the clock was created. Timers use this, whatever the wall clock says. */
  let ms = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  const move = (to: number) => {
    wall_ms += to - ms;
    ms = to;
  };
  const clock: TestClock = {
    now: () => wall_ms / 1000,
    wall: () => wall_ms / 1000,
    elapsed: () => ms / 1000,
    after(seconds, run) {
      const timer = { at: ms + Math.max(1, Math.round(seconds * 1000)), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pending: () => timers.size,
    pendingIn: (seconds) =>
      [...timers].filter(({ at }) => at === ms + Math.round(seconds * 1000)).length,
    shiftWall(seconds) {
      wall_ms += Math.round(seconds * 1000);
    },
    async skip(seconds) {
      move(ms + Math.round(seconds * 1000));
      await clock.advance(0);
    },
    async advance(seconds) {
      const until = ms + Math.round(seconds * 1000);
      for (;;) {
        const due = [...timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        timers.delete(due);
        move(Math.max(ms, due.at));
        due.run();
        // Let the timer's work reach the store and come back.
        await settle();
      }
      move(until);
      await settle();
    },
  };
  return clock;
}

/**
 * Real timers, except that no request to an address of a user runs out of time: a stand-in may hold it for as long as
 * a busy machine takes for the test.
 */
export const PATIENT: Clock = {
  ...systemClock,
  after: (seconds, run) =>
    systemClock.after(seconds === OUTBOUND.seconds ? 100 * seconds : seconds, run),
};

/**
 * A promise's result while time moves on, so that one process hears from another. Time moves slowly, or a wait
 * would end before a busy store has reported what changed.
 */
export async function whileMoving<T>(clock: TestClock, work: Promise<T>): Promise<T> {
  let done = false;
  const end = () => {
    done = true;
  };
  void work.then(end, end);
  await until(async () => {
    await clock.advance(0.02);
    return done;
  });
  return work;
}

/** A few turns of the event loop. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((next) => setImmediate(next));
}
