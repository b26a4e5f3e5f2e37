/** Questions: ask, list, answer, cancel, expire (§3.1, §5.7). */

import { expect, test } from "bun:test";
import type { Question } from "../../src/model/question.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

/** Moves the clock between runs of the jobs, and lets those that started finish. */
async function step(seconds: number): Promise<void> {
  await app.jobs.settled();
  await clock.advance(seconds);
  await app.jobs.settled();
}

test("a question has the documented shape and defaults [§2.5] [§2.5.1] [§5.7.2] [§5.7.2 kind] [§7.2 question.created]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const { status, body } = await agent.send("POST /v1/questions", { prompt: "Deploy?" });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^qst_[0-9a-f]{32}$/),
    key_id: agent.key.id,
    task_id: null,
    prompt: "Deploy?",
    kind: "confirm",
    options: ["Yes", "No"],
    status: "pending",
    answer: null,
    created_at: clock.now(),
    answered_at: null,
    expires_at: Math.round((clock.now() + 3600) * 1000) / 1000,
  });
  await stream.names(1);
  expect(stream.events.slice(1)).toEqual([{ event: "question.created", data: { question: body } }]);
  stream.close();
});

test("only a choice has options: 2 to 4, all different [§5.7.2(1)] [§10.2 options_max]", async () => {
  const { agent } = await createPair(app.url);
  const send = (body: object) => agent.send("POST /v1/questions", { prompt: "p", ...body });
  const good = [
    [{ kind: "choice", options: ["a", "b"] }, ["a", "b"]],
    [{ kind: "choice", options: ["a", "b", " c", "A"] }, ["a", "b", " c", "A"]],
    [{ kind: "text" }, []],
    [{ kind: "text", options: null, task_id: null }, []],
    [{ kind: "confirm", options: null }, ["Yes", "No"]],
  ] as const;
  for (const [body, options] of good) {
    expect(await send(body)).toMatchObject({ status: 201, body: { options } });
  }
  const bad = [
    { kind: "choice" },
    { kind: "choice", options: null },
    { kind: "choice", options: ["a"] },
    { kind: "choice", options: ["a", "b", "c", "d", "e"] },
    { kind: "choice", options: ["a", " a "] },
    { kind: "choice", options: ["a", " "] },
    { kind: "choice", options: ["a", "x".repeat(81)] },
    { kind: "confirm", options: ["Yes", "No"] },
    { options: [] },
    { kind: "text", options: ["a", "b"] },
  ];
  for (const body of bad) {
    const answer = await send(body);
    expect([answer.status, Object.keys(answer.body.fields)]).toEqual([422, ["options"]]);
  }
});

test("task_id of a question names a task of the same key [§5.7.2(2)] [§1.4.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person);
  const own = await createTask(agent.send);
  const theirs = await createTask(other.send);
  expect((await ask(agent.send, { prompt: "p", task_id: own.id })).task_id).toBe(own.id);
  for (const task_id of [theirs.id, "tsk_x"]) {
    const { status, body } = await agent.send("POST /v1/questions", { prompt: "p", task_id });
    expect([status, body.code]).toEqual([404, "not_found"]);
  }
});

test("expires_in is 60 to 86400 seconds [§5.7.2 expires_in] [§10.4 expires_in_max]", async () => {
  const { agent } = await createPair(app.url);
  for (const expires_in of [60, 86_400]) {
    const { created_at, expires_at } = await ask(agent.send, { prompt: "p", expires_in });
    expect(Math.round((expires_at - created_at) * 1000)).toBe(expires_in * 1000);
  }
  for (const expires_in of [59, 86_401, 60.5, "60", null]) {
    const { status, body } = await agent.send("POST /v1/questions", { prompt: "p", expires_in });
    expect([status, Object.keys(body.fields)]).toEqual([422, ["expires_in"]]);
  }
});

test("the 21st pending question is refused, also when questions are asked at once [§5.7.2(3)] [§9.2.1 409] [§10.2 pending_questions_per_key]", async () => {
  const { person, agent } = await createPair(app.url);
  const send = () => agent.send("POST /v1/questions", { prompt: "p", expires_in: 60 });
  const asked = await Promise.all(Array.from({ length: 25 }, send));
  const refused = asked.filter(({ status }) => status !== 201);
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    Array(5).fill([409, "too_many_pending_questions"]),
  );
  // Another key has its own twenty.
  await ask((await createAgent(app.url, person)).send);
  // A question that is answered, cancelled or expired frees its place.
  const [one, two] = asked.filter(({ status }) => status === 201).map(({ body }) => body.id);
  await person.send(`POST /v1/questions/${one}/answer`, { answer: "No" });
  expect((await send()).status).toBe(201);
  await agent.send(`DELETE /v1/questions/${two}`);
  expect((await send()).status).toBe(201);
  expect((await send()).status).toBe(409);
  await clock.advance(60);
  expect((await send()).status).toBe(201);
});

test("the list is newest first, pending unless told otherwise, and at most 100 [§5.7.1] [§5.7.1 status] [§10.3 question_list]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id: task_id } = await createTask(agent.send);
  const other = await createAgent(app.url, person);
  const asked: Question[] = [];
  for (let i = 0; i < 103; i++) {
    const question = await ask(agent.send, { prompt: `q${i}`, ...(i === 5 && { task_id }) });
    asked.unshift(question);
    if (i < 101) await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
    if (i === 101) await agent.send(`DELETE /v1/questions/${question.id}`);
    if (i % 2) await clock.advance(0.001);
  }
  const foreign = await ask(other.send);
  const ids = async (send: typeof agent.send, query: string) =>
    (await send(`GET /v1/questions?${query}`)).body.questions.map(({ id }: Question) => id);
  const all = asked.map(({ id }) => id);
  expect(await ids(agent.send, "")).toEqual(all.slice(0, 1));
  expect(await ids(person.send, "")).toEqual([foreign.id, all[0]]);
  expect(await ids(person.send, `key_id=${agent.key.id}`)).toEqual(all.slice(0, 1));
  expect(await ids(agent.send, "status=cancelled")).toEqual([all[1]]);
  expect(await ids(agent.send, "status=answered,cancelled,pending,expired")).toEqual(
    all.slice(0, 100),
  );
  expect(await ids(agent.send, `status=answered&task_id=${task_id}`)).toEqual([all[97]]);
  expect(await ids(agent.send, `task_id=${task_id}`)).toEqual([]);
  for (const query of [`task_id=tsk_x`, `key_id=${agent.key.id}x`]) {
    expect((await person.send(`GET /v1/questions?${query}`)).status).toBe(404);
  }
  expect((await agent.send(`GET /v1/questions?key_id=${agent.key.id}`)).status).toBe(422);
  expect((await agent.send("GET /v1/questions?status=")).status).toBe(422);
});

test("an answer that fits its question is stored, and every reader gets it [§3.1.2] [§2.5 answer] [§5.7.4] [§5.7.3] [§7.2 question.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  const cases = [
    [{ kind: "confirm" }, "No"],
    [{ kind: "choice", options: ["red", "blue"] }, "blue"],
    [{ kind: "text" }, "  exactly\nas typed ✍️ "],
    [{ kind: "text" }, "😀".repeat(4000)],
  ] as const;
  const key_id = agent.key.id;
  for (const [at, [body, answer]] of cases.entries()) {
    const question = await ask(agent.send, { prompt: "p", ...body });
    const stream = await openStream(app.url, person.token);
    await clock.advance(2);
    const { status, body: got } = await person.send(`POST /v1/questions/${question.id}/answer`, {
      answer,
    });
    expect(status).toBe(200);
    expect(got).toEqual({ ...question, status: "answered", answer, answered_at: clock.now() });
    expect((await agent.send(`GET /v1/questions/${question.id}`)).body).toEqual(got);
    await stream.names(2);
    expect(stream.events.slice(1)).toEqual([
      { event: "question.updated", data: { question: got } },
      { event: "inbox.updated", data: { key_id, unread: at + 1, unreceived: 1 } },
    ]);
    await app.services.questions.settled();
    stream.close();
  }
});

test("an answer that does not fit its question changes nothing [§5.7.4(2)] [§9.2.1 422]", async () => {
  const { person, agent } = await createPair(app.url);
  const cases = [
    [{ kind: "confirm" }, ["yes", "Yes ", "", "Maybe"]],
    [{ kind: "choice", options: ["a", "b"] }, ["c", " a", ""]],
    [{ kind: "text" }, ["", " \n\t", "x".repeat(4001), "😀".repeat(4001)]],
  ] as const;
  for (const [body, answers] of cases) {
    const question = await ask(agent.send, { prompt: "p", ...body });
    for (const answer of answers) {
      const refused = await person.send(`POST /v1/questions/${question.id}/answer`, { answer });
      expect([refused.status, Object.keys(refused.body.fields)]).toEqual([422, ["answer"]]);
    }
    expect((await agent.send(`GET /v1/questions/${question.id}`)).body).toEqual(question);
  }
});

test("a question leaves pending once [§3.1.1] [§5.7.4(2)] [§5.7.5] [§9.2.1 409]", async () => {
  const { person, agent } = await createPair(app.url);
  const answer = (id: string, text = "Yes") =>
    person.send(`POST /v1/questions/${id}/answer`, { answer: text });
  const cancel = (id: string) => agent.send(`DELETE /v1/questions/${id}`);
  const state = async (id: string) => (await agent.send(`GET /v1/questions/${id}`)).body;
  const conflict = { status: 409, body: { code: "question_not_pending" } };

  const answered = await ask(agent.send);
  const cancelled = await ask(agent.send);
  const expired = await ask(agent.send, { prompt: "p", expires_in: 60 });
  const stream = await openStream(app.url, person.token);
  const kept = (await answer(answered.id)).body;
  expect((await cancel(cancelled.id)).status).toBe(204);
  await clock.advance(60);

  // The state is checked before the answer: an unknown option is refused for the state.
  expect(await answer(answered.id, "nonsense")).toMatchObject(conflict);
  expect(await answer(answered.id, "No")).toMatchObject(conflict);
  expect(await answer(cancelled.id)).toMatchObject(conflict);
  expect(await answer(expired.id)).toMatchObject(conflict);
  expect(await cancel(answered.id)).toMatchObject(conflict);
  expect(await cancel(expired.id)).toMatchObject(conflict);
  expect((await cancel(cancelled.id)).status).toBe(204);
  expect(await state(answered.id)).toEqual(kept);
  expect(await state(cancelled.id)).toEqual({ ...cancelled, status: "cancelled" });
  expect(await state(expired.id)).toEqual({ ...expired, status: "expired" });
  await createTask(agent.send);
  const names = ["question.updated", "inbox.updated", "question.updated", "question.updated"];
  expect(await stream.names(5)).toEqual([...names, "task.created"]);
  stream.close();
});

test("a question expires by itself within ten seconds [§3.1.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const question = await ask(agent.send, { prompt: "p", expires_in: 60 });
  const stream = await openStream(app.url, person.token);
  await step(59.9);
  expect(stream.events.length).toBe(1);
  // Ten seconds in small steps, as a clock goes; nobody reads the question meanwhile.
  for (let second = 0; second < 10; second++) await step(1);
  const { data } = await until(() => stream.events[1]);
  expect(data).toEqual({ question: { ...question, status: "expired" } });
  stream.close();
});

test("an overdue question is expired for whoever reads or lists it first [§3.1.3]", async () => {
  const { person, agent } = await createPair(app.url);
  for (const read of ["one", "list", "head"] as const) {
    const { id } = await ask(agent.send, { prompt: "p", expires_in: 60 });
    const stream = await openStream(app.url, person.token);
    // One step, so that the job runs together with the read.
    await step(59.999);
    const reading = clock.advance(0.001);
    if (read === "one")
      expect((await agent.send(`GET /v1/questions/${id}`)).body.status).toBe("expired");
    if (read === "head") expect((await agent.send(`HEAD /v1/questions/${id}`)).status).toBe(200);
    if (read === "list") {
      expect((await agent.send("GET /v1/questions")).body.questions).toEqual([]);
      const { body } = await agent.send("GET /v1/questions?status=expired");
      expect(body.questions[0]).toMatchObject({ id, status: "expired" });
    }
    await reading;
    // The job runs every two seconds, and its work is done by then.
    for (let second = 0; second < 3; second++) await step(1);
    await createTask(agent.send);
    expect(await stream.names(2)).toEqual(["question.updated", "task.created"]);
    stream.close();
  }
});

test("a list of pending and expired questions never misses one that expires meanwhile [§3.1.3]", async () => {
  let drift = 0;
  // Every read of this clock is a millisecond later than the one before.
  const now = () => {
    drift += 0.001;
    return clock.now() + drift;
  };
  const moving = { ...clock, now, wall: now, elapsed: now };
  const own = await startTestApp({ clock: moving });
  const { agent } = await createPair(own.url);
  const asked: Question[] = [];
  for (let i = 0; i < 20; i++) {
    // These intervals let some questions expire at each point of a list's work.
    drift += 0.001 * (i % 7);
    asked.unshift(await ask(agent.send, { prompt: "p", expires_in: 60 }));
  }
  drift += asked.at(-1)!.expires_at - now() - 0.1;
  const states = new Set<string>();
  for (let i = 0; i < 120; i++) {
    const { body } = await agent.send("GET /v1/questions?status=pending,expired");
    expect(body.questions.map(({ id }: Question) => id)).toEqual(asked.map(({ id }) => id));
    for (const { status } of body.questions) states.add(status);
  }
  expect(states).toEqual(new Set(["pending", "expired"]));
  expect((await agent.send("GET /v1/questions")).body.questions).toEqual([]);
});
