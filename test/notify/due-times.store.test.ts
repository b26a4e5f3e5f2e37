/** Due times from before the store's clock was set back (§11.5.4). */

import { expect, test } from "bun:test";
import { ask, WEBHOOK } from "../support/client.ts";
import { startNtfyWorld } from "../support/ntfy-world.ts";
import { startReceiver } from "../support/receiver.ts";

const { app, ntfy, rows, change, settled, begin, advance } = await startNtfyWorld();
const receiver = startReceiver();
const HOUR = 3_600;
/** Within one pass of the job and one look at the queue. */
const SOON = 75;

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

test("a delivery that was put back while the clock was months ahead is sent once it is set back [§11.5.4]", async () => {
  const { agent, topic, hook, posted } = await beginBoth();
  ntfy.behave(503);
  receiver.behave(() => 500);
  await ask(agent.send);
  await settled();
  await app.webhooks.settled();
  posted();
  const ahead = 61 * 24 * HOUR * 1_000;
  await change(`update deliveries set due_at = due_at + ${ahead}, tried_at = tried_at + ${ahead}`);
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

test("an hour's wait that a service asks for is kept [§11.5.4]", async () => {
  const { agent, topic, posted } = await beginBoth();
  // The question of the test above rings again meanwhile.
  const told = () => ntfy.take().filter((one) => one.topic === topic);
  ntfy.behave({ status: 429, retry_after: "3600" });
  receiver.behave(() => new Response("", { status: 429, headers: { "retry-after": "3600" } }));
  await ask(agent.send, { prompt: "Go on?", expires_in: 86_400 });
  await settled();
  await app.webhooks.settled();
  posted();
  ntfy.behave("ok");
  receiver.behave(() => 200);
  await pass(120);
  expect(told()).toHaveLength(0);
  expect(posted()).toBe(0);
  await advance(3_420, 60);
  expect(told()).toHaveLength(0);
  expect(posted()).toBe(0);
  await pass(120);
  expect(told()).toHaveLength(1);
  expect(posted()).toBe(1);
});
