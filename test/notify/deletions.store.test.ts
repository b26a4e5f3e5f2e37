/** What devices are told about deleted keys and accounts, and how fast. */

import { afterEach, expect, test } from "bun:test";
import { ask, createAgent, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";

const world = await createPushWorld();
const { apple } = world;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

async function people() {
  const made = await world.people("a");
  await world.skip(3_601);
  await world.advance(61, 2);
  apple.forget();
  return { ...made, phone: made.phones[0]! };
}

const silent = () => apple.received.filter(({ type }) => type === "background");
const clears = () =>
  silent().flatMap(({ payload }) => (payload.relay.clear ? [payload.relay.clear] : []));

test("deleting keys that showed nothing sends three silent pushes an hour", async () => {
  const { person } = await people();
  const keys = [];
  for (let i = 0; i < 8; i++) keys.push((await createAgent(world.app.url, person, `k${i}`)).key);
  await world.advance(5);
  for (const { id } of keys) {
    await person.send(`DELETE /v1/keys/${id}`);
    await world.advance(3);
  }
  expect(silent().length).toBe(3);
  expect(clears()).toEqual([]);
});

test("deleting a key that showed something clears its tasks and pending questions and no others", async () => {
  const { person, agent } = await people();
  const other = await createAgent(world.app.url, person, "other");
  const task = await createTask(agent.send, { title: "t" });
  const question = await ask(agent.send, { prompt: "Go?" });
  const over = await ask(agent.send, { prompt: "Now?" });
  await createTask(agent.send, { title: "quiet", notify: false });
  await createTask(other.send, { title: "t" });
  await world.settle();
  await person.send(`POST /v1/questions/${over.id}/answer`, { answer: "Yes" });
  await world.advance(5);
  apple.forget();
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await world.advance(3);
  expect(clears().map((ids) => ids.toSorted())).toEqual([[question.id, task.id].toSorted()]);
});

test("deleting an account that showed nothing sends only a waiting clear", async () => {
  const quiet = await people();
  await createTask(quiet.agent.send, { title: "quiet", notify: false });
  await world.advance(65, 5);
  apple.forget();
  await quiet.person.send("DELETE /v1/account");
  await world.advance(5);
  expect(apple.received).toEqual([]);

  const { person, agent } = await people();
  const { id } = await ask(agent.send, { prompt: "Go?" });
  await world.settle();
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  await person.send("DELETE /v1/account");
  await world.advance(5);
  expect(clears()).toEqual([[id]]);
});

test("ids that a refused clear had no room for are cleared too", async () => {
  const { person, agent } = await people();
  const ids = [];
  for (let i = 0; i < 60; i++) ids.push((await createTask(agent.send, { title: "t" })).id);
  await world.advance(61, 2);
  apple.forget();
  let refused = false;
  apple.behave(({ payload }) => {
    if (refused || !payload.relay.clear) return undefined;
    refused = true;
    return { status: 400, reason: "BadMessageId" };
  });
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await world.advance(5);
  expect(clears().map((list) => list.length)).toEqual([50, 10]);
  expect(clears().flat().sort()).toEqual(ids.sort());
});
