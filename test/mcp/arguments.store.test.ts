/** Arguments as clients and models really write them: empty means not set, and text may stand for a value. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { callTool, newEra, oldEra, post, type Rpc } from "../support/mcp.ts";

const app = await startTestApp();
const { agent } = await createPair(app.url);
const eras: [string, Rpc][] = [
  ["old", oldEra(app.url, agent.secret)],
  ["new", newEra(app.url, agent.secret)],
];
const problemOf = (result: any) => result.structuredContent ?? result._meta.problem;

/** The tool's result; fails with its error. */
async function ok(rpc: Rpc, name: string, args: unknown): Promise<any> {
  const result = await callTool(rpc, name, args as never);
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(problemOf(result))}`);
  return result.structuredContent;
}

for (const [era, rpc] of eras) {
  test(`${era} era: tools accept null for every argument that is not set [§12.3.8]`, async () => {
    const task = await ok(rpc, "create_task", {
      title: "x",
      description: null,
      status: null,
      priority: null,
      notify: null,
    });
    expect(task).toMatchObject({ description: "", status: "todo", priority: "medium" });
    expect(task.notify).toBe(true);
    const asked = await ok(rpc, "ask_question", {
      prompt: `Deploy ${era}?`,
      kind: null,
      options: null,
      task_id: null,
      expires_in: null,
      context: null,
      url: null,
      allow_other: null,
      fallback: null,
      request_id: null,
      wait_seconds: null,
    });
    expect([asked.kind, asked.task_id, "context" in asked]).toEqual(["confirm", null, false]);
    const filters = { status: null, priority: null, limit: null, cursor: null };
    expect((await ok(rpc, "list_tasks", filters)).tasks.length).toBeGreaterThan(0);
    const questions = { status: null, task_id: null, limit: null, cursor: null };
    expect((await ok(rpc, "list_questions", questions)).questions.length).toBeGreaterThan(0);
    const reading = { wait_seconds: null, limit: null, peek: null, ack: null };
    expect(await ok(rpc, "read_inbox", reading)).toMatchObject({ items: [] });
    expect((await ok(rpc, "get_task", { task_id: task.id })).id).toBe(task.id);
  });

  test(`${era} era: tools accept the empty texts and lists that a strict schema makes a model fill in [§12.3.8]`, async () => {
    const asked = await ok(rpc, "ask_question", {
      prompt: `Really ${era}?`,
      kind: "confirm",
      options: [],
      task_id: "",
      expires_in: 3600,
      context: "",
      url: "",
      allow_other: false,
      fallback: " ",
      request_id: "",
      wait_seconds: 0,
    });
    expect(asked).toMatchObject({ kind: "confirm", options: ["Yes", "No"], task_id: null });
    for (const name of ["context", "url", "fallback", "request_id", "allow_other"]) {
      expect(asked).not.toHaveProperty(name);
    }
    // An empty list in place of anything optional, as PHP writes an empty value, and as text.
    for (const none of [[], "[]"]) {
      const filters = { status: none, priority: none, limit: none, cursor: [] };
      expect((await ok(rpc, "list_tasks", filters)).tasks.length).toBeGreaterThan(0);
      const bare = await ok(rpc, "ask_question", {
        prompt: `Really ${era} ${none.length}?`,
        kind: none,
        expires_in: none,
        allow_other: none,
        context: [],
        task_id: [],
        wait_seconds: none,
      });
      expect([bare.kind, bare.task_id, "context" in bare]).toEqual(["confirm", null, false]);
    }
    const filters = { status: [], priority: [], limit: 5, cursor: "" };
    expect((await ok(rpc, "list_tasks", filters)).tasks.length).toBeGreaterThan(0);
    expect(await ok(rpc, "read_inbox", { wait_seconds: 0, limit: 5, peek: true, ack: "" })).toEqual(
      { items: [], unread: 0 },
    );
  });

  test(`${era} era: tools accept lists, numbers and booleans as text [§12.3.8]`, async () => {
    const asked = await ok(rpc, "ask_question", {
      prompt: `Where ${era}?`,
      kind: "choice",
      options: '["Staging","Production"]',
      expires_in: "60",
      allow_other: "true",
      wait_seconds: "0",
    });
    expect(asked).toMatchObject({ options: ["Staging", "Production"], allow_other: true });
    expect(asked.expires_at - asked.created_at).toBe(60);
    await createTask(agent.send, { title: "done", status: "done" });
    for (const status of ['["done"]', "done", '"done"', "done, cancelled"]) {
      const { tasks } = await ok(rpc, "list_tasks", { status, limit: "3" });
      expect([status, ...new Set(tasks.map((task: any) => task.status))]).toEqual([status, "done"]);
    }
    // The way Python writes a list of texts.
    const places = await ok(rpc, "ask_question", {
      prompt: `Which ${era}?`,
      kind: "choice",
      options: `["it's here", 'there [1]', 'say "no"', '\\x41 \\'b\\'']`,
    });
    expect(places.options).toEqual(["it's here", "there [1]", 'say "no"', "A 'b'"]);
    const done = await ok(rpc, "list_tasks", { status: "['done', 'cancelled']", limit: 3 });
    expect(done.tasks.map((task: any) => task.status)).toContain("done");
    const read = { peek: "True", limit: " 2 ", wait_seconds: "None" };
    expect(await ok(rpc, "read_inbox", read)).toMatchObject({ items: [] });
    const { id } = await createTask(agent.send);
    expect((await ok(rpc, "update_task", { task_id: id, progress: "40" })).progress).toBe(40);
    // Text stays as it was written.
    const title = await ok(rpc, "create_task", { title: "null", description: "[1]" });
    expect([title.title, title.description]).toEqual(["null", "[1]"]);
    const note = await ok(rpc, "update_task", { task_id: id, status_note: "None" });
    expect(note.status_note).toBe("None");
  });

  test(`${era} era: null clears a field only in a call that does not fill in unset fields [§12.3.8]`, async () => {
    const made = await createTask(agent.send, { title: "t", description: "d" });
    const set = { progress: 30, status_note: "Running" };
    const call = (args: object) => ok(rpc, "update_task", { task_id: made.id, ...args });
    const nothing = await call({ title: null, progress: null, status_note: "" });
    expect(nothing).not.toHaveProperty("hint");
    await call(set);
    // The way CrewAI sends every call: null for everything that the model left out.
    const filled = { title: null, description: null, status: null, priority: null, notify: null };
    const kept = await call({ ...filled, progress: null, status_note: null, priority: "high" });
    expect(kept).toMatchObject({ ...set, description: "d", priority: "high" });
    expect(kept.hint).toContain("Not cleared: `progress` and `status_note`.");
    // A tool whose null cannot clear a field says so too.
    const emptied = await call({ status_note: "", progress: [] });
    expect(emptied).toMatchObject(set);
    expect(emptied.hint).toContain("Not cleared: `status_note` and `progress`.");
    expect(await call({ title: "", description: "", status_note: "Next" })).toMatchObject({
      title: made.title,
      description: "d",
      status_note: "Next",
    });
    const all = {
      title: "t",
      description: "d",
      status: "in_progress",
      priority: "low",
      notify: true,
      progress: null,
      status_note: "All",
    };
    expect(await call(all)).toMatchObject({ progress: 30, status_note: "All" });
    expect(await call({ progress: null })).toMatchObject({ progress: null, status_note: "All" });
    await call(set);
    const cleared = await call({ progress: null, status_note: null });
    expect(cleared).toMatchObject({ progress: null, status_note: null });
    expect(cleared).not.toHaveProperty("hint");
    expect((await call({ description: "" })).description).toBe("");
  });

  test(`${era} era: tools accept missing arguments as null, empty or JSON text [§12.3.8]`, async () => {
    for (const args of [{ random_string: "x" }, { input: {} }, null, "{}", "", " ", [], "null"]) {
      expect((await ok(rpc, "list_agents", args)).agents).toHaveLength(1);
      const is_dummy = typeof args === "object" && args !== null && !Array.isArray(args);
      if (!is_dummy) expect((await ok(rpc, "list_questions", args)).questions).not.toEqual([]);
    }
    const refused = await callTool(rpc, "create_task", "" as never);
    expect(problemOf(refused).fields).toEqual({ title: "is required" });
    const task = await ok(rpc, "create_task", '{"title":"as text","status":null}');
    expect([task.title, task.status]).toEqual(["as text", "todo"]);
  });

  test(`${era} era: a tool rejects an argument that it cannot understand, naming it`, async () => {
    const bad: [string, object, string][] = [
      ["create_task", { title: null }, "title"],
      ["create_task", { title: "" }, "title"],
      ["create_task", { title: "t", other: 1 }, "other"],
      ["update_task", { task_id: null, progress: 1 }, "task_id"],
      ["update_task", { task_id: "x", progress: "many" }, "progress"],
      ["update_task", { task_id: "x", progress: "1.5" }, "progress"],
      ["ask_question", { prompt: "p", kind: "choice", options: "a, b" }, "options"],
      ["ask_question", { prompt: "p", kind: "choice", options: '["a"]' }, "options"],
      ["ask_question", { prompt: "p", kind: "choice", options: "['a', 'b'" }, "options"],
      ["ask_question", { prompt: "p", kind: "choice", options: "['a', '\\U0001F600']" }, "options"],
      ["ask_question", { prompt: "p", kind: "choice", options: "['a', None]" }, "options"],
      [
        "ask_question",
        { prompt: "p", kind: "choice", options: `['"', ${"[".repeat(9)}` },
        "options",
      ],
      ["create_task", { title: [] }, "title"],
      ["create_task", { title: "t", other: [] }, "other"],
      ["ask_question", { prompt: "p", kind: "choice", options: null }, "options"],
      ["ask_question", { prompt: "p", expires_in: `${"[".repeat(5000)}` }, "expires_in"],
      ["list_tasks", { status: "open" }, "status"],
    ];
    for (const [name, args, field] of bad) {
      const result = await callTool(rpc, name, args as never);
      expect([name, args, Object.keys(problemOf(result).fields ?? {})]).toEqual([
        name,
        args,
        [field],
      ]);
    }
  });
}

/** Messages as other programs write them, with the envelope of neither era. */
const bare = (message: object) =>
  post(app.url, agent.secret, JSON.stringify({ jsonrpc: "2.0", ...message }));

test("null and empty parts of a message count as absent [§12.1.6]", async () => {
  const absent = [null, [], { cursor: null }, { cursor: "" }, { _meta: null }];
  const messages = [
    ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].flatMap(
      (method) => absent.map((params) => ({ method, params })),
    ),
    ...[null, []].map((params) => ({ method: "ping", params })),
    ...[null, { progressToken: null }].map((_meta) => ({
      method: "tools/call",
      params: { name: "list_agents", arguments: [], requestState: null, _meta },
    })),
    {
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: { experimental: null, roots: { listChanged: null }, sampling: null },
        clientInfo: { name: "n", version: "1", title: null },
        _meta: null,
      },
    },
  ];
  for (const message of messages) {
    const answer = await bare({ id: 1, ...message });
    const seen = answer.body.result ? null : answer.text;
    expect([message, answer.status, seen]).toEqual([message, 200, null]);
  }
  const notified = await bare({ method: "notifications/initialized", params: null });
  expect(notified.status).toBe(202);
  // Other values cannot be what a client meant.
  for (const params of [[1], "", 0, false]) {
    expect((await bare({ id: 1, method: "tools/list", params })).status).toBe(400);
  }
  const cursor = await bare({ id: 1, method: "tools/list", params: { cursor: "x" } });
  expect(cursor.body.error.data.fields).toHaveProperty("cursor");
});

test("a round begins with a requestState of null [§12.1.6]", async () => {
  const rpc = newEra(app.url, agent.secret);
  const { body } = await rpc("tools/call", {
    name: "ask_question",
    arguments: { prompt: "Begin?" },
    requestState: null,
  });
  expect(body.result.structuredContent).toMatchObject({ prompt: "Begin?", status: "pending" });
});

test("REST stays strict about arguments", async () => {
  for (const body of [
    { title: "t", status: null },
    { title: "t", notify: "true" },
  ]) {
    expect((await agent.send("POST /v1/tasks", body)).status).toBe(422);
  }
});

test("tools accept expect_update_within, which tools/list leaves out, and null clears it [§12.3.8]", async () => {
  const rpc = newEra(app.url, agent.secret);
  const { tools } = (await rpc("tools/list", {})).body.result;
  expect(JSON.stringify(tools)).not.toContain("expect_update_within");
  const task = await ok(rpc, "create_task", { title: "x", expect_update_within: "600" });
  expect(task.expect_update_within).toBe(600);
  const cleared = { task_id: task.id, expect_update_within: null };
  expect((await ok(rpc, "update_task", cleared)).expect_update_within).toBeNull();
});
