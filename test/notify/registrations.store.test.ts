/** How the app's registrations start, update and end live activities (§14.5). */

import { afterEach, expect, test } from "bun:test";
import { createActivityWorld, working } from "../support/activity-world.ts";
import { createTask } from "../support/client.ts";
import { newToken } from "../support/push-world.ts";

const { world, people, activities, eventsOf } = await createActivityWorld();
const { apple, advance } = world;

/** Pushes to this token are deferred by the service. */
const refuse = (token: string) =>
  apple.behave((one) =>
    one.token === token ? { status: 429, reason: "TooManyRequests" } : undefined,
  );

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

test("a PUT for a task that is not in progress, or with the setting off, is answered with an end [§14.5.4]", async () => {
  const { agent, person, show, shown } = await people();
  for (const status of ["todo", "done", "cancelled"]) {
    const task = await createTask(agent.send, { title: "t", status });
    await activities();
    const token = await show(task.id);
    const got = await activities();
    expect(eventsOf(got)).toEqual([[token, "end"]]);
    expect(got[0]!.priority).toBe(10);
    expect(await shown()).toEqual([]);
  }
  await person.send("PATCH /v1/account", { settings: { live_activities: false } });
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  expect(eventsOf(await activities())).toEqual([[token, "end"]]);
  expect(await shown()).toEqual([]);
});

test("a late registration is brought up to date or ended", async () => {
  const { agent, show, b } = await people();
  const task = await createTask(agent.send, working);
  await activities();
  await advance(3);
  // Nothing changed since the start.
  const first = await show(task.id);
  expect(await activities()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 30 });
  const [update] = await activities();
  expect(update!.token).toBe(first);
  await advance(3);
  const second = await show(task.id, b, newToken("b shown"));
  const got = await activities();
  expect(eventsOf(got)).toEqual([[second, "update"]]);
  expect(got[0]!.payload.aps["content-state"].progress).toBe(30);
  // The task is over before the app gets its token.
  const short = await createTask(agent.send, working);
  await agent.send(`PATCH /v1/tasks/${short.id}`, { status: "done" });
  await activities();
  const late = await show(short.id);
  const ends = await activities();
  expect(eventsOf(ends)).toEqual([[late, "end"]]);
  expect(ends[0]!.payload.aps["content-state"].status).toBe("done");
});

test("the app's DELETE holds until the next activity period", async () => {
  const { agent, hide, show, a, b } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  await activities();
  expect((await hide(task.id)).status).toBe(204);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 3, priority: "high" });
  await advance(10);
  expect(await activities()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  await world.settle();
  expect(eventsOf(await activities())).not.toContainEqual([token, "end"]);
  // A start that waits is held too.
  refuse(a.push_to_start_token);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  await world.settle();
  await hide(task.id);
  apple.behave(() => undefined);
  await advance(90);
  expect(eventsOf(await activities())).toEqual([[b.push_to_start_token, "start"]]);
});

test("the end of a live activity is final: a task that continues gets a fresh start", async () => {
  const { agent, show, shown, a } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  await activities();
  refuse(token);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.settle();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  const starts = eventsOf(await activities());
  expect(starts).toContainEqual([a.push_to_start_token, "start"]);
  const fresh = await show(task.id);
  apple.behave(() => undefined);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 50 });
  await advance(40);
  const got = await activities();
  expect(eventsOf(got.filter((one) => one.token === token))).toEqual([[token, "end"]]);
  const updates = got.filter((one) => one.token === fresh);
  expect(updates.at(-1)!.payload.aps["content-state"].progress).toBe(50);
  expect(await shown()).toEqual([[fresh, 0]]);
});

test("a new update token replaces the old one", async () => {
  const { agent, show } = await people();
  const task = await createTask(agent.send, working);
  await show(task.id);
  const token = await show(task.id);
  await activities();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  await advance(6);
  expect(eventsOf(await activities())).toEqual([[token, "update"]]);
});

test("a device that goes, or loses its token, loses its queue and live activities", async () => {
  const { agent, person, a, b, show, shown } = await people();
  const task = await createTask(agent.send, working);
  await show(task.id);
  await show(task.id, b);
  await activities();
  const queue = (id: string) =>
    world.rows(`select kind from deliveries where recipient_id = '${id}'`);
  apple.behave(() => ({ status: 429, reason: "TooManyRequests" }));
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  await world.settle();
  expect((await queue(a.id)).length).toBeGreaterThan(1);
  await person.send(`DELETE /v1/devices/${a.id}`);
  expect(await queue(a.id)).toEqual([]);
  const other = await world.people();
  await world.phone(other.person, "thief", { apns_token: b.apns_token });
  expect(await queue(b.id)).toEqual([]);
  expect(await shown()).toEqual([]);
  apple.behave(() => undefined);
});

test("a device that goes removes a live activity whose end was not sent yet", async () => {
  const { agent, person, a, show, shown } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  await activities();
  refuse(token);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.settle();
  expect(await shown()).toEqual([[token, 1]]);
  await person.send(`DELETE /v1/devices/${a.id}`);
  expect(await shown()).toEqual([]);
});

test("an activity that is registered again and again gets updates at their usual pace", async () => {
  const { agent, person, phones } = await world.people("a");
  const { id } = await createTask(agent.send, { title: "t", status: "in_progress" });
  await advance(5);
  await agent.send(`PATCH /v1/tasks/${id}`, { progress: 3 });
  await advance(20);
  const push_token = newToken();
  const from = world.clock.now();
  const times = () =>
    apple.received
      .filter(({ token, time }) => token === push_token && time >= from)
      .map(({ time }) => Math.round(time - from));
  for (let i = 0; i < 5; i++) {
    await person.send(`PUT /v1/tasks/${id}/live-activity`, {
      device_id: phones[0]!.id,
      push_token,
    });
    await world.settle();
  }
  expect(times()).toEqual([0]);
  await advance(6);
  expect(times()).toEqual([0, 5]);
});
