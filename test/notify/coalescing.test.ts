/** How few pushes many changes become (§14.4), and that the last state arrives. */

import { afterEach, expect, test } from "bun:test";
import type { Received } from "../support/apple-checks.ts";
import { ask, createAgent, createTask } from "../support/client.ts";
import { createPushWorld, newToken } from "../support/push-world.ts";
import { STORE_KIND } from "../support/store.ts";
import { until } from "../support/until.ts";

const world = await createPushWorld();
const { apple, advance } = world;

afterEach(() => expect(apple.faults.splice(0)).toEqual([]));

async function people(...names: string[]) {
  const made = await world.people(...names);
  // The hour's silent pushes are used up.
  await world.skip(3_601);
  await advance(2);
  await made.told();
  apple.forget();
  return made;
}

const SHORT: Record<string, string> = { alert: "alert", background: "silent", widgets: "widget" };

/** By kind, the seconds after `from` at which pushes reached these tokens. */
function timesOf(pushes: readonly Received[], from: number, tokens: readonly string[]) {
  const times: Record<string, number[]> = {};
  for (const { token, type, payload, time } of pushes) {
    if (!tokens.includes(token)) continue;
    const kind = SHORT[type] ?? payload.aps.event;
    const name = kind === "silent" && payload.relay.clear ? "clear" : kind;
    times[name] ??= [];
    times[name].push(Math.round((time - from) * 10) / 10);
  }
  return times;
}

test("a device gets at most three silent pushes an hour that only say that something changed", async () => {
  const { person, agent, phones } = await people("a", "b");
  const from = world.clock.now();
  for (let i = 0; i < 12; i++) {
    await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: `l${i}` });
    await world.settle();
    await advance(60, 20);
  }
  await advance(7_200, 20);
  for (const { apns_token } of phones) {
    const { silent } = timesOf(apple.delivered, from, [apns_token]);
    expect(silent!.length).toBe(4);
    const [one, two, three, four] = silent as [number, number, number, number];
    // The fourth stands for nine changes, an hour after the first.
    expect([one, two, three]).toEqual([0, 60, 120]);
    expect(four).toBeGreaterThanOrEqual(3_600);
    expect(four).toBeLessThan(3_630);
  }
});

test("clears are collected for at most 2 s outside the hourly limit, and more than 50 ids are split", async () => {
  const { agent, person, phones } = await people("a");
  const agents = [
    agent,
    await createAgent(world.app.url, person),
    await createAgent(world.app.url, person),
  ];
  for (let i = 0; i < 6; i++)
    await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: `l${i}` });
  await world.settle();
  const ids: string[] = [];
  for (const { send } of agents) {
    for (let i = 0; i < 18; i++) ids.push((await ask(send, { prompt: `q${i}` })).id);
  }
  await world.settle();
  apple.forget();
  const from = world.clock.now();
  for (const id of ids) await person.send(`POST /v1/questions/${id}/answer`, { answer: "No" });
  await advance(2);
  const clears = apple.delivered.map(({ payload }) => payload.relay.clear as string[]);
  expect(clears.map((list) => list.length)).toEqual([50, 4]);
  expect(clears.flat().sort()).toEqual(ids.sort());
  const times = timesOf(apple.delivered, from, [phones[0]!.apns_token]).clear!;
  expect(Math.max(...times)).toBeLessThanOrEqual(2);
});

test("widget pushes go at once for the first change, then once a minute", async () => {
  const { agent, phones } = await people("a");
  const from = world.clock.now();
  for (let i = 0; i < 100; i++) {
    await createTask(agent.send, { title: `t${i}`, notify: false });
    await world.settle();
    await advance(1);
  }
  await advance(61);
  const { widget } = timesOf(apple.delivered, from, [phones[0]!.widget_push_token]);
  expect(widget).toEqual([0, 60, 120]);
});

test("passive pushes of a task go at once, then every 10 s; alerts are never held back", async () => {
  const { agent, phones } = await people("a");
  const task = await createTask(agent.send);
  const other = await createTask(agent.send);
  await advance(20);
  apple.forget();
  const from = world.clock.now();
  const patch = async (id: string, body: object) => {
    await agent.send(`PATCH /v1/tasks/${id}`, body);
    await world.settle();
  };
  const bodies = () =>
    apple.delivered
      .filter(({ type }) => type === "alert")
      .map(({ time, collapse_id, payload }) => [
        collapse_id === task.id ? "task" : "other",
        Math.round(time - from),
        payload.aps.alert.body,
      ]);
  await patch(task.id, { progress: 1 });
  await advance(1);
  await patch(task.id, { progress: 2 });
  await patch(task.id, { progress: 3 });
  await patch(other.id, { progress: 9 });
  await advance(2);
  await patch(task.id, { status: "in_progress" });
  await advance(1);
  await patch(task.id, { progress: 4 });
  await ask(agent.send, { prompt: "Go?" });
  await ask(agent.send, { prompt: "Now?" });
  await world.settle();
  await advance(20);
  expect(bodies()).toEqual([
    ["task", 0, "1%"],
    ["other", 1, "9%"],
    // The alert carries the waiting change too.
    ["task", 3, "Started"],
    ["other", 4, "Go?"],
    ["other", 4, "Now?"],
    ["task", 13, "4%"],
  ]);
  expect(phones.length).toBe(1);
});

test("a change during a push is sent next, once", async () => {
  const { agent, person, phones } = await people("a");
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  const token = newToken("shown");
  await person.send(`PUT /v1/tasks/${task.id}/live-activity`, {
    device_id: phones[0]!.id,
    push_token: token,
  });
  await advance(20);
  apple.forget();
  const from = world.clock.now();
  const first = apple.hold();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 1 });
  await until(() => apple.openStreams() > 0);
  for (let i = 2; i < 10; i++) await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: i });
  first.release();
  await world.settle();
  await advance(30);
  const updates = apple.delivered.filter((one) => one.token === token);
  expect(timesOf(updates, from, [token]).update).toEqual([0, 5]);
  expect(updates.at(-1)!.payload.aps["content-state"].progress).toBe(9);
  const alerts = apple.delivered.filter(({ type }) => type === "alert");
  expect(timesOf(alerts, from, [phones[0]!.apns_token]).alert).toEqual([0, 10]);
  expect(alerts.at(-1)!.payload.aps.alert.body).toBe("9%");
});

/** A libSQL server takes ten times as long for each change, and merges them by the same statements. */
const CHANGES = STORE_KIND === "server" ? 200 : 1_000;

test(`${CHANGES} changes of one task in 10 s reach five devices as a few pushes`, async () => {
  const { agent, person, phones } = await people("a", "b", "c", "d", "e");
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  const shown: string[] = [];
  for (const { id: device_id } of phones) {
    const push_token = newToken("shown");
    shown.push(push_token);
    await person.send(`PUT /v1/tasks/${task.id}/live-activity`, { device_id, push_token });
  }
  await advance(90);
  apple.forget();
  const from = world.clock.now();
  for (let i = 0; i < CHANGES; i++) {
    await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: i % 100, status_note: `step ${i}` });
    if (i % 10 === 9) {
      await world.settle();
      await world.clock.advance(100 / CHANGES);
    }
  }
  await advance(70);
  for (const [i, phone] of phones.entries()) {
    const tokens = [...Object.values(phone), shown[i]!];
    const times = timesOf(apple.delivered, from, tokens);
    // At once, then one in 5 s and one in 10 s; nothing else.
    expect(Object.keys(times).sort()).toEqual(["alert", "update"]);
    expect([times.update!.length, times.alert!.length]).toEqual([3, 2]);
    const mine = apple.delivered.filter(({ token }) => tokens.includes(token));
    const last = (type: string) => mine.findLast((one) => one.type === type)!.payload.aps;
    expect(last("liveactivity")["content-state"]).toMatchObject({
      progress: 99,
      status_note: `step ${CHANGES - 1}`,
    });
    expect(last("alert").alert.body).toBe(`step ${CHANGES - 1}`);
  }
  expect(
    await world.rows(`select * from deliveries where account_id = '${person.account.id}'`),
  ).toEqual([]);
});
