/** How far a question got over webhooks (§19.3). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startReceiver } from "../support/receiver.ts";

const clock = createTestClock();
const receiver = startReceiver();
const app = await startTestApp({ clock, jitter: () => 0.999 });
let paths = 0;

async function begin(body: object = {}) {
  receiver.behave(() => 200);
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const path = `/hook-${++paths}`;
  const given = { type: "webhook", label: "CI", url: receiver.url(path), ...body };
  const { channel, secret } = (await person.send("POST /v1/channels", given)).body;
  receiver.expect(path, secret);
  await app.webhooks.settled();
  const read = async (id: string) =>
    (await person.send(`GET /v1/questions/${id}/deliveries`)).body as {
      deliveries: any[];
      reach: any;
    };
  const told = async (id: string) =>
    (await read(id)).deliveries.map(({ status, reason }) => [status, reason]);
  return { person, agent, channel_id: channel.id as string, read, told };
}

/** Moves time in steps of a second, each until nothing is being sent. */
async function advance(seconds: number, step = 1) {
  for (let left = seconds; left > 0; left -= step) {
    await clock.skip(Math.min(step, left));
    await app.webhooks.settled();
    await app.jobs.settled();
  }
}

test("a question that a webhook accepts is sent, under the label of the channel [§19.3]", async () => {
  const { person, agent, channel_id, read } = await begin();
  const asked_at = clock.now();
  const { id } = await ask(agent.send);
  await app.webhooks.settled();
  await person.send(`PATCH /v1/channels/${channel_id}`, { label: "renamed" });
  const { deliveries, reach } = await read(id);
  expect(deliveries).toEqual([
    {
      id: expect.stringMatching(/^dlv_[0-9a-f]{32}$/),
      target: { type: "webhook", id: channel_id, label: "CI" },
      status: "sent",
      reason: null,
      queued_at: asked_at,
      sent_at: asked_at,
      shown_at: null,
      opened_at: null,
    },
  ]);
  expect(reach).toMatchObject({ state: "sent", at: asked_at, reachable: true });
});

test("a webhook delivery that is unwanted, refused or given up, or whose channel is deleted, says so [§19.3]", async () => {
  const tasks = await begin({ sends: ["tasks"] });
  const unwanted = await ask(tasks.agent.send);
  await app.webhooks.settled();
  expect(await tasks.told(unwanted.id)).toEqual([["suppressed", "not_wanted"]]);
  expect((await tasks.read(unwanted.id)).reach.reachable).toBe(false);

  const busy = await begin();
  receiver.behave(() => 503);
  const late = await ask(busy.agent.send);
  await app.webhooks.settled();
  expect(await busy.told(late.id)).toEqual([["queued", null]]);
  await advance(86_400 + 1_200, 600);
  expect(await busy.told(late.id)).toEqual([["failed", "expired"]]);
  // The channel is failing now, so nobody can count on it.
  expect((await busy.read(late.id)).reach.reachable).toBe(false);

  const leaving = await begin();
  receiver.behave(() => 503);
  const removed = await ask(leaving.agent.send);
  await app.webhooks.settled();
  await leaving.person.send(`DELETE /v1/channels/${leaving.channel_id}`);
  expect(await leaving.told(removed.id)).toEqual([["failed", "target_removed"]]);

  const gone = await begin();
  receiver.behave(() => 410);
  const refused = await ask(gone.agent.send);
  await app.webhooks.settled();
  expect(await gone.told(refused.id)).toEqual([["failed", "status_410"]]);
});
