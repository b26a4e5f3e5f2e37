/** The history of a task (§5.5.7): what is kept of its status, progress and status note. */

import { expect, test } from "bun:test";
import { createSweeper } from "../../db/deletions.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { type Agent, client, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const DAY = 86_400;

async function setUp() {
  const clock = createTestClock();
  const { url } = await createTestStore();
  const app = await startTestApp({ clock, database_url: url });
  return { clock, url, app, ...(await createPair(app.url)) };
}

/** The entries of a task as short texts, newest first. */
async function historyOf({ send }: Pick<Agent, "send">, id: string): Promise<string[]> {
  const { status, body } = await send(`GET /v1/tasks/${id}/history?limit=100`);
  expect(status).toBe(200);
  return body.items.map((entry: Record<string, unknown>) =>
    [entry.by, entry.status, entry.progress, entry.status_note].join(" "),
  );
}

test("the creation and each change of status, progress and note is an entry, newest first [§5.5.7] [§2.17]", async () => {
  const { clock, person, agent } = await setUp();
  const task = await createTask(agent.send, { title: "Deploy", status: "in_progress" });
  const path = `/v1/tasks/${task.id}` as const;
  const patch = async (by: Pick<Agent, "send">, body: Record<string, unknown>) => {
    await clock.advance(60);
    return (await by.send(`PATCH ${path}`, body)).body.updated_at as number;
  };
  const noted = await patch(agent, { status_note: "Building", progress: 10 });
  // None of these is part of the history.
  await patch(agent, { title: "Deploy version 2" });
  await patch(person, { priority: "high", notify: false });
  await patch(agent, { progress: 10 });
  const stopped = await patch(person, { status: "cancelled" });
  const done = await patch(agent, { status: "done", status_note: null });
  const { body } = await person.send(`GET ${path}/history`);
  expect(body).toEqual({
    items: [
      { at: done, by: "agent", status: "done", progress: 100, status_note: null },
      { at: stopped, by: "account", status: "cancelled", progress: 10, status_note: "Building" },
      { at: noted, by: "agent", status: "in_progress", progress: 10, status_note: "Building" },
      {
        at: task.created_at,
        by: "agent",
        status: "in_progress",
        progress: null,
        status_note: null,
      },
    ],
    next_cursor: null,
  });
  expect((await agent.send(`GET ${path}/history`)).body).toEqual(body);
});

test("a task that the account creates begins with an entry of the account; reading it adds none [§5.5.7]", async () => {
  const { person, agent } = await setUp();
  const task = await createTask(person.send, { title: "a", key_id: agent.key.id, status: "done" });
  // The agent gets it, which sets `seen_at`.
  expect((await agent.send(`GET /v1/tasks/${task.id}`)).body.seen_at).not.toBeNull();
  expect(await historyOf(person, task.id)).toEqual(["account done 100 "]);
});

test("a change of progress alone replaces one within 10 s before it, and nothing else [§5.5.7(2)]", async () => {
  const { clock, person, agent } = await setUp();
  const { id } = await createTask(agent.send, { title: "a" });
  const patch = (by: Pick<Agent, "send">, body: Record<string, unknown>) =>
    by.send(`PATCH /v1/tasks/${id}`, body);
  // Neither the creation nor a change of status or note is replaced.
  await patch(agent, { progress: 1 });
  await patch(agent, { progress: 2 });
  await patch(agent, { status: "in_progress" });
  await patch(agent, { progress: 3 });
  await clock.advance(9.9);
  await patch(agent, { progress: 4 });
  await clock.advance(10);
  await patch(agent, { progress: 5 });
  await patch(person, { progress: 6 });
  await patch(agent, { progress: 7 });
  await patch(agent, { progress: 8, status_note: "b" });
  const last = (await patch(agent, { progress: 9 })).body.updated_at;
  expect(await historyOf(person, id)).toEqual([
    "agent in_progress 9 b",
    "agent in_progress 8 b",
    "agent in_progress 7 ",
    "agent in_progress 4 ",
    "agent in_progress 2 ",
    "agent todo 2 ",
    "agent todo  ",
  ]);
  expect((await person.send(`GET /v1/tasks/${id}/history?limit=1`)).body.items[0].at).toBe(last);
});

test("the newest 200 entries are kept, and pages show each once while others are added [§5.5.7(3)] [§10.5 history_per_task] [§10.3 history_page]", async () => {
  const { person, agent } = await setUp();
  const { id } = await createTask(agent.send, { title: "a" });
  const note = (text: string) => agent.send(`PATCH /v1/tasks/${id}`, { status_note: text });
  for (let i = 1; i <= 204; i++) await note(`n${i}`);
  const seen: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const rest: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { body } = await person.send(`GET /v1/tasks/${id}/history?limit=80${rest}`);
    sizes.push(body.items.length);
    seen.push(...body.items.map((entry: { status_note: string }) => entry.status_note));
    // An entry that was added meanwhile comes before the first page, and takes the place of the oldest.
    if (cursor === null) await note("later");
    cursor = body.next_cursor;
  } while (cursor !== null);
  expect(sizes).toEqual([80, 80, 39]);
  expect(seen).toEqual(Array.from({ length: 199 }, (_, i) => `n${204 - i}`));
  const by_default = await person.send(`GET /v1/tasks/${id}/history`);
  expect(by_default.body.items).toHaveLength(50);
  expect(by_default.body.items[0].status_note).toBe("later");
});

test("a cursor belongs to its task and caller [§1.5.2]", async () => {
  const { person, agent } = await setUp();
  const [one, other] = [
    await createTask(agent.send, { title: "a" }),
    await createTask(agent.send, { title: "b" }),
  ];
  await agent.send(`PATCH /v1/tasks/${one.id}`, { status: "done" });
  const { body } = await person.send(`GET /v1/tasks/${one.id}/history?limit=1`);
  const rest = `history?limit=1&cursor=${body.next_cursor}`;
  expect((await person.send(`GET /v1/tasks/${one.id}/${rest}`)).body.items).toHaveLength(1);
  for (const answer of [
    await person.send(`GET /v1/tasks/${other.id}/${rest}`),
    await agent.send(`GET /v1/tasks/${one.id}/${rest}`),
  ]) {
    expect([answer.status, Object.keys(answer.body.fields)]).toEqual([422, ["cursor"]]);
  }
});

test("the history ends with the task: deleted, expired or swept with its key [§5.5.7(4)] [§3.2.4]", async () => {
  const clock = createTestClock();
  const { url } = await createTestStore();
  const app = await startTestApp({ clock, database_url: url, env: { TASK_RETENTION_DAYS: "1" } });
  const { person, agent } = await createPair(app.url);
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const with_blocks = statement(sql`select distinct task_id from task_history order by task_id`, {
    returns: "rows",
  });
  const left = async () => (await store.read(with_blocks({}))).flat();
  const make = async (status: string) => {
    const { id } = await createTask(agent.send, { title: "a" });
    const path = `PATCH /v1/tasks/${id}` as const;
    // So long that entries leave the row of the task.
    for (const note of ["a", "b", "c", "d"]) {
      await agent.send(path, { status_note: note.repeat(200) });
    }
    await agent.send(path, { status });
    return id;
  };
  const [deleted, expired, swept] = [
    await make("done"),
    await make("done"),
    await make("in_progress"),
  ];
  expect(await left()).toEqual([deleted, expired, swept]);
  await person.send(`DELETE /v1/tasks/${deleted}`);
  expect((await person.send(`GET /v1/tasks/${deleted}/history`)).status).toBe(404);
  expect(await left()).toEqual([expired, swept]);
  await app.jobs.settled();
  await clock.skip(DAY + 60);
  await app.jobs.settled();
  await until(async () => !(await left()).includes(expired));
  expect(await left()).toEqual([swept]);
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  expect((await person.send(`GET /v1/tasks/${swept}/history`)).status).toBe(404);
  const step = createSweeper(store, systemClock);
  while ((await left()).length > 0) await step(1);
  await store.close();
});

test("a task keeps few more than 200 entries in the store, however often it changes [§10.5 history_per_task]", async () => {
  const { url, agent } = await setUp();
  const { id } = await createTask(agent.send, { title: "a" });
  const note = (i: number) => agent.send(`PATCH /v1/tasks/${id}`, { status_note: `n${i}` });
  for (let i = 0; i < 420; i += 60) {
    await Promise.all(Array.from({ length: 60 }, (_, j) => note(i + j)));
  }
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const newlines = (text: string) => `length(${text}) - length(replace(${text}, char(10), ''))`;
  const count = statement(
    sql.raw(
      `select sum(1 + ${newlines("entries")}) + (select ${newlines("history")} from tasks) from task_history`,
    ),
    { returns: "rows" },
  );
  const [[stored] = []] = (await store.read(count({}))) as [number][];
  expect(stored).toBeWithin(200, 280);
  await store.close();
});

test("two processes that change one task at once record each change once, in order [§5.5.7]", async () => {
  const { url } = await createTestStore();
  const apps = await Promise.all([1, 2].map(() => startTestApp({ database_url: url })));
  const { person, agent } = await createPair(apps[0]!.url);
  const { id } = await createTask(agent.send, { title: "a" });
  const notes = Array.from({ length: 60 }, (_, i) => `n${i}`);
  const answers = await Promise.all(
    notes.map(async (status_note, i) => {
      const send = client(apps[i % 2]!.url, i % 3 === 0 ? person.token : agent.secret);
      return (await send(`PATCH /v1/tasks/${id}`, { status_note })).body;
    }),
  );
  const { body } = await person.send(`GET /v1/tasks/${id}/history?limit=100`);
  const made = answers.sort((a, b) => b.updated_at - a.updated_at);
  expect(body.items.slice(0, -1)).toEqual(
    made.map(({ updated_at, status_note }) => ({
      at: updated_at,
      by: Number(status_note.slice(1)) % 3 === 0 ? "account" : "agent",
      status: "todo",
      progress: null,
      status_note,
    })),
  );
  expect(body.items.at(-1).status_note).toBeNull();
  expect(new Set(answers.map(({ status_note }) => status_note)).size).toBe(60);
});

test("a repeated request adds no entry [§5.5.7]", async () => {
  const { person, agent } = await setUp();
  const create = () =>
    agent.send("POST /v1/tasks", { title: "a" }, { headers: { "idempotency-key": "once" } });
  const { id } = (await create()).body;
  expect((await create()).body.id).toBe(id);
  for (let i = 0; i < 3; i++) await agent.send(`PATCH /v1/tasks/${id}`, { status: "done" });
  expect(await historyOf(person, id)).toEqual(["agent done 100 ", "agent todo  "]);
});

test("what a version without histories changes is one entry, without saying who [§5.5.7(3)] [§2.17]", async () => {
  const { url, person, agent } = await setUp();
  const store = await openStore({ url, auth_token: undefined }, systemClock);
  const run = (text: string) => store.write([statement(sql.raw(text))({})]);
  const { id } = await createTask(agent.send, { title: "a" });
  const change = (set: string) =>
    run(
      `update tasks set ${set}, updated_at = updated_at + 5000, revision = 'r' || updated_at where id = '${id}'`,
    );
  await change("status = 'in_progress'");
  await change("progress = 50");
  expect(await historyOf(person, id)).toEqual(["server in_progress 50 ", "agent todo  "]);
  await agent.send(`PATCH /v1/tasks/${id}`, { status: "done" });
  const rest = ["agent done 100 ", "server in_progress 50 ", "agent todo  "];
  expect(await historyOf(person, id)).toEqual(rest);

  // A task that such a version created.
  await run(`update tasks set history = null where id = '${id}'`);
  expect(await historyOf(person, id)).toEqual(["server done 100 "]);
  await person.send(`PATCH /v1/tasks/${id}`, { status: "todo" });
  expect(await historyOf(person, id)).toEqual(["account todo 100 ", "server done 100 "]);
  await store.close();
});

test("a task keeps its history when its agent first gets it, alone or in a list [§5.5.7]", async () => {
  const { person, agent } = await setUp();
  const gets = ["/v1/tasks/{id}", "/v1/tasks", "/v1/inbox"];
  for (const get of gets) {
    const { id } = await createTask(person.send, { title: "a", key_id: agent.key.id });
    await person.send(`PATCH /v1/tasks/${id}`, { status_note: "first" });
    // The changes overlap: the second is decided on what the first leaves.
    const path = get.replace("{id}", id) as `/${string}`;
    await Promise.all([
      agent.send(`GET ${path}`),
      person.send(`PATCH /v1/tasks/${id}`, { status_note: "second" }),
      agent.send(`GET ${path}`),
    ]);
    await agent.send(`PATCH /v1/tasks/${id}`, { status: "done" });
    expect(await historyOf(person, id)).toEqual([
      "agent done 100 second",
      "account todo  second",
      "account todo  first",
      "account todo  ",
    ]);
  }
});
