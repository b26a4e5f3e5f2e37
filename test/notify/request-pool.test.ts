/** The pool of requests that lanes share. */

import { expect, test } from "bun:test";
import { SERVER_STORE } from "../../db/store/read-queue.ts";
import { createRequestPool, REQUESTS, RESERVED } from "../../src/notify/core/request-pool.ts";
import type { Release } from "../../src/notify/core/under-way.ts";
import { IN_FLIGHT } from "../../src/notify/web-push/client.ts";

test("a lane has what the others leave, and always the requests reserved for it", () => {
  const pool = createRequestPool(20, 4);
  const [one, two] = [pool.lane(), pool.lane(8)];
  expect([one.room(), two.room()]).toEqual([16, 8]);
  const held = one.take(100);
  expect(held.length).toBe(16);
  expect([one.room(), two.room()]).toEqual([0, 4]);
  const others = two.take(100);
  expect(others.length).toBe(4);
  expect([one.room(), two.room()]).toEqual([0, 0]);
  for (const release of [...held.slice(0, 6), held[0]!]) release();
  expect([one.room(), two.room()]).toEqual([6, 4]);
  const more = two.take(3);
  expect(more.length).toBe(3);
  expect(one.room()).toBe(3);
  for (const release of [...held, ...others, ...more]) release();
  expect([one.room(), two.room()]).toEqual([16, 8]);
});

test("the lanes together never have more requests than there are, whatever they take and return", () => {
  const pool = createRequestPool(50, 5);
  const lanes = [pool.lane(), pool.lane(20), pool.lane()];
  const held: Release[] = [];
  for (let i = 0; i < 500; i++) {
    held.push(...lanes[i % 3]!.take((i * 7) % 23));
    expect(held.length).toBeLessThanOrEqual(50);
    for (const release of held.splice(0, (i * 5) % 13)) release();
  }
  expect(held.length).toBeGreaterThan(0);
});

/** Requests that Bun's HTTP client makes at once: one more waits for another to end. */
const OF_BUN = 256;

test("push services that all hang leave a libSQL server its requests", async () => {
  const pool = createRequestPool(REQUESTS, RESERVED);
  const lanes = [pool.lane(), pool.lane(), pool.lane(IN_FLIGHT)];
  const taken = lanes.flatMap((lane) => lane.take(OF_BUN)).length;
  // Its reads, its writes, its change feed.
  expect(taken + SERVER_STORE.read_requests + 2).toBeLessThanOrEqual(OF_BUN);
  const hanging = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch: () => new Promise<Response>(() => {}),
  });
  const answering = Bun.serve({ port: 0, fetch: () => new Response("ok") });
  const end = new AbortController();
  const all = Array.from({ length: taken }, () =>
    fetch(hanging.url, { signal: end.signal }).catch(() => {}),
  );
  expect(await (await fetch(answering.url)).text()).toBe("ok");
  end.abort();
  await Promise.all(all);
  await Promise.all([hanging.stop(true), answering.stop(true)]);
});
