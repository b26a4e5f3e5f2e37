/** Which calls of a permission hook and a permission tool share one question (§12.6.3). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf, openCallSums } from "../support/approve.ts";
import { createPair } from "../support/client.ts";
import { createTestClock, whileMoving } from "../support/clock.ts";
import { openSession } from "../support/mcp.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });
const calls = await openCallSums(database_url);

test("calls with different input, session, folder or host are two questions [§12.6.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const list = async (): Promise<any[]> =>
    (await person.send("GET /v1/questions?status=pending")).body.questions;
  const pending = (count: number) => until(async () => (await list()).length === count);
  const input = { command: "git clean -fdx", workdir: "~/a" };
  const hook = (more: object) =>
    callHook(
      there.url,
      agent.secret,
      commandOf("", { tool_name: "shell", tool_input: input, ...more }),
      {
        headers: { "x-agent-host": "host-1" },
      },
    );
  const tool = (more: object, host = "host-1") =>
    callHook(
      app.url,
      agent.secret,
      { tool_name: "shell", input, tool_use_id: "toolu_1", ...more },
      { headers: { "x-agent-host": host } },
    );
  const others = [
    await tool({ input: { ...input, workdir: "~/b" } }),
    await tool({ input: { ...input, description: "Harmless" } }),
    await tool({ session_id: "decoy" }),
    await tool({ input: { ...input, workdir: "" }, cwd: "/srv" }),
    await tool({}, "host-2"),
  ];
  await pending(5);
  const asked = await hook({});
  await pending(6);
  // The order of members makes no difference, and neither does a value that one call leaves out.
  const { command, workdir } = input;
  const joins = await tool({ input: { workdir, command } });
  const [question] = (await list()).filter(({ action }) => action.session === "session-1");
  await until(async () => (await calls(question.id)) === "3 0");
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Allow" });
  expect(JSON.parse(await joins.text).behavior).toBe("allow");
  await pending(5);
  for (const { leave } of [...others, asked]) leave();
  await pending(0);
});

test("calls of one session join whichever of them names a prompt, and withdraw nothing [§12.6.3] [§12.6.6]", async () => {
  const hook = (command: string, more: object) => commandOf(command, more);
  const tool = (command: string, more: object) => ({
    ...{ tool_name: "Bash", input: { command }, tool_use_id: "toolu_1" },
    ...{ session_id: "session-1", ...more },
  });
  const named = { prompt_id: "prompt-1" };
  const unnamed = { prompt_id: "" };
  for (const [first, second] of [
    [hook("make", named), tool("make", unnamed)],
    [tool("make", unnamed), hook("make", named)],
    [tool("make", named), hook("make", unnamed)],
    [hook("make", unnamed), tool("make", named)],
  ]) {
    const { person, agent } = await createPair(app.url);
    const list = async (): Promise<any[]> =>
      (await person.send("GET /v1/questions?status=pending")).body.questions;
    const pending = (count: number) => until(async () => (await list()).length === count);
    const one = await callHook(app.url, agent.secret, first!);
    await pending(1);
    const [question] = await list();
    const two = await callHook(there.url, agent.secret, second!);
    await until(async () => (await calls(question.id)) === "3 0");
    expect((await list()).map(({ id }) => id)).toEqual([question.id]);
    // A permission tool that names no prompt stays beside other tool uses.
    const others = [tool("id", unnamed), tool("pwd", unnamed)];
    for (const [at, other] of others.entries()) {
      await callHook(app.url, agent.secret, other);
      await pending(2 + at);
    }
    await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Allow" });
    const texts = await whileMoving(clock, Promise.all([one.text, two.text]));
    for (const text of texts) expect(text).toContain(`"behavior":"allow"`);
    await pending(2);
  }
});

test("calls of two MCP sessions, such as two windows of a client, are two questions [§12.6.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const [one, other] = [
    await openSession(app.url, agent.secret),
    await openSession(app.url, agent.secret),
  ];
  const list = async (): Promise<any[]> =>
    (await person.send("GET /v1/questions?status=pending")).body.questions;
  const within = (id?: string) => ({ headers: id === undefined ? {} : { "mcp-session-id": id } });
  const hook = (id?: string) =>
    callHook(app.url, agent.secret, commandOf("rm -rf .", { cwd: "/srv/sandbox" }), within(id));
  // The call names neither its folder nor its session.
  const tool = (id?: string) =>
    callHook(
      there.url,
      agent.secret,
      { tool_name: "Bash", input: { command: "rm -rf ." }, tool_use_id: "toolu_1" },
      within(id),
    );
  for (const [first, second, questions] of [
    [() => hook(one.id), () => tool(other.id), 2],
    [() => tool(one.id), () => hook(other.id), 2],
    [() => hook(one.id), () => tool(one.id), 1],
    [() => tool(one.id), () => hook(one.id), 1],
    [() => hook(one.id), () => tool(), 1],
    [() => hook(), () => tool(one.id), 1],
  ] as const) {
    const asked = await first();
    const { id } = await until(async () => (await list())[0]);
    const also = await second();
    const joins = questions === 1;
    await until(async () =>
      joins ? (await calls(id))!.startsWith("3 ") : (await list()).length === 2,
    );
    // When two calls wait for one question and one leaves, the other keeps waiting.
    asked.leave();
    if (joins) await until(async () => !(await calls(id))!.endsWith(" 0"));
    await until(async () => (await list()).length === 1);
    also.leave();
    await until(async () => (await list()).length === 0);
  }
});

test("a call that could join the questions of two sessions joins neither [§12.6.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const list = async (): Promise<any[]> =>
    (await person.send("GET /v1/questions?status=pending")).body.questions;
  const waits = (count: number) => until(async () => (await list()).length === count);
  const hook = (session_id: string, cwd: string) =>
    callHook(app.url, agent.secret, commandOf("rm -rf .", { session_id, cwd }));
  const tool = (more: object = {}) => {
    const use = { tool_name: "Bash", input: { command: "rm -rf ." }, tool_use_id: "toolu_1" };
    return callHook(there.url, agent.secret, { ...use, ...more });
  };
  const hooks = [await hook("session-1", "/srv/sandbox"), await hook("session-2", "/srv/app")];
  await waits(2);
  const unclear = await tool();
  await waits(3);
  const clear = await tool({ session_id: "session-2" });
  const joined = (await list()).find(({ action }) => action.session === "session-2");
  await until(async () => (await calls(joined.id)) === "3 0");
  for (const { leave } of [...hooks, unclear, clear]) leave();
  await waits(0);
});

test("calls of two agents of a session are two questions [§12.6.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const pending = (count: number) =>
    until(async () => (await person.send("GET /v1/questions")).body.questions.length === count);
  const tool = { tool_name: "Bash", input: { command: "make" }, tool_use_id: "toolu_1" };
  await callHook(app.url, agent.secret, commandOf("make", { agent_id: "a1" }));
  await pending(1);
  await callHook(there.url, agent.secret, { ...tool, agent_id: "a2" });
  await pending(2);
});
