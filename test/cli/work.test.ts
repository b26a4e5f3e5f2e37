/** `relay task`, `relay inbox` and `relay say`. */

import { expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { startTestApp } from "../support/app.ts";
import { createUser } from "../support/cli.ts";
import { client, createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

const clock = createTestClock();
const app = await startTestApp({ clock });

async function createWorker() {
  const { person, agent } = await createPair(app.url);
  const env = { RELAY_URL: app.url, RELAY_KEY: agent.secret };
  return { person, agent, env, ...createUser({ clock, env }) };
}

test("relay task adds, changes, finishes and lists a task", async () => {
  const { person, run } = await createWorker();
  const added = await run(["task", "add", "Ship", "--status", "in_progress", "--quiet"]);
  const id = added.out.trim();
  expect(id).toStartWith("tsk_");
  const set = await run(["task", "set", id, "--progress", "60", "--note", "Testing"]);
  expect(set.out).toBe(`${id}  in_progress 60%   Ship (Testing)\n`);
  const { body } = await person.send(`GET /v1/tasks/${id}`);
  expect(body).toMatchObject({ progress: 60, status_note: "Testing", notify: false });
  const done = await run(["task", "done", id, "--json"]);
  expect(JSON.parse(done.out)).toMatchObject({ id, status: "done", progress: 100 });
  expect((await run(["task", "list", "--status", "todo"])).out).toBe("");
  const listed = await run(["task", "list", "--status", "todo", "--status", "done"]);
  expect(listed.out).toBe(`${id}  done              Ship (Testing)\n`);
  expect(await run(["task", "done", "tsk_none"])).toMatchObject({
    code: 3,
    err: "relay: task_id does not exist or is not yours: check the id\n",
  });
});

test("relay health takes the address of /mcp and that of the page", async () => {
  const { run } = createUser({ clock, env: {} });
  for (const end of ["", "/", "/mcp", "/#/agents"]) {
    const { code, out } = await run(["health", app.url + end]);
    expect([end, code, out]).toEqual([end, 0, expect.stringContaining("ok, version")]);
  }
  const live = await run(["health", "--live", app.url]);
  expect([live.code, live.out]).toEqual([0, "live\n"]);
  const { code, out } = await run(["health", "ftp://relay.example"]);
  expect([code, out]).toEqual([1, expect.stringContaining("is not the address of a server")]);
});

test("a task's title cannot control the terminal", async () => {
  const { agent, run } = await createWorker();
  await agent.send("POST /v1/tasks", { title: "a\u001b]0;title\u0007b\u202ec" });
  const { out } = await run(["task", "list"]);
  expect(out).toEndWith("a\\u001b]0;title\\u0007b\\u202ec\n");
});

test("relay task list prints every list page", async () => {
  const { agent, run } = await createWorker();
  for (let n = 0; n < 101; n++) await agent.send("POST /v1/tasks", { title: `Task ${n}` });
  const { out } = await run(["task", "list", "--json"]);
  const ids = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).id);
  expect(new Set(ids).size).toBe(101);
});

test("relay inbox prints each item once, and only peeks with --peek", async () => {
  const { person, agent, run } = await createWorker();
  const write = (text: string) => person.send("POST /v1/messages", { key_id: agent.key.id, text });
  await write("first line\nsecond line");
  const expected = /^\S+Z {2}message {2}from you: first line\n {4}second line\n$/;
  expect((await run(["inbox", "--peek"])).out).toMatch(expected);
  expect((await run(["inbox"])).out).toMatch(expected);
  expect((await run(["inbox"])).out).toBe("");
});

/** `words` writes to a device without space, or to a pipe that nobody reads. */
async function unwritten(words: readonly string[], env: Record<string, string>, is_piped = false) {
  const child = Bun.spawn([process.execPath, MAIN, ...words], {
    env: { ...env, PATH: process.env.PATH ?? "", HOME: tempFolder() },
    stdout: is_piped ? "pipe" : Bun.file("/dev/full"),
    stderr: "pipe",
  });
  if (is_piped) await (child.stdout as unknown as ReadableStream).cancel();
  const err = await new Response(child.stderr).text();
  return { code: await child.exited, err };
}

test("inbox items that cannot be written stay unread", async () => {
  const { person, agent, env, run } = await createWorker();
  await person.send("POST /v1/messages", { key_id: agent.key.id, text: "one" });
  expect(await unwritten(["inbox"], env)).toEqual({
    code: 3,
    err: "relay: the items could not be written and stay unread: ENOSPC: no space left on device, write\n",
  });
  expect((await unwritten(["inbox", "--follow"], env, true)).code).toBe(3);
  expect((await run(["inbox"])).out).toContain("one");
});

test("a task whose id cannot be written is a fault that names the id", async () => {
  const { person, env } = await createWorker();
  const { code, err } = await unwritten(["task", "add", "Ship"], env);
  const { body } = await person.send("GET /v1/tasks");
  expect([code, err]).toEqual([
    3,
    `relay: the task ${body.tasks[0].id} was added, but its id could not be written: ENOSPC: no space left on device, write\n`,
  ]);
  // Like a program that SIGPIPE ends: nothing is wrong.
  expect(await unwritten(["task", "list"], env, true)).toEqual({ code: 141, err: "" });
});

test("relay inbox --follow continues until Ctrl-C, and what it printed counts as read", async () => {
  const { person, agent, start, run } = await createWorker();
  const write = (text: string) => person.send("POST /v1/messages", { key_id: agent.key.id, text });
  const followed = start(["inbox", "--follow", "--json"]);
  await until(() => app.waits.count() === 1);
  await write("one");
  await until(() => followed.printed.out.includes('"one"'));
  await write("two");
  await until(() => followed.printed.out.includes('"two"'));
  followed.interrupt();
  expect(await followed.code).toBe(0);
  expect(followed.printed.out.trim().split("\n")).toHaveLength(2);
  expect((await run(["inbox"])).out).toBe("");
});

test("relay say sends to the agent of that name, and refuses an unclear name with the choices", async () => {
  const { person, run } = await createWorker();
  const make = async (label: string) => (await person.send("POST /v1/keys", { label })).body;
  const reader = await make("reader");
  expect(await run(["say", "reader", "It works"])).toMatchObject({ code: 0, out: "", err: "" });
  const { body } = await client(app.url, reader.secret)("GET /v1/inbox");
  expect(body.items[0].text).toBe("It works");
  expect((await run(["say", "nobody", "x"])).err).toBe(
    "relay: no agent is called nobody: there are reader\n",
  );
  const { key } = await make("reader");
  const twice = await run(["say", "reader", "x"]);
  expect(twice.err).toStartWith("relay: several agents are called reader: give one of key_");
  expect((await run(["say", key.id, "x"])).code).toBe(0);
});
