/** Due times when clocks are set back or processes run ahead (§11.5.4). */

import { expect, test } from "bun:test";
import { ask, createTask, WEBHOOK } from "../support/client.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const { clock, app, ntfy, rows, change, settled, begin, advance } = await startNtfyWorld();
const receiver = startReceiver();
const HOUR = 3_600;
/** Within one look at the queue. */
const SOON = 12;

const told = () => ntfy.take().map(({ topic }) => topic);

/** A person with an ntfy topic and a webhook whose test has succeeded. */
async function beginBoth() {
  ntfy.behave("ok");
  receiver.behave(() => 200);
  const one = await begin();
  const path = `/hook-${one.topic}`;
  const given = { ...WEBHOOK, url: receiver.url(path) };
  const { body, status } = await one.person.send("POST /v1/channels", given);
  expect(status).toBe(201);
  receiver.expect(path, body.secret);
  await app.webhooks.settled();
  receiver.take();
  const posted = () => receiver.take().filter((request) => request.path === path).length;
  return { ...one, hook: body.channel.id as string, posted };
}

async function pass(seconds: number) {
  for (let i = 0; i < seconds; i++) {
    await advance(1);
    await app.webhooks.settled();
  }
}

for (const back of [2 * HOUR, 600]) {
  test(`a retry does not wait for a clock that was set back by ${back} s [§11.5.4]`, async () => {
    const { agent, topic, posted } = await beginBoth();
    ntfy.behave(503);
    receiver.behave(() => 500);
    await ask(agent.send);
    await settled();
    await app.webhooks.settled();
    expect(posted()).toBe(1);
    clock.shiftWall(-back);
    ntfy.behave("ok");
    receiver.behave(() => 200);
    await pass(SOON);
    expect(told()).toEqual([topic]);
    expect(posted()).toBe(1);
  });
}

test("a retry does not wait for a clock that was ahead only while the attempt ended [§11.5.4]", async () => {
  const { agent, topic, posted } = await beginBoth();
  const answered = gate();
  receiver.behave(() => answered.opened.then(() => 500));
  await ask(agent.send);
  await until(() => receiver.open() === 1);
  clock.shiftWall(600);
  answered.open();
  await app.webhooks.settled();
  expect(posted()).toBe(1);
  clock.shiftWall(-600);
  receiver.behave(() => 200);
  await pass(SOON);
  expect(posted()).toBe(1);

  ntfy.take();
  ntfy.behave("hang");
  await ask(agent.send);
  await until(() => ntfy.open() === 1);
  clock.shiftWall(600);
  const tries = async () => rows("select lease is null, attempts from pushes");
  // The connection that hangs is given up by the event loop, so each step leaves it a turn.
  await until(async () => {
    await clock.advance(0.1);
    return Bun.deepEquals(await tries(), [[1, 1]]);
  });
  clock.shiftWall(-600);
  ntfy.behave("ok");
  await pass(SOON);
  expect(told()).toEqual([topic]);
});

test("a delivery put back by a process that was months ahead is sent once that process is gone [§11.5.4]", async () => {
  const { agent, topic, hook, posted } = await beginBoth();
  ntfy.behave(503);
  receiver.behave(() => 500);
  await ask(agent.send);
  await settled();
  await app.webhooks.settled();
  posted();
  const ahead = 61 * 24 * HOUR * 1_000;
  await change(`update pushes set due_at = due_at + ${ahead}, tried_at = tried_at + ${ahead}`);
  await change(`update channels set claimed_at = claimed_at + ${ahead} where id = '${hook}'`);
  await change(
    `update webhook_messages set due_at = due_at + ${ahead} where channel_id = '${hook}'`,
  );
  ntfy.behave("ok");
  receiver.behave(() => 200);
  await pass(SOON);
  expect(told()).toEqual([topic]);
  expect(posted()).toBe(1);
  expect(await rows(`select due_at from channels where id = '${hook}'`)).toEqual([[null]]);
});

test("a pace recorded in the future delays nothing for longer than its interval [§11.5.4]", async () => {
  const { agent, topic } = await beginBoth();
  const task = await createTask(agent.send, { title: "t" });
  await settled();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 1 });
  await pass(11);
  ntfy.take();
  clock.shiftWall(-2 * HOUR);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 2 });
  await pass(11);
  expect(told()).toEqual([topic]);
});

test("an hour's wait that a service asks for is kept [§11.5.4]", async () => {
  const { agent, topic, posted } = await beginBoth();
  ntfy.behave({ status: 429, retry_after: "3600" });
  receiver.behave(() => new Response("", { status: 429, headers: { "retry-after": "3600" } }));
  await ask(agent.send, { prompt: "Go on?", expires_in: 86_400 });
  await settled();
  await app.webhooks.settled();
  posted();
  ntfy.behave("ok");
  receiver.behave(() => 200);
  await pass(120);
  expect(told()).toEqual([]);
  expect(posted()).toBe(0);
  await advance(3_420, 60);
  expect(told()).toEqual([]);
  expect(posted()).toBe(0);
  await pass(120);
  expect(told()).toEqual([topic]);
  expect(posted()).toBe(1);
});
