/** Accounts and keys: create, read, settings, label, use, delete (§5.2, §5.4). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  client,
  createAgent,
  createPair,
  createPerson,
  createTask,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

test("an account is created without a credential or a body [§2.1] [§5.2.1] [§4.1.3]", async () => {
  const { status, body } = await client(app.url)("POST /v1/accounts");
  expect(status).toBe(201);
  expect(body).toEqual({
    account: {
      id: expect.stringMatching(/^acc_[0-9a-f]{32}$/),
      created_at: clock.now(),
      settings: { live_activities: true, nudges: true },
      storage: { bytes: 0, max_bytes: 1_000_000_000 },
    },
    token: expect.stringMatching(/^mca_[\w-]{43}$/),
  });
  const ignored = await client(app.url)("POST /v1/accounts", { attestation: "anything" });
  expect(ignored.status).toBe(201);
});

test("an account token reads the account and changes its settings [§5.2.2] [§5.2.3] [§4.1.1]", async () => {
  const { account, send } = await createPerson(app.url);
  expect((await send("GET /v1/account")).body).toEqual(account);
  const off = { ...account, settings: { live_activities: false, nudges: true } };
  const changed = await send("PATCH /v1/account", { settings: { live_activities: false } });
  expect(changed).toMatchObject({ status: 200, body: off });
  expect((await send("GET /v1/account")).body).toEqual(off);
  const quiet = { ...account, settings: { live_activities: false, nudges: false } };
  expect((await send("PATCH /v1/account", { settings: { nudges: false } })).body).toEqual(quiet);
});

test("deleting an account refuses its token and keys at once and ends its streams [§5.2.5] [§4.1.5] [§7.2 account.deleted] [§7.4.2 The account is deleted]", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const stream = await openStream(app.url, person.token);
  expect((await person.send("DELETE /v1/account")).status).toBe(204);
  expect((await person.send("GET /v1/account")).status).toBe(401);
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).status).toBe(401);
  expect((await person.send("DELETE /v1/account")).status).toBe(401);
  await stream.ended;
  expect(stream.events.slice(1)).toEqual([{ event: "account.deleted", data: {} }]);
});

test("ACCOUNT_CREATION=off refuses every new account", async () => {
  const closed = await startTestApp({ env: { ACCOUNT_CREATION: "off" } });
  const { status, body } = await client(closed.url)("POST /v1/accounts", {});
  expect([status, body.code]).toEqual([403, "account_creation_off"]);
});

test("a key's secret is in the response that creates the key, and nowhere else [§1.4.1] [§2.3] [§2.3.1] [§5.4.2] [§7.2 key.created]", async () => {
  const person = await createPerson(app.url);
  const stream = await openStream(app.url, person.token);
  const { status, body } = await person.send("POST /v1/keys", { label: "  builder ✨" });
  expect(status).toBe(201);
  const { key, secret } = body;
  expect(secret).toMatch(/^mck_[\w-]{43}$/);
  expect(key).toEqual({
    id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
    label: "  builder ✨",
    prefix: secret.slice(0, 8),
    last4: secret.slice(-4),
    created_at: clock.now(),
    last_used_at: null,
    last_client: null,
    last_host: null,
    counts: { todo: 0, in_progress: 0, done: 0, cancelled: 0 },
  });
  await stream.names(1);
  expect(stream.events.slice(1)).toEqual([{ event: "key.created", data: { key } }]);
  const list = await person.send("GET /v1/keys");
  expect(list.body).toEqual({ keys: [key] });
  expect(JSON.stringify([list.body, stream.events, app.lines])).not.toContain(secret);
  stream.close();
});

test("keys are listed newest first [§5.4.1]", async () => {
  const person = await createPerson(app.url);
  const ids: string[] = [];
  for (const label of ["a", "b", "c"]) {
    ids.unshift((await createAgent(app.url, person, label)).key.id);
    await clock.advance(0.001);
  }
  // Two keys of the same millisecond keep their order too.
  ids.unshift((await createAgent(app.url, person, "d")).key.id);
  ids.unshift((await createAgent(app.url, person, "e")).key.id);
  const { body } = await person.send("GET /v1/keys");
  expect(body.keys.map((key: { id: string }) => key.id)).toEqual(ids);
});

test("changing a label sends one event, and setting the same label sends none [§5.4.3] [§7.2 key.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const path = `PATCH /v1/keys/${agent.key.id}` as const;
  expect((await person.send(path, { label: "agent" })).body).toEqual(agent.key);
  const { status, body } = await person.send(path, { label: "renamed" });
  expect([status, body]).toEqual([200, { ...agent.key, label: "renamed" }]);
  await stream.names(1);
  expect(stream.events.slice(1)).toEqual([{ event: "key.updated", data: { key: body } }]);
  stream.close();
});

test("a deleted key is refused and hidden at once, and sends one event [§5.4.4] [§5.4.6(1)] [§7.3.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const stream = await openStream(app.url, person.token);
  expect((await person.send(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(204);
  expect((await agent.send("GET /v1/tasks")).status).toBe(401);
  expect((await person.send("GET /v1/keys")).body).toEqual({ keys: [] });
  expect((await person.send("GET /v1/tasks")).body.tasks).toEqual([]);
  expect((await person.send(`GET /v1/tasks/${task.id}`)).status).toBe(404);
  expect((await person.send(`GET /v1/tasks?key_id=${agent.key.id}`)).status).toBe(404);
  expect((await person.send(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(404);
  await createAgent(app.url, person);
  await stream.names(2);
  expect(stream.events[1]).toEqual({ event: "key.deleted", data: { key_id: agent.key.id } });
  expect(await stream.names(2)).toEqual(["key.deleted", "key.created"]);
  stream.close();
});

test("an account has at most 100 keys, also when they are created at once", async () => {
  const person = await createPerson(app.url);
  const made = await Promise.all(
    Array.from({ length: 104 }, () => person.send("POST /v1/keys", { label: "k" })),
  );
  const refused = made.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    Array(4).fill([409, "too_many_keys"]),
  );
  const gone = made.find(({ status }) => status === 201)!.body.key.id;
  await person.send(`DELETE /v1/keys/${gone}`);
  expect((await person.send("POST /v1/keys", { label: "k" })).status).toBe(201);
});

test("a key's task counts follow every change of a task [§2.3.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const counts = async () => (await person.send("GET /v1/keys")).body.keys[0].counts;
  const task = await createTask(agent.send);
  await createTask(agent.send, { title: "b", status: "in_progress" });
  expect(await counts()).toEqual({ todo: 1, in_progress: 1, done: 0, cancelled: 0 });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  expect(await counts()).toEqual({ todo: 0, in_progress: 1, done: 1, cancelled: 0 });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { title: "same status" });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "cancelled" });
  expect(await counts()).toEqual({ todo: 0, in_progress: 1, done: 0, cancelled: 1 });
  await person.send(`DELETE /v1/tasks/${task.id}`);
  expect(await counts()).toEqual({ todo: 0, in_progress: 1, done: 0, cancelled: 0 });
  // Neither the counts nor last_used_at send key.updated.
  expect(await stream.names(6)).not.toContain("key.updated");
  stream.close();
});

test("last_used_at of a key moves at most once a minute, without an event [§2.3.2] [§7.3.4] [§10.4 last_used_every]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const used = async () => (await person.send("GET /v1/keys")).body.keys[0].last_used_at;
  expect(await used()).toBeNull();
  const first = clock.now();
  await agent.send("GET /v1/tasks");
  expect(await used()).toBe(first);
  await clock.advance(59.9);
  await agent.send("GET /v1/tasks");
  expect(await used()).toBe(first);
  await clock.advance(0.1);
  // A refused request counts as a use.
  await agent.send("GET /v1/account");
  expect(await used()).toBe(clock.now());
  await createTask(agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("after the clock was set back, last_used_at still moves once a minute", async () => {
  const { person, agent } = await createPair(app.url);
  const used = async () => (await person.send("GET /v1/keys")).body.keys[0].last_used_at;
  const shift = async (seconds: number) => {
    clock.shiftWall(seconds);
    // Its clock is compared before the next pass of a job.
    await clock.advance(2);
    await app.jobs.settled();
  };
  await shift(3 * 86_400);
  await agent.send("GET /v1/tasks");
  const ahead = clock.now();
  await shift(-3 * 86_400);
  await agent.send("GET /v1/tasks");
  expect(await used()).toBe(ahead);
  await clock.advance(60);
  await agent.send("GET /v1/tasks");
  expect(await used()).toBe(clock.now());
});

test("last_host is the newest host sent, and is written at most once a second [§2.3.4] [§7.2 key.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const from = (host: string) =>
    agent.send("GET /v1/tasks", undefined, { headers: { "x-agent-host": host } });
  const host = async () => (await person.send("GET /v1/keys")).body.keys[0].last_host;
  await agent.send("GET /v1/tasks");
  expect(await host()).toBeNull();
  await agent.send("HEAD /v1/tasks", undefined, { headers: { "x-agent-host": "no effect" } });
  expect(await host()).toBeNull();
  await from("one");
  expect(await host()).toBe("one");
  await from("two");
  await from("three");
  expect(await host()).toBe("one");
  await clock.advance(1);
  await until(async () => (await host()) === "three");
  await clock.advance(2);
  await agent.send("GET /v1/tasks");
  await from("three");
  expect(await host()).toBe("three");
  await from(` ${"h".repeat(300)} `);
  expect(await host()).toBe("h".repeat(253));
  expect(await stream.names(3)).toEqual(["key.updated", "key.updated", "key.updated"]);
  expect(stream.events.slice(1).map(({ data }) => data.key.last_host)).toEqual([
    "one",
    "three",
    "h".repeat(253),
  ]);
  stream.close();
});

test("a new token ends the old one in every process, with its requests, waits and streams [§4.1.5]", async () => {
  const database_url = (await createTestStore()).url;
  const [one, two] = await Promise.all([1, 2].map(() => startTestApp({ database_url })));
  const { person, agent } = await createPair(one!.url);
  const question = await ask(agent.send);
  const path = `/v1/questions/${question.id}` as const;
  const old = [one!, two!].map(({ url }) => client(url, person.token));
  const streams = await Promise.all([one!, two!].map(({ url }) => openStream(url, person.token)));
  const waits = old.map((send) => send(`GET ${path}?wait=50`));
  const key_wait = agent.send(`GET ${path}?wait=50`);
  await until(() => one!.waits.count() + two!.waits.count() === 3);

  const { status, body } = await person.send("POST /v1/account/token", {});
  expect([status, Object.keys(body)]).toEqual([200, ["token"]]);
  expect(body.token).toMatch(/^mca_[\w-]{43}$/);
  for (const wait of waits) expect((await wait).status).toBe(401);
  for (const send of old) expect((await send("GET /v1/account")).status).toBe(401);
  for (const stream of streams) {
    await stream.ended;
    expect(stream.events.map(({ event }) => event)).toEqual(["ready"]);
  }
  const again = client(two!.url, body.token);
  expect((await again("GET /v1/account")).body).toEqual(person.account);
  const stream = await openStream(two!.url, body.token);
  expect((await again(`POST ${path}/answer`, { answer: "Yes" })).status).toBe(200);
  expect((await key_wait).body.answer).toBe("Yes");

  // Of two concurrent replacements one succeeds, and its token is the only valid one.
  const both = await Promise.all([again, again].map((send) => send("POST /v1/account/token", {})));
  expect(both.map((answer) => answer.status).sort()).toEqual([200, 401]);
  await stream.ended;
  const names = stream.events.map(({ event }) => event);
  expect(names).toEqual(["ready", "question.updated", "inbox.updated"]);
  expect((await again("GET /v1/account")).status).toBe(401);
  expect((await agent.send("GET /v1/tasks")).status).toBe(200);
});
