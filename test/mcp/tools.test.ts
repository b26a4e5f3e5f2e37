/** The tools: made from the procedures alone, exact in their schemas, with REST's errors. */

import { expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { z } from "zod";
import type { Context } from "../../routers/context.ts";
import { appRouter } from "../../routers/index.ts";
import { hints } from "../../routers/tool.ts";
import { anyone, key, open, router } from "../../routers/trpc.ts";
import { ERRORS, type ErrorCode, fail, toProblem } from "../../src/errors.ts";
import { createCors } from "../../src/http/cors.ts";
import { createRestRoutes } from "../../src/http/rest.ts";
import { createLog } from "../../src/log.ts";
import { toolFailure } from "../../src/mcp/result.ts";
import { createTools } from "../../src/mcp/tools.ts";
import { createSigner } from "../../src/signer.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { callTool, envelope, NEW_ERA, newEra, oldEra, post, type Rpc } from "../support/mcp.ts";
import { MARK } from "../support/wire.ts";
import { rowOf } from "../support/world.ts";

const app = await startTestApp();
const { person, agent } = await createPair(app.url);
const eras: [string, Rpc][] = [
  ["old", oldEra(app.url, agent.secret)],
  ["new", newEra(app.url, agent.secret)],
];
const other = await createAgent(app.url, person, "other");
const [[, old], [, modern]] = eras as [[string, Rpc], [string, Rpc]];
const { tools } = (await modern("tools/list")).body.result as { tools: any[] };
const toolNamed = (name: string) => tools.find((tool) => tool.name === name);

/** What a tool's failure says, in either era. */
const problemOf = (result: any) => result.structuredContent ?? result._meta.problem;

test("every procedure with meta is a tool, with all that a client shows", () => {
  const names = Object.values(appRouter._def.procedures as unknown as Record<string, any>)
    .map((procedure) => procedure._def.meta.mcp?.name)
    .filter((name) => name !== undefined);
  expect(tools.map(({ name }) => name)).toEqual(names);
  expect(names.toSorted()).toEqual([
    "ask_question",
    "cancel_question",
    "create_task",
    "delete_task",
    "get_question",
    "get_task",
    "list_agents",
    "list_questions",
    "list_tasks",
    "read_inbox",
    "send_message",
    "update_task",
  ]);
  for (const { name, title, description, annotations, inputSchema, outputSchema } of tools) {
    expect(title.length).toBeGreaterThan(5);
    expect(description.length).toBeGreaterThan(80);
    expect(Object.values(annotations).map((hint) => typeof hint)).toEqual(Array(4).fill("boolean"));
    expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    const text = JSON.stringify([inputSchema, outputSchema]);
    expect([
      name,
      /\$ref|\$defs|"id":"(Task|Question|Item|Agent)"|9007199254740991/.exec(text),
    ]).toEqual([name, null]);
    // An agent names another one's key alone; `wait` carries its unit.
    const has_key = Object.keys(inputSchema.properties).includes("key_id");
    expect([name, has_key]).toEqual([name, name === "send_message"]);
    expect(Object.keys(inputSchema.properties)).not.toContain("wait");
    // Open, so that a field added later breaks no client that kept the schema.
    expect(JSON.stringify(outputSchema)).not.toContain("additionalProperties");
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: false });
    ajv.compile(inputSchema);
    ajv.compile(outputSchema);
  }
  const waiting = tools.filter(({ inputSchema }) => "wait_seconds" in inputSchema.properties);
  expect(waiting.map(({ name }) => name)).toEqual(["ask_question", "get_question", "read_inbox"]);
  for (const { inputSchema } of waiting) {
    expect(inputSchema.properties.wait_seconds).toMatchObject({
      type: "integer",
      minimum: 0,
      maximum: 50,
    });
  }
  const limits = ["list_tasks", "list_questions", "read_inbox"].map(
    (name) => toolNamed(name).inputSchema.properties.limit.default,
  );
  expect(limits).toEqual([20, 20, 10]);
});

test("reads are marked as such, and what ends or overwrites something as destructive", () => {
  const marked = (hint: string) =>
    tools.filter(({ annotations }) => annotations[hint]).map(({ name }) => name);
  expect(marked("readOnlyHint")).toEqual([
    "list_tasks",
    "get_task",
    "list_questions",
    "get_question",
    "list_agents",
  ]);
  expect(marked("openWorldHint")).toEqual(["ask_question", "send_message"]);
  expect(marked("destructiveHint")).toEqual(["delete_task", "cancel_question"]);
});

for (const [era, rpc] of eras) {
  test(`each tool does what its route does, and its result fits its schema (${era} era) [§4 Other mcp]`, async () => {
    const called = new Set<string>();
    const call = async (name: string, args: object = {}) => {
      called.add(name);
      const result = await callTool(rpc, name, args);
      expect([name, result.isError, result.content[0]?.text]).toEqual([
        name,
        undefined,
        JSON.stringify(result.structuredContent),
      ]);
      const fits = new Ajv2020().compile(toolNamed(name).outputSchema);
      expect([fits(result.structuredContent), fits.errors]).toEqual([true, null]);
      return result.structuredContent;
    };
    const rest = async (path: `/${string}`) => (await agent.send(`GET ${path}`)).body;

    const task = await call("create_task", { title: "t", status: "in_progress" });
    expect(await rest(`/v1/tasks/${task.id}`)).toEqual(task);
    const patch = { progress: 40, status_note: "half" };
    const changed = await call("update_task", { task_id: task.id, ...patch });
    expect(changed).toMatchObject({ ...patch, id: task.id });
    expect(await call("get_task", { task_id: task.id })).toEqual(changed);
    const listed = await call("list_tasks", { status: ["in_progress"], limit: 1 });
    expect(listed.tasks).toEqual([changed]);
    const question = await call("ask_question", { prompt: "?", task_id: task.id });
    expect(await call("get_question", { question_id: question.id })).toEqual(question);
    expect((await call("list_questions", { task_id: task.id })).questions).toEqual([question]);
    expect(await call("cancel_question", { question_id: question.id })).toEqual({ done: true });
    expect((await rest(`/v1/questions/${question.id}`)).status).toBe("cancelled");
    expect(await call("delete_task", { task_id: task.id })).toEqual({ done: true });
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).status).toBe(404);

    const listed_agents = await call("list_agents");
    expect(listed_agents).toEqual(await rest("/v1/agents"));
    const message = await call("send_message", { key_id: other.key.id, text: "hi" });
    expect(message.from).toMatchObject({ kind: "key", key_id: agent.key.id });
    expect((await other.send("GET /v1/inbox")).body.items).toMatchObject([{ id: message.id }]);
    await person.send("POST /v1/tasks", { title: "p", key_id: agent.key.id });
    const asked = await call("ask_question", { prompt: "?" });
    await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
    await other.send("POST /v1/messages", { key_id: agent.key.id, text: "hello" });
    const peeked = await call("read_inbox", { peek: true, limit: 10 });
    expect(peeked.items.map(({ type }: any) => type)).toEqual([
      "task.created",
      "question.answered",
      "message",
    ]);
    expect(peeked.unread).toBe(3);
    expect(await rest("/v1/inbox?peek=true")).toEqual(peeked);
    const rest_of = await call("read_inbox", { ack: peeked.items[1].id });
    expect(rest_of).toMatchObject({ items: [{ text: "hello" }], unread: 0 });
    expect(called).toEqual(new Set(tools.map(({ name }) => name)));
  });
}

test("list_tasks gives 20 unless told otherwise, and goes on by its cursor", async () => {
  const { agent } = await createPair(app.url);
  for (let i = 0; i < 23; i++) await createTask(agent.send, { title: `${i}` });
  const rpc = newEra(app.url, agent.secret);
  const first = (await callTool(rpc, "list_tasks")).structuredContent;
  expect(first.tasks.length).toBe(20);
  const rest = await callTool(rpc, "list_tasks", { cursor: first.next_cursor });
  expect(rest.structuredContent.tasks.length).toBe(3);
  const [, more] = (await callTool(rpc, "list_tasks", { limit: 1 })).content;
  expect(more.text).toMatch(
    /^There are more\. To read on, call list_tasks with \{"limit":1,"cursor":/,
  );
  const all = await callTool(rpc, "list_tasks", { limit: 500 });
  expect(all.structuredContent.tasks.length).toBe(23);
});

test("a task made by a tool has the request's host, and reading marks the person's tasks as seen", async () => {
  const headers = { "x-agent-host": "build-9" };
  const made = await modern(
    "tools/call",
    { name: "create_task", arguments: { title: "t" } },
    { headers },
  );
  expect(made.body.result.structuredContent.host).toBe("build-9");
  const { body } = await person.send("POST /v1/tasks", { title: "p", key_id: agent.key.id });
  expect(body.seen_at).toBeNull();
  const read = await callTool(old, "get_task", { task_id: body.id });
  expect(read.structuredContent.seen_at).toBeNumber();
});

/** Each tool with an own body: the REST request that does the same. */
const task = await createTask(agent.send);
const BODIES = [
  { tool: "create_task", request: "POST /v1/tasks", fixed: {}, base: { title: "t" } },
  {
    tool: "update_task",
    request: `PATCH /v1/tasks/${task.id}`,
    fixed: { task_id: task.id },
    base: {},
  },
  { tool: "ask_question", request: "POST /v1/questions", fixed: {}, base: { prompt: "p" } },
  {
    tool: "send_message",
    request: "POST /v1/messages",
    fixed: {},
    base: { key_id: other.key.id, text: "t" },
  },
] as const;

for (const { tool, request, fixed, base } of BODIES) {
  test(`${tool} refuses what ${request.split("/tsk_")[0]} refuses, and names the same fields [§7 422] [§7 code]`, async () => {
    const faults: string[] = [];
    const fields = Object.keys(toolNamed(tool).inputSchema.properties).filter(
      (name) => !Object.hasOwn(fixed, name) && name !== "wait_seconds",
    );
    const bad: [string, string][] = fields.flatMap((name) =>
      rowOf(name).bad.map((value): [string, string] => [name, value]),
    );
    bad.push(["status_code", "1"], ["__proto__", '{"title":"x"}'], ["constructor", "1"]);
    bad.push([MARK, "1"]);
    // Its own key, or any, which is not for an agent to name.
    bad.push(["key_id", JSON.stringify(agent.key.id)]);
    for (const [name, value] of bad) {
      const members = Object.entries({ ...base, ...(rowOfAny(name)?.beside ?? {}) })
        .filter(([other]) => other !== name)
        .map(([other, given]) => `${JSON.stringify(other)}:${JSON.stringify(given)}`);
      const json = `{${[...members, `${JSON.stringify(name)}:${value}`].join()}}`;
      const rest = await agent.send(request, json);
      for (const [era] of eras) {
        const raw = await callRaw(era, tool, fixed, json);
        const problem = raw.body.result && problemOf(raw.body.result);
        const same =
          problem?.code === rest.body.code &&
          Bun.deepEquals(problem?.fields, rest.body.fields) &&
          raw.body.result.isError === true;
        if (!same || rest.status !== 422 || raw.text.includes(MARK)) {
          faults.push(`${era} ${name} ${value.slice(0, 30)}: ${raw.text.slice(0, 200)}`);
        }
      }
    }
    expect(faults).toEqual([]);
    expect(bad.length).toBeGreaterThan(30);
  });
}

const rowOfAny = (name: string) => {
  try {
    return rowOf(name);
  } catch {
    return undefined;
  }
};

/** A call whose arguments are JSON text, sent as it is. */
async function callRaw(era: string, name: string, fixed: object, json: string) {
  const given = JSON.stringify(fixed).slice(1, -1);
  const args = `{${[given, json.slice(1, -1)].filter(Boolean).join()}}`;
  const meta = era === "new" ? `,"_meta":${JSON.stringify(envelope())}` : "";
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}${meta}}}`;
  const headers: Record<string, string> =
    era === "new"
      ? { "mcp-protocol-version": NEW_ERA, "mcp-method": "tools/call", "mcp-name": name }
      : {};
  return post(app.url, agent.secret, body, { headers });
}

test("wait_seconds is bounded as wait is, under its own name", async () => {
  for (const value of [51, -1, 1.5, "5", null, true]) {
    for (const [, rpc] of eras) {
      for (const [name, args] of [
        ["ask_question", { prompt: "?" }],
        ["get_question", { question_id: "x" }],
        ["read_inbox", {}],
      ] as const) {
        const result = await callTool(rpc, name, { ...args, wait_seconds: value });
        expect(problemOf(result)).toMatchObject({
          code: "invalid_fields",
          detail: "Invalid fields: wait_seconds.",
        });
      }
    }
  }
  const named = await callTool(modern, "ask_question", { prompt: "p", wait: 1 });
  expect(problemOf(named).fields).toEqual({ wait: "is not a field of this request" });
  const several = await callTool(modern, "read_inbox", { wait: 5, wait_seconds: 60, limit: "x" });
  expect(Object.keys(problemOf(several).fields).sort()).toEqual(["limit", "wait", "wait_seconds"]);
  const { body } = await old("resources/read", { uri: "relay://tasks/\0" });
  expect(Object.keys(body.error.data.fields)).toEqual(["uri"]);
});

test("what a tool that reads cannot take names its field, and does nothing [§7 422]", async () => {
  await person.send("POST /v1/tasks", { title: "unread", key_id: agent.key.id });
  const bad: Record<string, Record<string, unknown[]>> = {
    read_inbox: {
      limit: [0, 101, 1.5, "5", null, []],
      peek: ["true", 1, null],
      ack: ["\0", "\ud800", 1, null],
      [MARK]: [1],
    },
    list_tasks: {
      status: ["todo", [], ["todo", "x"], null],
      priority: ["low", [1]],
      limit: [0, 501, "5"],
      cursor: ["x", 1, null],
      key_id: [agent.key.id],
    },
    list_questions: { status: ["pending", []], task_id: ["\0", 1], key_id: [agent.key.id] },
    list_agents: { key_id: [agent.key.id] },
    get_task: { task_id: ["\0", "\udc00", 1, null] },
    cancel_question: { question_id: ["\0", 1, null] },
  };
  for (const [name, fields] of Object.entries(bad)) {
    for (const [field, values] of Object.entries(fields)) {
      for (const value of values) {
        for (const [, rpc] of eras) {
          const { code, fields: named } = problemOf(await callTool(rpc, name, { [field]: value }));
          const shown = field === MARK ? "unknown" : field;
          expect([name, field, value, code]).toEqual([name, field, value, "invalid_fields"]);
          expect(named).toHaveProperty(shown);
        }
      }
    }
  }
  const { items } = (await agent.send("GET /v1/inbox?peek=true")).body;
  expect(items.at(-1).task.title).toBe("unread");
});

test("arguments of another kind, and a name that is no tool, are invalid params", async () => {
  for (const [, rpc] of eras) {
    for (const args of [[], "x", 1, true]) {
      const { error } = (await rpc("tools/call", { name: "list_tasks", arguments: args })).body;
      expect([error.code, error.data.code]).toEqual([-32602, "invalid_fields"]);
    }
    for (const name of ["nope", "constructor", "", MARK, "LIST_TASKS"]) {
      const { body, text } = await rpc("tools/call", { name, arguments: {} });
      expect([name, body.error.code, body.error.data.fields]).toEqual([
        name,
        -32602,
        { name: "is not a tool" },
      ]);
      expect(text).not.toContain(MARK);
    }
    expect((await rpc("tools/call", {})).body.error.code).toBe(-32602);
  }
});

test("what is not there, or not this key's, is not_found on both surfaces [§7 404]", async () => {
  const { agent: other } = await createPair(app.url);
  const foreign = await createTask(other.send);
  for (const [, rpc] of eras) {
    for (const task_id of [foreign.id, "tsk_0", ""]) {
      for (const name of ["get_task", "update_task", "delete_task"]) {
        const result = await callTool(rpc, name, { task_id });
        expect([name, result.isError, problemOf(result).code]).toEqual([name, true, "not_found"]);
      }
    }
  }
});

test("every error has the same code, text and fields over MCP and REST [§7 code]", async () => {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const boom = router({
    boom: open
      .meta({ openapi: { method: "GET", path: "/v1/boom" } })
      .input(z.strictObject({ code: z.string() }))
      .output(z.void())
      .query(({ input }) => fail(input.code as ErrorCode, { detail: `Why ${input.code}.` })),
    tool: anyone
      .meta({ mcp: { name: "boom", title: "Boom", description: "Boom", annotations: hints({}) } })
      .input(z.strictObject({ code: z.string() }))
      .output(z.void())
      .query(({ input }) => fail(input.code as ErrorCode, { detail: `Why ${input.code}.` })),
  });
  const nothing = () => {};
  const visit = { charge: nothing, ended: nothing, quota: () => null };
  const ctx = { caller: { kind: "key" }, rejected: null, visit } as unknown as Context;
  const routes = createRestRoutes({
    router: boom,
    createContext: async () => ctx as never,
    openVisit: () => ({ ...visit, refusal: async (error: unknown) => error }) as never,
    cors: createCors([]),
    signer: createSigner("secret"),
    log: createLog("error", () => {}),
    clock: createTestClock(),
    extra: {},
  });
  const tool = createTools(boom).get("boom")!;
  for (const code of codes) {
    const request = new Request(`http://localhost/v1/boom?code=${code}`) as Bun.BunRequest;
    const rest = await routes["/v1/boom"]!(request);
    const sent: any = await rest.json();
    const error: any = await tool.call(ctx, { code }).catch((thrown) => thrown);
    const failure: any = toolFailure(error, true);
    expect(failure.isError).toBe(true);
    expect(failure.structuredContent).toMatchObject(sent);
    expect(sent).toEqual(toProblem(error));
    expect(sent).toMatchObject({ code, status: rest.status });
    expect(failure.content[0].text).toStartWith(`${code}: Why ${code}.`);
    const seconds = rest.headers.get("retry-after");
    expect(failure.structuredContent.retry_after ?? null).toBe(seconds && Number(seconds));
  }
});

test("a procedure that cannot be a tool stops the start, with its name", () => {
  const good = { name: "ok", title: "Title", description: "When.", annotations: hints({}) };
  const build = (mcp: object, { base = key as any, input = z.strictObject({}) as any } = {}) =>
    router({
      bad: base
        .meta({ mcp })
        .input(input)
        .output(z.object({}))
        .query(() => ({})),
    });
  expect([...createTools(build(good)).keys()]).toEqual(["ok"]);
  const wrong: [RegExp, ReturnType<typeof build>][] = [
    [/lower_case/, build({ ...good, name: "Not OK" })],
    [/title or description/, build({ ...good, title: " " })],
    [/title or description/, build({ ...good, description: undefined })],
    [/openWorldHint/, build({ ...good, annotations: { ...hints({}), openWorldHint: undefined } })],
    [/no field limit/, build({ ...good, defaults: { limit: 1 } })],
    [/no field key_id/, build({ ...good, account_only: ["key_id"] })],
    [/may not call/, build(good, { base: open })],
    [/Date/, build(good, { input: z.strictObject({ at: z.date() }) })],
    [/wait_seconds/, build(good, { input: z.strictObject({ wait_seconds: z.int() }) })],
    [/input is no object/, build(good, { input: z.union([z.object({}), z.string()]) })],
  ];
  for (const [why, bad] of wrong) {
    expect(() => createTools(bad)).toThrow(why);
    expect(() => createTools(bad)).toThrow(/^bad cannot be the tool "/);
  }
  const twice = router({
    one: build(good)._def.procedures.bad,
    two: build(good)._def.procedures.bad,
  } as never);
  expect(() => createTools(twice)).toThrow(/^two cannot be the tool "ok": two procedures/);
});
