/** Permission requests of several agents in one session, and of equal tool uses (§12.6.6). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { callHook, commandOf } from "../support/approve.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const there = await startTestApp({ clock, database_url });

/** A key whose hooks ask, and which of its requests wait for the person. */
async function createSession() {
  const { person, agent } = await createPair(app.url);
  const list = async (): Promise<any[]> =>
    (await person.send("GET /v1/questions")).body.questions.toReversed();
  const nameOf = ({ prompt, action: { agent: by = "main" } }: any) =>
    `${prompt.split(/: |\n/).at(-1)} by ${by}`;
  return {
    list,
    /** Resolves once exactly these requests wait. */
    waits: (...names: string[]) =>
      until(async () => (await list()).map(nameOf).join() === names.join()),
    /** Asks, and resolves once the question exists. */
    async ask(command: string, more: object = {}) {
      const before = new Set((await list()).map(({ id }) => id));
      const call = await callHook(app.url, agent.secret, commandOf(command, more));
      const asked = await until(async () => (await list()).find(({ id }) => !before.has(id)));
      // The next question is created later.
      await clock.advance(0.01);
      return { ...call, id: asked.id as string };
    },
    async answer(id: string, answer: string) {
      const { status } = await person.send(`POST /v1/questions/${id}/answer`, { answer });
      expect(status).toBe(200);
      await clock.advance(0.01);
    },
    /** An event of the client, received by another process; resolves once it has its effect. */
    async report(event: string, more: object = {}) {
      const args = { ...commandOf("", more), event };
      expect(await (await callHook(there.url, agent.secret, args)).text).toBe("");
    },
  };
}

const input = (command: string) => ({ tool_input: JSON.stringify({ command }) });
const behavior = (text: string) => JSON.parse(text).hookSpecificOutput.decision.behavior;

test("a subagent and the main agent do not withdraw each other's requests [§12.6.6]", async () => {
  const { ask, answer, waits } = await createSession();
  const first = await ask("bg-1", { agent_id: "a1" });
  await ask("main-1", { agent_id: "", prompt_id: "prompt-2" });
  // A subagent's events name the prompt that its session works on meanwhile.
  await ask("bg-2", { agent_id: "a1", prompt_id: "prompt-2" });
  await ask("bg-3", { agent_id: "a2" });
  await waits("bg-1 by a1", "main-1 by main", "bg-2 by a1", "bg-3 by a2");
  // A later prompt of the main agent ends what its earlier prompt asked.
  await ask("main-2", { prompt_id: "prompt-3" });
  await waits("bg-1 by a1", "bg-2 by a1", "bg-3 by a2", "main-2 by main");
  await answer(first.id, "Allow");
  expect(behavior(await first.text)).toBe("allow");
  await waits("bg-2 by a1", "bg-3 by a2", "main-2 by main");
});

test("requests of Codex stand side by side, since its subagents have turns of their own [§12.6.6]", async () => {
  const { ask, waits } = await createSession();
  for (const turn of ["1", "2", "3"]) {
    await ask(`step-${turn}`, { client: "codex", prompt_id: "", turn_id: `turn-${turn}` });
  }
  await waits("step-1 by main", "step-2 by main", "step-3 by main");
});

test("a tool use ends one equal request of the agent that used it, the oldest [§12.6.6]", async () => {
  const { ask, report, waits, list } = await createSession();
  await ask("ls", { agent_id: "a1" });
  await ask("ls", { agent_id: "a2" });
  await ask("ls");
  const last = await ask("ls");
  await report("PostToolUse", { ...input("ls"), agent_id: "a3" });
  await report("PostToolUse", { ...input("ls -l"), agent_id: "a2" });
  await waits("ls by a1", "ls by a2", "ls by main", "ls by main");
  // The use ends the subagent's request in any prompt.
  await report("PostToolUse", { ...input("ls"), agent_id: "a2", prompt_id: "prompt-2" });
  await waits("ls by a1", "ls by main", "ls by main");
  await report("PostToolUseFailure", input("ls"));
  await waits("ls by a1", "ls by main");
  expect((await list())[1].id).toBe(last.id);
  await report("PostToolUse", input("ls"));
  await report("PostToolUse", input("ls"));
  await waits("ls by a1");
});

test("a reported use that the person permitted in Relay ends no other request [§12.6.6]", async () => {
  const { ask, report, answer, waits } = await createSession();
  const first = await ask("make");
  const denied = await ask("make");
  await ask("make");
  await answer(first.id, "Allow");
  expect(behavior(await first.text)).toBe("allow");
  await answer(denied.id, "Deny");
  await report("PostToolUse", input("make"));
  await waits("make by main");
  // That use is accounted for, and a denied tool is not used: this use was permitted at the client.
  await report("PostToolUse", input("make"));
  await waits();
  const earlier = await ask("make");
  await answer(earlier.id, "Allow");
  await ask("make");
  await report("PostToolUse", input("make"));
  await waits();
});

test("a plan permitted at the client is no longer asked, whatever input its use has [§12.6.6]", async () => {
  const { ask, report, waits } = await createSession();
  const plan = (text: string) => ({
    tool_name: "ExitPlanMode",
    tool_input: JSON.stringify({ plan: text, planFilePath: "/p.md" }),
  });
  await ask("", { ...plan("one"), agent_id: "a1" });
  await ask("", plan("two"));
  await report("PostToolUse", { tool_name: "ExitPlanMode", tool_input: "{}" });
  await waits("one by a1");
});

test("a stop ends the requests of the agent that stopped, and the end of a session ends all [§12.6.6]", async () => {
  const { ask, report, waits } = await createSession();
  await ask("bg-1", { agent_id: "a1" });
  await ask("main-1");
  await report("Stop", { agent_id: "" });
  await waits("bg-1 by a1");
  await report("Stop", { agent_id: "a2" });
  await waits("bg-1 by a1");
  await report("SessionEnd");
  await waits();
});
