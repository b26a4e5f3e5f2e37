/**
 * The load of `bun run soak:load`: every kind of client at a steady, low rate on one process, whose figures are read
 * every ten seconds. Runs in the test runner; the environment has its options (soak-load.ts).
 */

import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createClient } from "../../src/client/client.ts";
import { ADMIN, metricsOf } from "../../test/support/admin.ts";
import { type Agent, client, createAgent, type Person } from "../../test/support/client.ts";
import { sampleOf } from "../../test/support/exposition.ts";
import { tap } from "../../test/support/ntfy.ts";
import { startProcess } from "../../test/support/process.ts";
import { openStream } from "../../test/support/stream.ts";
import { createAccount, startStandIns } from "../chaos/stand-ins.ts";
import type { Sample } from "./figures.ts";

const MINUTES = Number(process.env.RELAY_SOAK_MINUTES ?? 30);
const RATE = Number(process.env.RELAY_SOAK_RATE ?? 2);
const OUT = process.env.RELAY_SOAK_OUT ?? "";
/** Seconds between two samples. */
const EVERY = 10;
/** Seconds between two questions that reach every channel: a chat takes one message a second. */
const REACH_EVERY = 6;
/** Agents that work without channels. */
const AGENTS = 6;

const folder = mkdtempSync(join(tmpdir(), "relay-soak-"));
const stop = new AbortController();
/** What clients did, and what they met besides success. */
const counts: Record<string, number> = {};
const faults: string[] = [];
const count = (name: string) => {
  counts[name] = (counts[name] ?? 0) + 1;
};

/** Runs of a step at the same time: a starved machine gets less load, and no pile of it. */
const AT_ONCE = 8;

/** Runs `step` every `seconds`, without waiting for the one before, and resolves once all have ended. */
async function every(seconds: number, name: string, step: (n: number) => Promise<unknown>) {
  const running = new Set<Promise<unknown>>();
  const from = performance.now();
  for (let n = 0; !stop.signal.aborted; n++) {
    const one = step(n).then(
      () => count(name),
      (error: unknown) => void faults.push(`${name}: ${error}`),
    );
    running.add(one);
    void one.then(() => running.delete(one));
    const due = from + (n + 1) * seconds * 1000 - performance.now();
    await Promise.race([Bun.sleep(Math.max(0, due)), aborted]);
    while (running.size >= AT_ONCE) await Promise.race(running);
  }
  await Promise.all(running);
}
const aborted = new Promise<void>((end) => stop.signal.addEventListener("abort", () => end()));

/** One piece of work of an agent, and the answer of its person. */
async function work(url: string, person: Person, agent: Agent, n: number): Promise<void> {
  const relay = createClient({ url, credential: agent.secret });
  const of_person = createClient({ url, credential: person.token });
  const task = await relay.tasks.create({ title: `Task ${n}`, description: "x".repeat(n % 4_000) });
  await relay.tasks.update(task.id, { status: "in_progress", progress: 10 });
  const prompt = `Go on with ${n}?`;
  const answer = async () => {
    // Let the question arrive, as a person needs time to read it.
    for (;;) {
      await Bun.sleep(300);
      const { questions } = await of_person.questions.list({ limit: 100 });
      const mine = questions.find((one) => one.prompt === prompt);
      if (mine) return of_person.questions.answer(mine.id, { answer: "Yes" });
    }
  };
  const asking = relay.questions.askAndWait({ prompt, task_id: task.id });
  const [answered] = await Promise.all([asking, answer()]);
  expect(answered.answer).toBe("Yes");
  await relay.tasks.update(task.id, { status: "done", status_note: `Done ${n}` });
  expect((await relay.tasks.get(task.id)).progress).toBe(100);
  await relay.tasks.list({ limit: 20 });
  await relay.inbox.read({ limit: 50 });
  await relay.tasks.delete(task.id);
}

/** A session of the official client, which asks and leaves before the answer. */
async function callTools(url: string, agent: Agent, n: number): Promise<void> {
  const mcp = new McpClient({ name: "soak", version: "1" });
  const headers = { authorization: `Bearer ${agent.secret}` };
  await mcp.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent, isError } = (await mcp.callTool({
      name,
      arguments: args,
    })) as { structuredContent: { id: string }; isError?: boolean };
    if (isError) throw new Error(`${name} failed`);
    return structuredContent;
  };
  const task = await call("create_task", { title: `MCP ${n}` });
  await call("update_task", { task_id: task.id, progress: 40 });
  const question = await call("ask_question", { prompt: `MCP ${n}?`, wait_seconds: 1 });
  await call("cancel_question", { question_id: question.id });
  await call("list_tasks", {});
  await call("delete_task", { task_id: task.id });
  await mcp.close();
}

/** What a server refuses, and clients that go away: nothing of it may stay. */
async function misbehave(url: string, agent: Agent): Promise<void> {
  const send = client(url, agent.secret);
  expect((await client(url, "mck_wrong")("GET /v1/tasks")).status).toBe(401);
  expect((await send("POST /v1/tasks", { title: "" })).status).toBe(422);
  expect((await send(`GET /v1/tasks/tsk_${"0".repeat(32)}`)).status).toBe(404);
  const gone = AbortSignal.timeout(500);
  await send("GET /v1/inbox?wait=50", undefined, { signal: gone }).catch(() => {});
}

test(
  "a process under steady load of every kind",
  async () => {
    const services = await startStandIns();
    const database = join(folder, "relay.db");
    const app = await startProcess({
      ...services.env,
      ...ADMIN,
      DATABASE_URL: `file:${database}`,
      RATE_LIMITS: "on",
      TRUST_PROXY: "1",
      DRAIN_SECONDS: "0",
    });
    const { url } = app;
    const person = await createAccount(url);
    const agents: Agent[] = [];
    for (let i = 0; i < AGENTS; i++) agents.push(await createAgent(url, person, `agent ${i}`));
    const reached = await createAccount(url);
    const reaching = await createAgent(url, reached, "reaching");
    const target = await services.reach(url, reached, reaching);
    const kept = await openStream(url, person.token);

    const reach = async (n: number) => {
      const relay = createClient({ url, credential: reaching.secret });
      const asking = relay.questions.askAndWait({ prompt: `Ship ${n}?` }, { within: 120 });
      const way = n % 3;
      const find = (): Promise<unknown> | object | undefined => {
        if (way === 0) {
          const shown = services.ntfy.published.find(
            (one) => one.topic === target.topic && one.message?.startsWith(`Ship ${n}?`),
          );
          return shown && tap(shown, "Yes");
        }
        const message = target.user
          .chat(services.bot)
          .find((one) => one.text.includes(`Ship ${n}?`) && one.buttons.length > 0);
        return message && target.user.tap(services.bot, message, "Yes");
      };
      const answer = async () => {
        while (!(await find())) await Bun.sleep(100);
      };
      const [answered] = await Promise.all([asking, answer()]);
      expect(answered.answer).toBe("Yes");
      // The stand-ins keep what they got; in half an hour that would be theirs, not Relay's, to hold.
      for (const list of [services.ntfy.published, services.ntfy.replies, services.apple.received])
        if (list.length > 200) list.splice(0, list.length - 200);
    };

    const samples: Sample[] = [];
    const from = performance.now();
    const sample = async () => {
      const { all } = await metricsOf(url);
      const read = (name: string) => sampleOf(all, name) ?? Number.NaN;
      samples.push({
        seconds: Math.round((performance.now() - from) / 100) / 10,
        rss_bytes: read("process_resident_memory_bytes"),
        descriptors: read("process_open_fds"),
        wal_bytes: read("relay_store_wal_bytes"),
        // In the last minute.
        lag_seconds: read("nodejs_eventloop_lag_p50_seconds"),
        cpu_seconds: read("process_cpu_seconds_total"),
      });
      if (OUT) await Bun.write(OUT, JSON.stringify({ samples, counts, faults }));
    };
    setTimeout(() => stop.abort(), MINUTES * 60_000);
    await Promise.all([
      every(EVERY, "samples", sample),
      every(1 / RATE, "work", (n) => work(url, person, agents[n % AGENTS]!, n)),
      every(4 / RATE, "tools", (n) => callTools(url, agents[n % AGENTS]!, n)),
      every(REACH_EVERY, "reached", reach),
      every(5, "refused", (n) => misbehave(url, agents[n % AGENTS]!)),
      every(15, "streams", async () => {
        const stream = await openStream(url, person.token);
        await Bun.sleep(5_000);
        stream.close();
      }),
    ]);
    expect(kept.events.length).toBeGreaterThan(0);
    kept.close();
    faults.push(...services.faults());
    await Bun.write(OUT || join(folder, "out"), JSON.stringify({ samples, counts, faults }));
    app.kill("SIGTERM");
    await app.exited;
    rmSync(folder, { recursive: true, force: true });
  },
  (MINUTES + 5) * 60_000,
);
