/** The official Inspector's command line, strict about schemas, with every tool and both eras. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair } from "../support/client.ts";
import { tempFolder } from "../support/temp.ts";

const INSPECTOR = Bun.resolveSync("@modelcontextprotocol/inspector/package.json", import.meta.dir);
const CLI = new URL("clients/launcher/build/index.js", `file://${INSPECTOR}`).pathname;

const app = await startTestApp();
const home = tempFolder();

/** In the older era a few calls suffice: each starts a process, and its results go through the same schemas. */
for (const [era, what] of [
  ["legacy", "some tools"],
  ["modern", "every tool"],
] as const) {
  test(`the Inspector lists strictly and calls ${what} without a warning (${era})`, async () => {
    const { person, agent } = await createPair(app.url);
    await createAgent(app.url, person, "other");
    /** What the Inspector prints; it must print no warning and exit successfully. */
    const inspect = async (...args: string[]): Promise<any> => {
      const child = Bun.spawn(
        [
          process.execPath,
          CLI,
          "--cli",
          `${app.url}/mcp`,
          ...["--transport", "http", "--protocol-era", era],
          ...["--header", `Authorization: Bearer ${agent.secret}`],
          ...args,
        ],
        { env: { PATH: process.env.PATH ?? "", HOME: home }, stdout: "pipe", stderr: "pipe" },
      );
      const [out, err] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      expect([args[1], await child.exited, err]).toEqual([args[1], 0, ""]);
      return JSON.parse(out);
    };
    const { tools } = await inspect("--method", "tools/list", "--strict");
    const left = new Set(tools.map(({ name }: { name: string }) => name));
    const call = async (name: string, ...pairs: string[]) => {
      left.delete(name);
      const named = ["--method", "tools/call", "--tool-name", name];
      const args = pairs.flatMap((pair) => ["--tool-arg", pair]);
      const { structuredContent, isError } = await inspect(...named, ...args);
      expect([name, isError]).toEqual([name, undefined]);
      return structuredContent;
    };
    const task = await call("create_task", "title=t");
    if (era === "legacy") {
      await call("ask_question", "prompt=?", "wait_seconds=0");
      await call("list_tasks");
      return;
    }
    await call("update_task", `task_id=${task.id}`, "progress=10");
    await call("get_task", `task_id=${task.id}`);
    await call("list_tasks");
    const question = await call("ask_question", "prompt=?", "wait_seconds=0");
    await call("list_questions");
    await call("get_question", `question_id=${question.id}`);
    await call("cancel_question", `question_id=${question.id}`);
    await call("delete_task", `task_id=${task.id}`);
    const { agents } = await call("list_agents");
    const { key_id } = agents.find(({ self }: { self: boolean }) => !self);
    await call("send_message", `key_id=${key_id}`, "text=hi");
    await person.send("POST /v1/tasks", { title: "p", key_id: agent.key.id });
    expect((await call("read_inbox", "peek=true")).unread).toBe(1);
    expect([...left]).toEqual([]);
    expect((await inspect("--method", "resources/list")).resources.length).toBe(2);
    expect((await inspect("--method", "prompts/list")).prompts.length).toBe(1);
  }, 120_000);
}
