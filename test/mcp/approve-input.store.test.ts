/** What the person is asked about a tool's input, and what is left to the client (§12.6.2). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { answer, callHook, commandOf, list, pending } from "../support/approve.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { expand } from "../support/entries.ts";
import { post } from "../support/mcp.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const decision = (text: string) => JSON.parse(text).hookSpecificOutput.decision;

test("other servers' tools are asked about, and Relay's own tools are recognized by its name in the address [§12.6.2(2)]", async () => {
  const pair = await createPair(app.url);
  const args = (server: string) =>
    commandOf("", { tool_name: `mcp__${server}__delete_task`, tool_input: { task_id: "tsk_1" } });
  const call = (server: string, query = "", more: object = {}) =>
    callHook(app.url, pair.agent.secret, { ...args(server), ...more }, { query });
  for (const query of ["", "&server=work"]) {
    const own = query === "" ? "relay" : "work";
    expect(await (await call(own, query)).text).toBe("");
    const as_tool = { event: "", tool_use_id: "toolu_1" };
    const denied = JSON.parse(await (await call(own, query, as_tool)).text);
    expect(denied).toMatchObject({ behavior: "deny" });
    const other = await call("asana", query);
    const [question] = await pending(pair, 1);
    expect(question.action.tool).toBe("mcp__asana__delete_task");
    await answer(pair, question.id, { answer: "Allow" });
    expect(decision(await other.text)).toEqual({ behavior: "allow" });
    // A permission tool has no other prompt.
    const tool = await call("asana", query, as_tool);
    const [again] = await pending(pair, 1);
    await answer(pair, again.id, { answer: "Allow" });
    expect(JSON.parse(await tool.text).behavior).toBe("allow");
  }
  for (const query of ["&server=", `&server=${"x".repeat(1_001)}`, "&server=a&server=b"]) {
    const { response, message } = await call("relay", query);
    const { fields } = await message;
    expect([response.status, Object.keys(fields)]).toEqual([422, ["server"]]);
  }
});

test("a request that cannot be asked is left to the client's own prompt, and the log says why [§12.6.5]", async () => {
  const pair = await createPair(app.url);
  const { agent, person } = pair;
  const textOf = async (args: object) => (await callHook(app.url, agent.secret, args)).text;
  for (const args of [
    commandOf("z".repeat(20_001)),
    commandOf("ls", { tool_name: "mcp__relay__create_task" }),
    commandOf("ls", { tool_name: "AskUserQuestion" }),
  ]) {
    expect(await textOf(args)).toBe("");
  }
  expect(await textOf(commandOf("ls", { tool_input: "ls" }))).toBe("");
  const empty = { tool_name: "Bash", input: "", tool_use_id: "toolu_1" };
  expect(JSON.parse(await textOf(empty))).toEqual({
    behavior: "deny",
    message: "The input of the tool cannot be read.",
  });
  const broken = await callHook(app.url, agent.secret, { event: "PermissionRequest" });
  expect((await broken.message).result).toMatchObject({ isError: true });
  expect(await list(pair)).toEqual([]);
  for (let i = 0; i < 20; i++) await agent.send("POST /v1/questions", { prompt: `${i}` });
  // The time of these is over before there is room for them.
  const tool = { tool_name: "Bash", input: { command: "pwd" }, tool_use_id: "toolu_1" };
  const in_line = [commandOf("ls"), tool].map(
    async (args) => (await callHook(app.url, agent.secret, args, { query: "&wait=10" })).text,
  );
  await until(() => app.waits.count() === 2);
  await clock.advance(10);
  const [of_hook, of_tool] = await Promise.all(in_line);
  expect(of_hook).toBe("");
  expect(JSON.parse(of_tool!).behavior).toBe("deny");
  await clock.advance(0.2);
  const entries = await until(async () => {
    const { body } = await person.send(`GET /v1/keys/${agent.key.id}/activity`);
    const found = body.items
      .filter(({ action }: any) => action === "approve_action")
      .flatMap((entry: any) => expand(entry));
    return found.length === 8 && found;
  });
  const codes = entries.map(({ code }: any) => code);
  expect(codes.filter((code: unknown) => code !== null).sort()).toEqual([
    "invalid_fields",
    "invalid_fields",
    "invalid_fields",
    "too_many_pending_questions",
    "too_many_pending_questions",
  ]);
});

test("a tool's input is read as it was sent, before the message parser rounds it [§12.6.2]", async () => {
  const pair = await createPair(app.url);
  /** Sends arguments as JSON text. */
  const call = (args: string, headers: Record<string, string> = {}) =>
    post(
      `${app.url}`,
      pair.agent.secret,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"approve_action","arguments":${args}}}`,
      { query: "?tools=approve&wait=10", headers },
    );
  const hook = (input: string) =>
    `{"event":"PermissionRequest","tool_name":"mcp__bank__pay","tool_input":${input}}`;
  for (const input of [
    ...["9007199254740993", "1e400", "-0", "[1e-400]", '{"to":9007199254740993}'],
    ...['{"a":{"n":0.1000000000000000000001}}', '{"to":1,"to":2}', '[{"a":1,"\\u0061":1}]'],
    ...[`{"a":1},"tool_input":{"a":2}`, '{"a":1},"tool_name":"mcp__bank__see"'],
  ]) {
    const text = JSON.stringify((await call(hook(input))).body);
    expect([input, text.includes("allow")]).toEqual([input, false]);
    expect([input, await list(pair)]).toEqual([input, []]);
  }
  // A duplicate name among the arguments is not a fault of the hook either.
  const twice = '"tool_input":{"a":1},"tool_input":{"a":2}';
  for (const event of ["event", "hook_event_name"]) {
    const { body } = await call(`{"${event}":"PermissionRequest","tool_name":"t",${twice}}`);
    expect(body.result).toEqual({ content: [{ type: "text", text: "" }] });
  }
  const denied = { behavior: "deny", message: "The input of the tool cannot be read." };
  const { body: refused } = await call(`{"tool_use_id":"u","tool_name":"t",${twice}}`);
  expect(refused.result).toEqual({ content: [{ type: "text", text: JSON.stringify(denied) }] });
  // Values beyond the number that is ever shown are not examined one by one.
  const many = `[${",0".repeat(60_000).slice(1)}]`;
  for (const event of ["PermissionRequest", "PostToolUse"]) {
    const { body } = await call(`{"event":"${event}","tool_name":"t","tool_input":${many}}`);
    expect(body.result).toEqual({ content: [{ type: "text", text: "" }] });
  }
  for (const input of [many, JSON.stringify(many)]) {
    const { body } = await call(`{"tool_use_id":"u","tool_name":"t","input":${input}}`);
    expect(body.result).toEqual(refused.result);
  }
  // An empty list is a list: only Claude Code sends one.
  const listed = call(`{"tool_name":"t","tool_input":{},"permission_suggestions":[]}`);
  const [{ id }] = (await pending(pair, 1)) as [{ id: string }];
  expect((await pair.person.send(`GET /v1/questions/${id}`)).body.action.client).toBe(
    "claude_code",
  );
  await answer(pair, id, { answer: "Allow" });
  await listed;
  const tool = `{"tool_name":"t","tool_use_id":"u","input":{"n":9007199254740993}}`;
  expect((await call(tool)).text).toContain("cannot be read");
  const asked = call(`{"tool_name":"t","tool_use_id":"u","input": {"n": 1.0, "e": 1E2} }`);
  const [question] = await pending(pair, 1);
  const { body } = await pair.person.send(`GET /v1/questions/${question.id}`);
  expect(body.action.text).toBe('{\n  "n": 1.0,\n  "e": 1E2\n}');
  await answer(pair, question.id, { answer: "Allow" });
  expect((await asked).text).toContain('\\"updatedInput\\":{\\"n\\":1.0,\\"e\\":1E2}');
});
