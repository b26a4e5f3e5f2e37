/** `Idempotency-Key` on `/trpc` (§8). */

import { expect, test } from "bun:test";
import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client";
import type { AppRouter } from "../../routers/index.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange, type WireAnswer } from "../support/wire.ts";

const clock = createTestClock();
const database_url = (await createTestStore()).url;
const app = await startTestApp({ clock, database_url });
const second = await startTestApp({ clock, database_url });

/** One call as bytes; the key is a separate header. */
const call = (
  procedure: string,
  credential: string | undefined,
  input: unknown,
  key: string | null = "k",
  url = app.url,
) =>
  exchange(url, "POST", `/trpc/${procedure}`, {
    credential,
    body: typeof input === "string" ? input : JSON.stringify(input),
    headers: key === null ? {} : { "idempotency-key": key },
  });

const replayed = ({ headers }: WireAnswer) => headers.get("idempotency-replayed");
const dataOf = ({ body }: WireAnswer) => body.result?.data;
/** Status, code and fields of a refusal. */
const faultOf = ({ status, body }: WireAnswer) => {
  const { code_name, fields } = body.error.data;
  return [status, code_name, ...Object.keys(fields ?? {})];
};

/** What the server said in each response to the official client, in order. */
type Told = (string | null)[];

/** The official client; each call sends the key in its context. */
function typedClient(credential: string, told: Told = []) {
  return createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: `${app.url}/trpc`,
        headers: ({ op }) => ({
          authorization: `Bearer ${credential}`,
          "idempotency-key": String(op.context.key),
        }),
        async fetch(input, init) {
          const response = await fetch(input as string, init as RequestInit);
          told.push(response.headers.get("idempotency-replayed"));
          return response as never;
        },
      }),
    ],
  });
}

test("a repeated tRPC call returns the resource as it is now, and changes nothing", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const question = await ask(agent.send);
  const { id: key_id } = agent.key;
  const cases = [
    ["tasks.create", agent.secret, { title: "a task" }, "title"],
    ["tasks.create", person.token, { title: "a task", key_id }, "title"],
    ["questions.ask", agent.secret, { prompt: "p", kind: "choice", options: ["a", "b"] }, "prompt"],
    ["questions.answer", person.token, { question_id: question.id, answer: "Yes" }, "answer"],
    ["messages.send", agent.secret, { key_id: other.key.id, text: "hello" }, "text"],
  ] as const;
  for (const [procedure, credential, input, field] of cases) {
    const first = await call(procedure, credential, input);
    expect([procedure, first.status, replayed(first)]).toEqual([procedure, 200, null]);
    const stream = await openStream(app.url, person.token);
    const reversed = Object.fromEntries(Object.entries(input).reverse());
    for (const again of [
      await call(procedure, credential, reversed),
      await call(procedure, credential, input),
    ]) {
      expect([procedure, again.status, replayed(again)]).toEqual([procedure, 200, "true"]);
      expect(dataOf(again)).toEqual(dataOf(first));
    }
    const mismatch = await call(procedure, credential, { ...input, [field]: "No" });
    expect([procedure, ...faultOf(mismatch)]).toEqual([procedure, 422, "idempotency_mismatch"]);
    expect(replayed(mismatch)).toBeNull();
    const { body: end } = await person.send("POST /v1/keys", { label: "end" });
    await stream.next(({ data }) => data.key?.id === end.key.id);
    expect(stream.events.map(({ event }) => event)).toEqual(["ready", "key.created"]);
    stream.close();
  }
  expect((await other.send("GET /v1/inbox")).body.items).toHaveLength(1);

  const task = dataOf(await call("tasks.create", agent.secret, { title: "a task" }));
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 7 });
  const later = await call("tasks.create", agent.secret, { title: "a task" });
  expect([dataOf(later).id, dataOf(later).progress]).toEqual([task.id, 7]);
});

test("the typed client repeats a call whose response was lost", async () => {
  const { person, agent } = await createPair(app.url);
  const told = { ours: [] as Told, theirs: [] as Told };
  const ours = typedClient(agent.secret, told.ours);
  const context = { key: crypto.randomUUID() };
  const made = await ours.tasks.create.mutate({ title: "t" }, { context });
  expect(await ours.tasks.create.mutate({ title: "t" }, { context })).toEqual(made);
  const asked = await ours.questions.ask.mutate({ prompt: "p" }, { context });
  const theirs = typedClient(person.token, told.theirs);
  const answer = { question_id: asked.id, answer: "Yes" };
  const answered = await theirs.questions.answer.mutate(answer, { context });
  expect(await theirs.questions.answer.mutate(answer, { context })).toEqual(answered);
  expect(answered.status).toBe("answered");
  expect(told).toEqual({ ours: [null, "true", null], theirs: [null, "true"] });
  const error = await ours.tasks.create.mutate({ title: "u" }, { context }).catch((e) => e);
  expect(error).toBeInstanceOf(TRPCClientError);
  expect(error.data.code_name).toBe("idempotency_mismatch");
  expect((await agent.send("GET /v1/tasks")).body.tasks).toHaveLength(1);
});

test("an idempotency key of tRPC belongs to one credential and one procedure, and not to REST", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const question = await ask(agent.send);
  const body = { title: "t" };
  const rest = await agent.send("POST /v1/tasks", body, { headers: { "idempotency-key": "k" } });
  const mine = await call("tasks.create", agent.secret, body);
  const theirs = await call("tasks.create", other.secret, body);
  const asked = await call("questions.ask", agent.secret, { prompt: "t" });
  const answered = await call("questions.answer", person.token, {
    question_id: question.id,
    answer: "Yes",
  });
  const answers = [mine, theirs, asked, answered];
  expect(answers.map((one) => [one.status, replayed(one)])).toEqual(Array(4).fill([200, null]));
  expect(new Set([rest.body.id, dataOf(mine).id, dataOf(theirs).id]).size).toBe(3);
  // Another spelling of the same name is the same procedure.
  const spelled = await call("tasks%2Ecreate", agent.secret, body);
  expect([dataOf(spelled).id, replayed(spelled)]).toEqual([dataOf(mine).id, "true"]);
  // The question is part of the input.
  const { id: question_id } = await ask(agent.send);
  const wrong = await call("questions.answer", person.token, { question_id, answer: "Yes" });
  expect(faultOf(wrong)).toEqual([422, "idempotency_mismatch"]);
  expect((await person.send(`GET /v1/questions/${question_id}`)).body.status).toBe("pending");
});

test("only a successful tRPC call is remembered", async () => {
  const { agent } = await createPair(app.url);
  const refused = await call("tasks.create", agent.secret, { title: "" });
  expect(faultOf(refused)).toEqual([422, "invalid_fields", "title"]);
  const none = await call("questions.ask", agent.secret, { prompt: "p", task_id: "tsk_x" });
  expect(faultOf(none)).toEqual([404, "not_found", "task_id"]);
  const task = await createTask(agent.send);
  const made = await call("tasks.create", agent.secret, { title: "t" });
  const asked = await call("questions.ask", agent.secret, { prompt: "p", task_id: task.id });
  expect([made, asked].map((one) => [one.status, replayed(one)])).toEqual(
    Array(2).fill([200, null]),
  );
});

test("of many concurrent calls in two processes, one takes effect and the others return what it created", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const question = await ask(agent.send);
  const cases = [
    ["tasks.create", agent.secret, { title: "t" }],
    ["questions.ask", agent.secret, { prompt: "p" }],
    ["questions.answer", person.token, { question_id: question.id, answer: "No" }],
    ["messages.send", agent.secret, { key_id: other.key.id, text: "x" }],
  ] as const;
  for (const [procedure, credential, input] of cases) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call(procedure, credential, input, "one", i % 2 ? app.url : second.url),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map((answer) => dataOf(answer).id)).size).toBe(1);
    expect(answers.filter((answer) => replayed(answer) === null)).toHaveLength(1);
  }
  expect((await agent.send("GET /v1/tasks")).body.tasks).toHaveLength(1);
  expect((await agent.send("GET /v1/questions")).body.questions).toHaveLength(1);
  expect((await other.send("GET /v1/inbox")).body.items).toHaveLength(1);
});

test("a repeated ask-and-wait waits again, for as long as its own input says", async () => {
  const { person, agent } = await createPair(app.url);
  const first = call("questions.ask", agent.secret, { prompt: "p", wait: 50 });
  await until(() => app.waits.count() === 1);
  const again = call("questions.ask", agent.secret, { prompt: "p", wait: 20 });
  await until(() => app.waits.count() === 2);
  await clock.advance(20);
  expect(dataOf(await again).status).toBe("pending");
  const { id } = dataOf(await again);
  await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
  expect([dataOf(await first).id, dataOf(await first).answer]).toEqual([id, "Yes"]);
  expect([replayed(await first), replayed(await again)]).toEqual([null, "true"]);
});

test("an idempotency key has 1 to 255 characters, checked after credential and JSON", async () => {
  const { agent } = await createPair(app.url);
  for (const key of ["", "x".repeat(256)]) {
    const refused = await call("tasks.create", agent.secret, { title: "t" }, key);
    expect(faultOf(refused)).toEqual([422, "invalid_fields", "idempotency_key"]);
    expect(refused.text).not.toContain("xxx");
    expect(faultOf(await call("tasks.create", agent.secret, "{", key))).toEqual([
      400,
      "invalid_json",
    ]);
    expect(faultOf(await call("tasks.create", undefined, {}, key))).toEqual([401, "unauthorized"]);
  }
  const empty = await call("tasks.create", agent.secret, "");
  expect(faultOf(empty)).toEqual([422, "invalid_fields", "body"]);
  expect((await agent.send("GET /v1/tasks")).body.tasks).toEqual([]);
  const longest = "é".repeat(255);
  const made = await call("tasks.create", agent.secret, { title: "t" }, longest);
  const again = await call("tasks.create", agent.secret, { title: "t" }, longest);
  expect([dataOf(again), replayed(again)]).toEqual([dataOf(made), "true"]);
});

test("in a batch with an idempotency key every call is refused, and none takes effect [§8.7]", async () => {
  const { agent } = await createPair(app.url);
  const batch = (names: string, body: unknown, key: string | null) =>
    call(`${names}?batch=1`, agent.secret, body, key);
  for (const [names, inputs] of [
    ["tasks.create", { 0: { title: "t" } }],
    ["tasks.create,questions.ask", { 0: { title: "t" }, 1: { prompt: "p" } }],
    // The first without an input, or one that accepts no key.
    ["tasks.create,tasks.create", { 1: { title: "t" } }],
    ["tasks.update,tasks.create", { 0: { task_id: "tsk_x" }, 1: { title: "t" } }],
    ["tasks.nothing,tasks.create", { 0: {}, 1: { title: "t" } }],
  ] as const) {
    const { body } = await batch(names, inputs, "k");
    const faults = body.map(({ error: { data } }: any) => [
      data.code_name,
      ...Object.keys(data.fields ?? {}),
    ]);
    const expected = names
      .split(",")
      .map((name) =>
        name === "tasks.nothing" ? ["unknown_path"] : ["invalid_fields", "idempotency_key"],
      );
    expect([names, faults]).toEqual([names, expected]);
  }
  const broken = await batch("tasks.create", "{", "k");
  expect(faultOf({ ...broken, body: broken.body[0] })).toEqual([400, "invalid_json"]);
  const headers = { authorization: `Bearer ${agent.secret}`, "idempotency-key": "k" };
  const typed = createTRPCClient<AppRouter>({
    links: [httpBatchLink({ url: `${app.url}/trpc`, headers })],
  });
  const error = await typed.tasks.create.mutate({ title: "t" }).catch((e) => e);
  expect(error.data.fields).toEqual({ idempotency_key: "is for one call, not for a batch" });
  expect((await agent.send("GET /v1/tasks")).body.tasks).toEqual([]);
  expect((await agent.send("GET /v1/questions")).body.questions).toEqual([]);
  const { status, body } = await batch("tasks.create", { 0: { title: "t" } }, null);
  expect([status, body[0].result.data.title]).toEqual([200, "t"]);
});

test("other procedures ignore the idempotency key, whatever it is", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const long = "x".repeat(256);
  for (const key of ["k", long]) {
    const made = await call("keys.create", person.token, { label: "l" }, key);
    const other = await call("keys.create", person.token, { label: "l" }, key);
    expect(dataOf(made).key.id).not.toBe(dataOf(other).key.id);
    expect([replayed(made), replayed(other)]).toEqual([null, null]);
    for (const progress of [1, 2]) {
      const changed = await call("tasks.update", agent.secret, { task_id: task.id, progress }, key);
      expect([changed.status, dataOf(changed).progress]).toEqual([200, progress]);
    }
    const headers = { "idempotency-key": key };
    const list = `/trpc/tasks.list,agents.list?batch=1`;
    const read = await exchange(app.url, "GET", list, { credential: agent.secret, headers });
    expect(read.status).toBe(200);
  }
});
