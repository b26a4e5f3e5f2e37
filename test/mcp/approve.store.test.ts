/** Permission prompts of coding agents, over real sockets (§12.6). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { answer, callHook, commandOf, list, openCallSums, pending } from "../support/approve.ts";
import { createPair } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { newEra, oldEra, openSession, post } from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });
const calls = await openCallSums(database_url);

/** A person and agent, and a hook whose question is pending. */
async function waiting(args: object = commandOf("ls"), options: object = {}) {
  const pair = await createPair(app.url);
  const hook = await callHook(app.url, pair.agent.secret, args, options);
  const [question] = await pending(pair, 1);
  return { ...pair, hook, question };
}

const decision = (text: string) => JSON.parse(text).hookSpecificOutput.decision;

for (const era of ["old", "new"] as const) {
  test(`a hook gets headers and pings at once, and the answer when it comes (${era} era) [§12.6.4]`, async () => {
    const { person, agent, hook, question } = await waiting(commandOf("rm -rf build"), { era });
    expect(hook.response.headers.get("content-type")).toBe("text/event-stream");
    await until(() => hook.received() === ": ping\n\n");
    await clock.advance(LIMITS.sign_of_life);
    await until(() => hook.received() === ": ping\n\n: ping\n\n");
    await answer({ person }, question.id, { answer: "Allow" });
    expect(decision(await hook.text)).toEqual({ behavior: "allow" });
    const { body } = await agent.send("GET /v1/inbox?peek=true");
    expect(body.items).toEqual([]);
  });

  test(`the permission tool is listed only at its own address (${era} era) [§12.6.1]`, async () => {
    const { agent } = await createPair(app.url);
    const open = { old: oldEra, new: newEra }[era];
    const listed = async (query: string) => {
      const rpc = open(app.url, agent.secret);
      return rpc("tools/list", {}, { query });
    };
    const plain = await listed("");
    const other = await listed("?tools=other");
    expect(other.text).toBe(plain.text);
    const more = (await listed("?tools=approve")).body.result.tools;
    expect(more.slice(0, -1)).toEqual(plain.body.result.tools);
    expect(more.at(-1).name).toBe("approve_action");
    const params = { name: "approve_action", arguments: commandOf("ls") };
    const { body } = await open(app.url, agent.secret)("tools/call", params);
    expect(JSON.stringify(body)).toContain("Unknown tool");
  });
}

test("tRPC does not serve a tool that has no route", async () => {
  const { agent } = await createPair(app.url);
  const { status, body } = await agent.send("POST /trpc/approveAction", commandOf("ls"));
  expect([status, body.error.data.code]).toEqual([404, "NOT_FOUND"]);
});

test("the person reads the whole command in the question; lists and events leave it out [§2.5.5]", async () => {
  const command = `echo ${"x".repeat(3_000)}`;
  const args = commandOf(command, {
    tool_input: { command, description: "Says x" },
    permission_suggestions: [
      {
        type: "addRules",
        rules: [{ toolName: "Bash", ruleContent: "echo *" }],
        behavior: "allow",
        destination: "session",
      },
    ],
  });
  const { person, agent, hook, question } = await waiting(args, {
    headers: { "x-agent-host": "build-7" },
  });
  const { action, context_omitted } = question;
  expect(action).toEqual({
    client: "claude_code",
    tool: "Bash",
    form: "command",
    folder: "/home/ann/app",
    session: "session-1",
    host: "build-7",
    grants: ["Bash(echo *)"],
  });
  expect(context_omitted).toBe(true);
  for (const { send } of [person, agent]) {
    const { body } = await send(`GET /v1/questions/${question.id}`);
    expect(body).toMatchObject({ action: { ...action, text: command }, context: "Says x" });
    expect(body.options).toEqual(["Allow", "Deny", "Allow for this session"]);
  }
  const { body } = await answer({ person }, question.id, { answer: "Allow for this session" });
  expect(body.action).toEqual(action);
  const { updatedPermissions } = decision(await hook.text);
  expect(updatedPermissions).toEqual(args.permission_suggestions);
});

test("a note goes with a denial, or to the inbox with a permission [§12.6.5]", async () => {
  const denied = await waiting();
  await answer(denied, denied.question.id, { answer: "Deny", note: "Use make" });
  expect(decision(await denied.hook.text)).toEqual({ behavior: "deny", message: "Use make" });
  expect((await denied.agent.send("GET /v1/inbox")).body.items).toEqual([]);
  const allowed = await waiting();
  await answer(allowed, allowed.question.id, { answer: "Allow", note: "But only once" });
  expect(decision(await allowed.hook.text)).toEqual({ behavior: "allow" });
  const { items } = (await allowed.agent.send("GET /v1/inbox")).body;
  expect(items.map(({ question }: any) => [question.note, question.action.tool])).toEqual([
    ["But only once", "Bash"],
  ]);
  // Only an option is an answer.
  const strict = await waiting();
  expect((await answer(strict, strict.question.id, { answer: "allow" })).status).toBe(422);
  strict.hook.leave();
});

test("a permission request expires when its client stops waiting, and nothing is permitted [§12.6.4]", async () => {
  const TOOL = { tool_name: "Bash", input: { command: "ls" }, tool_use_id: "toolu_1" };
  const denied = JSON.stringify({ behavior: "deny", message: "Nobody answered." });
  for (const [args, seconds] of [
    [commandOf("ls"), 590],
    [commandOf("ls", { client: "codex" }), 120],
    [{ ...TOOL, client: "claude_code" }, 590],
  ] as const) {
    const { hook, question } = await waiting(args);
    expect(question.expires_at - question.created_at).toBeCloseTo(seconds, 2);
    hook.leave();
  }
  for (const [args, seconds, text] of [
    [commandOf("ls", { client: "codex" }), 150, ""],
    [TOOL, 10, denied],
  ] as const) {
    const { person, hook, question } = await waiting(args, { query: `&wait=${seconds}` });
    expect(question.expires_at - question.created_at).toBeCloseTo(seconds, 2);
    await clock.advance(seconds);
    expect(await whileMoving(clock, hook.text)).toBe(text);
    expect((await person.send(`GET /v1/questions/${question.id}`)).body.status).toBe("expired");
  }
  const { agent } = await createPair(app.url);
  for (const wait of ["9", "601", "1e2", "", "60&wait=60"]) {
    const { response } = await callHook(app.url, agent.secret, commandOf("ls"), {
      query: `&wait=${wait}`,
    });
    expect([wait, response.status]).toEqual([wait, 422]);
  }
});

test("a client that accepts no stream is answered within 50 seconds and leaves no question [§12.6.4]", async () => {
  const pair = await createPair(app.url);
  const options = { headers: { accept: "application/json" } };
  const call = callHook(app.url, pair.agent.secret, commandOf("ls"), options);
  await pending(pair, 1);
  await clock.advance(45);
  const { response, text } = await whileMoving(clock, call);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await text).toBe("");
  expect((await list(pair, "cancelled")).length).toBe(1);
  const again = callHook(app.url, pair.agent.secret, commandOf("ls"), options);
  const [question] = await pending(pair, 1);
  await answer(pair, question.id, { answer: "Allow" });
  expect(decision(await (await again).text)).toEqual({ behavior: "allow" });
});

test("a hook and a permission tool that ask the same at two processes share one question [§12.6.3]", async () => {
  const tool = (command: string, more = {}) => ({
    tool_name: "Bash",
    input: { command },
    tool_use_id: "toolu_1",
    ...more,
  });
  const pair = await createPair(app.url);
  const { secret } = pair.agent;
  // Both at once: whichever comes second joins.
  const both = await Promise.all([
    callHook(app.url, secret, commandOf("make")),
    callHook(there.url, secret, tool("make")),
  ]);
  const [question] = await pending(pair, 1);
  // A third call would join in place of one that has not asked yet.
  await until(async () => (await calls(question.id)) === "3 0");
  // Two calls of one kind are two questions, and so are another command and a call 2 seconds later.
  const more = await Promise.all([
    callHook(app.url, secret, commandOf("make")),
    callHook(there.url, secret, tool("make install")),
  ]);
  await pending(pair, 3);
  await answer(pair, question.id, { answer: "Deny", note: "Not now" });
  const texts = await whileMoving(clock, Promise.all(both.map(({ text }) => text)));
  expect(decision(texts[0]!)).toEqual({ behavior: "deny", message: "Not now" });
  expect(JSON.parse(texts[1]!)).toEqual({ behavior: "deny", message: "Not now" });
  for (const { leave } of more) leave();
  await pending(pair, 0);
  const late = await waiting(commandOf("make"));
  await clock.advance(2);
  const second = await callHook(there.url, late.agent.secret, tool("make"));
  await pending(late, 2);
  late.hook.leave();
  second.leave();
  await pending(late, 0);
});

test("a question that two calls wait for stays when one of them leaves [§12.6.3]", async () => {
  const { hook, agent, person, question } = await waiting(commandOf("make"));
  const tool = { tool_name: "Bash", input: { command: "make" }, tool_use_id: "toolu_1" };
  const second = await callHook(there.url, agent.secret, tool);
  await until(() => there.waits.count() === 1);
  await until(async () => (await calls(question.id)) === "3 0");
  hook.leave();
  await until(async () => (await calls(question.id)) === "3 1");
  expect((await pending({ person }, 1))[0].id).toBe(question.id);
  second.leave();
  await pending({ person }, 0);
  expect((await list({ person }, "cancelled")).length).toBe(1);
});

/** What makes a request stale, each with whether the hook still gets an empty text. */
const STALE: Readonly<
  Record<
    string,
    (
      pair: Awaited<ReturnType<typeof createPair>>,
      hook: { leave: () => void },
      session: string,
    ) => Promise<unknown>
  >
> = {
  "the connection closes": async (_, hook) => hook.leave(),
  "the client cancels": ({ agent }, _, session) =>
    post(
      app.url,
      agent.secret,
      JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: 7 },
      }),
      { headers: { "mcp-session-id": session } },
    ),
  "the tool was used": ({ agent }) =>
    callHook(there.url, agent.secret, commandOf("ls", { event: "PostToolUse" })),
  "the session stops": ({ agent }) =>
    callHook(there.url, agent.secret, { event: "Stop", session_id: "session-1" }),
};

for (const [name, end] of Object.entries(STALE)) {
  test(`a permission request is withdrawn when ${name} [§12.6.6]`, async () => {
    const pair = await createPair(app.url);
    const { id: session } = await openSession(app.url, pair.agent.secret);
    const hook = await callHook(app.url, pair.agent.secret, commandOf("ls"), {
      id: 7,
      headers: { "mcp-session-id": session },
    });
    await pending(pair, 1);
    await end(pair, hook, session);
    await whileMoving(clock, pending(pair, 0));
    const [question] = await list(pair, "cancelled");
    expect(question.action.tool).toBe("Bash");
    expect((await whileMoving(clock, hook.message))?.result.content[0].text ?? "").toBe("");
    // The agent sees it as a question that it withdrew.
    expect((await pair.agent.send(`DELETE /v1/questions/${question.id}`)).status).toBe(204);
  });
}

test("an event of another session, command or key ends no permission request [§12.6.6]", async () => {
  const pair = await waiting();
  const other = await createPair(app.url);
  const end = async (args: object, secret = pair.agent.secret) => {
    expect(await (await callHook(app.url, secret, args)).text).toBe("");
  };
  await end(commandOf("ls -l", { event: "PostToolUse" }));
  await end(commandOf("ls", { event: "PostToolUse", session_id: "session-2" }));
  await end(commandOf("ls", { event: "Notification" }));
  await end({ event: "Stop", session_id: "session-2" });
  await end({ event: "Stop", session_id: "" });
  await end({ event: "Stop", session_id: "session-1" }, other.agent.secret);
  expect((await list(pair)).map(({ id }) => id)).toEqual([pair.question.id]);
  await end({ event: "Stop", session_id: "session-1" });
  expect(await pair.hook.text).toBe("");
});

test("requests of a later prompt end those of earlier prompts; requests of one prompt stand side by side [§12.6.6]", async () => {
  const { hook, agent, person } = await waiting(commandOf("ls"));
  const prompts = async () => (await list({ person })).map(({ prompt }) => prompt).sort();
  const beside = await callHook(app.url, agent.secret, commandOf("make"));
  await pending({ person }, 2);
  expect(await prompts()).toEqual(["Bash in ~/app: ls", "Bash in ~/app: make"]);
  const later = await callHook(app.url, agent.secret, commandOf("pwd", { prompt_id: "prompt-2" }));
  expect([await hook.text, await beside.text]).toEqual(["", ""]);
  await pending({ person }, 1);
  expect(await prompts()).toEqual(["Bash in ~/app: pwd"]);
  // A client that names no prompt shows one request at a time.
  const unnamed = await callHook(app.url, agent.secret, commandOf("id", { prompt_id: "" }));
  expect(await later.text).toBe("");
  await pending({ person }, 1);
  const last = await callHook(app.url, agent.secret, commandOf("w", { prompt_id: "" }));
  expect(await unnamed.text).toBe("");
  await pending({ person }, 1);
  expect(await prompts()).toEqual(["Bash in ~/app: w"]);
  last.leave();
});

test("a server that stops permits nothing and withdraws what it asked [§12.6.5]", async () => {
  const third = await startTestApp({ clock, database_url });
  const pair = await createPair(app.url);
  const hook = await callHook(third.url, pair.agent.secret, commandOf("ls"));
  await pending(pair, 1);
  await third.stop();
  expect(await hook.text).toBe("");
  expect((await list(pair)).length).toBe(0);
});
