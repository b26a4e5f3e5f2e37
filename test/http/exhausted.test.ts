/** Addresses above their limit: refused before their body is read, unless a credential is valid. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { connect, head, sendRaw } from "../support/raw.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock, env: { RATE_LIMITS: "on", TRUST_PROXY: "1" } });
const { person, agent } = await createPair(app.url);

let addresses = 0;

/** An address that has just used up its limit. */
async function exhaust(): Promise<Record<string, string>> {
  const headers = { "x-forwarded-for": `203.0.113.${++addresses}` };
  for (let i = 0; i < 60; i++) {
    expect((await exchange(app.url, "GET", "/v1/tasks", { headers })).status).toBe(401);
  }
  return headers;
}

const PATHS = ["/v1/tasks", "/trpc/tasks.create", "/mcp"] as const;

/** Values of `Authorization` that are not valid. */
const CREDENTIALS = [null, "Bearer", "Basic eDp5", "Bearer mck_nobody", "Bearer x"];

/** Sends only the head of a request. */
async function begin(path: string, headers: Record<string, string>) {
  const connection = await connect(app.url);
  const sent = { "content-type": "application/json", "content-length": "200000", ...headers };
  connection.write(head("POST", path, sent));
  return connection;
}

test("above its limit, an address without a valid credential is refused before its body arrives", async () => {
  for (const path of PATHS) {
    const from = await exhaust();
    for (const authorization of CREDENTIALS) {
      const headers = { ...from, ...(authorization !== null && { authorization }) };
      const connection = await begin(path, headers);
      const answer = (await connection.answer())!;
      connection.end();
      if (path === "/mcp" && authorization === null) {
        // A client starts to sign in (§18.8.2).
        expectProblem(answer, "unauthorized");
        continue;
      }
      expect([path, authorization, answer.status]).toEqual([path, authorization, 429]);
      if (!path.startsWith("/trpc/")) expectProblem(answer, "rate_limited");
      else expect(JSON.parse(answer.text).error.data.code_name).toBe("rate_limited");
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("ratelimit")).toBe('"address";r=0;t=60');
    }
  }
});

test("above its limit, an address is served with a valid credential, and on routes that need none", async () => {
  const headers = await exhaust();
  for (const credential of [agent.secret, person.token]) {
    const mine = credential === agent.secret;
    const body = JSON.stringify({ title: "t", ...(!mine && { key_id: agent.key.id }) });
    for (const path of ["/v1/tasks", "/trpc/tasks.create"]) {
      const made = await exchange(app.url, "POST", path, { headers, credential, body });
      expect([path, made.status]).toEqual([path, path === "/v1/tasks" ? 201 : 200]);
      expect(made.headers.get("ratelimit-policy")).toStartWith(mine ? '"key"' : '"account"');
    }
  }
  for (const path of ["/v1/accounts", "/trpc/accounts.create"]) {
    const made = await exchange(app.url, "POST", path, { headers, body: "{}" });
    expect(made.status).toBeLessThan(300);
  }
  // A public call does not let the other calls of its batch through.
  const batch = "/trpc/accounts.create,tasks.create?batch=1";
  expect((await exchange(app.url, "POST", batch, { headers, body: "{}" })).status).toBe(429);
});

/** The response to the head of a request whose body never arrives. */
async function answerToHead(path: string, headers: Record<string, string>) {
  const connection = await connect(app.url);
  const type = { "content-type": "application/json" };
  connection.write(`${head("POST", path, { ...type, ...headers })}{`);
  const answer = await connection.answer();
  connection.end();
  return answer;
}

const OPEN_PATHS = [
  "/v1/accounts",
  "/v1/attest/challenge",
  "/trpc/accounts.create",
  "/trpc/attest.challenge",
];
const JUNK = "x".repeat(200_000);
const LARGE = [{ "content-length": "200000" }, { "transfer-encoding": "chunked" }];

test("routes without a credential refuse an address's large bodies unread, and read small ones", async () => {
  const from = await exhaust();
  for (const path of OPEN_PATHS) {
    for (const length of LARGE) {
      const answer = await answerToHead(path, { ...from, ...length });
      expect([path, length, answer?.status]).toEqual([path, length, 429]);
      expect(answer!.text).toContain("rate_limited");
      expect(answer!.headers.get("ratelimit")).toBe('"address";r=0;t=60');
    }
  }
  // An attestation may be 32 KiB.
  const body = JSON.stringify({ attestation: "x".repeat(32 * 1024) });
  const made = await exchange(app.url, "POST", "/v1/accounts", { headers: from, body });
  expect(made.status).toBe(201);
  const none = await exchange(app.url, "POST", "/v1/attest/challenge", { headers: from });
  expect(none.status).toBe(200);
  // The body of another address is read.
  const other = { "x-forwarded-for": "203.0.113.201", "content-type": "application/json" };
  expect((await sendRaw(app.url, "POST", "/v1/accounts", other, JUNK)).text).toContain(
    "invalid_json",
  );
});

test("an address without challenges left has its large bodies refused on that route alone", async () => {
  const from = { "x-forwarded-for": "203.0.113.202" };
  for (let i = 0; i < 20; i++) {
    const made = await exchange(app.url, "POST", "/v1/attest/challenge", { headers: from });
    expect(made.status).toBe(200);
  }
  for (const path of ["/v1/attest/challenge", "/trpc/attest.challenge"]) {
    const answer = await answerToHead(path, { ...from, ...LARGE[0] });
    expect([path, answer?.status]).toEqual([path, 429]);
    expect(answer!.headers.get("ratelimit-policy")).toStartWith('"challenges"');
  }
  const headers = { ...from, "content-type": "application/json" };
  const read = await sendRaw(app.url, "POST", "/v1/accounts", headers, JUNK);
  expect(read.text).toContain("invalid_json");
});

test("once the limit allows another call, the address has its bodies read as usual", async () => {
  const headers = await exhaust();
  const send = () => exchange(app.url, "POST", "/v1/tasks", { headers, body: "{" });
  expectProblem(await send(), "rate_limited");
  await clock.advance(1);
  expectProblem(await send(), "invalid_json");
  expectProblem(await send(), "rate_limited");
  const other = { "x-forwarded-for": "203.0.113.200" };
  const answer = await exchange(app.url, "POST", "/v1/tasks", { headers: other, body: "{" });
  expectProblem(answer, "invalid_json");
});
