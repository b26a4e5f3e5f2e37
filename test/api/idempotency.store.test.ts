/** Requests that are sent again (§8). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import {
  type Answer,
  ask,
  client,
  createAgent,
  createPair,
  createPerson,
  createTask,
  type Send,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const database_url = (await createTestStore()).url;
const app = await startTestApp({ clock, database_url });

/** Sends a request with an `Idempotency-Key`. */
const once = (send: Send, key: string) => (request: `${string} /${string}`, body: unknown) =>
  send(request, body, { headers: { "idempotency-key": key } });
const replayed = ({ headers }: Answer) => headers.get("idempotency-replayed");

test("a repeated request returns the resource as it is now, and changes nothing [§8.3] [§8.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const question = await ask(agent.send);
  const read = {
    task: (id: string) => person.send(`GET /v1/tasks/${id}`),
    question: (id: string) => person.send(`GET /v1/questions/${id}`),
  };
  const routes = [
    {
      request: "POST /v1/tasks",
      send: agent.send,
      body: { title: "a task", status: "todo" },
      status: 201,
      events: ["task.created"],
      change: (id: string) => agent.send(`PATCH /v1/tasks/${id}`, { progress: 7 }),
      now: read.task,
    },
    {
      request: "POST /v1/tasks",
      send: person.send,
      body: { title: "a task", key_id: agent.key.id },
      status: 201,
      events: ["task.created", "inbox.updated"],
      change: (id: string) => person.send(`PATCH /v1/tasks/${id}`, { title: "new" }),
      now: read.task,
    },
    {
      request: "POST /v1/questions",
      send: agent.send,
      body: { prompt: "p", kind: "choice", options: ["a", "b"] },
      status: 201,
      events: ["question.created"],
      change: (id: string) => person.send(`POST /v1/questions/${id}/answer`, { answer: "b" }),
      now: read.question,
    },
    {
      request: `POST /v1/questions/${question.id}/answer`,
      send: person.send,
      body: { answer: "Yes" },
      status: 200,
      events: ["question.updated", "inbox.updated"],
      change: async () => {},
      now: read.question,
    },
    {
      request: "POST /v1/messages",
      send: agent.send,
      body: { key_id: other.key.id, text: "hello" },
      status: 201,
      events: ["inbox.updated"],
      change: () => other.send("GET /v1/inbox"),
      now: async () => {
        const { body } = await person.send(`GET /v1/keys/${other.key.id}/inbox`);
        return { body: body.items[0] };
      },
    },
  ] as const;

  for (const [i, { request, send, body, status, events, change, now }] of routes.entries()) {
    const key = `key ${i} "quoted"`;
    const stream = await openStream(app.url, person.token);
    const first = await once(send, key)(request, body);
    expect([request, first.status, replayed(first)]).toEqual([request, status, null]);
    await change(first.body.id);
    await clock.advance(1);
    const members = Object.entries(body).reverse();
    for (const again of [body, Object.fromEntries(members)]) {
      const second = await once(send, key)(request, again);
      expect([request, second.status, replayed(second)]).toEqual([request, status, "true"]);
      // Only the read of a question says where its answer came from.
      const { answered_from: _, ...read } = (await now(first.body.id)).body;
      expect(second.body).toEqual(read);
    }
    const [name] = Object.keys(body) as [string];
    const mismatch = await once(send, key)(request, { ...body, [name]: "No" });
    expect([mismatch.status, mismatch.body.code]).toEqual([422, "idempotency_mismatch"]);
    expect(mismatch.body.fields).toBeUndefined();
    const { body: end } = await person.send("POST /v1/keys", { label: "end" });
    await stream.next(({ data }) => data.key?.id === end.key.id);
    // The events are exactly those of the first request and the change.
    const told = stream.events.slice(1).map(({ event }) => event);
    expect(told.slice(0, events.length)).toEqual([...events]);
    const made = told.filter((event) => event === events[0]);
    expect(made).toHaveLength(request === "POST /v1/messages" ? 2 : 1);
    stream.close();
  }
});

test("an idempotency key is valid for one credential, method and path [§8.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const body = { title: "t" };
  const mine = await once(agent.send, "same")("POST /v1/tasks", body);
  const theirs = await once(other.send, "same")("POST /v1/tasks", body);
  const question = await once(agent.send, "same")("POST /v1/questions", { prompt: "t" });
  const second = await ask(agent.send);
  for (const { id } of [question.body, second]) {
    const path = `POST /v1/questions/${id}/answer` as const;
    const answered = await once(person.send, "same")(path, { answer: "Yes" });
    expect([answered.status, replayed(answered), answered.body.id]).toEqual([200, null, id]);
  }
  expect([mine, theirs, question].map((one) => [one.status, replayed(one)])).toEqual([
    [201, null],
    [201, null],
    [201, null],
  ]);
  expect(mine.body.id).not.toBe(theirs.body.id);
});

test("a refused request is not remembered, so its idempotency key may succeed later", async () => {
  const { person, agent } = await createPair(app.url);
  const send = once(agent.send, "k");
  const pending = [];
  for (let i = 0; i < 20; i++) pending.push(await ask(agent.send));
  expect((await send("POST /v1/questions", { prompt: "" })).status).toBe(422);
  expect((await send("POST /v1/questions", { prompt: "p" })).status).toBe(409);
  await person.send(`POST /v1/questions/${pending[0]!.id}/answer`, { answer: "Yes" });
  const asked = await send("POST /v1/questions", { prompt: "p" });
  expect([asked.status, replayed(asked)]).toEqual([201, null]);
  // The limit is reached again: the replay is not a new question.
  const again = await send("POST /v1/questions", { prompt: "p" });
  expect([again.status, replayed(again), again.body.id]).toEqual([201, "true", asked.body.id]);

  const answer = once(person.send, "a");
  const path = `POST /v1/questions/${pending[1]!.id}/answer` as const;
  expect((await answer(path, { answer: "Perhaps" })).status).toBe(422);
  expect((await answer(path, { answer: "No" })).status).toBe(200);
  const conflict = await once(person.send, "b")(path, { answer: "No" });
  expect([conflict.status, conflict.body.code]).toEqual([409, "question_not_pending"]);
});

test("of many concurrent requests, one takes effect and the others return what it created [§8.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const second = await startTestApp({ clock, database_url });
  const question = await ask(agent.send);
  const other = await createAgent(app.url, person, "other");
  const requests = [
    ["POST /v1/tasks", agent, { title: "t" }],
    ["POST /v1/questions", agent, { prompt: "p" }],
    [`POST /v1/questions/${question.id}/answer`, person, { answer: "No" }],
    ["POST /v1/messages", agent, { key_id: other.key.id, text: "x" }],
  ] as const;
  for (const [request, { send }, body] of requests) {
    const credential = send === person.send ? person.token : agent.secret;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        once(client(i % 2 ? app.url : second.url, credential), "one")(request, body),
      ),
    );
    expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
    expect(answers[0]!.status).toBeOneOf([200, 201]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1);
  }
  expect((await agent.send("GET /v1/tasks")).body.tasks).toHaveLength(1);
  expect((await agent.send("GET /v1/questions")).body.questions).toHaveLength(1);
  expect((await other.send("GET /v1/inbox")).body.items).toHaveLength(1);
});

test("a repeated ask-and-wait waits again", async () => {
  const { person, agent } = await createPair(app.url);
  const ask_and_wait = (seconds: number) =>
    once(agent.send, "k")(`POST /v1/questions?wait=${seconds}`, { prompt: "p" });
  const first = ask_and_wait(50);
  await until(() => app.waits.count() === 1);
  const second = ask_and_wait(20);
  await until(() => app.waits.count() === 2);
  await clock.advance(20);
  expect((await second).body.status).toBe("pending");
  const third = ask_and_wait(50);
  await until(() => app.waits.count() === 2);
  const { id } = (await second).body;
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  for (const wait of [first, third]) {
    const { status, body } = await wait;
    expect([status, body.id, body.answer]).toEqual([201, id, "Yes"]);
  }
  expect(replayed(await third)).toBe("true");
  expect(app.waits.owners()).toBe(0);
});

test("an idempotency key has 1 to 255 characters and counts for a day", async () => {
  const { agent } = await createPair(app.url);
  for (const key of ["", "x".repeat(256)]) {
    const { status, body } = await once(agent.send, key)("POST /v1/tasks", { title: "" });
    expect([status, Object.keys(body.fields)]).toEqual([422, ["idempotency_key"]]);
  }
  const longest = "é".repeat(255);
  const first = await once(agent.send, longest)("POST /v1/tasks", { title: "t" });
  expect(first.status).toBe(201);
  const move = async (seconds: number) => {
    await app.jobs.settled();
    await clock.skip(seconds);
    await app.jobs.settled();
  };
  await move(86_399);
  expect((await once(agent.send, longest)("POST /v1/tasks", { title: "t" })).body).toEqual(
    first.body,
  );
  await move(62);
  await until(async () => {
    const later = await once(agent.send, longest)("POST /v1/tasks", { title: "t" });
    return later.body.id !== first.body.id;
  });
});

test("a replay whose resource is gone is 404", async () => {
  const { person, agent } = await createPair(app.url);
  const create = () => once(agent.send, "k")("POST /v1/tasks", { title: "t" });
  const { id } = (await create()).body;
  await person.send(`DELETE /v1/tasks/${id}`);
  expect((await create()).status).toBe(404);
  expect((await agent.send("GET /v1/tasks")).body.tasks).toEqual([]);
});

test("routes that return a secret ignore the header [§8.6]", async () => {
  const person = await createPerson(app.url);
  const keys = [1, 2].map(() => once(person.send, "k")("POST /v1/keys", { label: "l" }));
  const [first, second] = await Promise.all(keys);
  expect(first!.body.key.id).not.toBe(second!.body.key.id);
  expect([first, second].map((one) => replayed(one!))).toEqual([null, null]);
});

test("the store keeps digests and an id of a request, never its content", async () => {
  const { agent, person } = await createPair(app.url);
  await once(agent.send, "the-very-key")("POST /v1/tasks", { title: "the very title" });
  await createTask(person.send, { title: "x", key_id: agent.key.id });
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const rows = await store.read(statement(sql`select * from idempotency`, { returns: "rows" })({}));
  const text = JSON.stringify(rows);
  expect(text).toContain(agent.key.id);
  for (const sent of ["the-very-key", "the very title", agent.secret]) {
    expect(text).not.toContain(sent);
  }
  await store.close();
});
