/** Bodies of responses that are made in a later turn of the event loop than their request. */

import { expect, test } from "bun:test";
import { systemClock } from "../../src/clock.ts";
import type { RequestScope } from "../../src/http/request-scope.ts";
import { json } from "../../src/http/respond.ts";
import { LIMITS } from "../../src/limits.ts";
import { HEAVY_WORK } from "../../src/overload/heavy-work.ts";
import { createTurns } from "../../src/overload/turns.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";

/** A scope without limits. */
const scopeOf = (method: string, is_later: boolean) =>
  ({
    id: "req_1",
    request: new Request("http://localhost/v1/tasks", { method }),
    charges: { quota: () => null },
    answer: { isLater: () => is_later },
  }) as unknown as RequestScope;

test("a later response of 12 to 64 KiB is a stream with the same text, whatever character is cut", async () => {
  for (const sign of ["a", "é", "漢", "😀"]) {
    for (let shift = 0; shift < 3; shift++) {
      const value = { text: "x".repeat(shift) + sign.repeat(15_000 / sign.length) };
      const later = json(value, 200, scopeOf("GET", true));
      const at_once = json(value, 200, scopeOf("GET", false));
      expect(await later.text()).toBe(JSON.stringify(value));
      expect(await at_once.text()).toBe(JSON.stringify(value));
      expect(Object.fromEntries(later.headers)).toEqual(Object.fromEntries(at_once.headers));
    }
  }
});

test("over a socket, a later response is chunked, and one to HEAD has no body", async () => {
  // The second is so long that its bytes are counted, and small enough to be free of charge.
  const values = [{ text: "漢".repeat(13_000) }, { text: "x".repeat(60_000) }];
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      await new Promise<void>((next) => setImmediate(next));
      const value = values[Number(new URL(request.url).pathname.slice(1))];
      return json(value, 200, scopeOf(request.method, true));
    },
  });
  for (const [i, value] of values.entries()) {
    const got = await fetch(new URL(`/${i}`, server.url));
    expect(got.headers.get("transfer-encoding")).toBe("chunked");
    expect(await got.json()).toEqual(value);
  }
  const head = await fetch(server.url, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("turns count as ended once the event loop went on", async () => {
  const turns = createTurns(2);
  const before = turns.ended();
  void turns.begin();
  await Promise.resolve();
  expect(turns.ended()).toBe(before);
  await new Promise<void>((next) => setImmediate(next));
  expect(turns.ended()).toBe(before + 1);
});

test("a list that paused for other work leaves as a stream, over REST and tRPC", async () => {
  // Each look at this clock takes two slices of heavy work, so every list but the first one pauses.
  let elapsed = 0;
  const timers = { ...systemClock, elapsed: () => (elapsed += 2 * HEAVY_WORK.slice) };
  const app = await startTestApp({ timers });
  const { agent } = await createPair(app.url);
  for (let i = 0; i < 40; i++) await createTask(agent.send);
  const list = async (request: `GET /${string}`) => {
    const { status, headers, body } = await agent.send(request);
    expect(status).toBe(200);
    expect(JSON.stringify(body).length).toBeWithin(12 * 1024, LIMITS.answer_free_bytes / 3);
    return headers.get("transfer-encoding");
  };
  expect(await list("GET /v1/tasks")).toBeNull();
  expect(await list("GET /v1/tasks")).toBe("chunked");
  expect(await list("GET /trpc/tasks.list?input={}")).toBe("chunked");
});
