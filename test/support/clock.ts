/** A clock that stands still until a test moves it. */

import type { Clock } from "../../src/clock.ts";
import { until } from "./until.ts";

export interface TestClock extends Clock {
  /** Moves time and fires the timers that fall due, in order, letting their work begin. */
  advance(seconds: number): Promise<void>;
  /** As if the machine had slept: time jumps, and each timer that fell due fires once. */
  skip(seconds: number): Promise<void>;
  /** As if someone had set the machine's clock: moves what {@link Clock.now} gives, and nothing else. */
  shiftWall(seconds: number): void;
  /** Timers that wait to fire. */
  pending(): number;
  /** Timers that fall due in exactly so many seconds: those set since time stood where it stands. */
  pendingIn(seconds: number): number;
}

/** Starts at the real time, so that stamps look real. */
export function createTestClock(): TestClock {
  let wall_ms = Date.now();
  /** Since the clock was made. Timers go by it, whatever the wall clock says. */
  let ms = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  const move = (to: number) => {
    wall_ms += to - ms;
    ms = to;
  };
  const clock: TestClock = {
    now: () => wall_ms / 1000,
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
        // Let what the timer started reach the store and come back.
        await settle();
      }
      move(until);
      await settle();
    },
  };
  return clock;
}

/**
 * What a promise gives while time moves on, by which one process hears of another: slowly, or a wait would
 * end before a busy store has said what changed.
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
