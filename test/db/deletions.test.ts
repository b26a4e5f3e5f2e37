/** The rows of deleted keys and accounts go in small steps, from any point on (§4 Keys). */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
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

const STEP = fileURLToPath(new URL("../support/delete-step.ts", import.meta.url));

/** Tables that no key or account owns, and the events, which go with their retention. */
const NOT_OWNED = ["events"];

async function open(url: string) {
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const rows = (text: string) => store.read(statement(sql.raw(text), { gives: "rows" })({}));
  const tables = (await rows("select name from sqlite_schema where type = 'table'")).map(
    ([name]) => name as string,
  );
  const owned: string[] = [];
  for (const table of tables.filter((name) => !NOT_OWNED.includes(name))) {
    const columns = (await rows(`select name from pragma_table_info('${table}')`)).flat();
    if (columns.some((name) => name === "key_id" || name === "account_id")) owned.push(table);
  }
  /** Rows of each table that a key or an account owns, and of accounts. */
  const counts = async (): Promise<Record<string, number>> => {
    const entries: [string, number][] = [];
    for (const table of [...owned, "accounts"]) {
      const [row] = await rows(`select count(*) from ${table}`);
      entries.push([table, row![0] as number]);
    }
    return Object.fromEntries(entries);
  };
  const total = async () => Object.values(await counts()).reduce((sum, count) => sum + count, 0);
  return { store, counts, total };
}

/** What is left of {@link fill} once its second key is deleted. */
const KEPT = {
  keys: 1,
  tasks: 9,
  questions: 5,
  devices: 1,
  live_activities: 0,
  pushes: 0,
  push_records: 0,
  items: 2,
  idempotency: 3,
  // The entries of its fifteen requests.
  activity_blocks: 1,
  accounts: 1,
};

/** An account with two agents, and rows in every table. */
async function fill(url: string) {
  const { person, agent } = await createPair(url);
  const second = await createAgent(url, person);
  const device_id = `dev_${crypto.randomUUID()}`;
  await person.send(`PUT /v1/devices/${device_id}`, DEVICE);
  for (const { send, key } of [agent, second]) {
    await Promise.all(Array.from({ length: 9 }, () => createTask(send)));
    await Promise.all(Array.from({ length: 5 }, () => ask(send)));
    for (const sender of [person.send, send === agent.send ? second.send : agent.send]) {
      const message = { key_id: key.id, text: "m" };
      await sender("POST /v1/messages", message, { headers: { "idempotency-key": key.id } });
    }
  }
  return { person, agent, second };
}

/**
 * Live activities and pushes go with the deletion itself: what stands for leftovers is put in
 * afterwards. A push with a copy of a token, and its live activity, wait until it is sent.
 */
async function leaveActivities({ store }: Awaited<ReturnType<typeof open>>) {
  const leftovers = [
    "live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at) select account_id, 'dev_x', id, key_id, 'ab', 0, 0 from tasks",
    "live_activities (account_id, device_id, task_id, key_id, push_token, created_at, updated_at) select account_id, 'dev_y', id, key_id, 'cd', 0, 0 from tasks group by account_id",
    "push_records (apns_id, account_id, device_id, key_id, kind, about, environment, outcome, attempts, created_at, done_at) select id, account_id, 'dev_x', key_id, 'task', id, 'sandbox', 'sent', 1, 0, 0 from tasks",
  ];
  for (const token of ["null", "'cd'"]) {
    leftovers.push(
      `pushes (account_id, device_id, kind, subject, environment, token, parts, urgency, due_at, expires_at, created_at) select account_id, id, 'end', coalesce(${token}, ''), 'sandbox', ${token}, '[]', 1, 0, 0, 0 from devices`,
    );
  }
  await store.write(leftovers.map((text) => statement(sql.raw(`insert into ${text}`))({})));
}

test("a deletion is finished from wherever it was cut off, and touches nothing else [§4 Keys removed in steps]", async () => {
  const { url } = await createTestStore();
  // Its jobs wait for the test's clock, which stands still.
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url: url });
  const kept = await fill(app.url);
  const gone = await fill(app.url);
  const filled = await open(url);
  const logged = async (blocks: number) => {
    await clock.advance(0.1);
    await until(async () => (await filled.counts()).activity_blocks === blocks);
  };
  await logged(4);
  for (let i = 5; i < 15; i++) {
    await gone.agent.send("GET /v1/tasks");
    await logged(i);
  }
  await filled.store.close();
  await kept.person.send(`DELETE /v1/keys/${kept.second.key.id}`);
  await gone.person.send("DELETE /v1/account");
  const stream = await openStream(app.url, kept.person.token);
  const first = await open(url);
  await leaveActivities(first);
  const full = await first.counts();
  expect(full).toMatchObject({ tasks: 36, live_activities: 38, keys: 4, accounts: 2, pushes: 4 });
  for (const [table, count] of Object.entries(full))
    expect([table, count > 0]).toEqual([table, true]);
  await first.store.close();

  let steps = 0;
  for (let more = true; more; steps++) {
    // Each step by a process of its own, that knows nothing of the ones before.
    const { store, total } = await open(url);
    const before = await total();
    more = await deleteStep(store, 4);
    const gone_now = before - (await total());
    expect(gone_now).toBeLessThanOrEqual(4);
    expect(gone_now > 0).toBe(more);
    await store.close();
  }
  expect(steps).toBeGreaterThan(20);

  const { store, counts } = await open(url);
  expect(await counts()).toEqual({
    ...KEPT,
    live_activities: 11,
    // Two of the account that stays, and the one that waits to be sent.
    pushes: 3,
    push_records: 9,
  });
  await store.close();
  expect((await kept.agent.send("GET /v1/tasks")).body.tasks.length).toBe(9);
  const [key] = (await kept.person.send("GET /v1/keys")).body.keys;
  expect(key.counts.todo).toBe(9);
  // Nothing of what went was told to anyone.
  await createTask(kept.agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("a deletion that is killed at each of its steps is finished all the same [§4 Keys removed in steps]", async () => {
  const { url } = await createTestStore();
  const app = await startTestApp({ clock: createTestClock(), database_url: url });
  const kept = await fill(app.url);
  const gone = await fill(app.url);
  await kept.person.send(`DELETE /v1/keys/${kept.second.key.id}`);
  await gone.person.send("DELETE /v1/account");
  await app.stop();
  let kills = 0;
  for (;;) {
    const child = Bun.spawn([process.execPath, STEP, url, "6"], { stderr: "pipe" });
    const code = await child.exited;
    if (code === 0) break;
    expect([child.signalCode, await new Response(child.stderr).text()]).toEqual(["SIGKILL", ""]);
    kills++;
  }
  expect(kills).toBeGreaterThan(6);
  const { store, counts } = await open(url);
  expect(await counts()).toEqual(KEPT);
  await store.close();
}, 60_000);

test("the job does it, also when two processes do it at once [§4 Keys removed in steps]", async () => {
  const { url } = await createTestStore();
  const apps = await Promise.all([1, 2].map(() => startTestApp({ database_url: url })));
  const { person } = await fill(apps[0]!.url);
  await person.send("DELETE /v1/account");
  const { store, counts } = await open(url);
  await until(async () => Object.values(await counts()).every((count) => count === 0));
  await store.close();
  const lines = apps.flatMap((app) => app.lines).filter((line) => line.includes("job failed"));
  expect(lines).toEqual([]);
});
