/** Tools refuse the same input as REST, with the same codes, texts and fields. */

import { expect, test } from "bun:test";
import { z } from "zod";
import type { Context } from "../../routers/context.ts";
import { hints } from "../../routers/tool.ts";
import { anyone, open, router } from "../../routers/trpc.ts";
import { ERRORS, type ErrorCode, fail, toProblem } from "../../src/errors.ts";
import { createBodies } from "../../src/http/body.ts";
import { createCors } from "../../src/http/cors.ts";
import { createRestRoutes } from "../../src/http/rest.ts";
import { createLog } from "../../src/log.ts";
import { toolFailure } from "../../src/mcp/result.ts";
import { createTools } from "../../src/mcp/tools.ts";
import { proceduresOf } from "../../src/rpc/trpc-internals.ts";
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

/** The text of a tool's failure, in either era. */
const problemOf = (result: any) => result.structuredContent ?? result._meta.problem;

/** Whether a tool accepts a value that its route refuses (§12.3.8). */
function isUnderstood(tool: string, name: string, json: string): boolean {
  const { properties, required = [] } = toolNamed(tool).inputSchema;
  const value = JSON.parse(json);
  const schema = properties[name]?.anyOf?.[0] ?? properties[name];
  const type = schema?.type;
  if (typeof value === "string" && value.trim() !== "") {
    if (type === "boolean") return /^(true|false)$/.test(value);
    return type === "integer" && /^\d+$/.test(value) && Number(value) <= schema.maximum;
  }
  const is_empty = value === null || typeof value === "string" || json === "[]";
  return type !== undefined && is_empty && !required.includes(name);
}

const task = await createTask(agent.send);
const BODIES = [
  {
    tool: "create_task",
    procedure: "tasks.create",
    request: "POST /v1/tasks",
    fixed: {},
    base: { title: "t" },
  },
  {
    tool: "update_task",
    procedure: "tasks.update",
    request: `PATCH /v1/tasks/${task.id}`,
    fixed: { task_id: task.id },
    base: {},
  },
  {
    tool: "ask_question",
    procedure: "questions.ask",
    request: "POST /v1/questions",
    fixed: {},
    base: { prompt: "p" },
  },
  {
    tool: "send_message",
    procedure: "messages.send",
    request: "POST /v1/messages",
    fixed: {},
    base: { key_id: other.key.id, text: "t" },
  },
] as const;

for (const { tool, procedure, request, fixed, base } of BODIES) {
  test(`${tool} refuses what ${request.split("/tsk_")[0]} refuses, and names the same fields [§9.2.1 422] [§9.1.3]`, async () => {
    const faults: string[] = [];
    const fields = Object.keys(toolNamed(tool).inputSchema.properties).filter(
      (name) => !Object.hasOwn(fixed, name) && name !== "wait_seconds",
    );
    const bad: [string, string][] = fields.flatMap((name) =>
      rowOf(procedure, name)
        .bad.filter((value) => !isUnderstood(tool, name, value))
        .map((value): [string, string] => [name, value]),
    );
    bad.push(["status_code", "1"], ["__proto__", '{"title":"x"}'], ["constructor", "1"]);
    bad.push([MARK, "1"]);
    // An agent may not name its own key or any other.
    bad.push(["key_id", JSON.stringify(agent.key.id)]);
    for (const [name, value] of bad) {
      const members = Object.entries({ ...base, ...(rowOfAny(procedure, name)?.beside ?? {}) })
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

const rowOfAny = (procedure: string, name: string) => {
  try {
    return rowOf(procedure, name);
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

test("wait_seconds has the bounds of wait, under its own name", async () => {
  for (const value of [51, -1, 1.5, "51", "x", true]) {
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

test("a reading tool that rejects an argument names its field and does nothing [§9.2.1 422]", async () => {
  await person.send("POST /v1/tasks", { title: "unread", key_id: agent.key.id });
  const bad: Record<string, Record<string, unknown[]>> = {
    read_inbox: {
      limit: [0, 101, 1.5, "101", [1]],
      peek: ["yes", 1],
      ack: ["\0", "\ud800", 1],
      [MARK]: [1],
    },
    list_tasks: {
      status: ["x", '["x"]', ["todo", "x"], "todo,x"],
      priority: ["lowest", [1]],
      limit: [0, 501, "501"],
      cursor: ["x", 1],
      key_id: [agent.key.id],
    },
    list_questions: { status: ["asked", ["x"]], task_id: ["\0", 1], key_id: [agent.key.id] },
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

test("arguments that are not an object, and unknown tool names, are invalid params", async () => {
  for (const [, rpc] of eras) {
    for (const args of [[1], "x", 1, true]) {
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

test("an error repeats no long text that was sent, whether address, id or version", async () => {
  const long = "x".repeat(200_000);
  for (const uri of [long, `relay://tasks/${long}`, `relay://${long}`]) {
    const { body, text } = await old("resources/read", { uri });
    expect([body.id, body.error.data.code]).toEqual([1, "not_found"]);
    expect(text.length).toBeLessThan(500);
  }
  const short = (await old("resources/read", { uri: "relay://x" })).body.error.data.uri;
  expect(short).toBe("relay://x");
  for (const method of ["tools/list", "nope", "initialize"]) {
    for (const send of [old, modern]) {
      const { status, body, text } = await send(method, {}, { id: long });
      expect([method, status, body.id, body.error.code]).toEqual([method, 400, null, -32600]);
      expect(body.error.data.fields).toEqual({ id: "must be at most 255 characters" });
      expect(text.length).toBeLessThan(500);
    }
  }
  expect((await old("ping", {}, { id: "x".repeat(255) })).body).toMatchObject({ result: {} });
  // The version that a body claims, and parameters that the SDK refuses.
  const claim = { _meta: { "io.modelcontextprotocol/protocolVersion": long } };
  for (const params of [claim, { ...claim, name: long }]) {
    expect((await old("tools/list", params)).text.length).toBeLessThan(1_000);
  }
});

test("what does not exist or belongs to another key is not_found on both surfaces [§1.4.3]", async () => {
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

test("every error has the same code, text and fields over MCP and REST [§9.1.3]", async () => {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const boom = proceduresOf<Context>(
    router({
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
    }),
  );
  const nothing = () => {};
  const confirm = (work: Promise<unknown>) => work;
  const settleError = async (error: unknown) => error;
  const charges = { charge: nothing, quota: () => null, settleError };
  const scope = {
    charges,
    credential: { confirm },
    turns: { within: confirm },
    ended: nothing,
    log: () => createLog("error", nothing),
  };
  const ctx = { caller: { kind: "key" }, rejected: null, scope } as unknown as Context;
  const routes = createRestRoutes({
    procedures: boom,
    createContext: async () => ctx as never,
    bodies: createBodies({ clock: createTestClock() }),
    cors: createCors([]),
    signer: createSigner("secret"),
    clock: createTestClock(),
    extra: {},
  });
  const tool = createTools(boom).get("boom")!;
  for (const code of codes) {
    const request = new Request(`http://localhost/v1/boom?code=${code}`) as Bun.BunRequest;
    const rest = await routes["/v1/boom"]!(request, scope as never);
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
