/** The tools are made from the procedures alone, with exact schemas. */

import { expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import { z } from "zod";
import { procedures } from "../../routers/index.ts";
import { mcpOnlyProcedures } from "../../routers/mcp-only.ts";
import { hints } from "../../routers/tool.ts";
import { key, open, router } from "../../routers/trpc.ts";
import { createTools } from "../../src/mcp/tools.ts";
import { proceduresOf } from "../../src/rpc/trpc-internals.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createTask } from "../support/client.ts";
import { callTool, newEra, oldEra, type Rpc } from "../support/mcp.ts";

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

test("every procedure with MCP metadata is a tool, with everything that a client shows [§12.3.1]", () => {
  const names = [...procedures.values(), ...mcpOnlyProcedures.values()].flatMap(({ meta }) =>
    meta.mcp && !meta.mcp.for_hooks ? meta.mcp.name : [],
  );
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
    expect(description.length).toBeGreaterThan(60);
    expect(Object.values(annotations).map((hint) => typeof hint)).toEqual(Array(4).fill("boolean"));
    expect(inputSchema).toMatchObject({ type: "object" });
    const text = JSON.stringify([inputSchema, outputSchema]);
    expect([
      name,
      /\$ref|\$defs|"id":"(Task|Question|Item|Agent)"|9007199254740991/.exec(text),
    ]).toEqual([name, null]);
    // An agent names only another agent's key; `wait` carries its unit.
    const has_key = Object.keys(inputSchema.properties).includes("key_id");
    expect([name, has_key]).toEqual([name, name === "send_message"]);
    expect(Object.keys(inputSchema.properties)).not.toContain("wait");
    // The schema is open, so that a field added later breaks no client that kept it.
    expect(text).not.toContain("additionalProperties");
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: false });
    ajv.compile(inputSchema);
    ajv.compile(outputSchema);
  }
  const waiting = tools.filter(({ inputSchema }) => "wait_seconds" in inputSchema.properties);
  expect(waiting.map(({ name }) => name)).toEqual(["ask_question", "get_question", "read_inbox"]);
  for (const { inputSchema } of waiting) {
    expect(inputSchema.properties.wait_seconds).toMatchObject({
      type: "integer",
      maximum: 50,
    });
  }
  const limits = ["list_tasks", "list_questions", "read_inbox"].map(
    (name) => toolNamed(name).inputSchema.properties.limit.default,
  );
  expect(limits).toEqual([20, 20, 10]);
});

test("reading tools are marked as read-only, and tools that end or overwrite something as destructive", () => {
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
  test(`each tool does what its route does, and its result fits its schema (${era} era) [§12.1.1] [§12.3.2]`, async () => {
    const called = new Set<string>();
    const call = async (name: string, args: object = {}) => {
      called.add(name);
      const result = await callTool(rpc, name, args);
      // The words that follow the JSON are in the structured content too.
      const [json, ...words] = result.content.map(({ text }: { text: string }) => text);
      const { hint, ...resource } = result.structuredContent;
      expect([name, result.isError, json]).toEqual([name, undefined, JSON.stringify(resource)]);
      expect([name, hint]).toEqual([name, words.length > 0 ? words.join(" ") : undefined]);
      const fits = new Ajv2020().compile(toolNamed(name).outputSchema);
      expect([fits(result.structuredContent), fits.errors]).toEqual([true, null]);
      return resource;
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
    expect((await call("list_questions", { task_id: task.id })).questions).toEqual([
      { ...question, reach: undefined },
    ]);
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
    const of_routes = [...procedures.values()].flatMap(({ meta }) => meta.mcp?.name ?? []);
    expect(called).toEqual(new Set(of_routes));
  });
}

test("list_tasks returns 20 tasks unless told otherwise, and continues by its cursor", async () => {
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

test("a task created by a tool has the request's host, and reading marks the person's tasks as seen", async () => {
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

test("a procedure that cannot be a tool stops the start, which names the procedure", () => {
  const good = { name: "ok", title: "Title", description: "When.", annotations: hints({}) };
  const build = (mcp: object, { base = key as any, input = z.strictObject({}) as any } = {}) =>
    router({
      bad: base
        .meta({ mcp })
        .input(input)
        .output(z.object({}))
        .query(() => ({})),
    });
  expect([...createTools(proceduresOf(build(good))).keys()]).toEqual(["ok"]);
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
    [/input is not an object/, build(good, { input: z.union([z.object({}), z.string()]) })],
  ];
  for (const [why, bad] of wrong) {
    expect(() => createTools(proceduresOf(bad))).toThrow(why);
    expect(() => createTools(proceduresOf(bad))).toThrow(/^bad cannot be the tool "/);
  }
  const twice = router({
    one: build(good)._def.procedures.bad,
    two: build(good)._def.procedures.bad,
  } as never);
  expect(() => createTools(proceduresOf(twice))).toThrow(
    /^two cannot be the tool "ok": two procedures/,
  );
});
