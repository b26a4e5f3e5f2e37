/** Questions with a draft: approved as it is, or edited (§2.5.8, §5.7.2(10), §5.7.4(5)). */

import { expect, test } from "bun:test";
import { createTRPCClient, httpLink } from "@trpc/client";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import type { AppRouter } from "../../routers/index.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra, oldEra } from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);

const DRAFT = "Hello Ada,\n\nthe build is green.\n\nTom";
const ASK = { prompt: "Send this?", kind: "text", draft: DRAFT };

test("every reader gets the draft, and once it is answered whether it was edited [§2.5.8] [§2.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  for (const [answer, edited] of [
    [DRAFT, false],
    ["Hello Ada, it is green", true],
  ] as const) {
    const asked = await ask(agent.send, ASK);
    expect(asked).toMatchObject(ASK);
    expect(asked).not.toHaveProperty("edited");
    const path = `/v1/questions/${asked.id}` as const;
    for (const { send } of [person, agent]) {
      expect((await send(`GET ${path}`)).body).toEqual(asked);
      expect((await send("GET /v1/questions")).body.questions).toEqual([asked]);
    }
    const { body } = await person.send(`POST ${path}/answer`, { answer });
    const answered = { ...asked, answer, edited, status: "answered" };
    expect(body).toEqual({ ...answered, answered_at: body.answered_at });
    for (const { send } of [person, agent]) {
      // Only the account is told from where the answer came.
      const { answered_from: _, ...read } = (await send(`GET ${path}`)).body;
      expect(read).toEqual(body);
      const listed = await send("GET /v1/questions?status=answered");
      expect(listed.body.questions[0]).toEqual(body);
    }
    const { items } = (await agent.send("GET /v1/inbox")).body;
    expect(items.map(({ question }: any) => question)).toEqual([body]);
    const inbox = await person.send(`GET /v1/keys/${agent.key.id}/inbox`);
    expect(inbox.body.items[0].question).toEqual(body);
    await until(() => stream.events.some(({ data }) => data.question?.answer === answer));
    const told = stream.events.filter(({ data }) => data.question?.id === asked.id);
    expect(told.map(({ data }) => data.question)).toEqual([asked, body]);
  }
  stream.close();
});

test("a question without a draft has neither field, answered or not [§2.5.8]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { prompt: "Name?", kind: "text" });
  const { body } = await person.send(`POST /v1/questions/${id}/answer`, { answer: "Ada" });
  for (const question of [body, (await agent.send(`GET /v1/questions/${id}`)).body]) {
    expect(question).not.toHaveProperty("draft");
    expect(question).not.toHaveProperty("edited");
  }
});

test("only a text question has a draft, beside a fallback and a context [§5.7.2(10)]", async () => {
  const { agent } = await createPair(app.url);
  const reasons = async (body: object) =>
    (await agent.send("POST /v1/questions", { prompt: "p", ...body })).body.fields;
  const refused = { draft: "is permitted for text only" };
  expect(await reasons({ draft: DRAFT })).toEqual(refused);
  expect(await reasons({ kind: "confirm", draft: DRAFT, allow_other: true })).toEqual(refused);
  const choice = { kind: "choice", options: ["a", "b"] };
  expect(await reasons({ ...choice, draft: DRAFT })).toEqual(refused);
  expect(await reasons({ ...ASK, allow_other: true })).toEqual({
    allow_other: "is permitted for confirm and choice only",
  });
  expect(Object.keys(await reasons({ ...ASK, draft: "\u200b \n" }))).toEqual(["draft"]);
  expect(Object.keys(await reasons({ ...ASK, draft: "😀".repeat(4_001) }))).toEqual(["draft"]);
  expect(Object.keys(await reasons({ ...ASK, draft: null }))).toEqual(["draft"]);
  const rich = { ...ASK, draft: "😀".repeat(4_000), fallback: DRAFT, context: "# Who is Ada?" };
  expect(await ask(agent.send, rich)).toMatchObject(rich);
});

test("an answer that differs in line breaks or white space at its ends is the draft, as the agent sent it [§5.7.4(5)]", async () => {
  const { person, agent } = await createPair(app.url);
  const answer = async (draft: string, text: string) => {
    const { id } = await ask(agent.send, { ...ASK, draft });
    const { body } = await person.send(`POST /v1/questions/${id}/answer`, { answer: text });
    const read = (await agent.send(`GET /v1/questions/${id}`)).body;
    expect([read.answer, read.edited]).toEqual([body.answer, body.edited]);
    return [body.answer, body.edited];
  };
  for (const draft of ["a\r\nb", "a\rb", "a\nb", "  a\nb\n\n", "a\nb\u00a0"]) {
    for (const text of ["a\nb", "a\r\nb", "\n a\rb \t"]) {
      expect(await answer(draft, text)).toEqual([draft, false]);
    }
  }
  for (const [draft, text] of [
    ["a\n\nb", "a\nb"],
    ["a b", "a  b"],
    ["a b", "A b"],
    // The same letter, composed and decomposed: the person sees no difference, but the texts differ.
    ["\u00e9", "e\u0301"],
  ] as const) {
    expect(await answer(draft, text)).toEqual([text, true]);
  }
});

test("an answer that an older version stored has `edited` too [§2.5.8]", async () => {
  const { agent } = await createPair(app.url);
  for (const [answer, edited] of [
    [DRAFT, false],
    ["No", true],
  ] as const) {
    const { id } = await ask(agent.send, ASK);
    const text = `update questions set status = 'answered', answer = '${answer}', answered_at = 1 where id = '${id}'`;
    await store.write([statement(sql.raw(text))({})]);
    expect((await agent.send(`GET /v1/questions/${id}`)).body).toMatchObject({ answer, edited });
  }
});

test("of two answers one counts, and a repeated approval is the same answer [§5.7.4(3)]", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await ask(agent.send, { ...ASK, draft: "a\r\nb" });
  const path = `POST /v1/questions/${id}/answer` as const;
  const headers = { "idempotency-key": "one" };
  const answers = await Promise.all([
    person.send(path, { answer: "a\nb" }, { headers }),
    person.send(path, { answer: "c" }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const { body } = await agent.send(`GET /v1/questions/${id}`);
  expect([
    ["a\r\nb", false],
    ["c", true],
  ]).toContainEqual([body.answer, body.edited]);
  const other = await ask(agent.send, ASK);
  const approve = () =>
    person.send(
      `POST /v1/questions/${other.id}/answer`,
      { answer: DRAFT },
      { headers: { "idempotency-key": "two" } },
    );
  const first = await approve();
  expect((await approve()).body).toEqual(first.body);
  expect(first.body.edited).toBe(false);
});

test("a request_id is of one draft, and an identical tool call joins only the same draft [§5.7.2(6)] [§12.4.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const named = { ...ASK, request_id: "mail 7" };
  const { id } = await ask(agent.send, named);
  expect((await agent.send("POST /v1/questions", named)).body.id).toBe(id);
  for (const other of [
    { ...named, draft: "Hello" },
    { ...named, draft: undefined },
  ]) {
    expect((await agent.send("POST /v1/questions", other)).body.code).toBe("request_mismatch");
  }

  const rpc = newEra(app.url, agent.secret);
  const count = async () => (await person.send("GET /v1/questions")).body.questions.length;
  const leave = async (args: object) => {
    const before = await count();
    const gone = new AbortController();
    const params = { name: "ask_question", arguments: { ...args, wait_seconds: 50 } };
    const call = rpc("tools/call", params, { signal: gone.signal }).catch(() => null);
    await until(async () => app.waits.count() === 1 && (await count()) > before);
    gone.abort();
    await call;
    await until(() => app.waits.count() === 0);
  };
  await leave(ASK);
  const before = await count();
  await leave({ ...ASK, draft: "Hello" });
  expect(await count()).toBe(before + 1);
  // Both are left now: each is found by its own draft.
  for (const draft of [DRAFT, "Hello"]) {
    const { structuredContent } = await callTool(rpc, "ask_question", { ...ASK, draft });
    expect(structuredContent.draft).toBe(draft);
  }
  expect(await count()).toBe(before + 1);
});

test("the agent of a tool call learns whether its draft was edited [§12.3.5] [§2.5.8]", async () => {
  const { person, agent } = await createPair(app.url);
  for (const open of [oldEra, newEra]) {
    const rpc = open(app.url, agent.secret);
    // Clients that fill in every argument send an empty draft with other questions.
    const plain = await callTool(rpc, "ask_question", { prompt: "p", draft: "" });
    expect(plain.structuredContent).not.toHaveProperty("draft");
    const said = async (answer: string) => {
      const { structuredContent: asked } = await callTool(rpc, "ask_question", ASK);
      await person.send(`POST /v1/questions/${asked.id}/answer`, { answer });
      const given = await callTool(rpc, "get_question", { question_id: asked.id });
      expect(given.structuredContent).toMatchObject({ answer, edited: answer !== DRAFT });
      expect(given.structuredContent.hint).toContain("Act on this answer once");
      return given.content.at(-1).text;
    };
    expect(await said(DRAFT)).toStartWith("The person approved your draft as it is.");
    expect(await said("Shorter")).toStartWith("The person edited your draft: use `answer`");
  }
  const trpc = createTRPCClient<AppRouter>({
    links: [
      httpLink({ url: `${app.url}/trpc`, headers: { authorization: `Bearer ${agent.secret}` } }),
    ],
  });
  const asked = await trpc.questions.ask.mutate({ prompt: "p", kind: "text", draft: "d" });
  expect(asked.draft).toBe("d");
});
