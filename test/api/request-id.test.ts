/** `request_id` of an ask: the same request gives the same question (§5.7.2(6)). */

import { expect, test } from "bun:test";
import { createTRPCClient, httpLink } from "@trpc/client";
import type { AppRouter } from "../../routers/index.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra, oldEra } from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });

const ASK = { prompt: "Deploy?", request_id: "deploy 7" };

test("an ask repeated with its request_id returns the question with 200, in any state [§5.7.2(6)] [§2.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const first = await agent.send("POST /v1/questions", ASK);
  expect([first.status, first.body.request_id]).toEqual([201, ASK.request_id]);
  const stream = await openStream(app.url, person.token);
  const again = await agent.send("POST /v1/questions", ASK);
  expect(again).toMatchObject({ status: 200, body: first.body });
  // Defaults equal the values they stand for, and null equals an absent field.
  const spelled = { ...ASK, kind: "confirm", options: null, task_id: null, expires_in: 3600 };
  expect((await agent.send("POST /v1/questions", spelled)).body).toEqual(first.body);
  await person.send(`POST /v1/questions/${first.body.id}/answer`, { answer: "No" });
  const answered = await agent.send("POST /v1/questions?wait=50", ASK);
  expect(answered).toMatchObject({ status: 200, body: { id: first.body.id, answer: "No" } });
  // Nothing happened but the answer, and every read has the field.
  expect(await stream.names(2)).toEqual(["question.updated", "inbox.updated"]);
  expect(stream.events[1]!.data.question.request_id).toBe(ASK.request_id);
  stream.close();
  const { items } = (await agent.send("GET /v1/inbox")).body;
  expect(items[0].question).toEqual(answered.body);
  const listed = await agent.send("GET /v1/questions?status=answered");
  expect(listed.body.questions).toEqual([answered.body]);
});

test("a question without a request_id has the field nowhere", async () => {
  const { person, agent } = await createPair(app.url);
  const { body } = await agent.send("POST /v1/questions", { prompt: "p" });
  expect(body).not.toHaveProperty("request_id");
  for (const send of [person.send, agent.send]) {
    expect((await send("GET /v1/questions")).body.questions).toEqual([body]);
    expect((await send(`GET /v1/questions/${body.id}`)).body).toEqual(body);
  }
  await person.send(`POST /v1/questions/${body.id}/answer`, { answer: "Yes" });
  const [item] = (await agent.send("GET /v1/inbox")).body.items;
  expect(item.question).not.toHaveProperty("request_id");
});

test("other content with the same request_id is 422 request_mismatch, and wait is not compared [§5.7.2(6)]", async () => {
  const { agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const ask = { ...ASK, kind: "choice", options: ["a", "b"] };
  const { body } = await agent.send("POST /v1/questions", ask);
  const others = [
    { prompt: "Deploy!" },
    { kind: "text", options: null },
    { options: ["b", "a"] },
    { task_id: task.id },
    { task_id: "tsk_x" },
    { expires_in: 3601 },
    { url: "https://example.com/" },
    { allow_other: true },
    { fallback: "a" },
    { context: "c" },
  ];
  for (const other of others) {
    const { status, body } = await agent.send("POST /v1/questions", { ...ask, ...other });
    expect([other, status, body.code]).toEqual([other, 422, "request_mismatch"]);
    expect(body.fields).toBeUndefined();
  }
  const waited = agent.send("POST /v1/questions?wait=5", ask);
  await until(() => app.waits.count() === 1);
  await until(async () => {
    await clock.advance(5);
    return app.waits.count() === 0;
  });
  expect(await waited).toMatchObject({ status: 200, body: { id: body.id, status: "pending" } });
});

test("a request_id belongs to one key, and to its question for 24 hours [§5.7.2(6)] [§10.5 request_id_retention]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const first = await agent.send("POST /v1/questions", ASK);
  expect((await other.send("POST /v1/questions", { ...ASK, prompt: "p" })).status).toBe(201);
  await clock.skip(86_399);
  expect((await agent.send("POST /v1/questions", ASK)).body.id).toBe(first.body.id);
  await clock.advance(1);
  const next = await agent.send("POST /v1/questions", { ...ASK, prompt: "Again?" });
  expect(next.status).toBe(201);
  expect((await agent.send("POST /v1/questions", ASK)).body.code).toBe("request_mismatch");
});

test("a request_id is checked before the limit of 20, the deleted task and the limit of waits [§5.7.2(6)] [§9.4.1]", async () => {
  const { agent } = await createPair(app.url);
  const { id: task_id } = await createTask(agent.send);
  const ask = { ...ASK, task_id };
  const { body } = await agent.send("POST /v1/questions", ask);
  for (let i = 1; i < 20; i++) await agent.send("POST /v1/questions", { prompt: `${i}` });
  const send = (sent: object) => agent.send("POST /v1/questions", sent);
  expect((await send({ prompt: "p", request_id: "new" })).body.code).toBe(
    "too_many_pending_questions",
  );
  expect(await send(ask)).toMatchObject({ status: 200, body: { id: body.id } });
  await agent.send(`DELETE /v1/tasks/${task_id}`);
  const gone = await agent.send("POST /v1/questions?wait=50", ask);
  expect(gone).toMatchObject({ status: 200, body: { id: body.id, status: "cancelled", task_id } });
});

test("of many concurrent asks with one request_id, over two processes, one creates the question [§5.7.2(6)]", async () => {
  const { person, agent } = await createPair(app.url);
  for (let round = 0; round < 5; round++) {
    const ask = { prompt: "p", request_id: `round ${round}` };
    const urls = Array.from({ length: 20 }, (_, i) => (i % 2 ? app : there).url);
    const answers = await Promise.all(
      urls.map((url) =>
        fetch(`${url}/v1/questions`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${agent.secret}`,
            "content-type": "application/json",
          },
          body: JSON.stringify(ask),
        }).then(async (answer) => ({ status: answer.status, body: (await answer.json()) as any })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  }
  expect((await person.send("GET /v1/questions")).body.questions.length).toBe(5);
});

test("two concurrent asks with one request_id for the 20th place both succeed [§5.7.2(6)]", async () => {
  const { agent } = await createPair(app.url);
  for (let i = 0; i < 19; i++) await agent.send("POST /v1/questions", { prompt: `${i}` });
  const send = () => agent.send("POST /v1/questions", ASK);
  const answers = await Promise.all([send(), send(), send(), send()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 201]);
});

test("with an Idempotency-Key too, the Idempotency-Key is checked first [§5.7.2(6)]", async () => {
  const { agent } = await createPair(app.url);
  const send = async (key: string, body: object) => {
    const answer = await fetch(`${app.url}/v1/questions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${agent.secret}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
    });
    const { code, id } = (await answer.json()) as any;
    return [answer.status, answer.headers.get("idempotency-replayed"), code ?? id];
  };
  const [, , id] = await send("one", ASK);
  expect(await send("one", ASK)).toEqual([201, "true", id]);
  expect(await send("one", { ...ASK, prompt: "p" })).toEqual([422, null, "idempotency_mismatch"]);
  expect(await send("two", ASK)).toEqual([200, null, id]);
});

test("a request_id works on tRPC and MCP, and across the surfaces [§5.7.2(6)]", async () => {
  const { person, agent } = await createPair(app.url);
  const headers = { authorization: `Bearer ${agent.secret}` };
  const trpc = createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${app.url}/trpc`, headers })],
  });
  const { id } = (await agent.send("POST /v1/questions", ASK)).body;
  expect((await trpc.questions.ask.mutate(ASK)).id).toBe(id);
  const other = { ...ASK, prompt: "p" };
  expect(await trpc.questions.ask.mutate(other).catch(({ data }) => data)).toMatchObject({
    httpStatus: 422,
    code_name: "request_mismatch",
  });
  for (const open of [oldEra, newEra]) {
    const rpc = open(there.url, agent.secret);
    expect((await callTool(rpc, "ask_question", ASK)).structuredContent.id).toBe(id);
    const refused = await callTool(rpc, "ask_question", other);
    expect([refused.isError, refused.content[0].text]).toEqual([
      true,
      "request_mismatch: The request_id was used with other content.",
    ]);
  }
  expect((await person.send("GET /v1/questions")).body.questions.length).toBe(1);
});
