/** What a model reads about the tools is short and true to what the tools do. */

import { expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { procedures } from "../../routers/index.ts";
import { instructionsFor } from "../../src/mcp/instructions.ts";
import { createTools } from "../../src/mcp/tools.ts";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { callTool, newEra, oldEra } from "../support/mcp.ts";

const tools = createTools(procedures);
const definitions = [...tools.values()].map(({ definition }) => definition);
const definitionOf = (name: string) => tools.get(name)!.definition;
const tokensOf = (value: unknown) => countTokens(JSON.stringify(value));
const app = await startTestApp();

test("a model reads at most 1,500 tokens of tools/list, and output schemas have at most 2,000", () => {
  const read = definitions.map(({ name, title, description, inputSchema }) => ({
    name,
    title,
    description,
    inputSchema,
  }));
  expect(tokensOf(read)).toBeLessThanOrEqual(1_500);
  expect(tokensOf(definitions.map(({ outputSchema }) => outputSchema))).toBeLessThanOrEqual(2_000);
});

test("ask_question says when to ask, how long people take and what to do at each status", () => {
  const { description } = definitionOf("ask_question");
  expect(description).toContain("only they can decide or know");
  expect(description).toContain("not what you can find out or undo");
  expect(description).toContain("seconds to hours");
  for (const status of ["answered", "pending", "expired", "cancelled"]) {
    expect(description).toContain(`${status}: `);
  }
  for (const name of ["ask_question", "read_inbox"]) {
    expect(definitionOf(name).description).toMatch(/once/);
  }
});

test("every field and tool that a description mentions exists", () => {
  const fields = new Set(
    definitions.flatMap(({ inputSchema, outputSchema }) => [
      ...Object.keys(inputSchema.properties),
      ...[...JSON.stringify(outputSchema).matchAll(/"(\w+)":\{/g)].map(([, name]) => name!),
    ]),
  );
  const instructions = instructionsFor(tools);
  for (const { name, description, inputSchema } of definitions) {
    const text = JSON.stringify([description, inputSchema]);
    for (const [, field] of text.matchAll(/`(\w+)`/g))
      expect([name, fields.has(field!)]).toEqual([name, true]);
  }
  for (const text of [instructions, ...definitions.map(({ description }) => description)]) {
    const verbs = /\b(?:list|create|get|update|delete|ask|cancel|read|send)_[a-z]+\b/g;
    for (const [name] of text.matchAll(verbs))
      expect([name, tools.has(name)]).toEqual([name, true]);
  }
});

test("update_task states no default of a new task", () => {
  expect(JSON.stringify(definitionOf("create_task").inputSchema)).toMatch(/[Dd]efault/);
  expect(JSON.stringify(definitionOf("update_task").inputSchema)).not.toMatch(/[Dd]efault|absent/);
});

test("the inbox tool marks what it returns as read unless told to peek, as its description says", async () => {
  const { description } = definitionOf("read_inbox");
  expect(description).toContain("Items become read when returned or, with `peek`, when you pass");
  const { person, agent } = await createPair(app.url);
  const rpc = newEra(app.url, agent.secret);
  const unreadAfter = async (args: object) =>
    (await callTool(rpc, "read_inbox", args)).structuredContent.unread;
  await person.send("POST /v1/tasks", { title: "t", key_id: agent.key.id });
  expect(await unreadAfter({ peek: true })).toBe(1);
  expect(await unreadAfter({})).toBe(0);
});

test("errors name an unknown tool or prompt, or an integer, for what it is", async () => {
  const { agent } = await createPair(app.url);
  for (const open of [oldEra, newEra]) {
    const rpc = open(app.url, agent.secret);
    const told = async (method: string) =>
      (await rpc(method, { name: "no_such_name", arguments: {} })).body.error;
    expect(await told("tools/call")).toMatchObject({
      code: -32602,
      message: "Unknown tool: tools/list has the names.",
      data: { code: "invalid_fields", fields: { name: "is not a tool" } },
    });
    expect(await told("prompts/get")).toMatchObject({
      code: -32602,
      message: "Unknown prompt: prompts/list has the names.",
    });
    const wrong = { task_id: "x", progress: "half" };
    expect((await callTool(rpc, "update_task", wrong)).content[0].text).toBe(
      "invalid_fields: Invalid fields: progress.\nprogress must be of type integer.",
    );
    const waited = await callTool(rpc, "read_inbox", { wait_seconds: "soon", limit: 1.5 });
    expect(waited.content[0].text).toContain("wait_seconds must be of type integer.");
    expect(waited.content[0].text).toContain("limit must be of type integer.");
  }
});
