/** What the size of a response costs, and what the calls of one tRPC batch share. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { oldEra } from "../support/mcp.ts";
import { exchange } from "../support/wire.ts";

const clock = createTestClock();
const limited = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
const app = await startTestApp();

const KIB = 1024;
const ESCAPED = "\u0001".repeat(10_000);

/** The tokens left, as the response reports them. */
const leftOf = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);

interface Call {
  readonly error?: { readonly data: { readonly code_name: string; readonly httpStatus: number } };
  readonly result?: { readonly data: any };
}

/** Sends one batch with the same query several times. */
async function batchOf(url: string, credential: string, names: readonly string[], input: object) {
  const inputs = encodeURIComponent(JSON.stringify({ ...names.map(() => input) }));
  const path = `/trpc/${names.join()}?batch=1&input=${inputs}`;
  const answer = await exchange(url, "GET", path, { credential });
  return { ...answer, calls: answer.body as Call[], bytes: Buffer.byteLength(answer.text) };
}

const codesOf = (calls: readonly Call[]) => calls.map(({ error }) => error?.data.code_name ?? "ok");

test("a response costs a token for each started 64 KiB after the first [§10.6.3]", async () => {
  const { person, agent } = await createPair(limited.url);
  for (let i = 0; i < 20; i++) await createTask(agent.send, { title: "t", description: ESCAPED });
  const get = async (path: string) => {
    await clock.advance(60);
    const answer = await exchange(limited.url, "GET", path, { credential: agent.secret });
    return [Buffer.byteLength(answer.text), leftOf(answer.headers)] as const;
  };
  for (const limit of [1, 2, 5, 20]) {
    const [bytes, left] = await get(`/v1/tasks?limit=${limit}`);
    const more = bytes > 64 * KIB ? Math.ceil(bytes / (64 * KIB)) : 0;
    expect([limit, bytes > 64 * KIB]).toEqual([limit, limit > 1]);
    expect([limit, left]).toEqual([limit, 119 - more]);
    // The same on tRPC, whose response is slightly longer.
    const input = encodeURIComponent(JSON.stringify({ limit }));
    const [size, there] = await get(`/trpc/tasks.list?input=${input}`);
    expect(there).toBe(size > 64 * KIB ? 119 - Math.ceil(size / (64 * KIB)) : 119);
  }
  await clock.advance(60);
  const tool = await oldEra(limited.url, agent.secret)("tools/call", {
    name: "list_tasks",
    arguments: { limit: 5 },
  });
  const size = Buffer.byteLength(tool.text);
  expect([tool.status, leftOf(tool.headers)]).toEqual([200, 119 - Math.ceil(size / (64 * KIB))]);

  // A debt is paid off before the next call, and is at most one window.
  await clock.advance(60);
  const list = { method: "GET", path: "/v1/tasks?limit=500", credential: agent.secret };
  const send = () => exchange(limited.url, list.method, list.path, list);
  let answer = await send();
  for (let i = 0; i < 20 && answer.status === 200; i++) answer = await send();
  expect(answer.status).toBe(429);
  const wait = Number(answer.headers.get("retry-after"));
  expect(wait).toBeLessThanOrEqual(13);
  expect(leftOf(answer.headers)).toBe(0);
  await clock.advance(wait);
  expect((await send()).status).toBe(200);
  // The account has its own limit.
  expect((await person.send("GET /v1/keys")).status).toBe(200);
});

test("20 lists in one batch share 1 MiB, and each call that no longer fits is 429 [§13.4]", async () => {
  const { agent } = await createPair(app.url);
  const made: string[] = [];
  for (let i = 0; i < 30; i++) {
    made.push((await createTask(agent.send, { title: "t", description: ESCAPED })).id);
  }
  const lists = Array<string>(20).fill("tasks.list");
  const { status, headers, calls, bytes } = await batchOf(app.url, agent.secret, lists, {
    limit: 500,
  });
  expect([status, headers.get("retry-after")]).toEqual([207, "1"]);
  expect(bytes).toBeLessThan(1.2 * KIB * KIB);
  const codes = codesOf(calls);
  expect(new Set(codes)).toEqual(new Set(["ok", "rate_limited"]));
  expect(codes.indexOf("rate_limited")).toBeGreaterThanOrEqual(4);
  for (const { error, result } of calls) {
    if (error) expect(error.data.httpStatus).toBe(429);
    else expect(result!.data.next_cursor).toBeString();
  }
  // The rest of a refused list is read alone, by its cursor.
  const { tasks, next_cursor } = calls[0]!.result!.data;
  const rest = await agent.send(`GET /v1/tasks?limit=500&cursor=${next_cursor}`);
  const ids = [...tasks, ...rest.body.tasks].map(({ id }: { id: string }) => id);
  expect(ids).toEqual(made.toReversed().slice(0, ids.length));
  // The next batch has its own budget.
  const again = await batchOf(app.url, agent.secret, ["tasks.list", "tasks.list"], { limit: 2 });
  expect(codesOf(again.calls)).toEqual(["ok", "ok"]);
});

test("mutations in a batch are never refused because of the size of their responses", async () => {
  const { agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "t", description: ESCAPED });
  const names = Array<string>(20).fill("tasks.update").join();
  const body = JSON.stringify({
    ...Array.from({ length: 20 }, (_, i) => ({ task_id: id, progress: i })),
  });
  const { status, text } = await exchange(app.url, "POST", `/trpc/${names}?batch=1`, {
    credential: agent.secret,
    body,
  });
  expect(status).toBe(200);
  expect(Buffer.byteLength(text)).toBeGreaterThan(KIB * KIB);
  expect(codesOf(JSON.parse(text))).toEqual(Array(20).fill("ok"));
});

test("a batch of small lists, reads and waits is answered completely", async () => {
  const { person, agent } = await createPair(app.url);
  const { body: question } = await agent.send("POST /v1/questions", { prompt: "Go on?" });
  for (let i = 0; i < 30; i++) await createTask(agent.send);
  const names = [
    "accounts.get",
    "keys.list",
    "questions.list",
    ...Array<string>(17).fill("tasks.list"),
  ];
  const { status, calls } = await batchOf(app.url, person.token, names, {});
  expect([status, codesOf(calls)]).toEqual([200, Array(20).fill("ok")]);
  for (const { result } of calls.slice(3)) expect(result!.data.tasks.length).toBe(30);

  // Many waits do not hold up the list after them, and it does not end them.
  const waits = Array<string>(19).fill("questions.get");
  const input = { question_id: question.id, wait: 50 };
  const inputs = { ...waits.map(() => input), 19: {} };
  const path = `/trpc/${[...waits, "tasks.list"].join()}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
  const waiting = client(app.url, agent.secret)(`GET ${path as `/${string}`}`);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  const { body } = await waiting;
  expect(codesOf(body)).toEqual(Array(20).fill("ok"));
  expect(body[0].result.data.status).toBe("answered");
  expect((await createAgent(app.url, person)).secret).toBeString();
});
