/** Rate limits on every surface: who is charged, for what, and what the responses say about it. */

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/errors.ts";
import { toolFailure } from "../../src/mcp/result.ts";
import { startTestApp } from "../support/app.ts";
import {
  claim,
  client,
  createAgent,
  createPair,
  createPerson,
  createTask,
  newToken,
} from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { sendRaw } from "../support/raw.ts";
import { openStream } from "../support/stream.ts";
import { exchange, expectProblem, faultsOf } from "../support/wire.ts";

const env = { RATE_LIMITS: "on", TRUST_PROXY: "1" };
const clock = createTestClock();
const app = await startTestApp({ clock, env });

/** A client with its own address. */
let clients = 0;
const newAddress = () => ({ "x-forwarded-for": `203.0.113.${++clients}` });

/** A person and an agent at a new address. */
async function newPair() {
  const created = await exchange(app.url, "POST", "/v1/accounts", { headers: newAddress() });
  const { account, token } = created.body;
  const person = { account, token, send: client(app.url, token) };
  return { person, agent: await createAgent(app.url, person) };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly credential?: string;
  readonly body?: string;
  readonly type?: string;
}

const sendFrom = (headers: Record<string, string>, { method, path, ...sent }: Sent) =>
  exchange(app.url, method, path, { ...sent, headers });

/** An input for each call of a batch. */
const EMPTY_INPUTS = encodeURIComponent(JSON.stringify({ ...Array(20).fill({}) }));

/** Repeats a request until it is limited; returns how many were not, and the last response. */
async function untilLimited(send: () => ReturnType<typeof exchange>, most = 300) {
  for (let count = 0; count < most; count++) {
    const answer = await send();
    if (answer.status === 429) return { count, answer };
  }
  throw new Error("it was never limited");
}

test("a key has 120 calls at once, each response says how many are left, and 429 says when to retry [§10.6.2]", async () => {
  const { agent } = await newPair();
  const credential = agent.secret;
  const list = { method: "GET", path: "/v1/tasks", credential };
  const first = await sendFrom({}, list);
  expect(first.headers.get("ratelimit-policy")).toBe('"key";q=120;w=12');
  expect(first.headers.get("ratelimit")).toBe('"key";r=119;t=1');
  // Successes, errors after the credential, and HEAD requests cost one each.
  const task = await createTask(agent.send);
  const one = [
    { ...list, method: "HEAD" },
    { ...list, path: "/v1/tasks/x" },
    { ...list, path: "/v1/tasks?limit=0" },
    { ...list, path: "/v1/keys" },
    { method: "DELETE", path: `/v1/tasks/${task.id}`, credential },
    { ...list, path: "/v1/events" },
  ];
  for (const [i, sent] of one.entries()) {
    const { headers } = await sendFrom({}, sent);
    expect([sent, headers.get("ratelimit")]).toEqual([sent, `"key";r=${117 - i};t=1`]);
  }
  const { count, answer } = await untilLimited(() => sendFrom({}, list));
  expect(count).toBe(112);
  expectProblem(answer, "rate_limited");
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(answer.headers.get("ratelimit")).toBe('"key";r=0;t=12');
  // Charged before the kind, the fields and the resource are checked, and after JSON.
  for (const path of ["/v1/keys", "/v1/tasks?limit=0", "/v1/tasks/x", "/v1/events"]) {
    expectProblem(await sendFrom({}, { ...list, path }), "rate_limited");
  }
  const broken = { method: "POST", path: "/v1/tasks", credential, body: "{" };
  expectProblem(await sendFrom({}, broken), "invalid_json");
  expectProblem(await sendFrom({}, { ...broken, body: "[1]" }), "rate_limited");
  // Each key has its own limit.
  const other = await newPair();
  expect((await other.agent.send("GET /v1/tasks")).status).toBe(200);
  await clock.advance(0.1);
  expect((await sendFrom({}, list)).status).toBe(200);
  expect((await sendFrom({}, list)).status).toBe(429);
});

test("an account token has 240 calls at once, including streams [§10.6.2]", async () => {
  const { person } = await newPair();
  await clock.advance(60);
  const stream = await openStream(app.url, person.token);
  expect(stream.response.headers.get("ratelimit-policy")).toBe('"account";q=240;w=12');
  expect(stream.response.headers.get("ratelimit")).toBe('"account";r=239;t=1');
  stream.close();
  const { count } = await untilLimited(() =>
    sendFrom({}, { method: "GET", path: "/v1/account", credential: person.token }),
  );
  expect(count).toBe(239);
  const refused = await openStream(app.url, person.token);
  expect(refused.response.status).toBe(429);
  expect(refused.response.headers.get("retry-after")).toBe("1");
  await refused.response.body!.cancel();
});

test("an address is charged for every request refused without a valid credential [§10.6.2] [§10.6.4]", async () => {
  const body = "{}";
  const large = "x".repeat(256 * 1024 + 1);
  const refusals: readonly (readonly [number, Sent])[] = [
    [401, { method: "GET", path: "/v1/tasks" }],
    [401, { method: "GET", path: "/v1/tasks", credential: "mck_nobody" }],
    [401, { method: "GET", path: "/v1/events" }],
    [404, { method: "GET", path: "/v1/nothing" }],
    [404, { method: "GET", path: "/nothing", credential: "mca_nobody" }],
    [405, { method: "OPTIONS", path: "/v1/tasks" }],
    [405, { method: "POST", path: "/health" }],
    [413, { method: "POST", path: "/v1/tasks", body: large }],
    [415, { method: "POST", path: "/v1/tasks", body, type: "text/plain" }],
    [400, { method: "POST", path: "/v1/tasks", body: "{" }],
    [422, { method: "POST", path: "/v1/accounts", body: '{"attestation":1}' }],
    [401, { method: "GET", path: "/trpc/tasks.list" }],
    [404, { method: "GET", path: "/trpc/nothing" }],
    [405, { method: "POST", path: "/trpc/tasks.list", body }],
    [401, { method: "POST", path: "/trpc/tasks.create", body: "{" }],
    [413, { method: "POST", path: "/trpc/tasks.create", body: large }],
    [422, { method: "POST", path: "/trpc/accounts.create", body: '{"attestation":1}' }],
  ];
  const { agent } = await newPair();
  for (const [status, sent] of refusals) {
    const address = newAddress();
    const answer = await sendFrom(address, sent);
    expect([sent, answer.status]).toEqual([sent, status]);
    const limited = sent.path === "/v1/accounts" || sent.path === "/trpc/accounts.create";
    const name = limited ? "accounts" : "address";
    expect([sent, answer.headers.get("ratelimit")]).toEqual([
      sent,
      limited ? '"accounts";r=5;t=0' : '"address";r=59;t=1',
    ]);
    expect(answer.headers.get("ratelimit-policy")).toStartWith(`"${name}";q=`);
    // The rest of the same kind, then one more.
    for (let i = 0; i < 59; i++) await sendFrom(address, { method: "GET", path: "/x" });
    const over = await sendFrom(address, sent);
    expect([sent, over.status]).toEqual([sent, 429]);
    expect(over.headers.get("retry-after")).toBe("1");
    expect(over.headers.get("ratelimit")).toBe('"address";r=0;t=60');
    const code = sent.path.startsWith("/trpc/") ? over.body.error.data.code_name : over.body.code;
    expect([sent, code]).toEqual([sent, "rate_limited"]);
    // Callers with a credential, and routes that need none, are not affected.
    const good = { method: "GET", path: "/v1/tasks", credential: agent.secret };
    if (status === 401) expect((await sendFrom(address, good)).status).toBe(200);
    for (const path of ["/health", "/v1/openapi.json"]) {
      expect((await sendFrom(address, { method: "GET", path })).status).toBe(200);
    }
    await clock.advance(1);
  }
  const address = newAddress();
  for (let i = 0; i < 70; i++) await sendFrom(address, { method: "GET", path: "/x" });
  const made = await sendFrom(address, { method: "POST", path: "/v1/accounts" });
  expect(made.status).toBe(201);
});

test("a refusal with a valid credential is not charged to the address [§10.6.2]", async () => {
  const { person, agent } = await newPair();
  const address = newAddress();
  for (let i = 0; i < 35; i++) {
    const credential = i % 2 ? person.token : agent.secret;
    const refused = [
      await sendFrom(address, { method: "POST", path: "/v1/tasks", body: "{", credential }),
      await sendFrom(address, { method: "GET", path: "/v1/nothing", credential }),
      await sendFrom(address, { method: "PUT", path: "/v1/tasks", credential }),
      await sendFrom(address, { method: "GET", path: "/trpc/nothing", credential }),
      await sendFrom(address, { method: "GET", path: "/v1/tasks?limit=0", credential }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 404, 405, 404, 422]);
    // They report the caller's own limit, which only the last of them cost a call.
    const [policy] = refused.map(({ headers }) => headers.get("ratelimit-policy"));
    expect(policy).toStartWith(i % 2 ? '"account"' : '"key"');
  }
  const next = await sendFrom(address, { method: "GET", path: "/v1/tasks" });
  expect(next.headers.get("ratelimit")).toBe('"address";r=59;t=1');
  const look = await sendFrom({}, { method: "GET", path: "/v1/tasks", credential: agent.secret });
  expect(look.headers.get("ratelimit")).toBe('"key";r=101;t=2');
});

test("every call of a tRPC batch is charged separately [§10.6.2]", async () => {
  const { agent } = await newPair();
  const names = (count: number, name = "tasks.list") => Array(count).fill(name).join();
  const batch = (path: string, credential?: string, headers = {}) =>
    exchange(app.url, "GET", `/trpc/${path}?batch=1&input=${EMPTY_INPUTS}`, {
      headers,
      ...(credential && { credential }),
    });
  const first = await batch(names(20), agent.secret);
  expect([first.status, first.headers.get("ratelimit")]).toEqual([200, '"key";r=100;t=2']);
  for (let i = 0; i < 4; i++) await batch(names(20), agent.secret);
  for (let i = 0; i < 15; i++) await agent.send("GET /v1/tasks");
  const last = await batch(names(8), agent.secret);
  const codes = last.body.map((call: any) => call.error?.data.code_name ?? "ok");
  expect(codes).toEqual([...Array(5).fill("ok"), ...Array(3).fill("rate_limited")]);
  expect([last.status, last.headers.get("retry-after")]).toEqual([207, "1"]);
  expect((await agent.send("GET /v1/tasks")).status).toBe(429);

  // A batch that is refused as a whole is one request.
  const { agent: other } = await newPair();
  for (const left of [119, 118]) {
    const whole = await batch(names(21), other.secret);
    expect(whole.headers.get("ratelimit")).toStartWith(`"key";r=${left};`);
  }
  const whole = await untilLimited(() => batch(names(21), other.secret));
  expect([whole.count, whole.answer.status]).toEqual([118, 429]);
  expect(whole.answer.body[0]?.error.message ?? whole.answer.body.error.message).toBe(
    "Too many requests. Try again in 1 second.",
  );

  const address = newAddress();
  const mixed = [names(9), names(9, "nothing")].join();
  for (const left of [42, 24, 6]) {
    const { headers } = await batch(mixed, undefined, address);
    expect(headers.get("ratelimit")).toStartWith(`"address";r=${left};`);
  }
  const over = await batch(mixed, undefined, address);
  const refused = over.body.map((call: any) => call.error.data.code_name);
  expect(refused.filter((code: string) => code === "rate_limited").length).toBe(12);
  expect(over.body.every((call: any) => call.error.data.httpStatus >= 401)).toBe(true);
  const messages = over.body.map((call: any) => call.error.message);
  expect(messages.filter((text: string) => text.startsWith("Too many requests.")).length).toBe(12);
});

test("wrong pairing codes are limited to 10 a minute for an address, and to 60 for a /48 [§5.14.4]", async () => {
  const time = createTestClock();
  const limited = await startTestApp({ clock: time, env });
  const addressOf = (n: number) =>
    n < 500 ? `198.51.${n >> 8}.${n & 255}` : `2001:db8:0:${n.toString(16)}::1`;
  const guess = (address: number, path = "/v1/pairings/claim") =>
    exchange(limited.url, "POST", path, {
      body: JSON.stringify({ code: "ABCD-2345", token: newToken() }),
      headers: { "x-forwarded-for": addressOf(address) },
    });
  const tries = async (address: number, count: number) => {
    const all = await Promise.all(Array.from({ length: count }, () => guess(address)));
    return all.filter(({ status }) => status !== 429).length;
  };
  const first = await guess(1);
  expectProblem(first, "not_found", ["code"]);
  expect(first.headers.get("ratelimit-policy")).toBe('"pairings";q=10;w=60');
  expect(first.headers.get("ratelimit")).toBe('"pairings";r=9;t=6');
  expect(await tries(1, 30)).toBe(9);
  const over = await guess(1);
  expectProblem(over, "rate_limited");
  expect(over.headers.get("retry-after")).toBe("6");
  // Recovery codes count as well.
  expectProblem(await guess(1, "/v1/sessions/recover"), "rate_limited");
  const trpc = await guess(1, "/trpc/pairings.claim");
  expect([trpc.status, trpc.body.error.data.code_name]).toEqual([429, "rate_limited"]);
  // Looking codes up would be guessing as well.
  expectProblem(await guess(1, "/v1/pairings/lookup"), "rate_limited");
  // What many addresses try takes nothing from others.
  for (let address = 2; address <= 60; address++) expect(await tries(address, 10)).toBe(10);
  expectProblem(await guess(61), "not_found", ["code"]);
  // A site of IPv6 has 65,536 networks.
  let admitted = 0;
  for (let address = 500; address < 520; address++) admitted += await tries(address, 10);
  expect(admitted).toBe(60);
  await time.advance(60);
  expect(await tries(1, 30)).toBe(10);
  // A correct code counts as well, and a try above the limit does not use it up.
  const person = await createPerson(limited.url);
  const { code } = (await person.send("POST /v1/pairings", {})).body;
  const late = await exchange(limited.url, "POST", "/v1/pairings/claim", {
    body: JSON.stringify({ code, token: newToken() }),
    headers: { "x-forwarded-for": "198.51.0.1" },
  });
  expectProblem(late, "rate_limited");
  expect((await claim(limited.url, { code })).status).toBe(201);
});

test("a right recovery code, and that of a link, is served at an address where others guess without end [§5.14.4] [§5.13.5(7)]", async () => {
  const limited = await startTestApp({
    clock: createTestClock(),
    env: { ...env, PUBLIC_URL: "https://relay.example" },
  });
  const send = (path: string, body: object) =>
    exchange(limited.local_url, "POST", path, {
      body: JSON.stringify({ token: newToken(), ...body }),
      headers: { "x-forwarded-for": "198.51.100.1" },
    });
  const person = await createPerson(limited.local_url);
  const recovery = (await person.send("POST /v1/account/recovery-code", {})).body.code as string;
  const { code, url } = (await person.send("POST /v1/pairings", {})).body as Record<string, string>;
  const link = url!.split("/").at(-1)!;
  const wrong = [
    ["/v1/pairings/claim", "ABCD-2345"],
    ["/v1/pairings/claim", "A".repeat(22)],
    ["/v1/pairings/lookup", "A".repeat(22)],
    ["/v1/sessions/recover", "A".repeat(32)],
  ] as const;
  for (let i = 0; i < 40; i++) {
    await Promise.all(wrong.map(([path, guessed]) => send(path, { code: guessed })));
  }
  for (const [path, guessed] of wrong) {
    expectProblem(await send(path, { code: guessed }), "rate_limited");
  }
  expectProblem(await send("/v1/pairings/claim", { code }), "rate_limited");
  const looked_up = await send("/v1/pairings/lookup", { code: link, token: undefined });
  expect(looked_up.body.account_id).toBe(person.account.id);
  expect((await send("/v1/pairings/claim", { code: link })).status).toBe(201);
  expect((await send("/v1/sessions/recover", { code: recovery })).status).toBe(201);
});

test("without TRUST_PROXY the socket's address counts, and X-Forwarded-For is logged as a warning", async () => {
  const plain = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
  const from = (forwarded: string) =>
    sendRaw(plain.url, "GET", "/v1/tasks", { "x-forwarded-for": forwarded });
  for (let i = 0; i < 60; i++) expectProblem(await from(`203.0.113.${i}`), "unauthorized");
  expect(faultsOf(await from("203.0.113.99"), "rate_limited")).toEqual([]);
  expect(plain.lines.filter((line) => line.includes("TRUST_PROXY")).length).toBe(1);
});

test("RATE_LIMITS=off limits nothing and sends no rate limit headers [§10.6.6]", async () => {
  const off = await startTestApp({ env: { RATE_LIMITS: "off" } });
  for (let i = 0; i < 8; i++) await createPerson(off.url);
  const { agent } = await createPair(off.url);
  const credential = agent.secret;
  for (let i = 0; i < 130; i++) {
    const good = await exchange(off.url, "GET", "/v1/tasks", { credential });
    const bad = await exchange(off.url, "GET", "/v1/tasks");
    expect([good.status, bad.status]).toEqual([200, 401]);
    for (const { headers } of [good, bad]) {
      expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([null, null]);
    }
  }
});

test("a refusal says in words when to try again, on every surface [§10.6.2]", async () => {
  const headers = newAddress();
  const make = (path: string) => exchange(app.url, "POST", path, { headers });
  await untilLimited(() => make("/v1/accounts"));
  const words = "Too many requests. Try again in 60 minutes.";
  expect((await make("/v1/accounts")).body.detail).toBe(words);
  const rpc = await exchange(app.url, "POST", "/trpc/accounts.create", { headers, body: "{}" });
  expect(rpc.body.error.message).toBe(words);
  await clock.advance(3_570);
  expect((await make("/v1/accounts")).body.detail).toMatch(/ Try again in \d\d seconds\.$/);

  const { content } = toolFailure(new ServiceError("rate_limited", { retry_after: 3_600 }), true);
  expect(content).toEqual([{ type: "text", text: `rate_limited: ${words}` }]);
});
