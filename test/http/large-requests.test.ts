/** Large bodies and list pages are charged before they take memory or time (§10.6.7, §11.2.4). */

import { expect, test } from "bun:test";
import { LIMITS } from "../../src/limits.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { actionsOf, entriesOf } from "../support/entries.ts";
import { connect, head, sendRaw } from "../support/raw.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock, env: { RATE_LIMITS: "on", TRUST_PROXY: "1" } });

const KIB = 1024;
const JSON_TYPE = { "content-type": "application/json" };
const PATHS = ["/v1/tasks", "/trpc/tasks.create", "/mcp"] as const;
const LARGE = [{ "content-length": "200000" }, { "transfer-encoding": "chunked" }];

/** The tokens left, as the response reports them. */
const leftOf = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);

/** The response to the head of a request whose body never arrives. */
async function answerToHead(path: string, headers: Record<string, string>) {
  const connection = await connect(app.url);
  connection.write(head("POST", path, { ...JSON_TYPE, ...headers }));
  const answer = await connection.answer();
  connection.end();
  return answer;
}

async function exhaust(credential: string): Promise<void> {
  for (let i = 0; i < 400; i++) {
    const { status } = await exchange(app.url, "GET", "/v1/tasks/none", { credential });
    if (status === 429) return;
  }
  throw new Error("it was never limited");
}

test("a key above its limit has a large body refused unread, with a log entry", async () => {
  const { person, agent } = await createPair(app.url);
  await exhaust(agent.secret);
  await clock.advance(0.001);
  for (const path of PATHS) {
    for (const length of LARGE) {
      const authorization = `Bearer ${agent.secret}`;
      const answer = await answerToHead(path, { ...length, authorization });
      expect([path, length, answer?.status]).toEqual([path, length, 429]);
      expect(answer!.text).toContain("rate_limited");
      expect(answer!.headers.get("ratelimit-policy")).toStartWith('"key"');
    }
  }
  await clock.advance(60);
  const refused = (await entriesOf(clock, person, agent)).slice(-6);
  expect(actionsOf(refused)).toEqual([
    ...Array(4).fill(["POST /v1/tasks", "rate_limited"]),
    ...Array(2).fill(["POST /mcp", "rate_limited"]),
  ]);
});

test("below its limit a credential has its large body read, and without a valid one it is 401 unread [§10.6.7]", async () => {
  const { agent } = await createPair(app.url);
  for (const path of PATHS) {
    const from = { "x-forwarded-for": "203.0.113.9", ...LARGE[0] };
    const answer = await answerToHead(path, { ...from, authorization: "Bearer mck_nobody" });
    expect([path, answer?.status]).toEqual([path, 401]);
  }
  const authorization = `Bearer ${agent.secret}`;
  const headers = { ...JSON_TYPE, authorization };
  const read = await sendRaw(app.url, "POST", "/v1/tasks", headers, "x".repeat(200_000));
  expect(read.text).toContain("invalid_json");
  const description = "\u{1f98a}".repeat(LIMITS.description);
  const made = await createTask(agent.send, { title: "Large", description });
  expect(made.description).toBe(description);
});

test("a body costs a token for each started 64 KiB after the first, whether valid or not", async () => {
  const { agent } = await createPair(app.url);
  const send = async (body: string, path: string = "/v1/tasks") => {
    await clock.advance(60);
    const sent = { credential: agent.secret, body };
    const { status, headers } = await exchange(app.url, "POST", path, sent);
    return [status, leftOf(headers)];
  };
  const bodyOf = (bytes: number) => `{"title":"${"a".repeat(bytes - 12)}"}`;
  expect(await send(bodyOf(64 * KIB))).toEqual([422, 119]);
  expect(await send(bodyOf(64 * KIB + 1))).toEqual([422, 117]);
  expect(await send(bodyOf(256 * KIB))).toEqual([422, 115]);
  expect(await send(bodyOf(256 * KIB), "/trpc/tasks.create")).toEqual([422, 115]);
  // Invalid JSON in a small body costs its caller nothing.
  expect(await send("[".repeat(200 * KIB))).toEqual([400, 115]);
  const too_large = await exchange(app.url, "POST", "/v1/tasks", {
    credential: agent.secret,
    body: bodyOf(256 * KIB + 1),
  });
  expectProblem(too_large, "body_too_large");
});

test("each call of a batch with a large body is charged by itself", async () => {
  const { agent } = await createPair(app.url);
  await clock.advance(60);
  const inputs = { ...Array(3).fill({ title: "t", description: "a".repeat(6_000) }) };
  const body = JSON.stringify(inputs);
  expect(body.length).toBeGreaterThan(LIMITS.large_body_bytes);
  const path = `/trpc/${Array(3).fill("tasks.create").join()}?batch=1`;
  const made = await exchange(app.url, "POST", path, { credential: agent.secret, body });
  expect([made.status, leftOf(made.headers)]).toEqual([200, 117]);
});

test("of many concurrent list pages, those whose turn comes after the limit is used up are 429", async () => {
  const { agent } = await createPair(app.url);
  const description = "\u0001".repeat(10_000);
  for (let i = 0; i < 20; i++) await createTask(agent.send, { title: "t", description });
  await clock.advance(60);
  const list = () => exchange(app.url, "GET", "/v1/tasks?limit=500", { credential: agent.secret });
  const answers = await Promise.all(Array.from({ length: 42 }, list));
  const served = answers.filter(({ status }) => status === 200);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  // Each costs 17 of 120 tokens.
  expect(Buffer.byteLength(served[0]!.text)).toBeGreaterThan(LIMITS.page_bytes * 0.9);
  expect(served.length).toBeLessThanOrEqual(8);
  // Small list pages of an idle process are all served.
  await clock.advance(60);
  const small = () => exchange(app.url, "GET", "/v1/tasks?limit=1", { credential: agent.secret });
  const after = await Promise.all(Array.from({ length: 42 }, small));
  expect(after.every(({ status }) => status === 200)).toBe(true);
});
