/** Equal requests in the request log: counted in one entry, so that a client in a loop displaces nothing (§15.1.6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { apart, readAll } from "../support/entries.ts";
import { until } from "../support/until.ts";

test("a client that connects again and again is counted in a few log entries, across writes [§15.1.6] [§2.8]", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock });
  const { person, agent } = await createPair(app.url);
  const loop = ["GET /v1/tasks", "GET /v1/questions", "GET /v1/inbox", "GET /v1/agents"] as const;
  /** The log, newest first, once this many requests are in it. */
  const counted = (requests: number) =>
    until(async () => {
      await clock.advance(0.1);
      const items = await readAll(person.send, agent.key.id);
      return items.reduce((sum, { count }) => sum + count, 0) === requests && items;
    });
  await agent.send("PATCH /v1/tasks/nothing", {});
  for (let i = 0; i < 55; i++) {
    for (const request of loop) {
      await agent.send(request);
      await clock.advance(0.2);
    }
  }
  const items = await counted(221);
  expect(items.map(({ action, count }) => [action, count])).toEqual([
    ...loop.map((action) => [action, 55]).reverse(),
    ["PATCH /v1/tasks/{task_id}", 1],
  ]);
  const { id, at, last_at } = items[0];
  expect(last_at - at).toBeCloseTo(54 * 0.8, 1);
  // Many at once too.
  await Promise.all(Array.from({ length: 80 }, (_, i) => agent.send(loop[i % 4]!)));
  const more = await counted(301);
  expect(more.map(({ count }) => count)).toEqual([75, 75, 75, 75, 1]);
  expect(more[0]).toMatchObject({ id, at, count: 75 });
  // Another outcome, and another host, has an entry of its own, and so has what comes an hour later.
  await agent.send("GET /v1/tasks?limit=0");
  await agent.send("GET /v1/tasks", undefined, apart());
  await counted(303);
  await clock.skip(3_601);
  await agent.send("GET /v1/tasks");
  const all = await counted(304);
  expect(all.map(({ count }) => count)).toEqual([1, 1, 1, 75, 75, 75, 75, 1]);
});
