/** Deleting events that every process has read: by age, and never those of an older copy of the store. */

import { expect, test } from "bun:test";
import { createEventPruner, LOOK_EVERY, RETENTION } from "../../src/jobs/event-pruner.ts";
import { createTestClock } from "../support/clock.ts";

test("event numbers that an older copy of the store gives again are not pruned early", async () => {
  const clock = createTestClock();
  let newest = 5_000;
  const pruned: number[] = [];
  const prune = createEventPruner({
    outbox: {
      latest: async () => newest,
      async prune(upto) {
        pruned.push(upto);
        return 0;
      },
    },
    clock,
  });
  await prune(100);
  await clock.advance(RETENTION);
  await prune(100);
  expect(pruned).toEqual([5_000]);
  // A backup replaced the store, so 3,001 is a new event.
  newest = 3_001;
  await clock.advance(LOOK_EVERY);
  await prune(100);
  await clock.advance(RETENTION - 1);
  await prune(100);
  expect(pruned).toEqual([5_000]);
  await clock.advance(1);
  await prune(100);
  expect(pruned).toEqual([5_000, 3_001]);
});
