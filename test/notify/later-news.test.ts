/** A refused push does not hold back what comes after it. */

import { afterEach, expect, test } from "bun:test";
import type { Received } from "../support/apple-checks.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";
import { until } from "../support/until.ts";

const world = await createPushWorld();
const { apple, advance } = world;
const down = { status: 503, reason: "ServiceUnavailable" } as const;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

async function people() {
  const made = await world.people("a");
  await world.skip(3_601);
  await advance(61, 2);
  await made.told();
  apple.forget();
  return { ...made, phone: made.phones[0]! };
}

/** The first push for which this holds is refused for now. */
function failOnce(which: (push: Received) => boolean) {
  let failed = false;
  apple.behave((push) => {
    if (failed || !which(push)) return undefined;
    failed = true;
    return down;
  });
}

const clears = () => apple.delivered.flatMap(({ payload }) => payload.relay.clear ?? []);

test("a clear goes at once although an earlier silent push was refused for now", async () => {
  const { agent, person } = await people();
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  failOnce(({ type }) => type === "background");
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "x" });
  await world.settle();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await advance(2);
  expect(clears()).toEqual([id]);
});

test("a clear that came during a silent push goes although that push is refused", async () => {
  const { agent, person } = await people();
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  failOnce(({ type }) => type === "background");
  const silent = apple.hold();
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "x" });
  await until(() => apple.openStreams() > 0);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  silent.release();
  await world.settle();
  await advance(2);
  expect(clears()).toEqual([id]);
  const ids = apple.received.filter(({ type }) => type === "background");
  expect(new Set(ids.map(({ apns_id }) => apns_id)).size).toBe(2);
});

test("a clear that is refused for now is retried for longer than a silent push lives", async () => {
  const { agent, person } = await people();
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  failOnce(({ type }) => type === "background");
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await advance(880, 20);
  expect(clears()).toEqual([]);
  await advance(960, 20);
  expect(clears()).toEqual([id]);
});

test("a change of status alerts at once although an earlier passive push was refused for now", async () => {
  const { agent } = await people();
  const task = await createTask(agent.send, { title: "t", status: "todo" });
  await advance(61, 2);
  apple.forget();
  failOnce(({ type }) => type === "alert");
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 1 });
  await world.settle();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 2 });
  await advance(20);
  const bodies = () =>
    apple.delivered.filter(({ type }) => type === "alert").map((one) => one.payload.aps.alert.body);
  // Nothing new: the service is given time.
  expect(bodies()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.settle();
  expect(bodies()).toEqual(["Done"]);
});

test("the next activity period starts although the start before it was refused for now", async () => {
  const { agent } = await people();
  failOnce(({ payload }) => payload.aps.event === "start");
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  await world.settle();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  await advance(60, 10);
  const starts = () => apple.delivered.filter(({ payload }) => payload.aps.event === "start");
  expect(starts()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  await world.settle();
  expect(starts().length).toBe(1);
  await advance(2_000, 20);
  expect(starts().length).toBe(1);
});
