/** What each change sends, and to whom (§14.2), on the stand-in for Apple. */

import { afterEach, expect, test } from "bun:test";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { createPushWorld } from "../support/push-world.ts";

const world = await createPushWorld();
const { app, apple, advance } = world;

afterEach(() => expect(apple.faults).toEqual([]));

/** A person with two phones and an agent, long enough after the pushes of the setup. */
async function people() {
  const made = await world.people("a", "b");
  await advance(61, 2);
  await made.told();
  apple.forget();
  return made;
}

test("a question goes at once to all devices with a token, by its kind", async () => {
  const { agent, person } = await people();
  await world.phone(person, "mute", { apns_token: null });
  const kinds = [
    [{ prompt: "Go?" }, "QUESTION_CONFIRM", undefined, ["Yes", "No"]],
    [{ prompt: "Which?", kind: "choice", options: ["x", "y"] }, "QUESTION_CHOICE", 1, ["x", "y"]],
    [{ prompt: "What?", kind: "text" }, "QUESTION_TEXT", undefined, undefined],
  ] as const;
  for (const [body, category, mutable, options] of kinds) {
    const question = await ask(agent.send, body);
    const got = await world.take();
    expect(got.map(({ collapse_id }) => collapse_id)).toEqual([question.id, question.id]);
    for (const { type, priority, payload, expiration } of got) {
      expect([type, priority, expiration]).toEqual(["alert", 10, Math.floor(question.expires_at)]);
      expect(payload.aps).toMatchObject({
        category,
        "interruption-level": "time-sensitive",
        "thread-id": agent.key.id,
        alert: { title: "Question from builder", subtitle: "builder", body: body.prompt },
      });
      expect(payload.aps["mutable-content"]).toBe(mutable);
      expect(payload.relay).toEqual({
        v: 1,
        event: "question.created",
        key_id: agent.key.id,
        question_id: question.id,
        kind: question.kind,
        ...(options && { options: [...options] }),
        expires_at: question.expires_at,
      });
    }
  }
});

test("a question that stops being pending is cleared on every device, whatever ended it", async () => {
  const { agent, person, told } = await people();
  const task = await createTask(agent.send, { title: "t", notify: false });
  const bodies = [{ prompt: "1" }, { prompt: "2" }, { prompt: "3", expires_in: 60 }];
  const asked = [];
  for (const body of bodies) asked.push(await ask(agent.send, body));
  const last = await ask(agent.send, { prompt: "4", task_id: task.id });
  await advance(3);
  await told();
  await person.send(`POST /v1/questions/${asked[0]!.id}/answer`, { answer: "No" });
  await advance(1);
  expect(await told()).toEqual([]);
  await advance(1);
  expect(await told()).toEqual([`a: clear ${asked[0]!.id}`, `b: clear ${asked[0]!.id}`]);
  await agent.send(`DELETE /v1/questions/${asked[1]!.id}`);
  await advance(2);
  expect(await told()).toEqual([`a: clear ${asked[1]!.id}`, `b: clear ${asked[1]!.id}`]);
  await advance(60, 2);
  expect(await told()).toEqual([`a: clear ${asked[2]!.id}`, `b: clear ${asked[2]!.id}`]);
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  await advance(2);
  const both = [last.id, task.id].sort().join(" ");
  expect(await told()).toEqual([`a: clear ${both}`, "a: widget", `b: clear ${both}`, "b: widget"]);
});

test("an agent's task is visible when created and when its status changes, otherwise passive [§14.2]", async () => {
  const { agent, told } = await people();
  const task = await createTask(agent.send, { title: "Ship" });
  const patch = async (body: object) => {
    await advance(60, 2);
    await told();
    await agent.send(`PATCH /v1/tasks/${task.id}`, body);
    return world.take();
  };
  const [alert, ...rest] = (await world.take()).filter(({ type }) => type === "alert");
  expect(rest.length).toBe(1);
  expect(alert).toMatchObject({ priority: 10, collapse_id: task.id });
  expect(alert!.expiration).toBe(Math.floor(task.created_at + 86_400));
  expect(alert!.payload).toEqual({
    aps: {
      alert: { title: "Ship", subtitle: "builder", body: "New task" },
      sound: "default",
      "interruption-level": "active",
      "relevance-score": 0.5,
      "thread-id": agent.key.id,
    },
    relay: { v: 1, event: "task.created", key_id: agent.key.id, task_id: task.id },
  });
  for (const [body, level, sound, text] of [
    [{ status: "in_progress" }, "active", "default", "Started"],
    [{ progress: 40 }, "passive", undefined, "40%"],
    [{ status_note: "compiling" }, "passive", undefined, "compiling"],
    [{ title: "Ship it", status_note: null }, "passive", undefined, "Changed"],
    [{ priority: "urgent" }, "passive", undefined, "Changed"],
    [{ status: "todo" }, "time-sensitive", "default", "To do again"],
    [{ status: "cancelled" }, "time-sensitive", "default", "Cancelled"],
    [{ status: "done", priority: "low" }, "active", "default", "Done"],
  ] as const) {
    const alerts = (await patch(body)).filter(({ type }) => type === "alert");
    expect(alerts.length).toBe(2);
    for (const { payload, collapse_id } of alerts) {
      expect([payload.aps["interruption-level"], payload.aps.sound]).toEqual([level, sound]);
      expect([payload.aps.alert.body, collapse_id]).toEqual([text, task.id]);
      expect(payload.relay.event).toBe("task.updated");
    }
  }
});

test("an agent's task with notify false is silent", async () => {
  const { agent, told } = await people();
  const task = await createTask(agent.send, { title: "t", notify: false });
  expect(await told()).toEqual(["a: silent", "a: widget", "b: silent", "b: widget"]);
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 3 });
  expect(await told()).toEqual(["a: silent", "b: silent"]);
  const visible = async () => (await told()).filter((line) => line.includes("/"));
  await agent.send(`PATCH /v1/tasks/${task.id}`, { notify: true });
  expect(await visible()).toEqual(["a: passive t / Changed", "b: passive t / Changed"]);
  // The content of a visible push that is still queued is dropped.
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 4 });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { notify: false });
  expect(await visible()).toEqual([]);
  await advance(30, 2);
  expect(await visible()).toEqual([]);
});

test("tasks that the account creates, changes or deletes are silent", async () => {
  const { agent, person, told } = await people();
  const { id: key_id } = agent.key;
  // Each after the hour's three silent pushes.
  const after = async (act: () => Promise<unknown>) => {
    await world.skip(3_600);
    await told();
    await act();
    await advance(2);
    return told();
  };
  const silent = ["a: silent", "b: silent"];
  let id = "";
  const make = async () => {
    ({ id } = await createTask(person.send, { title: "t", key_id }));
  };
  expect(await after(make)).toEqual(["a: silent", "a: widget", "b: silent", "b: widget"]);
  const change = () => person.send(`PATCH /v1/tasks/${id}`, { title: "u" });
  expect(await after(change)).toEqual(silent);
  expect(await after(() => person.send(`PATCH /v1/keys/${key_id}`, { label: "x" }))).toEqual(
    silent,
  );
  expect(await after(() => person.send("POST /v1/messages", { key_id, text: "hi" }))).toEqual(
    silent,
  );
  expect(await after(() => createAgent(app.url, person))).toEqual(silent);
  const settings = { settings: { live_activities: false } };
  expect(await after(() => person.send("PATCH /v1/account", settings))).toEqual(silent);
  const remove = () => person.send(`DELETE /v1/tasks/${id}`);
  expect(await after(remove)).toEqual([
    `a: clear ${id}`,
    "a: widget",
    `b: clear ${id}`,
    "b: widget",
  ]);
});

test("an update that changes nothing, and seen_at, send nothing [§5.5.5(4)]", async () => {
  const { agent, person, told } = await people();
  const task = await createTask(person.send, { title: "t", key_id: agent.key.id });
  await advance(61, 2);
  await told();
  await person.send(`PATCH /v1/tasks/${task.id}`, { title: "t" });
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: "builder" });
  await person.send("PATCH /v1/account", { settings: { live_activities: true } });
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).body.seen_at).not.toBeNull();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { title: "t" });
  await advance(5);
  expect(await told()).toEqual([]);
  expect(await world.rows("select * from deliveries")).toEqual([]);
});

test("a task that expires is cleared on devices", async () => {
  const { agent, told } = await people();
  const { id } = await createTask(agent.send, { title: "t", status: "done", notify: false });
  await advance(60, 2);
  await told();
  await world.skip(30 * 86_400);
  await advance(65, 5);
  expect(await told()).toEqual([`a: clear ${id}`, "a: widget", `b: clear ${id}`, "b: widget"]);
});

test("deleting a key clears what it showed and drops what it had queued", async () => {
  const { agent, person, told } = await people();
  const task = await createTask(agent.send, { title: "t" });
  const gone = await createTask(agent.send, { title: "gone" });
  const question = await ask(agent.send, { prompt: "Go?" });
  await agent.send(`DELETE /v1/tasks/${gone.id}`);
  const other = await createAgent(app.url, person, "other");
  const kept = await createTask(other.send, { title: "kept" });
  await advance(3);
  await told();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  const mine = `account_id = '${person.account.id}'`;
  const queued = () => world.rows(`select kind from deliveries where ${mine} and kind = 'task'`);
  expect((await queued()).length).toBe(2);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  expect(await queued()).toEqual([]);
  await advance(70, 2);
  const clear = `clear ${[task.id, question.id].sort().join(" ")}`;
  expect(await told()).toEqual([`a: ${clear}`, "a: widget", `b: ${clear}`, "b: widget"]);
  expect(await world.rows("select kind from deliveries")).toEqual([]);
  expect((await other.send(`GET /v1/tasks/${kept.id}`)).status).toBe(200);
});

test("deleting the account clears what was shown even when its devices are already gone", async () => {
  const { agent, person, phones, told } = await people();
  const task = await createTask(agent.send, { title: "t", status: "in_progress" });
  const question = await ask(agent.send, { prompt: "Go?" });
  await advance(3);
  await told();
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  await person.send("DELETE /v1/account");
  const devices = () =>
    world.rows(`select id from devices where account_id = '${person.account.id}'`);
  await advance(1.4, 0.1);
  expect(await devices()).toEqual([]);
  expect(await told()).toEqual([]);
  await advance(1);
  const clear = `clear ${[task.id, question.id].sort().join(" ")}`;
  expect(await told()).toEqual([`a: ${clear}`, `b: ${clear}`]);
  expect(phones.length).toBe(2);
  expect(await world.rows("select kind from deliveries")).toEqual([]);
});

test("devices of another account get nothing", async () => {
  const { agent } = await people();
  const other = await createPair(app.url);
  const stranger = await world.phone(other.person, "stranger");
  await advance(5);
  await createTask(agent.send, { title: "t", status: "in_progress" });
  await ask(agent.send);
  const tokens = (await world.take()).map(({ token }) => token);
  expect(tokens.length).toBeGreaterThan(6);
  for (const token of Object.values(stranger)) expect(tokens).not.toContain(token);
});
