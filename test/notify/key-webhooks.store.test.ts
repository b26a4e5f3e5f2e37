/** Webhooks of keys: which items are posted, in which order, and what each answer does (§5.9.5). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { LIMITS, RATES } from "../../src/limits.ts";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Agent,
  ask,
  client,
  createAgent,
  createPair,
  createTask,
  type Person,
  pair,
  type Send,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { connectClient } from "../support/oauth.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const receiver = startReceiver();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url, jitter: () => 0.999 });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
const rows = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
let paths = 0;

/** Sets the key's webhook to a path of its own. */
async function setHook(send: Send, key_id: string, path = `/agent-${++paths}`) {
  const url = receiver.url(path);
  const { status, body } = await send(`PUT /v1/keys/${key_id}/webhook`, { url });
  if (status !== 200) throw new Error(JSON.stringify(body));
  receiver.expect(path, body.secret);
  return { path, url, secret: body.secret as string };
}

/** A person with an agent whose webhook has passed its test. */
async function begin() {
  receiver.behave(() => 200);
  const { person, agent } = await createPair(app.url);
  const hook = await setHook(agent.send, agent.key.id);
  await app.webhooks.settled();
  receiver.take();
  const say = (text: string) => person.send("POST /v1/messages", { key_id: agent.key.id, text });
  const state = async () => (await agent.send(`GET /v1/keys/${agent.key.id}/webhook`)).body;
  return { person, agent, say, state, ...hook };
}

/** Moves time in steps, each until nothing is being sent. */
async function advance(seconds: number, step = 1) {
  for (let left = seconds; left > 0; left -= step) {
    await app.webhooks.settled();
    await clock.skip(Math.min(step, left));
    await app.webhooks.settled();
    await app.jobs.settled();
  }
}

const inboxOf = async ({ send }: Person, { key }: Agent) =>
  (await send(`GET /v1/keys/${key.id}/inbox`)).body;

/** Texts of the accepted messages. */
const texts = (path: string) =>
  receiver.got
    .filter((one) => one.path === path && one.status < 300)
    .map(({ data }) => data.item?.text);

test("each inbox item is posted under its own id, and 2xx marks it as read [§5.9.5(1)] [§5.9.5(3)]", async () => {
  const { person, agent, say, path, secret } = await begin();
  const stream = await openStream(app.url, person.token);
  const task = await createTask(person.send, { title: "For you", key_id: agent.key.id });
  const question = await ask(agent.send);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await say("Hello");
  await app.webhooks.settled();
  const got = receiver.take();
  expect(got.map(({ type }) => type)).toEqual(["task.created", "question.answered", "message"]);
  expect(receiver.faults).toEqual([]);
  expect(got.every((one) => one.path === path)).toBe(true);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const { items, unread } = await inboxOf(person, agent);
  expect(unread).toBe(0);
  expect(got.map(({ id }) => id)).toEqual(items.map(({ id }: any) => id).reverse());
  // As it was when sent: unread, and its task not seen.
  for (const [i, item] of items.reverse().entries()) {
    const { data, at } = got[i]!;
    const task_then = item.task && { ...item.task, seen_at: null, updated_at: task.updated_at };
    expect(data).toEqual({ item: { ...item, read_at: null, task: task_then } });
    expect(at).toBe(new Date(item.created_at * 1000).toISOString());
    expect(item.read_at).toBe(clock.now());
  }
  expect((await person.send(`GET /v1/tasks/${task.id}`)).body.seen_at).toBe(clock.now());
  expect((await agent.send("GET /v1/inbox")).body).toEqual({ items: [], unread: 0 });
  const counts = () => stream.events.filter(({ event }) => event === "inbox.updated");
  await until(() => counts().length === 6);
  expect(counts().at(-1)!.data).toEqual({ key_id: agent.key.id, unread: 0, unreceived: 0 });
  expect(
    stream.events.some(({ event, data }) => event === "task.updated" && data.task.seen_at !== null),
  ).toBe(true);
  stream.close();
});

test("a key's items are posted in order, each with one id until it is accepted [§5.9.5(2)]", async () => {
  const { say, path, state } = await begin();
  receiver.behave(() => 500);
  for (const text of ["a", "b", "c"]) await say(text);
  await advance(60, 5);
  const tried = receiver.take();
  expect(tried.length).toBeGreaterThan(2);
  expect(new Set(tried.map(({ data }) => data.item.text))).toEqual(new Set(["a"]));
  expect(new Set(tried.map(({ id }) => id)).size).toBe(1);
  expect(await state()).toMatchObject({ state: "ok", last_error: { code: "status_500" } });
  receiver.behave(() => 200);
  await advance(60, 5);
  expect(texts(path)).toEqual(["a", "b", "c"]);
});

test("an item that the agent has read meanwhile is not posted [§5.9.5(3)]", async () => {
  const { agent, say, path } = await begin();
  receiver.behave(() => 503);
  for (const text of ["a", "b", "c", "d"]) await say(text);
  await app.webhooks.settled();
  const { body } = await agent.send("GET /v1/inbox?limit=2&peek=true");
  await agent.send(`GET /v1/inbox?peek=true&ack=${body.items[1].id}`);
  const queued = `select count(*) from webhook_messages where subject = '${agent.key.id}'`;
  expect(await rows(queued)).toEqual([[2]]);
  receiver.take();
  receiver.behave(() => 200);
  await advance(10);
  expect(texts(path)).toEqual(["c", "d"]);
  expect(await rows(queued)).toEqual([[0]]);
});

test("an item that is read while it is being posted arrives both ways and counts once [§5.9.5(4)]", async () => {
  const { person, agent, say, path } = await begin();
  const slow = gate();
  receiver.behave(async () => {
    await slow.opened;
    return 200;
  });
  await say("a");
  await until(() => receiver.open() === 1);
  const read = await agent.send("GET /v1/inbox");
  expect(read.body.items.map(({ text }: any) => text)).toEqual(["a"]);
  await say("b");
  // The next item waits for the answer, although the first was read.
  const heads = `select head from webhook_messages where subject = '${agent.key.id}' order by seq`;
  expect(await rows(heads)).toEqual([[1], [0]]);
  slow.open();
  await app.webhooks.settled();
  expect(texts(path)).toEqual(["a", "b"]);
  expect((await inboxOf(person, agent)).unread).toBe(0);
  const [first] = (await inboxOf(person, agent)).items.slice(-1);
  expect(first.read_at).toBe(read.body.items[0].read_at);
  // A refused item that was read meanwhile is not tried again.
  const refused = gate();
  receiver.behave(async () => {
    await refused.opened;
    return 500;
  });
  await say("c");
  await until(() => receiver.open() === 1);
  await agent.send("GET /v1/inbox");
  refused.open();
  await advance(20, 5);
  expect(receiver.got.filter(({ status }) => status === 500).length).toBe(1);
  expect(await rows(heads)).toEqual([]);
});

test("a waiting read and the webhook share the inbox [§5.9.5(4)]", async () => {
  const { agent, say, path } = await begin();
  const wait = agent.send("GET /v1/inbox?wait=50");
  await until(() => app.waits.count() === 1);
  receiver.behave(() => 500);
  await say("a");
  expect((await wait).body.items.length).toBe(1);
  await advance(1);
  receiver.behave(() => 200);
  await advance(10);
  expect(texts(path)).toEqual([]);
});

test("a webhook gets only tests until one succeeds, and then every unread item [§5.9.5(5)]", async () => {
  const { person, agent } = await createPair(app.url);
  const say = (text: string) => person.send("POST /v1/messages", { key_id: agent.key.id, text });
  await say("before");
  receiver.take();
  receiver.behave(() => 404);
  const { path } = await setHook(person.send, agent.key.id);
  await say("after");
  await advance(10);
  const [first, ...more] = receiver.take();
  expect(first).toMatchObject({
    type: "webhook.test",
    data: { key_id: agent.key.id, label: agent.key.label },
  });
  expect(new Set(more.map(({ id }) => id))).toEqual(new Set([first!.id]));
  const { keys } = (await person.send("GET /v1/keys")).body;
  expect(keys[0].webhook).toEqual({
    state: "failing",
    origin: new URL(receiver.url("/")).origin,
    hint: path.slice(-4),
    last_sent_at: null,
    last_error: { code: "status_404", at: expect.any(Number) },
    missed: 0,
    created_at: expect.any(Number),
  });
  receiver.behave(() => 200);
  await advance(60, 5);
  expect(texts(path)).toEqual([undefined, "before", "after"]);
  const read = (await person.send("GET /v1/keys")).body.keys[0].webhook;
  expect(read).toMatchObject({ state: "ok", last_sent_at: expect.any(Number) });
});

test("an item that was given up stays unread, and another PUT posts it again [§5.9.5(6)]", async () => {
  const { person, agent, say, path, state } = await begin();
  receiver.behave(() => 500);
  await say("late");
  await app.webhooks.settled();
  const full = `update channels set queued = ${WEBHOOK_LIMITS.queued} where key_id = '${agent.key.id}' returning 1`;
  await rows(full);
  await say("no room");
  expect(await state()).toMatchObject({
    state: "failing",
    missed: 1,
    last_error: { code: "queue_full" },
  });
  await rows(full.replace(`${WEBHOOK_LIMITS.queued}`, "1"));
  await advance(WEBHOOK_LIMITS.message_life + 60, 3_600);
  expect(await state()).toMatchObject({ state: "failing", missed: 2 });
  expect((await inboxOf(person, agent)).unread).toBe(2);
  receiver.behave(() => 410);
  await say("gone");
  await app.webhooks.settled();
  expect(await state()).toMatchObject({
    state: "gone",
    missed: 3,
    last_error: { code: "status_410" },
  });
  await say("later");
  expect(await rows(`select queued from channels where key_id = '${agent.key.id}'`)).toEqual([[0]]);
  receiver.take();
  receiver.behave(() => 200);
  await advance(30, 10);
  expect(receiver.take()).toEqual([]);
  await setHook(agent.send, agent.key.id, path);
  await app.webhooks.settled();
  expect(texts(path)).toEqual([undefined, "late", "no room", "gone", "later"]);
  expect(await state()).toMatchObject({ state: "ok", missed: 0, last_error: null });
});

test("only the account and the key itself see, set and remove the webhook; nobody sees its secret [§5.4.10] [§5.4.11] [§5.4.12]", async () => {
  const { person, agent, url, secret, path } = await begin();
  const other = await createAgent(app.url, person, "other");
  const stranger = await createPair(app.url);
  const at = `/v1/keys/${agent.key.id}/webhook` as const;
  for (const { send } of [other, stranger.agent, stranger.person]) {
    for (const request of [`PUT ${at}`, `GET ${at}`, `DELETE ${at}`] as const) {
      const refused = await send(request, request.startsWith("PUT") ? { url } : undefined);
      expect([request, refused.status]).toEqual([request, 404]);
    }
  }
  const told = [
    await person.send("GET /v1/keys"),
    await person.send(`GET ${at}`),
    await agent.send(`GET ${at}`),
    await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "renamed" }),
  ].map(({ body }) => body);
  expect(told.every((body) => JSON.stringify(body).includes(new URL(url).origin))).toBe(true);
  for (const hidden of [secret.slice(6), `${path}"`]) {
    expect(JSON.stringify(told) + app.lines.join()).not.toContain(hidden);
  }
  const again = await setHook(person.send, agent.key.id, path);
  expect(again.secret).not.toBe(secret);
  // It is not listed among the channels.
  expect((await person.send("GET /v1/channels")).body.channels).toEqual([]);
  const [[id]] = (await rows(`select id from channels where key_id = '${agent.key.id}'`)) as [
    [string],
  ];
  expect((await person.send(`DELETE /v1/channels/${id}`)).status).toBe(404);
  expect((await agent.send(`DELETE ${at}`)).status).toBe(204);
  expect((await agent.send(`DELETE ${at}`)).status).toBe(404);
  expect((await person.send(`GET ${at}`)).status).toBe(404);
  expect((await person.send("GET /v1/keys")).body.keys.some((key: any) => "webhook" in key)).toBe(
    false,
  );
});

test("setting and removing the webhook are events of the key [§7.2 key.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const seen = () =>
    stream.events
      .filter(({ event }) => event === "key.updated")
      .map(({ data }: any) => data.key.webhook?.state);
  await setHook(person.send, agent.key.id);
  await person.send(`DELETE /v1/keys/${agent.key.id}/webhook`);
  await until(() => seen().length === 2);
  expect(seen()).toEqual(["ok", undefined]);
  stream.close();
});

test("nothing is posted once the webhook, key or account is removed [§5.9.5(7)]", async () => {
  const ends: ((made: Awaited<ReturnType<typeof begin>>) => Promise<unknown>)[] = [
    ({ agent }) => agent.send(`DELETE /v1/keys/${agent.key.id}/webhook`),
    ({ person, agent }) => person.send(`DELETE /v1/keys/${agent.key.id}`),
    ({ person }) => person.send("DELETE /v1/account"),
  ];
  const made = [];
  for (const end of ends) {
    const one = await begin();
    receiver.behave(() => 500);
    await one.say("never");
    await app.webhooks.settled();
    await end(one);
    made.push(one);
  }
  receiver.take();
  receiver.behave(() => 200);
  await advance(30, 5);
  expect(receiver.take()).toEqual([]);
  const keys = made.map(({ agent }) => `'${agent.key.id}'`).join();
  expect(await rows(`select id from channels where key_id in (${keys})`)).toEqual([]);
  expect(await rows(`select id from webhook_messages where subject in (${keys})`)).toEqual([]);
});

test("the webhook ends with the secret or grant that set it, but stays if the account set it [§5.4.7] [§5.4.9]", async () => {
  const { person, agent } = await begin();
  const replaced = await person.send(`POST /v1/keys/${agent.key.id}/secret`, {});
  expect(replaced.body.key.webhook).toBeUndefined();
  const at = `GET /v1/keys/${agent.key.id}/webhook` as const;
  expect((await person.send(at)).status).toBe(404);
  await setHook(person.send, agent.key.id);
  const kept = await person.send(`POST /v1/keys/${agent.key.id}/secret`, {});
  expect(kept.body.key.webhook.state).toBe("ok");

  const { send, key } = await connectClient(app.url, person);
  await setHook(send, key.id);
  await person.send(`POST /v1/keys/${key.id}/secret`, {});
  expect((await person.send(`GET /v1/keys/${key.id}/webhook`)).status).toBe(200);
  const [grant] = (await person.send(`GET /v1/keys/${key.id}/grants`)).body.grants;
  await person.send(`DELETE /v1/keys/${key.id}/grants/${grant.id}`);
  expect((await person.send(`GET /v1/keys/${key.id}/webhook`)).status).toBe(404);
  expect((await person.send(at)).status).toBe(200);
});

test("an unusable URL, a sign-in in its trial and a 21st PUT of a webhook are refused [§5.4.10]", async () => {
  const limited = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
  const { person, agent } = await createPair(limited.url);
  const put = `PUT /v1/keys/${agent.key.id}/webhook` as const;
  const url = "http://127.0.0.1:9/hook";
  const wrong = await agent.send(put, { url: "https://10.1.2.3/" });
  expect([wrong.status, Object.keys(wrong.body.fields)]).toEqual([422, ["url"]]);
  const fresh = await pair(limited.url, person);
  expect((await fresh.send(put, { url })).status).toBe(403);
  const before = RATES.webhook_sets.quota - 1;
  const answers = await Promise.all(Array.from({ length: before }, () => agent.send(put, { url })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await agent.send(`DELETE /v1/keys/${agent.key.id}/webhook`);
  const refused = await agent.send(put, { url });
  expect(refused.body).toMatchObject({ status: 429, code: "rate_limited" });
  expect(Number(refused.headers.get("retry-after"))).toBe(3_600);
  await clock.skip(3_601);
  expect((await client(limited.url, fresh.token)(put, { url })).status).toBe(200);
});

test("an update that is merged into a newer one is not posted [§5.9.5(3)]", async () => {
  const { person, agent, path, state } = await begin();
  receiver.behave(() => 500);
  const key_id = agent.key.id;
  const task = await createTask(person.send, { title: "t", key_id });
  await app.webhooks.settled();
  // From this number on, updates are merged.
  await rows(`update keys set unread = ${LIMITS.unread_merge} where id = '${key_id}' returning 1`);
  for (const title of ["u", "v", "w"]) await person.send(`PATCH /v1/tasks/${task.id}`, { title });
  const queued = `select type from webhook_messages where subject = '${key_id}' order by seq`;
  expect(await rows(queued)).toEqual([["task.created"], ["task.updated"]]);
  receiver.behave(() => 200);
  await advance(10);
  expect(receiver.got.filter((one) => one.path === path && one.status === 200).length).toBe(2);
  expect((await state()).missed).toBe(0);
});

test("the triggers use the numbers of the table of limits", async () => {
  const [[text]] = (await rows(
    "select sql from sqlite_schema where name = 'items_webhook_insert'",
  )) as [[string]];
  expect(text).toContain(`>= ${WEBHOOK_LIMITS.queued};`);
  expect(text).toContain(`< ${WEBHOOK_LIMITS.queued};`);
  expect(text).toContain(`+ ${WEBHOOK_LIMITS.message_life * 1000},`);
});
