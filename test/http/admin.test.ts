/** Only `ADMIN_TOKEN` opens the operator's side, and it opens nothing else. */

import { expect, test } from "bun:test";
import { TRPCClientError } from "@trpc/client";
import { adminRouter } from "../../routers/admin.ts";
import type { ServiceError } from "../../src/errors.ts";
import { ADMIN, ADMIN_TOKEN, adminClient, metricsOf, PROCEDURES } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createHolders } from "../support/credentials.ts";
import { callTool, openSession } from "../support/mcp.ts";
import { sendRaw } from "../support/raw.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { exchange, expectProblem, faultsOf } from "../support/wire.ts";
import { bodyOf, createWorld } from "../support/world.ts";

const PATHS = ["/metrics", "/admin/health", ...PROCEDURES.map((name) => `/admin/trpc/${name}`)];

/** The code of a refusal in either form. */
const codeOf = ({ body }: { body: any }) => body?.code ?? body?.error?.data?.code_name;

test("every operator procedure is in the list that these tests use", () => {
  const named = (type: string) =>
    Object.entries(adminRouter._def.procedures)
      .filter(([, procedure]) => procedure._def.type === type)
      .map(([name]) => name);
  expect(named("query").sort()).toEqual([...PROCEDURES, "question"].sort());
  expect(named("mutation")).toEqual([
    "pair",
    "setName",
    "setBlocked",
    "deleteAccount",
    "invite",
    "revoke",
  ]);
});

test("without ADMIN_TOKEN the operator's routes do not exist", async () => {
  const app = await startTestApp();
  for (const path of [...PATHS, "/admin/trpc", "/admin/trpc/"]) {
    for (const credential of [undefined, ADMIN_TOKEN, "", "undefined"]) {
      expectProblem(await exchange(app.url, "GET", path, { credential }), "unknown_path");
      expectProblem(await exchange(app.url, "POST", path, { credential }), "unknown_path");
    }
  }
});

test("a credential other than the admin token is refused, however similar", async () => {
  const app = await startTestApp({ env: ADMIN });
  const holders = await createHolders(app.url);
  const headers = [
    ...holders.credentials.map(({ name, header }) => [name, header] as const),
    ["no scheme", ADMIN_TOKEN],
    ["another scheme", `Basic ${ADMIN_TOKEN}`],
    ["cut short", `Bearer ${ADMIN_TOKEN.slice(0, -1)}`],
    ["one more", `Bearer ${ADMIN_TOKEN}k`],
    ["of another case", `Bearer ${ADMIN_TOKEN.toUpperCase()}`],
    ["of the same length", `Bearer ${"x".repeat(ADMIN_TOKEN.length)}`],
    ["with something behind", `Bearer ${ADMIN_TOKEN} x`],
    ["empty", "Bearer "],
  ] as const;
  const wrong: unknown[] = [];
  for (const path of PATHS) {
    for (const [name, header] of headers) {
      const given = header === null ? {} : { headers: { authorization: header } };
      const answer = await exchange(app.url, "GET", path, given);
      const challenge = answer.headers.get("www-authenticate");
      if (answer.status !== 401 || codeOf(answer) !== "unauthorized" || challenge !== "Bearer") {
        wrong.push([path, name, answer.status, answer.text]);
      }
    }
    const { status } = await exchange(app.url, "GET", path, { credential: ADMIN_TOKEN });
    if (status !== 200) wrong.push([path, "the token itself", status]);
    // The name of the scheme is case-insensitive (RFC 9110).
    const spelled = { headers: { authorization: `bearer  ${ADMIN_TOKEN}` } };
    expect((await exchange(app.url, "GET", path, spelled)).status).toBe(200);
  }
  const body = JSON.stringify({ account_id: holders.account.account.id });
  for (const [name, header] of headers) {
    const given = { body, ...(header !== null && { headers: { authorization: header } }) };
    const answer = await exchange(app.url, "POST", "/admin/trpc/pair", given);
    if (codeOf(answer) !== "unauthorized") wrong.push(["pair", name, answer.status, answer.text]);
  }
  const pair = { body, credential: ADMIN_TOKEN };
  expect((await exchange(app.url, "POST", "/admin/trpc/pair", pair)).status).toBe(200);
  // A web page of another origin gets no access either.
  const headers_of_page = { origin: "https://elsewhere.example" };
  const foreign = { ...pair, headers: headers_of_page };
  expect((await exchange(app.url, "POST", "/admin/trpc/pair", foreign)).status).toBe(403);
  expect(wrong).toEqual([]);
});

test("the admin token is refused on every other route", async () => {
  const app = await startTestApp({ env: ADMIN });
  const world = await createWorld(app);
  const before = await world.stored();
  const faults: string[] = [];
  for (const route of ROUTES.filter(({ access }) => access !== "none")) {
    const answer = await exchange(app.url, route.method, world.pathOf(route), {
      credential: ADMIN_TOKEN,
      body: bodyOf(world, route, "account"),
    });
    const found = faultsOf(answer, "unauthorized");
    faults.push(...found.map((fault) => `${nameOf(route)}: ${fault}`));
    const typed = await exchange(
      app.url,
      route.type === "query" ? "GET" : "POST",
      `/trpc/${route.procedure}`,
      { credential: ADMIN_TOKEN, ...(route.type === "mutation" && { body: "{}" }) },
    );
    if (typed.status !== 401) faults.push(`/trpc/${route.procedure}: ${typed.status}`);
  }
  expect(faults).toEqual([]);
  for (const [method, path, body] of [
    ["GET", "/v1/events"],
    ["POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
  ] as const) {
    const answer = await exchange(app.url, method, path, { credential: ADMIN_TOKEN, body });
    expectProblem(answer, "unauthorized");
  }
  expect(await world.stored()).toEqual(before);
});

test("an address above its limit is refused before its token is compared", async () => {
  const clock = createTestClock();
  const env = { ...ADMIN, RATE_LIMITS: "on", TRUST_PROXY: "1" };
  const app = await startTestApp({ clock, env });
  const from = (host: number) => ({ "x-forwarded-for": `203.0.113.${host}` });
  for (const [i, path] of PATHS.entries()) {
    const headers = from(i);
    for (let left = 59; left >= 0; left--) {
      const answer = await exchange(app.url, "GET", path, { headers, credential: "x".repeat(34) });
      expect([path, answer.status, answer.headers.get("ratelimit")]).toEqual([
        path,
        401,
        `"address";r=${left};t=${60 - left}`,
      ]);
    }
    const over = await exchange(app.url, "GET", path, { headers });
    expect([over.status, codeOf(over), over.headers.get("retry-after")]).toEqual([
      429,
      "rate_limited",
      "1",
    ]);
    const right = { headers, credential: ADMIN_TOKEN };
    expect((await exchange(app.url, "GET", path, right)).status).toBe(429);
    // Other addresses are unaffected, and so is this one once its limit allows another call.
    const other = await exchange(app.url, "GET", path, { ...right, headers: from(100) });
    expect(other.status).toBe(200);
    await clock.advance(1);
    expect((await exchange(app.url, "GET", path, right)).status).toBe(200);
  }
  // Invalid requests with the admin token are charged to nobody.
  const headers = from(100);
  for (let i = 0; i < 70; i++) {
    const path = `/admin/trpc/${i % 2 ? "nothing" : "accounts?input=5"}`;
    const { status } = await exchange(app.url, "GET", path, { headers, credential: ADMIN_TOKEN });
    expect(status).toBe(i % 2 ? 404 : 422);
  }
  expect((await exchange(app.url, "GET", "/v1/nothing", { headers })).status).toBe(404);
});

test("operator responses are not cached, and other origins and writes are refused", async () => {
  const app = await startTestApp({ env: { ...ADMIN, CORS_ORIGINS: "https://app.example" } });
  for (const path of PATHS) {
    const { headers } = await exchange(app.url, "GET", path, {
      credential: ADMIN_TOKEN,
      headers: { origin: "https://app.example" },
    });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    const preflight = await sendRaw(app.url, "OPTIONS", path, {
      origin: "https://app.example",
      "access-control-request-method": "GET",
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
      405,
      null,
    ]);
    const posted = await exchange(app.url, "POST", path, { credential: ADMIN_TOKEN, body: "{}" });
    expect(posted.status).toBe(405);
  }
  const head = await sendRaw(app.url, "HEAD", "/metrics", {
    authorization: `Bearer ${ADMIN_TOKEN}`,
  });
  expect([head.status, head.text]).toEqual([200, ""]);
});

test("a typed operator client gets figures, and error codes for invalid calls", async () => {
  const app = await startTestApp({ env: ADMIN });
  const admin = adminClient(app.url);
  const [overview, jobs] = await Promise.all([admin.overview.query(), admin.jobs.query()]);
  expect(overview.counts?.accounts).toBe(0);
  expect(jobs.jobs.length).toBeGreaterThan(5);
  const bad = [
    admin.accounts.query({ limit: 0 }),
    admin.accounts.query({ limit: 101 }),
    admin.accounts.query({ cursor: "\0" }),
    admin.accounts.query({ limit: 5, label: "x" } as object),
    admin.overview.query({ x: 1 } as never),
  ];
  for (const [i, fields] of [["limit"], ["limit"], ["cursor"], ["label"], ["x"]].entries()) {
    const error = await bad[i]!.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TRPCClientError);
    const { data } = error as TRPCClientError<any>;
    expect([data.httpStatus, data.code_name, Object.keys(data.fields)]).toEqual([
      422,
      "invalid_fields",
      fields,
    ]);
  }
  const refused = await adminClient(app.url, "x".repeat(32))
    .overview.query()
    .catch((thrown: unknown) => thrown);
  expect((refused as TRPCClientError<any>).data.code_name).toBe("unauthorized");
  const batch = Array(21).fill("jobs").join();
  const { status } = await exchange(app.url, "GET", `/admin/trpc/${batch}?batch=1`, {
    credential: ADMIN_TOKEN,
  });
  expect(status).toBe(422);
});

test("operator responses are compressed only for clients that accept it", async () => {
  const app = await startTestApp({ clock: createTestClock(), env: ADMIN });
  const get = async (path: string, encoding: string, credential = ADMIN_TOKEN) => {
    const headers = { authorization: `Bearer ${credential}`, "accept-encoding": encoding };
    const response = await fetch(`${app.url}${path}`, {
      headers,
      decompress: false,
    } as RequestInit);
    return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
  };
  for (const path of ["/metrics", "/admin/trpc/store,jobs?batch=1&input=%7B%7D"]) {
    const plain = await get(path, "identity");
    expect(plain.response.headers.get("content-encoding")).toBeNull();
    for (const [encoding, taken] of [
      ["gzip", true],
      ["br, gzip;q=0.8", true],
      ["gzip;q=0, br", false],
      ["deflate", false],
    ] as const) {
      const { response, bytes } = await get(path, encoding);
      expect([response.status, response.headers.get("content-encoding")]).toEqual([
        200,
        taken ? "gzip" : null,
      ]);
      expect(response.headers.get("vary")).toContain("accept-encoding");
      expect(response.headers.get("cache-control")).toBe("no-store");
      const text = new TextDecoder().decode(taken ? Bun.gunzipSync(bytes) : bytes);
      // The metrics report every earlier request.
      if (path !== "/metrics") expect(text.length).toBe(plain.bytes.length);
      else expect(text).toStartWith("# HELP http_requests_total");
      if (taken) expect(bytes.length).toBeLessThan(text.length / 2);
    }
    // A short response, such as a refusal, is not worth compressing.
    const refused = await get(path, "gzip", "x".repeat(34));
    expect([refused.response.status, refused.response.headers.get("content-encoding")]).toEqual([
      401,
      null,
    ]);
  }
});

test("an operator response that does not fit its schema is 500, and is not sent", async () => {
  const jobs = () => ({ jobs: [{ name: "zanzibar" }] });
  const caller = { kind: "admin" } as const;
  const call = adminRouter.createCaller({ caller, admin: { jobs } } as never);
  const error = await call.jobs().catch((thrown: unknown) => thrown);
  expect((error as { code?: string }).code).toBe("INTERNAL_SERVER_ERROR");
  expect(((error as Error).cause as ServiceError).code).toBe("internal");
  expect((error as Error).message).not.toContain("zanzibar");
});

test("no operator response has content of any account", async () => {
  const app = await startTestApp({ env: ADMIN });
  const word = "zanzibar";
  const world = await createWorld(app);
  const { person, agent, other } = world;
  await person.send(`PATCH /v1/keys/${agent.key.id}`, { label: word });
  const host = { headers: { "x-agent-host": word } };
  const task = await createTask(agent.send, { title: word, description: word });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { status_note: word }, host);
  const question = await ask(agent.send, { prompt: word, kind: "text" });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: word });
  await agent.send("POST /v1/messages", { key_id: other.key.id, text: word });
  await agent.send(`GET /v1/tasks/${word}`);
  await agent.send(`GET /v1/${word}`);
  await agent.send(`GET /${word}?${word}=${word}`);
  await exchange(app.url, "PROPFIND", `/v1/tasks/${task.id}`, { credential: word });
  const { rpc } = await openSession(app.url, agent.secret, { name: word, version: word });
  await callTool(rpc, "create_task", { title: word });

  const { text } = await metricsOf(app.url);
  const answers = await Promise.all(
    PROCEDURES.map((name) =>
      exchange(app.url, "GET", `/admin/trpc/${name}`, { credential: ADMIN_TOKEN }),
    ),
  );
  const told = [text, ...answers.map((answer) => answer.text)];
  expect(told.map((one) => one.length > 30)).toEqual(told.map(() => true));
  const secrets = [person.token, agent.secret, ADMIN_TOKEN, agent.key.prefix, world.ids.device_id!];
  for (const one of told) {
    for (const secret of [word, word.toUpperCase(), ...secrets]) expect(one).not.toContain(secret);
  }
  // Ids of accounts appear only in the list of accounts.
  for (const one of told) expect(one).not.toMatch(/\b(key|tsk|qst|itm|act|dev)_[0-9a-f]/);
  expect(told.filter((one) => one.includes(person.account.id)).length).toBe(1);
  for (const line of app.lines) expect(line).not.toContain(ADMIN_TOKEN);
});
