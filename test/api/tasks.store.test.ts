/** Tasks: create, change, seen, delete (§2.4, §3.2, §5.5). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { copyTask } from "../support/copy-task.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });

test("an agent's task has the documented defaults [§2.4] [§2.4 source] [§2.4.3] [§5.5.3] [§5.5.3 title] [§7.2 task.created]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const headers = { "x-agent-host": "box" };
  const { status, body } = await agent.send("POST /v1/tasks", { title: " T " }, { headers });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^tsk_[0-9a-f]{32}$/),
    key_id: agent.key.id,
    title: " T ",
    description: "",
    status: "todo",
    priority: "medium",
    notify: true,
    progress: null,
    status_note: null,
    source: "agent",
    created_at: clock.now(),
    updated_at: clock.now(),
    completed_at: null,
    seen_at: clock.now(),
    host: "box",
    expect_update_within: null,
    silent_since: null,
  });
  const { data } = await stream.next(({ event }) => event === "task.created");
  expect(data).toEqual({ task: body });
  stream.close();
  const given = { title: "t", description: "d", status: "done", priority: "low", notify: false };
  expect(await createTask(agent.send, given)).toMatchObject({
    ...given,
    progress: 100,
    completed_at: clock.now(),
    host: null,
  });
});

test("the account creates a task for a key that it names [§5.5.3(1)] [§2.4 source] [§1.4.3] [§9.2.1 422] [§4.1.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createPair(app.url);
  const task = await createTask(person.send, { title: "t", key_id: agent.key.id });
  expect(task).toMatchObject({ key_id: agent.key.id, source: "app", seen_at: null, host: null });
  const without = await person.send("POST /v1/tasks", { title: "t" });
  expect([without.status, without.body.fields]).toEqual([422, { key_id: expect.any(String) }]);
  // The missing key is named with the other errors, so that one try shows them all.
  const bare = await person.send("POST /v1/tasks", {});
  expect(Object.keys(bare.body.fields).sort()).toEqual(["key_id", "title"]);
  for (const key_id of [other.agent.key.id, "key_x", ""]) {
    const { status, body } = await person.send("POST /v1/tasks", { title: "t", key_id });
    expect([status, body.code]).toEqual([404, "not_found"]);
  }
});

test("a key that sends key_id is refused [§5.5.3(2)] [§9.2.1 422]", async () => {
  const { agent } = await createPair(app.url);
  const { status, body } = await agent.send("POST /v1/tasks", {
    title: "t",
    key_id: agent.key.id,
  });
  expect([status, body.fields]).toEqual([422, { key_id: expect.any(String) }]);
  const list = await agent.send(`GET /v1/tasks?key_id=${agent.key.id}`);
  expect([list.status, list.body.fields]).toEqual([422, { key_id: expect.any(String) }]);
});

test("a PATCH changes only the fields it names [§5.5.5] [§5.5.5(1)] [§7.2 task.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  let task = await createTask(agent.send, { title: "t", description: "d" });
  const stream = await openStream(app.url, person.token);
  const patches = [
    { title: "new" },
    { description: "" },
    { status: "in_progress" },
    { priority: "urgent" },
    { notify: false },
    { progress: 40 },
    { status_note: "at it" },
    { progress: null, status_note: null },
  ];
  for (const patch of patches) {
    await clock.advance(1);
    const { status, body } = await agent.send(`PATCH /v1/tasks/${task.id}`, patch);
    expect(status).toBe(200);
    expect(body).toEqual({ ...task, ...patch, updated_at: clock.now() });
    task = body;
  }
  await stream.names(patches.length);
  expect(stream.events.at(-1)).toEqual({ event: "task.updated", data: { task } });
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
  stream.close();
});

test("done sets progress and completed_at, and any other status clears completed_at [§3.2.2] [§3.2.3] [§2.4 completed_at] [§5.5.5(3)]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await createTask(agent.send);
  const patch = async (body: object) => (await agent.send(`PATCH /v1/tasks/${id}`, body)).body;
  await clock.advance(1);
  const done_at = clock.now();
  const done = { status: "done", progress: 100, completed_at: done_at };
  expect(await patch({ status: "done", progress: 30 })).toMatchObject(done);
  await clock.advance(1);
  expect(await patch({ progress: 60 })).toMatchObject({ ...done, progress: 60 });
  expect(await patch({ status: "done", title: "again" })).toMatchObject({ ...done, progress: 60 });
  for (const status of ["todo", "in_progress", "cancelled"]) {
    expect(await patch({ status })).toMatchObject({ status, completed_at: null, progress: 60 });
  }
  // Any status may follow any other.
  expect(await patch({ status: "done" })).toMatchObject({ progress: 100, status: "done" });
  expect(await patch({ status: "todo" })).toMatchObject({ progress: 100, completed_at: null });
});

test("only progress and status_note may be null [§5.5.5(2)]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await createTask(agent.send);
  for (const field of ["title", "description", "status", "priority", "notify"]) {
    const { status, body } = await agent.send(`PATCH /v1/tasks/${id}`, { [field]: null });
    expect([status, Object.keys(body.fields)]).toEqual([422, [field]]);
  }
});

test("a PATCH that changes nothing leaves the task as it is and sends no event [§5.5.5(4)]", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send, { title: "t", description: "d" });
  const stream = await openStream(app.url, person.token);
  await clock.advance(5);
  const same = { title: "t", description: "d", status: "todo", progress: null, notify: true };
  for (const body of [{}, same]) {
    expect((await agent.send(`PATCH /v1/tasks/${task.id}`, body)).body).toEqual(task);
  }
  await createTask(agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("updated_at grows with every change of a task", async () => {
  const { agent } = await createPair(app.url);
  const { id, updated_at } = await createTask(agent.send);
  const stamps = [updated_at];
  for (const progress of [1, 2, 3]) {
    stamps.push((await agent.send(`PATCH /v1/tasks/${id}`, { progress })).body.updated_at);
  }
  const ms = stamps.map((stamp) => Math.round(stamp * 1000));
  expect(ms).toEqual([0, 1, 2, 3].map((i) => ms[0]! + i));
});

test("seen_at is set when the agent first reads or lists the task [§2.4.2] [§7.2 task.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const make = (title: string) => createTask(person.send, { title, key_id: agent.key.id });
  const read = await make("read");
  const listed = await make("listed");
  const changed = await make("changed");
  const stream = await openStream(app.url, person.token);
  // Reads by the account and HEAD requests do not count.
  await person.send(`GET /v1/tasks/${read.id}`);
  await person.send("GET /v1/tasks");
  await agent.send(`HEAD /v1/tasks/${read.id}`);
  await agent.send("HEAD /v1/tasks");
  expect((await person.send(`GET /v1/tasks/${read.id}`)).body.seen_at).toBeNull();

  await clock.advance(3);
  const seen_at = clock.now();
  const got = await agent.send(`GET /v1/tasks/${read.id}`);
  expect(got.body).toEqual({ ...read, seen_at });
  const patched = await agent.send(`PATCH /v1/tasks/${changed.id}`, { progress: 1 });
  expect(patched.body).toMatchObject({ progress: 1, seen_at });
  const list = await agent.send("GET /v1/tasks");
  expect(list.body.tasks.find((t: { id: string }) => t.id === listed.id)).toEqual({
    ...listed,
    seen_at,
  });
  await clock.advance(3);
  expect((await agent.send(`GET /v1/tasks/${read.id}`)).body.seen_at).toBe(seen_at);
  await agent.send("GET /v1/tasks");
  await createTask(agent.send);
  expect(await stream.names(4)).toEqual([...Array(3).fill("task.updated"), "task.created"]);
  stream.close();
});

test("deleting a task cancels its pending questions [§5.5.6] [§7.2 task.deleted] [§7.2 question.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id: task_id } = await createTask(agent.send);
  const first = await ask(agent.send, { prompt: "p", task_id });
  const answered = await ask(agent.send, { prompt: "p", task_id });
  const overdue = await ask(agent.send, { prompt: "p", task_id, expires_in: 60 });
  await person.send(`POST /v1/questions/${answered.id}/answer`, { answer: "Yes" });
  await clock.advance(1);
  const stream = await openStream(app.url, person.token);
  expect((await agent.send(`DELETE /v1/tasks/${task_id}`)).status).toBe(204);
  for (const method of ["GET", "DELETE"] as const) {
    const { status, body } = await agent.send(`${method} /v1/tasks/${task_id}`);
    expect([status, body.code]).toEqual([404, "not_found"]);
  }
  const of = async (id: string) => (await agent.send(`GET /v1/questions/${id}`)).body;
  expect(await of(first.id)).toEqual({ ...first, status: "cancelled" });
  expect(await of(overdue.id)).toMatchObject({ status: "cancelled", task_id });
  expect(await of(answered.id)).toMatchObject({ status: "answered", task_id });
  await stream.names(3);
  expect(stream.events[1]).toEqual({
    event: "task.deleted",
    data: { task_id, key_id: agent.key.id },
  });
  expect(await stream.names(3)).toEqual(["task.deleted", "question.updated", "question.updated"]);
  stream.close();
});

test("the account changes and deletes a key's task too [§5.5.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person);
  const task = await createTask(agent.send);
  const changed = await person.send(`PATCH /v1/tasks/${task.id}`, { title: "by the person" });
  expect(changed.body).toMatchObject({ title: "by the person", source: "agent" });
  expect((await other.send(`GET /v1/tasks/${task.id}`)).status).toBe(404);
  expect((await person.send(`DELETE /v1/tasks/${task.id}`)).status).toBe(204);
});

test("a key holds at most 10,000 tasks", async () => {
  const { agent } = await createPair(app.url);
  const create = () => agent.send("POST /v1/tasks", { title: "t" });
  await create();
  await copyTask(database_url, agent.key.id, 9_989);
  const last = await Promise.all(Array.from({ length: 20 }, create));
  const refused = last.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    Array(10).fill([409, "too_many_tasks"]),
  );
  const { body } = await agent.send("GET /v1/tasks?limit=1");
  await agent.send(`DELETE /v1/tasks/${body.tasks[0].id}`);
  expect((await create()).status).toBe(201);
});

test("every route is under /v1 [§17.1] [§5.5.4]", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await createTask(agent.send);
  expect((await agent.send(`GET /v1/tasks/${id}`)).status).toBe(200);
  const { status, body } = await client(app.url, agent.secret)(`GET /tasks/${id}`);
  expect([status, body.code]).toEqual([404, "unknown_path"]);
});
