/** The official clients, the old line and the new one in both its modes, against the real server. */

import { expect, spyOn, test } from "bun:test";
import {
  type CallToolResult,
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Key } from "../../src/model/key.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { CLIENT } from "../support/mcp.ts";
import { rejectionOf } from "../support/rejection.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const url = new URL(`${app.url}/mcp`);

const headersOf = (secret: string) => ({
  requestInit: { headers: { authorization: `Bearer ${secret}` } },
});

/** How each client is opened. */
const CLIENTS = {
  "1.x": async (secret: string) => {
    const client = new OldClient(CLIENT);
    await client.connect(new OldTransport(url, headersOf(secret)) as never);
    // The one relevant difference: the old client takes a schema before the options.
    const callTool = client.callTool.bind(client);
    return Object.assign(client as unknown as NewClient, {
      callTool: (params: never, options: never) => callTool(params, undefined, options),
    }) as NewClient;
  },
  "2.x, old era": (secret: string) => openNew(secret, "legacy"),
  "2.x, new era": (secret: string) => openNew(secret, { pin: "2026-07-28" }),
  "2.x, negotiating": (secret: string) => openNew(secret, "auto"),
} as const;

async function openNew(secret: string, mode: "legacy" | "auto" | { pin: string }) {
  const client = new NewClient(CLIENT, { versionNegotiation: { mode } });
  await client.connect(new NewTransport(url, headersOf(secret)));
  return client;
}

for (const [name, open] of Object.entries(CLIENTS)) {
  test(`the ${name} client lists and calls every tool without a warning`, async () => {
    const told = (["warn", "error"] as const).map((level) =>
      spyOn(console, level).mockImplementation(() => {}),
    );
    const { person, agent } = await createPair(app.url);
    await createAgent(app.url, person, "other");
    const client = await open(agent.secret);
    const { tools } = await client.listTools();
    const left = new Set(tools.map((tool) => tool.name));
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      left.delete(name);
      // The client checks the result against the schema that it listed.
      const result = (await client.callTool({ name, arguments: args })) as CallToolResult;
      expect([name, result.isError]).toEqual([name, undefined]);
      return result.structuredContent as any;
    };
    const task = await call("create_task", { title: "t" });
    await call("update_task", { task_id: task.id, progress: 10 });
    await call("get_task", { task_id: task.id });
    await call("list_tasks");
    const question = await call("ask_question", { prompt: "?" });
    await call("list_questions");
    await call("get_question", { question_id: question.id });
    await call("cancel_question", { question_id: question.id });
    await call("delete_task", { task_id: task.id });
    const { agents } = await call("list_agents");
    const { key_id } = agents.find(({ self }: { self: boolean }) => !self);
    await call("send_message", { key_id, text: "hi" });
    await person.send("POST /v1/tasks", { title: "p", key_id: agent.key.id });
    expect((await call("read_inbox", { peek: true })).unread).toBe(1);
    expect([...left]).toEqual([]);

    const missing = (await client.callTool({
      name: "get_task",
      arguments: { task_id: task.id },
    })) as CallToolResult;
    expect([missing.isError, (missing.content[0] as any).text]).toEqual([
      true,
      "not_found: Not found.\ntask_id does not exist or is not yours.",
    ]);
    const unknown = await rejectionOf(client.callTool({ name: "nope", arguments: {} }));
    expect(unknown.message).toContain("Unknown tool");
    const { resources } = await client.listResources();
    const read = await client.readResource({ uri: resources[0]!.uri });
    expect(JSON.parse((read.contents[0] as any).text)).toHaveProperty("tasks");
    expect((await client.listPrompts()).prompts.length).toBe(1);
    expect(client.getInstructions()).toContain("create_task");
    const { keys } = (await person.send("GET /v1/keys")).body;
    expect(keys.find(({ id }: Key) => id === agent.key.id).last_client).toEqual(CLIENT);
    await client.close();
    expect(told.flatMap(({ mock }) => mock.calls)).toEqual([]);
    for (const spy of told) spy.mockRestore();
  });

  test(`the ${name} client gets an answer, and progress while waiting`, async () => {
    const { person, agent } = await createPair(app.url);
    const client = await open(agent.secret);
    await client.listTools();
    const seen: number[] = [];
    const asked = client.callTool(
      { name: "ask_question", arguments: { prompt: "?", wait_seconds: 50 } },
      { onprogress: ({ progress }) => void seen.push(progress), timeout: 60_000 },
    ) as Promise<CallToolResult>;
    await until(() => app.waits.count() === 1);
    await clock.advance(3);
    await clock.advance(3);
    await until(() => seen.length === 2);
    const { body } = await person.send("GET /v1/questions");
    await person.send(`POST /v1/questions/${body.questions[0].id}/answer`, { answer: "Yes" });
    expect((await asked).structuredContent).toMatchObject({ status: "answered", answer: "Yes" });
    expect(seen).toEqual([3, 6]);
    expect(app.waits.owners()).toBe(0);
    await client.close();
  });

  test(`the ${name} client frees its place when it aborts a waiting call or closes [§6.5]`, async () => {
    const { agent } = await createPair(app.url);
    const client = await open(agent.secret);
    for (const streamed of [false, true]) {
      const abort = new AbortController();
      const gone = client
        .callTool(
          { name: "ask_question", arguments: { prompt: "?", wait_seconds: 50 } },
          { signal: abort.signal, ...(streamed && { onprogress: () => {} }) },
        )
        .catch(() => {});
      await until(() => app.waits.count() === 1);
      // Once by the notification or the connection, once by the end of a stream that has begun.
      if (streamed) await clock.advance(10);
      if (streamed) await client.close();
      else abort.abort();
      await gone;
      await until(() => app.waits.owners() === 0);
    }
  });
}
