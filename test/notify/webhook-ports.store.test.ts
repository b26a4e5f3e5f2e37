/** Receivers on two ports of one host (§19.4.6). */

import { expect, test } from "bun:test";
import { WEBHOOK_LIMITS } from "../../src/notification-limits.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPerson } from "../support/client.ts";
import { gate, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

const app = await startTestApp();

/** A webhook of an account, and one of a key. */
async function create(url: string): Promise<void> {
  const person = await createPerson(app.url);
  const { key } = await createAgent(app.url, person);
  const channel = { type: "webhook", label: "CI", url };
  expect((await person.send("POST /v1/channels", channel)).status).toBe(201);
  expect((await person.send(`PUT /v1/keys/${key.id}/webhook`, { url })).status).toBe(200);
}

test("a receiver that hangs does not delay another port of its host [§19.4.6]", async () => {
  const hanging = startReceiver();
  const slow = gate();
  hanging.behave(async () => {
    await slow.opened;
    return 200;
  });
  for (let i = 0; i < 3; i++) await create(hanging.url(`/hang-${i}`));
  await until(() => hanging.open() >= WEBHOOK_LIMITS.failing_per_host);
  const quick = startReceiver();
  await create(quick.url("/quick"));
  const typesOf = () => new Set(quick.got.map(({ type }) => type));
  await until(() => typesOf().has("channel.test") && typesOf().has("webhook.test"));
  expect(hanging.mostOfHost()).toBe(WEBHOOK_LIMITS.failing_per_host);
  slow.open();
  await app.webhooks.settled();
});
