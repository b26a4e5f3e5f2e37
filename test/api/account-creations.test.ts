/** The limit on `POST /v1/accounts` for each address, which the store keeps (§10.6.1). */

import { expect, test } from "bun:test";
import { pruneCreations } from "../../db/account-creations.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const env = { RATE_LIMITS: "on", TRUST_PROXY: "1" };
const create = (url: string, address: string, body = "{}") =>
  exchange(url, "POST", "/v1/accounts", { body, headers: { "x-forwarded-for": address } });

async function rows(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const all = sql`select * from account_creations order by seq`;
  const found = await store.read(statement(all, { returns: "rows" })({}));
  return { store, found };
}

test("an address creates five accounts in an hour, and is then told when the next one may come [§10.6.1 accounts]", async () => {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const app = await startTestApp({ clock, env, database_url });
  for (let left = 4; left >= 0; left--) {
    const { status, headers } = await create(app.url, "203.0.113.1");
    expect([status, headers.get("ratelimit-policy")]).toEqual([201, '"accounts";q=5;w=3600']);
    expect(headers.get("ratelimit")).toBe(`"accounts";r=${left};t=3600`);
    // Refused requests do not count.
    const bad = await create(app.url, "203.0.113.1", '{"extra":1}');
    if (left > 0) expectProblem(bad, "invalid_fields", ["extra"]);
    if (left > 0) await clock.advance(600);
  }
  // Every surface refuses before it checks the fields.
  for (const body of ["{}", '{"extra":1}', "[1]"]) {
    const refused = await create(app.url, "203.0.113.1", body);
    expectProblem(refused, "rate_limited");
    expect(refused.headers.get("retry-after")).toBe("1200");
    expect(refused.headers.get("ratelimit")).toBe('"accounts";r=0;t=3600');
  }
  expectProblem(await create(app.url, "203.0.113.1", "{"), "invalid_json");
  const headers = { "x-forwarded-for": "203.0.113.1" };
  for (const body of ["{}", '{"extra":1}']) {
    const trpc = await exchange(app.url, "POST", "/trpc/accounts.create", { body, headers });
    expect([trpc.status, trpc.body.error.data.code_name]).toEqual([429, "rate_limited"]);
  }
  // This holds although the address has been refused too often by now.
  for (let i = 0; i < 60; i++) await exchange(app.url, "GET", "/x", { headers });
  const still = await create(app.url, "203.0.113.1");
  expectProblem(still, "rate_limited");
  expect(still.headers.get("retry-after")).toBe("1200");
  expect(still.headers.get("ratelimit")).toBe('"accounts";r=0;t=3600');
  expect((await create(app.url, "203.0.113.2")).status).toBe(201);
  // An IPv6 client counts by its /64.
  for (let i = 0; i < 5; i++) await create(app.url, `2001:db8::${i}`);
  expect((await create(app.url, "2001:db8::1:2:3:4")).status).toBe(429);
  expect((await create(app.url, "2001:db8:0:1::1")).status).toBe(201);

  await clock.advance(1_199.9);
  expect((await create(app.url, "203.0.113.1")).status).toBe(429);
  await clock.advance(0.1);
  expect((await create(app.url, "203.0.113.1")).status).toBe(201);
  expect((await create(app.url, "203.0.113.1")).status).toBe(429);

  await clock.advance(0.001);
  // No address is stored, and rows that are over are deleted.
  const { store, found } = await rows(database_url);
  expect(JSON.stringify(found)).not.toMatch(/203\.0|2001:db8/);
  expect(await pruneCreations(store, clock.now() - 3_600, 1)).toBe(1);
  while ((await pruneCreations(store, clock.now() - 3_600, 2)) === 2);
  await store.close();
  expect((await create(app.url, "203.0.113.1")).status).toBe(429);
  const { store: again, found: left } = await rows(database_url);
  const since = Math.round((clock.now() - 3_600) * 1000);
  const current = found.filter((row) => (row[2] as number) >= since);
  expect([left, current.length > 0]).toEqual([current, true]);
  await again.close();
});

test("a clock that is set back locks no address out [§10.6.1 accounts]", async () => {
  const { url: database_url } = await createTestStore();
  const ahead = createTestClock();
  await ahead.advance(86_400);
  const wrong = await startTestApp({ clock: ahead, env, database_url });
  for (let i = 0; i < 5; i++) await create(wrong.url, "203.0.113.1");
  expect((await create(wrong.url, "203.0.113.1")).status).toBe(429);
  const right = await startTestApp({ clock: createTestClock(), env, database_url });
  expect((await create(right.url, "203.0.113.1")).status).toBe(201);
});

test("two processes share the count of an address, also for concurrent requests and after a restart [§10.6.1 accounts]", async () => {
  const { url: DATABASE_URL } = await createTestStore();
  const two = await Promise.all([1, 2].map(() => startProcess({ ...env, DATABASE_URL })));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => create(two[i % 2]!.url, "203.0.113.1")),
  );
  expect(answers.filter(({ status }) => status === 201).length).toBe(5);
  expect(answers.filter(({ status }) => status === 429).length).toBe(35);
  for (const process of two) process.kill();
  const next = await startProcess({ ...env, DATABASE_URL });
  expect((await create(next.url, "203.0.113.1")).status).toBe(429);
  expect((await create(next.url, "203.0.113.2")).status).toBe(201);
});
