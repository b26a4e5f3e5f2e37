/** No question is asked twice: processes are killed while they ask, and the asks are repeated. */

import { expect, test } from "bun:test";
import { callHook, commandOf } from "../support/approve.ts";
import { client, createPair, type Send } from "../support/client.ts";
import { newEra } from "../support/mcp.ts";
import { type RelayProcess, startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const env = { RATE_LIMITS: "off", DATABASE_URL: (await createTestStore()).url };

/** Long enough for several pages of the store's file. */
const CONTEXT = "# Plan\n".repeat(2_000);
const RICH = { prompt: "p", context: CONTEXT, fallback: "No", url: "https://example.com/" };

test(
  "questions asked and answered while processes are killed are complete and exist once [§5.7.2(6)] [§2.5.2]",
  seeded("killed asks", async (random) => {
    const apps: RelayProcess[] = [await startProcess(env), await startProcess(env)];
    const { person, agent } = await createPair(apps[0]!.url);
    const statuses: number[] = [];
    const ids = new Map<string, Set<string>>();
    /** Sends a request to the processes in turn until it is answered. */
    const persist = async (credential: string, first: number, ...args: Parameters<Send>) => {
      for (let attempt = first; ; attempt++) {
        const answer = await client(apps[attempt % 2]!.url, credential)(...args).catch(() => null);
        if (answer !== null && answer.status < 500) return answer;
        await Bun.sleep(5);
      }
    };
    for (let round = 0; round < 4; round++) {
      const names = Array.from({ length: 6 }, (_, i) => `${round} ${i}`);
      const asking = names.map(async (request_id) => {
        const body = { ...RICH, request_id };
        const ask = (first: number) => persist(agent.secret, first, "POST /v1/questions", body);
        const asked = await Promise.all([ask(0), ask(1)]);
        statuses.push(...asked.map(({ status }) => status));
        ids.set(request_id, new Set(asked.map(({ body }) => body.id)));
        const path = `POST /v1/questions/${asked[0]!.body.id}/answer` as const;
        const given = { answer: "Yes", note: request_id };
        const headers = { "idempotency-key": request_id };
        statuses.push((await persist(person.token, 1, path, given, { headers })).status);
      });
      const victim = Math.floor(random() * 2);
      await Bun.sleep(random() * 16);
      apps[victim]!.kill("SIGKILL");
      apps[victim] = await startProcess(env);
      await Promise.all(asking);
      const send = client(apps[round % 2]!.url, agent.secret);
      const { items } = (await send("GET /v1/inbox")).body;
      expect(items.map(({ question }: any) => question.request_id).sort()).toEqual(names.sort());
      for (const { question: listed } of items) {
        const { context_omitted, ...rest } = listed;
        expect([context_omitted, rest.note, rest.answer]).toEqual([true, rest.request_id, "Yes"]);
        const { body } = await send(`GET /v1/questions/${rest.id}`);
        expect(body).toEqual({ ...rest, ...RICH });
      }
    }
    expect([...ids.values()].map(({ size }) => size)).toEqual(Array(24).fill(1));
    expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([]);
    expect(statuses.length).toBe(72);
  }),
  120_000,
);

test("a question whose asking call was lost is joined after its process was killed [§12.4.5]", async () => {
  const [one, two] = [await startProcess(env), await startProcess(env)];
  const { person, agent } = await createPair(one.url);
  const gone = new AbortController();
  const params = { name: "ask_question", arguments: { prompt: "Deploy?", wait_seconds: 50 } };
  const left = newEra(one.url, agent.secret)("tools/call", params, { signal: gone.signal });
  const pending = async (url: string): Promise<any[]> =>
    (await client(url, person.token)("GET /v1/questions")).body.questions;
  const [question] = await until(async () => {
    const questions = await pending(two.url);
    return questions.length > 0 && questions;
  });
  gone.abort();
  await left.catch(() => {});
  // The log entry of the call is written after the mark; only then may the process die.
  await until(async () => {
    const path = `GET /v1/keys/${agent.key.id}/activity` as const;
    const { items } = (await client(two.url, person.token)(path)).body;
    return items.some(({ action }: { action: string }) => action === "ask_question");
  });
  one.kill("SIGKILL");
  await one.exited;
  const soon = { ...params, arguments: { ...params.arguments, wait_seconds: 1 } };
  const { structuredContent } = (await newEra(two.url, agent.secret)("tools/call", soon)).body
    .result;
  expect([structuredContent.id, structuredContent.status]).toEqual([question.id, "pending"]);
  expect((await pending(two.url)).length).toBe(1);
}, 60_000);

test("a permission request survives its process, and nothing was permitted [§12.6.6]", async () => {
  const [one, two] = [await startProcess(env), await startProcess(env)];
  const { person, agent } = await createPair(two.url);
  const list = async (status: string): Promise<any[]> =>
    (await person.send(`GET /v1/questions?status=${status}`)).body.questions;
  const hook = await callHook(one.url, agent.secret, commandOf("ls"));
  const [question] = await until(async () => {
    const found = await list("pending");
    return found.length === 1 && found;
  });
  one.kill("SIGKILL");
  expect(await hook.text).toStartWith("none: ");
  expect(await list("pending")).toEqual([question]);
  // The next prompt of the session asks the other process, and ends the question that nobody waits for.
  const args = commandOf("make", { prompt_id: "prompt-2" });
  const next = await callHook(two.url, agent.secret, args);
  const [other] = await until(async () => {
    const found = await list("pending");
    return found.length === 1 && found[0].id !== question.id && found;
  });
  expect((await list("cancelled")).map(({ id }) => id)).toEqual([question.id]);
  const path = `POST /v1/questions/${other.id}/answer` as const;
  await person.send(path, { answer: "Deny" });
  expect(JSON.parse(await next.text).hookSpecificOutput.decision.behavior).toBe("deny");
}, 60_000);
