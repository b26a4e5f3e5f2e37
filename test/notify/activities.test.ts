/** The life of a live activity: start, updates, end (§14.5). */

import { afterEach, expect, test } from "bun:test";
import { createActivityWorld, working } from "../support/activity-world.ts";
import { ask, createTask } from "../support/client.ts";
import { newToken } from "../support/push-world.ts";

const { world, people, activities, eventsOf } = await createActivityWorld();
const { apple, advance } = world;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

test("a task that becomes in_progress starts one activity per device and activity period [§14.5.1]", async () => {
  const { agent, person, a, b } = await people();
  await world.phone(person, "none", { push_to_start_token: null });
  const starts = [
    [a.push_to_start_token, "start"],
    [b.push_to_start_token, "start"],
  ];
  const task = await createTask(agent.send, working);
  const [first, second] = await activities();
  expect(eventsOf([first!, second!]).sort()).toEqual(starts);
  const now = Math.floor(world.clock.now());
  expect(first).toMatchObject({ priority: 10, expiration: now + 900 });
  expect(first!.payload.aps).toEqual({
    event: "start",
    timestamp: now,
    "stale-date": now + 900,
    "attributes-type": "TaskActivity",
    attributes: { task_id: task.id, key_id: agent.key.id, key_label: "builder" },
    "content-state": {
      title: "Build",
      status: "in_progress",
      priority: "medium",
      progress: null,
      status_note: null,
      pending_questions: 0,
      updated_at: task.updated_at,
    },
    alert: { title: "Build", body: "Started" },
  });
  // Still in the same period.
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 10 });
  await person.send(`PATCH /v1/tasks/${task.id}`, { title: "Build it" });
  await advance(10);
  expect(await activities()).toEqual([]);
  // The next period, begun by the account; then a task that the account creates.
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  await advance(2);
  await person.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  expect(eventsOf(await activities()).sort()).toEqual(starts);
  await createTask(person.send, { ...working, key_id: agent.key.id });
  expect(eventsOf(await activities()).sort()).toEqual(starts);
});

test("no live activity starts with the setting off or where the task is already shown", async () => {
  const { agent, person, show, b } = await people();
  const shown = await createTask(agent.send, { title: "t", status: "in_progress" });
  await show(shown.id);
  await show(shown.id, b);
  await activities();
  await person.send("PATCH /v1/account", { settings: { live_activities: false } });
  await activities();
  const task = await createTask(agent.send, working);
  expect(await activities()).toEqual([]);
  // With the setting on, the next period counts.
  const about = `about = '${task.id}' and kind = 'start'`;
  expect(await world.rows(`select * from delivery_records where ${about}`)).toEqual([]);
  await person.send("PATCH /v1/account", { settings: { live_activities: true } });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 2 });
  expect(await activities()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  // The app shows the task by itself before the start is due.
  apple.behave(({ payload }) =>
    payload.aps.event === "start" ? { status: 429, reason: "TooManyRequests" } : undefined,
  );
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  await world.settle();
  await show(task.id);
  await show(task.id, b);
  apple.behave(() => undefined);
  await advance(60);
  expect((await activities()).filter(({ payload }) => payload.aps.event === "start")).toEqual([]);
});

test("live activity updates carry the state, priority 5 or 10 and a growing timestamp [§14.5.2]", async () => {
  const { agent, person, show, b } = await people();
  const task = await createTask(agent.send, working);
  const tokens = [await show(task.id), await show(task.id, b, newToken("b shown"))].sort();
  await activities();
  let last = Math.floor(world.clock.now());
  const after = async (act: () => Promise<unknown>) => {
    await advance(6);
    await activities();
    await act();
    const got = await activities();
    expect(got.map(({ token }) => token).sort()).toEqual(tokens);
    const { priority, payload, expiration } = got[0]!;
    const { aps } = payload;
    expect(aps.event).toBe("update");
    expect(aps.timestamp).toBeGreaterThan(last);
    last = aps.timestamp;
    expect(expiration).toBe(Math.floor(world.clock.now()) + 900);
    expect(aps["stale-date"]).toBe(expiration);
    const { progress, status_note, pending_questions, title } = aps["content-state"];
    return [priority, title, progress, status_note, pending_questions];
  };
  const patch = (body: object) => () => agent.send(`PATCH /v1/tasks/${task.id}`, body);
  expect(await after(patch({ progress: 10 }))).toEqual([5, "Build", 10, null, 0]);
  expect(await after(patch({ status_note: "on it" }))).toEqual([5, "Build", 10, "on it", 0]);
  let question = "";
  const askOne = async () => {
    question = (await ask(agent.send, { prompt: "Go?", task_id: task.id })).id;
  };
  expect(await after(askOne)).toEqual([10, "Build", 10, "on it", 1]);
  const answer = () => person.send(`POST /v1/questions/${question}/answer`, { answer: "Yes" });
  expect(await after(answer)).toEqual([5, "Build", 10, "on it", 0]);
  const rename = () => person.send(`PATCH /v1/tasks/${task.id}`, { title: "Built" });
  expect(await after(rename)).toEqual([5, "Built", 10, "on it", 0]);
  // A question about another task, or about none, does not concern this activity.
  await advance(6);
  await ask(agent.send, { prompt: "Go?" });
  expect(await activities()).toEqual([]);
});

test("timestamps of live activities grow even while the clock stands still", async () => {
  const { agent, show } = await people();
  const task = await createTask(agent.send, working);
  // This happens before the app shows the activity, or there would be nothing to start.
  await world.settle();
  const token = await show(task.id);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 1 });
  await world.settle();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  const mine = (await activities()).filter(
    (one) => one.token === token || one.payload.aps.event === "start",
  );
  const times = mine.map(({ payload }) => payload.aps.timestamp as number);
  // One of the two starts, the update and the end.
  expect(times.length).toBe(4);
  const distinct = times.slice(1);
  expect(new Set(distinct).size).toBe(3);
  expect(distinct.toSorted((x, y) => x - y)).toEqual(distinct);
});

test("every reason to end a live activity ends it and, once the end is sent, deletes its registration [§5.6.2(2)]", async () => {
  const ends: [
    string,
    (made: Awaited<ReturnType<typeof people>>, id: string) => Promise<unknown>,
    number,
  ][] = [
    ["done", ({ agent }, id) => agent.send(`PATCH /v1/tasks/${id}`, { status: "done" }), 600],
    [
      "cancelled",
      ({ agent }, id) => agent.send(`PATCH /v1/tasks/${id}`, { status: "cancelled" }),
      600,
    ],
    ["in_progress", ({ agent }, id) => agent.send(`PATCH /v1/tasks/${id}`, { status: "todo" }), -1],
    ["deleted", ({ person }, id) => person.send(`DELETE /v1/tasks/${id}`), -1],
    ["key", ({ person, agent }) => person.send(`DELETE /v1/keys/${agent.key.id}`), -1],
    ["account", ({ person }) => person.send("DELETE /v1/account"), -1],
    [
      "setting",
      ({ person }) => person.send("PATCH /v1/account", { settings: { live_activities: false } }),
      -1,
    ],
  ];
  for (const [name, act, dismissal] of ends) {
    const made = await people();
    const { agent, show, shown, b } = made;
    const task = await createTask(agent.send, working);
    const tokens = [await show(task.id), await show(task.id, b, newToken("b shown"))].sort();
    await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 7 });
    await activities();
    // The registration stays until then: the service is away.
    apple.behave(() => ({ status: 429, reason: "TooManyRequests", retry_after: 5 }));
    await act(made, task.id);
    await world.settle();
    expect([name, await shown()]).toEqual([
      name,
      [
        [expect.any(String), 1],
        [expect.any(String), 1],
      ],
    ]);
    await advance(2);
    apple.behave(() => undefined);
    await advance(40);
    const got = await activities();
    expect([name, eventsOf(got).sort()]).toEqual([name, tokens.map((token) => [token, "end"])]);
    for (const { priority, payload, time } of got) {
      expect([name, priority]).toEqual([name, 10]);
      expect([name, payload.aps["dismissal-date"]]).toEqual([name, Math.floor(time) + dismissal]);
      if (dismissal > 0) expect(payload.aps["content-state"].status).toBe(name);
    }
    expect([name, await shown()]).toEqual([name, []]);
    expect(
      await world.rows("select kind from deliveries where kind in ('start', 'update', 'end')"),
    ).toEqual([]);
  }
});

test("an end that is never delivered expires and deletes its registration", async () => {
  const { agent, show, shown } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  apple.behave((one) =>
    one.token === token ? { status: 500, reason: "InternalServerError" } : undefined,
  );
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await advance(2);
  expect(await shown()).toEqual([[token, 1]]);
  await advance(28_900, 120);
  expect(await shown()).toEqual([]);
});

test("an end that is permanently refused deletes its registration", async () => {
  const { agent, show, shown } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  apple.behave((one) => (one.token === token ? { status: 400, reason: "BadTopic" } : undefined));
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.settle();
  expect(await shown()).toEqual([]);
});
