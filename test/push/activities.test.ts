/** The life of a live activity: start, updates, end (push.md, Live activity life). */

import { afterEach, expect, test } from "bun:test";
import type { Received } from "../support/apple-checks.ts";
import { ask, createTask } from "../support/client.ts";
import { createPushWorld, newToken } from "../support/push-world.ts";

const world = await createPushWorld();
const { apple, advance } = world;

afterEach(() => {
  apple.behave(() => undefined);
  expect(apple.faults.splice(0)).toEqual([]);
});

/** A person with two phones, an agent, and what their live activities are told. */
async function people() {
  const made = await world.people("a", "b");
  const { person, phones } = made;
  await advance(61);
  await made.told();
  const [a, b] = phones;
  return {
    ...made,
    a: a!,
    b: b!,
    /** The app of a phone registers the activity; gives its token. */
    async show(task_id: string, phone = a!, push_token = newToken("a shown")): Promise<string> {
      const body = { device_id: phone.id, push_token };
      const { status } = await person.send(`PUT /v1/tasks/${task_id}/live-activity`, body);
      expect(status).toBe(204);
      return push_token;
    },
    hide: (task_id: string, phone = a!) =>
      person.send(`DELETE /v1/tasks/${task_id}/live-activity`, { device_id: phone.id }),
    shown: () =>
      world.rows(
        `select push_token, ended_at is not null from live_activities where account_id = '${person.account.id}' order by rowid`,
      ),
  };
}

/** The live-activity pushes since the last call. */
const activities = async (): Promise<Received[]> =>
  (await world.take()).filter(({ type }) => type === "liveactivity");
const eventsOf = (pushes: Received[]) =>
  pushes.map(({ token, payload }) => [token, payload.aps.event]);
const working = { title: "Build", status: "in_progress" };

test("a task that becomes in_progress starts an activity on each device, once in a spell", async () => {
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
  // The same spell.
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 10 });
  await person.send(`PATCH /v1/tasks/${task.id}`, { title: "Build it" });
  await advance(10);
  expect(await activities()).toEqual([]);
  // The next one, by the account; and a task that the account makes.
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  await advance(2);
  await person.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  expect(eventsOf(await activities()).sort()).toEqual(starts);
  await createTask(person.send, { ...working, key_id: agent.key.id });
  expect(eventsOf(await activities()).sort()).toEqual(starts);
});

test("nothing starts with the setting off, or where the task is shown already", async () => {
  const { agent, person, show, b } = await people();
  const shown = await createTask(agent.send, { title: "t", status: "in_progress" });
  await show(shown.id);
  await show(shown.id, b);
  await activities();
  await person.send("PATCH /v1/account", { settings: { live_activities: false } });
  await activities();
  const task = await createTask(agent.send, working);
  expect(await activities()).toEqual([]);
  // Switched on, the next spell counts.
  const about = `about = '${task.id}' and kind = 'start'`;
  expect(await world.rows(`select * from push_records where ${about}`)).toEqual([]);
  await person.send("PATCH /v1/account", { settings: { live_activities: true } });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 2 });
  expect(await activities()).toEqual([]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "todo" });
  // The app shows it by itself before the start is due.
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

test("updates tell the state, at priority 5 or 10, with a timestamp that grows", async () => {
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
  // A question about another task or none is none of its business.
  await advance(6);
  await ask(agent.send, { prompt: "Go?" });
  expect(await activities()).toEqual([]);
});

test("the clock that stands still does not stop the timestamps", async () => {
  const { agent, show } = await people();
  const task = await createTask(agent.send, working);
  // Before the app shows it, or there would be nothing to start.
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

test("every end of its reason ends it, and the registration goes once that is sent [§4 Live activities 4]", async () => {
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
    // Not before it is sent: the service is away.
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
      await world.rows("select kind from pushes where kind in ('start', 'update', 'end')"),
    ).toEqual([]);
  }
});

test("an end that never gets through expires, and takes its registration along", async () => {
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

test("an end refused for good takes its registration along", async () => {
  const { agent, show, shown } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  apple.behave((one) => (one.token === token ? { status: 400, reason: "BadTopic" } : undefined));
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "done" });
  await world.settle();
  expect(await shown()).toEqual([]);
});

test("a PUT for a task that is not in progress, or with the setting off, is told to end", async () => {
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

test("a registration that comes late is brought up to date, or ended", async () => {
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

test("the app's DELETE holds until the next spell", async () => {
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
  apple.behave(({ token }) =>
    token === a.push_to_start_token ? { status: 429, reason: "TooManyRequests" } : undefined,
  );
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status: "in_progress" });
  await world.settle();
  await hide(task.id);
  apple.behave(() => undefined);
  await advance(90);
  expect(eventsOf(await activities())).toEqual([[b.push_to_start_token, "start"]]);
});

test("an end is final: a task that goes on gets a fresh start", async () => {
  const { agent, show, shown, a } = await people();
  const task = await createTask(agent.send, working);
  const token = await show(task.id);
  await activities();
  apple.behave((one) =>
    one.token === token ? { status: 429, reason: "TooManyRequests" } : undefined,
  );
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

test("a new update token takes the place of the old one", async () => {
  const { agent, show } = await people();
  const task = await createTask(agent.send, working);
  await show(task.id);
  const token = await show(task.id);
  await activities();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  await advance(6);
  expect(eventsOf(await activities())).toEqual([[token, "update"]]);
});

test("a device that goes, or loses its token, takes its queue and activities along", async () => {
  const { agent, person, a, b, show, shown } = await people();
  const task = await createTask(agent.send, working);
  await show(task.id);
  await show(task.id, b);
  await activities();
  const queue = (id: string) => world.rows(`select kind from pushes where device_id = '${id}'`);
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

test("an activity that is registered again and again gets updates at their pace", async () => {
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
