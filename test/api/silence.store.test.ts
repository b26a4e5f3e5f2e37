/** Agents that fall silent while an update of their task is expected (§3.3). */

import { expect, test } from "bun:test";
import { ask, createTask, type Send } from "../support/client.ts";
import { connectClient } from "../support/oauth.ts";
import { createPushWorld } from "../support/push-world.ts";
import { STORE_KIND } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const world = await createPushWorld();
const { app, clock } = world;

/** For rules that run no other statements than the tests beside them. */
const onEmbedded = test.if(STORE_KIND === "embedded");

const EXPECTED = 300;
/** Seconds of silence after which it is noticed: the margin, and two looks. */
const NOTICED = EXPECTED + 60 + 30;

const pass = (seconds: number) => world.advance(seconds, 15);
const read = async (send: Send, { id }: { readonly id: string }) =>
  (await send(`GET /v1/tasks/${id}`)).body;

/** A person with a phone, and a task in progress whose agent is expected to be heard of every 5 minutes. */
async function begin(body: object = {}) {
  const people = await world.people("a");
  const task = await createTask(people.agent.send, {
    title: "Build",
    status: "in_progress",
    expect_update_within: EXPECTED,
    ...body,
  });
  await people.told();
  const { person, agent } = people;
  return {
    ...people,
    task,
    /** What the phone showed about silence since the last call. */
    alarms: async () => (await people.told()).filter((line) => line.includes("silent for")),
    since: async (): Promise<number | null> => (await read(person.send, task)).silent_since,
    patch: (body: object, { send }: { readonly send: Send } = agent) =>
      send(`PATCH /v1/tasks/${task.id}`, body),
  };
}

const ALARM = "a: active Build / builder has been silent for 5 minutes";

test("an agent that is not heard of is silent once, with a notification and an event [§3.3.1] [§3.3.2] [§2.4 silent_since]", async () => {
  const { person, task, alarms, since } = await begin();
  expect(task).toMatchObject({ expect_update_within: EXPECTED, silent_since: null });
  const stream = await openStream(app.url, person.token);
  const begun = clock.now();
  await pass(EXPECTED + 45);
  expect([await since(), await alarms()]).toEqual([null, []]);
  await pass(45);
  expect(await since()).toBeCloseTo(begun, 0);
  expect(await alarms()).toEqual([ALARM]);
  const silent = await read(person.send, task);
  expect(silent.updated_at).toBe(task.updated_at);
  await stream.names(1);
  expect(stream.events.slice(1)).toEqual([{ event: "task.updated", data: { task: silent } }]);
  await pass(2 * NOTICED);
  expect(await alarms()).toEqual([]);
  expect(await stream.names(1)).toEqual(["task.updated"]);
  stream.close();
});

test("a request of the key ends the silence, without a change of updated_at; the next one alarms again [§3.3.3]", async () => {
  const { person, agent, task, alarms, since } = await begin();
  await pass(NOTICED);
  expect(await since()).not.toBeNull();
  const stream = await openStream(app.url, person.token);
  await agent.send("GET /v1/inbox");
  await pass(15);
  expect(await since()).toBeNull();
  expect(await stream.names(1)).toEqual(["task.updated"]);
  expect((await read(person.send, task)).updated_at).toBe(task.updated_at);
  expect(await alarms()).toEqual([ALARM]);
  await pass(NOTICED);
  expect(await alarms()).toEqual([ALARM]);
  stream.close();
});

test("a change by the agent ends the silence at once, and one by the person does not count [§3.3.1] [§3.3.3]", async () => {
  const { person, patch, since, alarms } = await begin();
  await pass(200);
  await patch({ priority: "high" }, person);
  await pass(NOTICED - 200);
  expect(await alarms()).toEqual([ALARM]);
  await patch({ priority: "low" }, person);
  expect(await since()).not.toBeNull();
  expect((await patch({ progress: 5 })).body.silent_since).toBeNull();
});

onEmbedded(
  "nothing is expected of a task that is not in progress or has no expectation [§3.3.1]",
  async () => {
    const { person, patch, since, alarms } = await begin({ status: "todo" });
    await pass(NOTICED);
    expect(await since()).toBeNull();
    // The person starts it: the expectation begins now.
    await patch({ status: "in_progress" }, person);
    await pass(EXPECTED);
    expect(await since()).toBeNull();
    await pass(90);
    expect(await since()).not.toBeNull();
    expect((await patch({ status: "done" }, person)).body.silent_since).toBeNull();
    await patch({ status: "in_progress", expect_update_within: null }, person);
    await alarms();
    await pass(2 * NOTICED);
    expect([await since(), await alarms()]).toEqual([null, []]);
  },
);

onEmbedded(
  "requests of the key, also those that wait, show that the agent is alive [§3.3.1]",
  async () => {
    const { agent, since } = await begin();
    for (let i = 0; i < 12; i++) {
      await agent.send("GET /v1/agents");
      await pass(105);
    }
    expect(await since()).toBeNull();
    await pass(NOTICED);
    expect(await since()).not.toBeNull();
  },
);

onEmbedded(
  "an agent that waits for an answer is not silent, and has its time after the end of the question [§3.3.1]",
  async () => {
    const { person, agent, since } = await begin();
    const { id } = await ask(agent.send, { prompt: "Go on?", expires_in: 7_200 });
    await pass(3 * NOTICED);
    expect(await since()).toBeNull();
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    const answered = clock.now();
    await pass(EXPECTED + 30);
    expect(await since()).toBeNull();
    await pass(75);
    expect(await since()).toBeCloseTo(answered, 0);
  },
);

onEmbedded(
  "a question that has expired ends when its time is over, though it is still stored as pending [§3.3.1]",
  async () => {
    const { agent, task, since } = await begin();
    const { id } = await ask(agent.send, { prompt: "Go on?", expires_in: 7_200 });
    await pass(EXPECTED + 75);
    const [[due]] = (await world.rows(
      `select silent_due_at from tasks where id = '${task.id}'`,
    )) as [[number]];
    const look = Math.ceil((due / 1000 - clock.now()) / 15) * 15;
    // No job stores that before the look.
    const expires_at = Math.round((clock.now() + look - 0.4) * 1000);
    await world.change(`update questions set expires_at = ${expires_at} where id = '${id}'`);
    await pass(look);
    expect(await since()).toBeNull();
    await pass(EXPECTED + 30);
    expect(await since()).toBeNull();
    await pass(60);
    expect(await since()).toBeCloseTo(expires_at / 1000, 2);
  },
);

onEmbedded("a request with any credential of the key counts, up to a minute [§3.3.1]", async () => {
  const { agent, person, since } = await begin();
  const { send } = await connectClient(app.url, person, { key_id: agent.key.id });
  await pass(120);
  await agent.send("GET /v1/agents");
  await pass(45);
  await send("GET /v1/agents");
  // The key says when the secret was used: the two requests were within a minute.
  await pass(EXPECTED + 15);
  expect(await since()).toBeNull();
  await pass(75);
  expect(await since()).not.toBeNull();
});

onEmbedded(
  "a suspend of an hour causes no alarm, and afterwards a dead agent exactly one [§3.3.4]",
  async () => {
    const { since, alarms } = await begin();
    await world.skip(3_600);
    await pass(EXPECTED);
    expect([await since(), await alarms()]).toEqual([null, []]);
    await pass(150);
    await pass(NOTICED);
    expect(await alarms()).toEqual([ALARM]);
  },
);

for (const [what, by] of [
  ["back", -3_600],
  ["forward", 3_600],
] as const) {
  onEmbedded(
    `a clock that is set ${what} causes no alarm, and afterwards a dead agent exactly one [§3.3.4]`,
    async () => {
      const { since, alarms } = await begin();
      await pass(60);
      clock.shiftWall(by);
      await pass(EXPECTED);
      expect([await since(), await alarms()]).toEqual([null, []]);
      await pass(2 * EXPECTED + 300);
      expect(await alarms()).toEqual([ALARM]);
      await pass(NOTICED);
      expect(await alarms()).toEqual([]);
    },
  );
}

onEmbedded("a request ends the silence also after the clock was set back [§3.3.3]", async () => {
  const { agent, since, alarms } = await begin();
  await pass(NOTICED);
  clock.shiftWall(-3_600);
  await pass(60);
  expect(await since()).not.toBeNull();
  await agent.send("GET /v1/agents");
  await pass(15);
  expect(await since()).toBeNull();
  expect(await alarms()).toEqual([ALARM]);
});

test("a last use that a clock which was ahead has written is corrected, which ends no silence [§3.3.4]", async () => {
  const { agent, person, since, alarms } = await begin();
  const body = { title: "Test", status: "todo", expect_update_within: EXPECTED };
  const other = await createTask(agent.send, body);
  await pass(NOTICED);
  await person.send(`PATCH /v1/tasks/${other.id}`, { status: "in_progress" });
  // Nothing is on its way to Apple, whose clock is not set.
  await world.settle();
  clock.shiftWall(-3_600);
  await pass(2 * EXPECTED + 300);
  expect(await since()).not.toBeNull();
  expect((await alarms()).length).toBe(2);
  expect((await read(person.send, other)).silent_since).not.toBeNull();
  await pass(2 * NOTICED);
  expect(await alarms()).toEqual([]);
});

test("of two processes one alarms, and one that has just started does not hold up the other [§3.3.4]", async () => {
  const { person, since, alarms } = await begin();
  await pass(240);
  const other = await world.start();
  const events = await openStream(app.url, person.token);
  await pass(150);
  expect(await since()).not.toBeNull();
  expect(await alarms()).toEqual([ALARM]);
  expect(await events.names(1)).toEqual(["task.updated"]);
  await pass(NOTICED);
  expect(await alarms()).toEqual([]);
  expect(await events.names(1)).toEqual(["task.updated"]);
  events.close();
  await other.stop();
});

test("all silent tasks of a key end with its next request, however many they are", async () => {
  const { agent, person } = await begin({ notify: false });
  const body = { title: "t", status: "in_progress", expect_update_within: EXPECTED, notify: false };
  for (let i = 0; i < 130; i++) await createTask(agent.send, body);
  await pass(NOTICED + 15);
  const silent = async () => {
    const { body } = await person.send("GET /v1/tasks?limit=500");
    return body.tasks.filter(({ silent_since }: any) => silent_since !== null).length;
  };
  expect(await silent()).toBe(131);
  await agent.send("GET /v1/agents");
  await pass(15);
  expect(await silent()).toBe(0);
});

onEmbedded("a task with notify false becomes silent without a notification [§3.3.2]", async () => {
  const { since, told } = await begin({ notify: false });
  await told();
  await pass(NOTICED);
  expect(await since()).not.toBeNull();
  expect(await told()).not.toContainEqual(expect.stringContaining("silent for"));
});
