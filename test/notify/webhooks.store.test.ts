/** Webhooks: what is sent, in which order, and what an answer does (§19.4). */

import { expect, test } from "bun:test";
import { claimMessages, countAttempts } from "../../db/notify/webhook-queue.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { LEASE } from "../../src/notify/core/leases.ts";
import { createProcesses } from "../support/app.ts";
import { ask, createAgent, createPerson, createTask, type Person } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const receiver = startReceiver();
const { url: database_url } = await createTestStore();
const { start, settled } = createProcesses({ clock, database_url, jitter: () => 0.999 });
const app = await start();
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));

let paths = 0;

/** A person with an agent and a webhook at its own path, whose test has succeeded. */
async function begin(body: object = {}, host?: string) {
  receiver.behave(() => 200);
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const hook = await createHook(person, body, host);
  await app.webhooks.settled();
  receiver.take();
  return { person, agent, ...hook };
}

async function createHook({ send }: Pick<Person, "send">, body: object = {}, host?: string) {
  const path = `/hook-${++paths}`;
  const given = { type: "webhook", label: "CI", url: receiver.url(path, host), ...body };
  const { status, body: made } = await send("POST /v1/channels", given);
  if (status !== 201) throw new Error(JSON.stringify(made));
  receiver.expect(path, made.secret);
  const { id } = made.channel;
  const read = async () =>
    (await send("GET /v1/channels")).body.channels.find((one: any) => one.id === id);
  return { path, id, secret: made.secret as string, channel: made.channel, read };
}

/** Moves time in steps, each until nothing is being sent. */
async function advance(seconds: number, step = 1) {
  for (let left = seconds; left > 0; left -= step) {
    await settled();
    await clock.skip(Math.min(step, left));
    await settled();
  }
}

const taken = (path: string) =>
  receiver.got.filter((one) => one.path === path && one.status < 300).map(({ type }) => type);

test("every event of tasks, questions and keys arrives signed, with the data of the event [§19.4.1] [§19.4.2]", async () => {
  const { person, agent, path, secret } = await begin();
  const task = await createTask(agent.send, { title: "Ship" });
  const question = await ask(agent.send);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "renamed" });
  await person.send("POST /v1/messages", { key_id: agent.key.id, text: "not for webhooks" });
  await app.webhooks.settled();
  const got = receiver.take();
  expect(got.map(({ type }) => type).sort()).toEqual([
    "key.updated",
    "question.created",
    "question.updated",
    "task.created",
    "task.deleted",
  ]);
  const of = (type: string) => got.find((one) => one.type === type)!;
  expect(of("task.created").data).toEqual({ task });
  expect(of("task.deleted").data).toEqual({ task_id: task.id, key_id: agent.key.id });
  expect(of("question.updated").data.question.answer).toBe("Yes");
  expect(of("task.created").at).toBe(new Date(task.created_at * 1000).toISOString());
  expect(Math.abs(of("task.created").timestamp - clock.now())).toBeLessThan(2);
  expect(new Set(got.map(({ id }) => id)).size).toBe(got.length);
  expect(got.every((one) => one.path === path && one.id.startsWith("msg_"))).toBe(true);
  expect(receiver.faults).toEqual([]);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
});

test("nothing is sent to a webhook before a test has succeeded, and then everything since [§19.4.3]", async () => {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  receiver.behave(() => 500);
  const hook = await createHook(person);
  await createTask(agent.send, { title: "early" });
  await advance(20);
  const tried = receiver.take().filter(({ path }) => path === hook.path);
  expect(tried.length).toBeGreaterThan(1);
  expect(new Set(tried.map(({ type, id }) => `${type} ${id}`)).size).toBe(1);
  expect(tried[0]).toMatchObject({ type: "channel.test", data: { channel_id: hook.id } });
  expect(await hook.read()).toMatchObject({
    state: "failing",
    last_sent_at: null,
    last_error: { code: "status_500", at: expect.any(Number) },
  });
  receiver.behave(() => 204);
  await advance(60);
  expect(taken(hook.path)).toEqual(["channel.test", "task.created"]);
  expect(await hook.read()).toMatchObject({ state: "ok", last_sent_at: expect.any(Number) });
});

test("events that the channel's settings exclude at the attempt are left out [§19.1.2]", async () => {
  const { person, agent, path, id } = await begin({ sends: ["tasks"], min_priority: "high" });
  receiver.behave(() => 503);
  const low = await createTask(agent.send, { title: "low" });
  const high = await createTask(agent.send, { title: "high", priority: "high" });
  await ask(agent.send);
  await agent.send(`DELETE /v1/tasks/${low.id}`);
  await app.webhooks.settled();
  const tried = new Set(receiver.take().map(({ type, data }) => `${type} ${data.task?.id}`));
  expect(tried).toEqual(new Set([`task.created ${high.id}`, "task.deleted undefined"]));
  receiver.behave(() => 200);
  await person.send(`PATCH /v1/channels/${id}`, { min_priority: "urgent" });
  await advance(30);
  expect(taken(path)).toEqual(["task.deleted"]);
});

test("a receiver that was away for an hour gets everything once, in order by subject [§19.4.4] [§19.4.5]", async () => {
  const { agent, path, read } = await begin();
  receiver.behave(() => Response.json({}, { status: 500 }));
  const tasks = [];
  for (let i = 0; i < 3; i++) tasks.push(await createTask(agent.send, { title: `t${i}` }));
  for (let n = 1; n <= 4; n++) {
    for (const { id } of tasks) await agent.send(`PATCH /v1/tasks/${id}`, { progress: n });
    await advance(900, 30);
  }
  const failed = receiver.take().filter((one) => one.path === path);
  // Only the oldest message of each subject was tried, again and again with the same id.
  expect(new Set(failed.map(({ type }) => type))).toEqual(new Set(["task.created"]));
  expect(new Set(failed.map(({ id }) => id)).size).toBe(3);
  expect(failed.length).toBeGreaterThan(9);
  expect(failed.length).toBeLessThan(60);
  expect(await read()).toMatchObject({ state: "ok", last_error: { code: "status_500" } });

  receiver.behave(() => 200);
  await advance(700, 10);
  const got = receiver.take().filter((one) => one.path === path);
  expect(got.length).toBe(15);
  expect(new Set(got.map(({ id }) => id)).size).toBe(15);
  for (const { id } of tasks) {
    const progress = got.filter(({ data }) => data.task.id === id).map(({ data }) => data.task);
    expect(progress.map((task) => task.progress)).toEqual([null, 1, 2, 3, 4]);
  }
  expect(receiver.faults).toEqual([]);
});

test("a channel makes at most 60 attempts in any minute, over all processes [§19.4.6]", async () => {
  const { agent, path } = await begin();
  const peer = await start();
  await advance(61, 5);
  for (let i = 0; i < 75; i++) await createTask(agent.send, { title: `t${i}` });
  await settled();
  expect(taken(path).length).toBe(60);
  await advance(55, 5);
  await settled();
  expect(taken(path).length).toBe(60);
  await advance(10, 5);
  await settled();
  expect(taken(path).length).toBe(75);
  await peer.stop();
});

test("two processes that claim at the same time share the 60 attempts [§19.4.6]", async () => {
  const { agent, id } = await begin();
  await advance(61, 5);
  const held_until = Math.round((clock.now() + WEBHOOK_LIMITS.hold_most) * 1_000);
  await rows(`update channels set held_until = ${held_until} where id = '${id}' returning 1`);
  for (let i = 0; i < 80; i++) await createTask(agent.send, { title: `t${i}` });
  await app.webhooks.settled();
  const seqs = (await rows(`select seq from webhook_messages where channel_id = '${id}'`)).flat();
  const claim = async (lease: string, some: unknown[]) => {
    const now = clock.now();
    const moment = { now, now_ms: Math.round(now * 1000), lease };
    const values = { ...moment, until: now + 1, seqs: JSON.stringify(some) };
    const [claimed] = await store.write([claimMessages(values), countAttempts(moment)]);
    return claimed!.changes;
  };
  expect(await claim("one", seqs.slice(0, 40))).toBe(40);
  expect(await claim("again", seqs.slice(0, 40))).toBe(0);
  expect(await claim("two", seqs.slice(40))).toBe(20);
  await clock.skip(61);
  expect(await claim("three", seqs.slice(40))).toBe(20);
  await rows(`delete from webhook_messages where channel_id = '${id}' returning 1`);
});

test("an event that finds the queue full is counted, and the channel says so [§19.4.5]", async () => {
  const { agent, id, path, read } = await begin();
  receiver.behave(() => 500);
  await createTask(agent.send);
  await app.webhooks.settled();
  expect(await rows(`select queued from channels where id = '${id}'`)).toEqual([[1]]);
  await rows(
    `update channels set queued = ${WEBHOOK_LIMITS.queued - 1} where id = '${id}' returning 1`,
  );
  await createTask(agent.send);
  await app.webhooks.settled();
  for (let i = 0; i < 2; i++) await createTask(agent.send);
  expect(await read()).toMatchObject({
    state: "failing",
    missed: 2,
    last_error: { code: "queue_full" },
  });
  await rows(`update channels set queued = 2 where id = '${id}' returning 1`);
  receiver.behave(() => 200);
  await advance(30);
  expect(taken(path)).toEqual(["task.created", "task.created"]);
  expect(await read()).toMatchObject({ state: "ok", missed: 2 });
});

test("an event that is not accepted within 24 hours is missed, and the channel fails [§19.4.5]", async () => {
  const { agent, path, read } = await begin();
  receiver.behave(() => 404);
  await createTask(agent.send);
  await advance(86_400 - 60, 3_600);
  expect(await read()).toMatchObject({ state: "ok", missed: 0 });
  await advance(120, 10);
  expect(await read()).toMatchObject({
    state: "failing",
    missed: 1,
    last_error: { code: "status_404" },
  });
  receiver.take();
  receiver.behave(() => 200);
  await createTask(agent.send);
  await app.webhooks.settled();
  expect(taken(path)).toEqual(["task.created"]);
  expect(await read()).toMatchObject({ state: "ok", missed: 1 });
});

test("a 410 ends a webhook until a test succeeds [§19.4.4]", async () => {
  const { person, agent, id, path, read } = await begin();
  receiver.behave(() => 410);
  await createTask(agent.send);
  await app.webhooks.settled();
  expect(await read()).toMatchObject({
    state: "gone",
    missed: 1,
    last_error: { code: "status_410" },
  });
  receiver.behave(() => 200);
  receiver.take();
  await createTask(agent.send);
  await advance(30);
  expect(taken(path)).toEqual([]);
  const { body } = await person.send(`POST /v1/channels/${id}/test`);
  expect(body).toMatchObject({ status: "sent", reason: null });
  await createTask(agent.send, { title: "after" });
  await app.webhooks.settled();
  expect(taken(path)).toEqual(["channel.test", "task.created"]);
  expect((await read()).state).toBe("ok");
});

test("Retry-After of a 429 holds the whole channel [§19.4.4]", async () => {
  const { agent, path } = await begin();
  const busy = () => new Response(null, { status: 429, headers: { "retry-after": "120" } });
  receiver.behave(busy);
  await createTask(agent.send);
  await app.webhooks.settled();
  expect(receiver.take().length).toBe(1);
  receiver.behave(() => 200);
  await createTask(agent.send);
  await advance(115, 5);
  expect(receiver.take()).toEqual([]);
  await advance(10);
  expect(taken(path).length).toBe(2);
});

test("connection faults and oversized answers count as failures [§19.4.4]", async () => {
  const { agent, path, read } = await begin();
  const behaviours = [
    ["answer_too_large", () => new Response("x".repeat(70_000))],
    ["status_302", () => Response.redirect(receiver.url("/elsewhere"), 302)],
  ] as const;
  for (const [code, behave] of behaviours) {
    receiver.behave(behave);
    await createTask(agent.send);
    await app.webhooks.settled();
    expect((await read()).last_error).toMatchObject({ code });
  }
  expect(receiver.take().filter((one) => one.path !== path)).toEqual([]);
  receiver.behave(() => 200);
  await advance(30);
  expect(taken(path).length).toBe(2);
});

test("a host that hangs has 3 connections for all accounts and delays nobody else [§19.4.6]", async () => {
  const slow = gate();
  receiver.behave(async ({ host }) => {
    if (host !== "127.0.0.1") await slow.opened;
    return 200;
  });
  const hung: Awaited<ReturnType<typeof createHook>>[] = [];
  const stuck = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"];
  // Six hosts, three accounts with webhooks at each, tests included: 54 messages.
  for (let account = 0; account < 3; account++) {
    const person = await createPerson(app.url);
    for (const host of [...stuck, ...stuck, ...stuck])
      hung.push(await createHook(person, {}, host));
  }
  await until(() => receiver.open() >= 18);
  const quick = [await createPair(), await createPair(), await createPair()];
  for (const { agent } of quick) await createTask(agent.send);
  await until(() => quick.every(({ path }) => taken(path).includes("task.created")));
  expect(receiver.mostOfHost()).toBe(3);
  expect(receiver.open()).toBe(18);
  slow.open();
  await app.webhooks.settled();
  expect(receiver.mostOfHost()).toBeLessThanOrEqual(4);
  expect(hung.filter(({ path }) => taken(path).length !== 1)).toEqual([]);

  async function createPair() {
    const person = await createPerson(app.url);
    const agent = await createAgent(app.url, person);
    return { agent, ...(await createHook(person)) };
  }
});

test("nothing is sent once the channel, key or account is deleted [§19.2.4] [§19.4.7]", async () => {
  const { person, agent, path, id } = await begin();
  receiver.behave(() => 500);
  await createTask(agent.send);
  await app.webhooks.settled();
  await person.send(`DELETE /v1/channels/${id}`);
  expect(await rows(`select * from webhook_messages where channel_id = '${id}'`)).toEqual([]);
  receiver.take();
  receiver.behave(() => 200);
  await createTask(agent.send);
  const second = await createHook(person);
  await app.webhooks.settled();
  receiver.behave(() => 500);
  await createTask(agent.send);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await app.webhooks.settled();
  receiver.take();
  receiver.behave(() => 200);
  await advance(20);
  expect(taken(second.path).sort()).toEqual(["key.deleted", "task.created"]);
  await createAgent(app.url, person, "late");
  receiver.behave(() => 500);
  await person.send("DELETE /v1/account");
  await app.webhooks.settled();
  receiver.take();
  await advance(30);
  expect(receiver.take().filter((one) => [path, second.path].includes(one.path))).toEqual([]);
  const left = `account_id = '${person.account.id}'`;
  expect(await rows(`select id from channels where ${left}`)).toEqual([]);
  expect(await rows(`select id from webhook_messages where ${left}`)).toEqual([]);
});

test("another process sends what a dead process had claimed, with the same id [§19.4.5]", async () => {
  const { agent, path, id } = await begin();
  receiver.behave(() => 500);
  await createTask(agent.send);
  await app.webhooks.settled();
  const [tried] = receiver.take();
  const until = Math.round((clock.now() + 5_000) * 1000);
  await rows(
    `update webhook_messages set lease = 'dead', due_at = ${until} where channel_id = '${id}' returning 1`,
  );
  receiver.behave(() => 200);
  await advance(LEASE - 2);
  expect(taken(path)).toEqual([]);
  await advance(5);
  expect(receiver.take().map((one) => one.id)).toEqual([tried!.id]);
});

test("a stop finishes what is being sent and gives the rest back [§19.4.5]", async () => {
  const { agent, path, id } = await begin();
  const slow = gate();
  receiver.behave(async () => {
    await slow.opened;
    return 200;
  });
  const peer = await start();
  // What it does after its start would take a share of the messages.
  await peer.webhooks.settled();
  for (let i = 0; i < 10; i++) await createTask(agent.send);
  await until(() => receiver.open() === 3);
  peer.webhooks.run();
  await until(() => receiver.open() === 6);
  const stopped = peer.stop();
  slow.open();
  await stopped;
  await app.webhooks.settled();
  expect(taken(path).length).toBe(10);
  expect(await rows(`select * from webhook_messages where channel_id = '${id}'`)).toEqual([]);
});
