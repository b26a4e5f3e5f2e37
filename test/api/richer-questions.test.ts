/** The optional fields of a question and its answer (§2.5, §5.7.2, §5.7.4). */

import { expect, test } from "bun:test";
import { createTRPCClient, httpLink } from "@trpc/client";
import type { AppRouter } from "../../routers/index.ts";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, newEra, oldEra } from "../support/mcp.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const RICH = {
  prompt: "Merge?",
  context: "# Plan\n\n```diff\n-a\n+b\n```",
  url: "https://example.com/pr/7",
  allow_other: true,
  fallback: "No",
};
/** Fields of lists and events alone, and fields of a single question alone. */
const split = ({ context, context_omitted, ...rest }: any) => ({ context, context_omitted, rest });

test("a question has the fields that were used, and no others [§2.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const plain = await ask(agent.send, { prompt: "p", allow_other: false });
  expect(Object.keys(plain)).toEqual([
    "id",
    "key_id",
    "task_id",
    "prompt",
    "kind",
    "options",
    "status",
    "answer",
    "created_at",
    "answered_at",
    "expires_at",
  ]);
  const rich = await ask(agent.send, RICH);
  expect(rich).toMatchObject(RICH);
  expect(rich).not.toHaveProperty("context_omitted");
  expect(rich).not.toHaveProperty("note");
  for (const { send } of [person, agent]) {
    expect((await send(`GET /v1/questions/${plain.id}`)).body).toEqual(plain);
    expect((await send(`GET /v1/questions/${rich.id}`)).body).toEqual(rich);
  }
});

test("lists, events, inbox items and answers have context_omitted in place of the context [§2.5.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  const task = await createTask(agent.send);
  const asked = await ask(agent.send, { ...RICH, task_id: task.id });
  const { rest } = split(asked);
  const listed = { ...rest, context_omitted: true };
  for (const { send } of [person, agent]) {
    expect((await send("GET /v1/questions")).body.questions).toEqual([listed]);
    expect((await send(`GET /v1/questions?task_id=${task.id}`)).body.questions).toEqual([listed]);
  }
  const rpc = newEra(app.url, agent.secret);
  const resource = async (uri: string) =>
    JSON.parse((await rpc("resources/read", { uri })).body.result.contents[0].text);
  expect((await resource("relay://questions")).questions).toEqual([listed]);
  expect(await resource(`relay://questions/${asked.id}`)).toEqual(asked);
  expect((await callTool(rpc, "list_questions")).structuredContent.questions).toEqual([listed]);

  const path = `/v1/questions/${asked.id}` as const;
  const waiting = agent.send(`GET ${path}?wait=50`);
  await until(() => app.waits.count() === 1);
  const answer = { answer: "No", note: "Not before Monday" };
  const { body: answered } = await person.send(`POST ${path}/answer`, answer);
  const { answered_at } = answered;
  expect(answered).toEqual({ ...listed, ...answer, answered_at, status: "answered" });
  expect(answered).not.toHaveProperty("context");
  const whole = { ...asked, ...split(answered).rest };
  expect((await waiting).body).toEqual(whole);
  expect((await agent.send(`GET ${path}`)).body).toEqual(whole);
  const [item] = (await agent.send("GET /v1/inbox")).body.items;
  expect(item.question).toEqual(answered);
  const inbox = await person.send(`GET /v1/keys/${agent.key.id}/inbox`);
  expect(inbox.body.items[0].question).toEqual(answered);
  await until(() => stream.events.some(({ event }) => event === "inbox.updated"));
  const events = stream.events.filter(({ event }) => event.startsWith("question."));
  expect(events.map(({ data }) => data.question)).toEqual([listed, answered]);

  // The other ways in which a question ends.
  const cancelled = await ask(agent.send, RICH);
  await agent.send(`DELETE /v1/questions/${cancelled.id}`);
  const with_task = await ask(agent.send, { ...RICH, task_id: task.id });
  await agent.send(`DELETE /v1/tasks/${task.id}`);
  const expired = await ask(agent.send, { ...RICH, expires_in: 60 });
  await clock.advance(60);
  await agent.send("GET /v1/questions");
  for (const { id } of [cancelled, with_task, expired]) {
    const find = () =>
      stream.events.find(
        ({ event, data }) => event === "question.updated" && data.question.id === id,
      );
    await until(() => find() !== undefined);
    expect(split(find()!.data.question)).toMatchObject({
      context: undefined,
      context_omitted: true,
    });
  }
  stream.close();
});

test("100 questions with the largest contexts fit in one list page [§2.5.2] [§10.1 context]", async () => {
  const { person, agent } = await createPair(app.url);
  const agents = [agent];
  for (let i = 1; i < 5; i++) agents.push(await createAgent(app.url, person, `${i}`));
  const context = "😀".repeat(20_000);
  await Promise.all(
    agents.map(async ({ send }) => {
      for (let i = 0; i < 20; i++) await ask(send, { prompt: `${i}`, context });
    }),
  );
  const { body, headers } = await person.send("GET /v1/questions");
  expect(body).toMatchObject({ next_cursor: null });
  expect(body.questions.length).toBe(100);
  expect(body.questions.every((one: any) => one.context_omitted && !("context" in one))).toBe(true);
  expect(Number(headers.get("content-length") ?? 0)).toBeLessThan(64 * 1024);
  const one = await person.send(`GET /v1/questions/${body.questions[0].id}`);
  expect(one.body.context).toBe(context);
}, 300_000);

test("with allow_other any text is an answer, and a text equal to an option is that option [§5.7.4(2)]", async () => {
  const { person, agent } = await createPair(app.url);
  const choice = { prompt: "Where?", kind: "choice", options: ["a", "b"] };
  const answer = async (question: object, given: object) => {
    const { id } = await ask(agent.send, question);
    const { status, body } = await person.send(`POST /v1/questions/${id}/answer`, given);
    await agent.send(`DELETE /v1/questions/${id}`);
    return status === 200 ? body.answer : [status, body.fields];
  };
  for (const text of ["b", "c", "B", " b", "x".repeat(4_000)]) {
    expect(await answer({ ...choice, allow_other: true }, { answer: text })).toBe(text);
    expect(await answer({ prompt: "p", allow_other: true }, { answer: text })).toBe(text);
  }
  const no_option = [422, { answer: "is not one of the options" }];
  expect(await answer(choice, { answer: "c" })).toEqual(no_option);
  expect(await answer({ ...choice, allow_other: false }, { answer: "c" })).toEqual(no_option);
  for (const text of ["", " \u200b", "x".repeat(4_001)]) {
    const refused = await answer({ ...choice, allow_other: true }, { answer: text });
    expect([text, refused[0]]).toEqual([text, 422]);
  }
});

test("a fallback must be an answer to its question, and a text question refuses allow_other [§5.7.2(8)] [§5.7.2(9)]", async () => {
  const { agent } = await createPair(app.url);
  const choice = { kind: "choice", options: ["a", "b"] };
  const reasons = async (body: object) => {
    const answer = await agent.send("POST /v1/questions", { prompt: "p", ...body });
    if (answer.status === 201) await agent.send(`DELETE /v1/questions/${answer.body.id}`);
    return answer.status === 201 ? answer.body.fallback : answer.body.fields;
  };
  const no_option = { fallback: "is not one of the options" };
  expect(await reasons({ fallback: "No" })).toBe("No");
  expect(await reasons({ fallback: "no" })).toEqual(no_option);
  expect(await reasons({ fallback: "no", allow_other: true })).toBe("no");
  expect(await reasons({ ...choice, fallback: "b" })).toBe("b");
  expect(await reasons({ ...choice, fallback: "No" })).toEqual(no_option);
  expect(await reasons({ ...choice, fallback: "No", allow_other: true })).toBe("No");
  expect(await reasons({ kind: "text", fallback: "Whatever" })).toBe("Whatever");
  expect(await reasons({ kind: "text", fallback: " " })).toEqual({
    fallback: "must hold a visible character",
  });
  expect(await reasons({ kind: "text", allow_other: true })).toEqual({
    allow_other: "is permitted for confirm and choice only",
  });
  expect(await reasons({ kind: "text", allow_other: false, fallback: "x" })).toBe("x");
  // Invalid options are named, and the fallback is not.
  expect(Object.keys(await reasons({ kind: "choice", fallback: "x" }))).toEqual(["options"]);
});

test("a question with a fallback expires like any other, and its agent is told to use the fallback [§2.5.3] [§12.3.5]", async () => {
  const { agent } = await createPair(app.url);
  for (const open of [oldEra, newEra]) {
    const rpc = open(app.url, agent.secret);
    const { structuredContent: asked } = await callTool(rpc, "ask_question", {
      ...RICH,
      expires_in: 60,
    });
    await clock.advance(60);
    const given = await callTool(rpc, "get_question", { question_id: asked.id });
    expect(given.structuredContent).toMatchObject({
      ...RICH,
      status: "expired",
      answer: null,
      answered_at: null,
    });
    expect(given.content.at(-1).text).toContain("Follow your `fallback`");
    const plain = await callTool(rpc, "ask_question", { prompt: "p", expires_in: 60 });
    await clock.advance(60);
    const { content } = await callTool(rpc, "get_question", {
      question_id: plain.structuredContent.id,
    });
    expect(content.at(-1).text).toContain("not a yes");
  }
});

test("a question's URL is http or https without a user name, and any other is named in the error [§5.7.2(7)]", async () => {
  const { agent } = await createPair(app.url);
  const send = async (url: string) => {
    const { body } = await agent.send("POST /v1/questions", { prompt: "p", url });
    if (body.id) await agent.send(`DELETE /v1/questions/${body.id}`);
    return body.url ?? Object.keys(body.fields);
  };
  const longest = `https://example.com/${"x".repeat(1_980)}`;
  for (const good of ["http://localhost:3000", "https://[::1]/x", longest]) {
    expect(await send(good)).toBe(good);
  }
  const names = [
    "https://bank.com@evil.example/",
    "https://@evil.example/",
    "https://:@e.example/",
  ];
  const hosts = ["https:///x", "https://", "https://bank.com\\@evil.example/", "https://?x"];
  for (const bad of ["javascript:alert(1)", ...names, ...hosts, `${longest}x`]) {
    expect([bad, await send(bad)]).toEqual([bad, ["url"]]);
  }
});

test("tRPC has every field, and an answer repeated under an idempotency key must have the same note", async () => {
  const { person, agent } = await createPair(app.url);
  const trpcOf = (credential: string) =>
    createTRPCClient<AppRouter>({
      links: [
        httpLink({
          url: `${app.url}/trpc`,
          headers: { authorization: `Bearer ${credential}` },
        }),
      ],
    });
  const { id: question_id } = await trpcOf(agent.secret).questions.ask.mutate(RICH);
  const mine = trpcOf(person.token).questions;
  expect(await mine.get.query({ question_id })).toMatchObject(RICH);
  const given = { answer: "Later", note: "n" };
  const repeat = async (body: object) => {
    const path = `POST /v1/questions/${question_id}/answer` as const;
    const headers = { "idempotency-key": "one" };
    const answer = await client(app.url, person.token)(path, body, { headers });
    return answer.body.code ?? [answer.body.answer, answer.body.note, answer.body.context];
  };
  expect(await repeat(given)).toEqual(["Later", "n", undefined]);
  expect(await repeat(given)).toEqual(["Later", "n", undefined]);
  expect(await repeat({ ...given, note: "m" })).toBe("idempotency_mismatch");
  expect(await mine.get.query({ question_id })).toMatchObject({ ...RICH, ...given });
});
