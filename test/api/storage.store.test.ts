/** The bound in bytes of what an account stores, and its count (§10.8). */

import { expect, test } from "bun:test";
import { ADMIN, adminClient } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask, pair, type Send } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra } from "../support/mcp.ts";
import { startNtfy } from "../support/ntfy.ts";
import { connectTo, createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const MB = 1_000_000;
const LONG = "\u{1d518}".repeat(10_000);

async function setUp(env: Record<string, string> = {}) {
  const clock = createTestClock();
  const { url } = await createTestStore();
  const start = () => startTestApp({ clock, database_url: url, env: { ...ADMIN, ...env } });
  const app = await start();
  const { person, agent } = await createPair(app.url);
  const storage = async (send: Send = person.send) =>
    (await send("GET /v1/account")).body.storage as { bytes: number; max_bytes: number | null };
  return { clock, database: connectTo(url), start, app, person, agent, storage };
}

/** Creates tasks of 40 KB until one is refused; their ids. */
async function fill(send: Send): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { status, body } = await send("POST /v1/tasks", { title: "Full", description: LONG });
    if (status !== 201) {
      expect([status, body.code]).toEqual([409, "account_full"]);
      return ids;
    }
    ids.push(body.id);
  }
}

test("an account that stores as much as it may gets nothing new, and can still be used [§10.8.2]", async () => {
  const { app, person, agent, storage } = await setUp({ ACCOUNT_STORAGE_MB: "1" });
  const question = await ask(agent.send);
  const small = await createTask(agent.send);
  const ids = await fill(agent.send);
  expect(ids.length).toBeGreaterThanOrEqual(24);
  expect(ids.length).toBeLessThanOrEqual(26);
  const { bytes, max_bytes } = await storage();
  expect(max_bytes).toBe(MB);
  expect(bytes).toBeWithin(MB, 1.05 * MB);

  const refused = async (answer: Promise<{ status: number; body: any }>) => {
    const { status, body } = await answer;
    expect([status, body.code]).toEqual([409, "account_full"]);
    expect(body.detail).toContain("1 MB");
  };
  await refused(agent.send("POST /v1/questions", { prompt: "Go on?" }));
  await refused(person.send("POST /v1/tasks", { title: "x", key_id: agent.key.id }));
  await refused(person.send("POST /v1/messages", { key_id: agent.key.id, text: "Hello" }));
  await refused(agent.send(`PATCH /v1/tasks/${small.id}`, { description: "x".repeat(500) }));
  const rpc = newEra(app.url, agent.secret);
  expect(JSON.stringify(await callTool(rpc, "create_task", { title: "x" }))).toContain(
    "until tasks or agents that are no longer needed are deleted",
  );

  const done = async (answer: Promise<{ status: number }>, status = 200) =>
    expect((await answer).status).toBe(status);
  await done(agent.send(`PATCH /v1/tasks/${small.id}`, { status: "done", status_note: "Built" }));
  await done(person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" }));
  await pair(app.url, person);
  await done(agent.send("GET /v1/inbox"));
  // Who deletes gets room at once: the agent, and the person, whose deletion adds an item for the agent.
  await done(agent.send(`DELETE /v1/tasks/${ids[0]}`), 204);
  await done(agent.send("POST /v1/questions", { prompt: "Go on?" }), 201);
  await fill(agent.send);
  await done(person.send(`DELETE /v1/tasks/${ids[1]}`), 204);
  await done(agent.send("POST /v1/questions", { prompt: "Go on?" }), 201);
  const { items } = (await agent.send("GET /v1/inbox")).body;
  expect(items.at(-1)).toMatchObject({ type: "task.deleted", task: { description: "" } });
});

test("changes that add little are refused when a tenth more is stored [§10.8.2]", async () => {
  const { agent, person, storage } = await setUp({ ACCOUNT_STORAGE_MB: "1" });
  const ids = await fill(agent.send);
  for (let i = 0; ; i++) {
    const status_note = `${i} ${"x".repeat(190)}`;
    const { status } = await agent.send(`PATCH /v1/tasks/${ids[i % 20]}`, { status_note });
    if (status !== 200) break;
    expect(i).toBeLessThan(1_000);
  }
  expect((await storage()).bytes).toBeWithin(1.1 * MB, 1.11 * MB);
  expect((await person.send(`DELETE /v1/tasks/${ids[0]}`)).status).toBe(204);
});

test("the removal of a key frees what it stored, and every process learns of it [§10.8.3]", async () => {
  const { clock, start, app, person, agent, storage } = await setUp({ ACCOUNT_STORAGE_MB: "1" });
  const other = await start();
  const second = await createAgent(other.url, person);
  const full = async (url: string) =>
    (await fetch(`${url}/v1/tasks`, {
      method: "POST",
      headers: { authorization: `Bearer ${second.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ title: "Small" }),
    }).then(({ status }) => status)) === 409;
  await fill(agent.send);
  await full(other.url);
  await until(async () => {
    await clock.advance(1);
    return full(other.url);
  });
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  for (const { url } of [other, app]) {
    await until(async () => {
      await clock.advance(1);
      return !(await full(url));
    });
  }
  expect((await storage()).bytes).toBeLessThan(MB / 10);
});

test("what is counted with each change is what the rows have [§10.8.1]", async () => {
  const { clock, database, app, person, agent, storage } = await setUp();
  const ntfy = await startNtfy();
  const channel = { type: "ntfy", label: "Phone", url: `${ntfy.url}/topic` };
  expect((await person.send("POST /v1/channels", channel)).status).toBe(201);
  const other = await createAgent(app.url, person);
  const once = (key: string) => ({ headers: { "idempotency-key": key } });
  const { body: task } = await agent.send("POST /v1/tasks", { title: "A" }, once("1"));
  for (let i = 0; i < 60; i++) {
    const patch = { status_note: `${i} ${"x".repeat(150)}`, description: "y".repeat(i * 100) };
    expect((await agent.send(`PATCH /v1/tasks/${task.id}`, patch)).status).toBe(200);
  }
  await person.send(`PATCH /v1/tasks/${task.id}`, { title: "B" });
  const gone = await createTask(agent.send, { title: "C", description: "z".repeat(3_000) });
  for (let i = 0; i < 20; i++) {
    await agent.send(`PATCH /v1/tasks/${gone.id}`, { status_note: `${i} ${"x".repeat(150)}` });
  }
  await person.send(`DELETE /v1/tasks/${gone.id}`);
  const question = await ask(agent.send, {
    prompt: "Why?",
    kind: "text",
    context: "c".repeat(900),
  });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "a".repeat(500) });
  await person.send(
    "POST /v1/messages",
    { key_id: other.key.id, text: "m".repeat(700) },
    once("2"),
  );
  await agent.send("POST /v1/messages", { key_id: other.key.id, text: "n".repeat(700) }, once("3"));
  await app.sender.settled();

  const counts = async () =>
    (await database.execute("select id, stored_bytes from keys order by id")).rows.map(
      ({ id, stored_bytes }) => [id, stored_bytes],
    );
  const before = await storage();
  expect(before.max_bytes).toBe(MB * 1_000);
  await app.services.storage.flush();
  const counted = await counts();
  await database.execute("update keys set stored_bytes = null");
  await app.services.storage.recount();
  expect(counted).toEqual(await counts());
  expect(before.bytes).toBeGreaterThan(15_000);
  const { accounts } = await adminClient(app.url).accounts.query({});
  expect(accounts[0]!.stored_bytes).toBe(before.bytes);

  // What retention removes is freed, such as old items and idempotency keys.
  await agent.send("GET /v1/inbox");
  await other.send("GET /v1/inbox");
  await clock.skip(8 * 86_400);
  await until(async () => {
    await clock.skip(300);
    const { rows } = await database.execute(
      "select (select count(*) from items) + (select count(*) from idempotency) as n",
    );
    return rows[0]!.n === 0;
  });
  await Promise.all([app.jobs.settled(), app.sender.settled()]);
  await app.services.storage.flush();
  const kept = await counts();
  const uncounted = "update keys set stored_bytes = null";
  await database.execute(uncounted);
  await app.services.storage.recount();
  expect(kept).toEqual(await counts());
  // A job does so too.
  await database.execute(uncounted);
  await until(async () => {
    await clock.skip(60);
    return (await counts()).every(([, bytes]) => bytes !== null);
  });
});

test("messages that wait for a webhook are counted, and their bytes bounded [§19.4.6]", async () => {
  const { database, app, person, agent, storage } = await setUp();
  // Nothing listens there, so they wait.
  const url = "http://127.0.0.1:9/hook";
  const { body } = await person.send("POST /v1/channels", { type: "webhook", label: "Hook", url });
  const before = (await storage()).bytes;
  for (let i = 0; i < 240; i++) await createTask(agent.send, { title: "x", description: LONG });
  const { rows } = await database.execute({
    sql: "select queued, queued_bytes, error_code from channels where id = ?",
    args: [body.channel.id],
  });
  const [{ queued, queued_bytes, error_code }] = rows as any;
  expect(queued).toBeLessThan(240);
  expect([queued_bytes > 8 * MB, queued_bytes < 8.5 * MB]).toEqual([true, true]);
  expect(error_code).toBe("queue_full");
  expect((await storage()).bytes - before).toBeGreaterThan(240 * 40_000 + 8 * MB);
  expect((await person.send(`DELETE /v1/channels/${body.channel.id}`)).status).toBe(204);
  await app.services.storage.flush();
  expect((await storage()).bytes - before).toBeWithin(240 * 40_000, 240 * 41_000);
});

test("events cannot fill the disk of an account that stores little [§10.8.5]", async () => {
  const { clock, app, agent } = await setUp({ ACCOUNT_STORAGE_MB: "1" });
  const { id } = await createTask(agent.send, { title: "Long", description: LONG });
  let bytes = 0;
  let refused: any;
  // Each change writes an event with the whole task.
  for (let i = 0; !refused && i < 600; i++) {
    const answer = await agent.send(`PATCH /v1/tasks/${id}`, { progress: i % 100 });
    if (answer.status === 200) bytes += Buffer.byteLength(JSON.stringify(answer.body));
    else refused = answer;
  }
  expect(bytes).toBeWithin(19 * MB, 21 * MB);
  expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
  expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 301);
  const other = await createPair(app.url);
  expect((await createTask(other.agent.send)).title).toBeString();
  await clock.advance(300);
  expect((await agent.send(`PATCH /v1/tasks/${id}`, { progress: 1 })).status).toBe(200);
});

test("an account is soon full of what waits for its webhooks [§10.8.4]", async () => {
  const { app, clock, agent, person } = await setUp({ ACCOUNT_STORAGE_MB: "2" });
  for (let i = 0; i < 3; i++) {
    const channel = { type: "webhook", label: "Hook", url: `http://127.0.0.1:9/${i}` };
    expect((await person.send("POST /v1/channels", channel)).status).toBe(201);
  }
  const { id } = await createTask(agent.send, { title: "Long", description: LONG });
  await app.services.storage.flush();
  for (let i = 0; i < 30; i++) await agent.send(`PATCH /v1/tasks/${id}`, { progress: i });
  await clock.advance(0.5);
  await app.services.storage.flush();
  const { status, body } = await agent.send(`PATCH /v1/tasks/${id}`, { progress: 50 });
  expect([status, body.code]).toEqual([409, "account_full"]);
});

test.each([
  [{}, MB * 1_000],
  [{ ACCOUNT_STORAGE_MB: "0" }, null],
  [{ ACCOUNT_STORAGE_MB: "2" }, MB * 2],
])("the bound with %p", async (env, most) => {
  const { storage } = await setUp(env as Record<string, string>);
  expect((await storage()).max_bytes).toBe(most);
});
