/** The rows of deleted keys and accounts go in small steps, from any point on (§4 Keys). */

import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { deleteStep } from "../../db/deletions.ts";
import { openStore } from "../../db/open.ts";
import { statement } from "../../db/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask, DEVICE } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const OWNED = ["keys", "tasks", "questions", "devices", "live_activities"] as const;

async function open(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const count = async (table: string, where = "1") => {
    const query = sql.raw(`select count(*) from ${table} where ${where}`);
    const [row] = await store.read(statement(query, { gives: "row" })({}));
    return row![0] as number;
  };
  /** Rows of each table, in the order of OWNED, and of accounts. */
  const counts = () => Promise.all([...OWNED, "accounts"].map((table) => count(table)));
  return { store, counts };
}

/** An account with two agents, their tasks and questions, and a device. */
async function fill(url: string) {
  const { person, agent } = await createPair(url);
  const second = await createAgent(url, person);
  for (const { send } of [agent, second]) {
    await Promise.all(Array.from({ length: 9 }, () => createTask(send)));
    await Promise.all(Array.from({ length: 5 }, () => ask(send)));
  }
  await person.send(`PUT /v1/devices/dev_${crypto.randomUUID()}`, DEVICE);
  return { person, agent, second };
}

test("a deletion is finished from wherever it was cut off, and touches nothing else [§4 Keys removed in steps]", async () => {
  const { url } = await createTestStore();
  // Its jobs wait for the test's clock, which stands still.
  const app = await startTestApp({ clock: createTestClock(), database_url: url });
  const kept = await fill(app.url);
  const gone = await fill(app.url);
  await kept.person.send(`DELETE /v1/keys/${kept.second.key.id}`);
  await gone.person.send("DELETE /v1/account");
  const stream = await openStream(app.url, kept.person.token);
  // The deletions took their live activities along: what stands for leftovers is put in here.
  const first = await open(url);
  const leftovers = sql`insert into live_activities select account_id, 'dev_x', id, key_id, 'ab', 0, 0 from tasks`;
  await first.store.write([statement(leftovers)({})]);
  expect((await first.counts()).at(-2)).toBe(36);
  await first.store.close();

  let steps = 0;
  for (let more = true; more; steps++) {
    // Each step by a process of its own, that knows nothing of the ones before.
    const { store, counts } = await open(url);
    const before = (await counts()).reduce((sum, count) => sum + count, 0);
    more = await deleteStep(store, 4);
    const after = (await counts()).reduce((sum, count) => sum + count, 0);
    expect(before - after).toBeLessThanOrEqual(4);
    expect(before - after > 0).toBe(more);
    await store.close();
  }
  expect(steps).toBeGreaterThan(20);

  const { store, counts } = await open(url);
  expect(await counts()).toEqual([1, 9, 5, 1, 9, 1]);
  await store.close();
  expect((await kept.agent.send("GET /v1/tasks")).body.tasks.length).toBe(9);
  const [key] = (await kept.person.send("GET /v1/keys")).body.keys;
  expect(key.counts.todo).toBe(9);
  // Nothing of what went was told to anyone.
  await createTask(kept.agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("the job does it, also when two processes do it at once [§4 Keys removed in steps]", async () => {
  const { url } = await createTestStore();
  const apps = await Promise.all([1, 2].map(() => startTestApp({ database_url: url })));
  const { person } = await fill(apps[0]!.url);
  await person.send("DELETE /v1/account");
  const { store, counts } = await open(url);
  await until(async () => (await counts()).every((count) => count === 0));
  await store.close();
  const lines = apps.flatMap((app) => app.lines).filter((line) => line.includes("job failed"));
  expect(lines).toEqual([]);
});
