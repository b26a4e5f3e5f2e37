/** A process whose clock is wrong deletes nothing that the others still need (§11.5). */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { RETENTION } from "../../src/jobs/event-pruner.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";

const DAY = 86_400;
const AHEAD = 40 * DAY;

/** Two processes on one store, the second with its clock days ahead. */
async function startTwo(store_time: "of the first" | "of the second") {
  const { url: database_url } = await createTestStore();
  const clock = createTestClock();
  const ahead = createTestClock();
  ahead.shiftWall(AHEAD);
  const app = await startTestApp({ clock, database_url });
  const storeTime = async () => (store_time === "of the first" ? clock : ahead).now();
  const wrong = await startTestApp({ clock: ahead, database_url, storeTime });
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  afterAll(() => store.close());
  const count = async (table: string) => {
    const query = sql.raw(`select count(*) from ${table}`);
    return (await store.read(statement(query, { returns: "rows" })({})))[0]![0] as number;
  };
  /** Lets the second process run its jobs while `seconds` go by for it. */
  const pass = async (seconds: number, step = seconds) => {
    for (let left = seconds; left > 0; left -= step) {
      await ahead.skip(step);
      await wrong.jobs.settled();
    }
  };
  return { app, wrong, count, pass };
}

test("a process that is days ahead prunes an event only after seeing it for five minutes", async () => {
  const { app, count, pass } = await startTwo("of the second");
  const { agent } = await createPair(app.url);
  await pass(30);
  for (let i = 0; i < 3; i++) await createTask(agent.send);
  const events = await count("events");
  expect(events).toBeGreaterThan(3);
  await pass(RETENTION, 30);
  expect(await count("events")).toBeGreaterThanOrEqual(3);
  await pass(60, 30);
  expect(await count("events")).toBe(0);
});

for (const whose of ["of the first", "of the second"] as const) {
  const kept = whose === "of the first";
  const what = kept
    ? "with the store's time right, a process days ahead removes nothing early"
    : "with the store's time ahead as well, retention does remove it";
  test(what, async () => {
    const { app, count, pass } = await startTwo(whose);
    const { person, agent } = await createPair(app.url);
    const other = await createAgent(app.url, person);
    const done = await createTask(agent.send, { title: "t", status: "done" });
    const message = { key_id: agent.key.id, text: "m" };
    await other.send("POST /v1/messages", message, { headers: { "idempotency-key": "x" } });
    const { id } = await ask(agent.send);
    await pass(601, 301);
    const left = [
      (await agent.send(`GET /v1/tasks/${done.id}`)).status,
      (await agent.send("GET /v1/inbox?peek=true")).body.unread,
      await count("idempotency"),
      (await agent.send(`GET /v1/questions/${id}`)).body.status,
    ];
    expect(left).toEqual(kept ? [200, 1, 1, "pending"] : [404, 0, 0, "expired"]);
  });
}

test("a libSQL server has its own time, and a file that of its disk", async () => {
  const { url } = await createTestStore();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  // The test's server runs on this machine.
  for (const _ of [1, 2]) {
    expect(Math.abs((await store.time()) - systemClock.now())).toBeLessThan(30);
  }
  await store.close();
});
