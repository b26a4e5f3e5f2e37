/** A clock that stands still until a test moves it. */

import type { Clock } from "../../src/clock.ts";

export interface TestClock extends Clock {
  /** Moves time and fires the timers that fall due, in order, letting their work begin. */
  advance(seconds: number): Promise<void>;
  /** As if the machine had slept: time jumps, and each timer that fell due fires once. */
  skip(seconds: number): Promise<void>;
  /** Timers that wait to fire. */
  pending(): number;
}

/** Starts at the real time, so that stamps look real. */
export function createTestClock(): TestClock {
  let ms = Date.now();
  const timers = new Set<{ at: number; run: () => void }>();
  const clock: TestClock = {
    now: () => ms / 1000,
    elapsed: () => ms / 1000,
    after(seconds, run) {
      const timer = { at: ms + Math.max(1, Math.round(seconds * 1000)), run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pending: () => timers.size,
    async skip(seconds) {
      ms += Math.round(seconds * 1000);
      await clock.advance(0);
    },
    async advance(seconds) {
      const until = ms + Math.round(seconds * 1000);
      for (;;) {
        const due = [...timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        timers.delete(due);
        ms = Math.max(ms, due.at);
        due.run();
        // Let what the timer started reach the store and come back.
        await settle();
      }
      ms = until;
      await settle();
    },
  };
  return clock;
}

/** A few turns of the event loop. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise<void>((next) => setImmediate(next));
}
