/** Codes and tokens: how long they are valid, for whom, and what a second use does (§18.5). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createAgent, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  answerOf,
  connectClient,
  createVerifier,
  obtainCode,
  refresh,
  register,
  requestTokens,
  startRequest,
} from "../support/oauth.ts";
import { connectTo, createTestStore } from "../support/store.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
/** Another server on the same store, like another process. */
const beside = await startTestApp({ clock, database_url });
const { url } = app;
const person = await createPerson(url);
const MINUTE = 60;
const DAY = 86_400;

const opens = async (token: string, at = url) => (await client(at, token)("GET /v1/tasks")).status;
const grantsOf = async (key_id: string) =>
  (await person.send(`GET /v1/keys/${key_id}/grants`)).body.grants;

/** Expects a token request to be refused with this error. */
const expectError = ({ status, body }: { status: number; body: any }, error: string) =>
  expect([status, body.error, typeof body.error_description]).toEqual([400, error, "string"]);

test("a request that is approved again keeps its key, and gets another code [§5.15.2(5)] [§5.15.3]", async () => {
  const flow = await obtainCode(url, person);
  const { request, fields, key } = flow;
  const send = (route: "approve" | "deny", body = {}, at = url) =>
    client(at, person.token)(`POST /v1/oauth/${route}`, { request, ...body });
  const keys = async () => (await person.send("GET /v1/keys")).body.keys.length;
  const before = await keys();
  const { key: other } = await createAgent(url, person);
  // The code has long expired when the person tries again.
  await clock.skip(100);
  const again = await send("approve", { key_id: other.id }, beside.url);
  expect([again.status, again.body.key.id]).toEqual([200, key.id]);
  const at_once = await Promise.all(
    [url, beside.url, url].map((at) => send("approve", { label: "x" }, at)),
  );
  expect(at_once.map(({ body }) => body.key.id)).toEqual(Array(3).fill(key.id));
  const denied = await send("deny");
  expect([denied.status, Object.keys(denied.body.fields)]).toEqual([404, ["request"]]);
  expect(await keys()).toBe(before + 1);
  const codes = [again, ...at_once].map(({ body }) => answerOf(body.redirect_to).code!);
  const outcomes: number[] = [];
  for (const code of [flow.code, ...codes]) {
    outcomes.push((await requestTokens(url, { ...fields, code })).status);
  }
  // Only the newest code is valid.
  expect(outcomes.filter((status) => status === 200)).toHaveLength(1);
  for (const route of ["approve", "deny"] as const) expect((await send(route)).status).toBe(404);

  const { request: raced } = await startRequest(url);
  const made = await Promise.all(
    [url, beside.url, url, beside.url].map((at) =>
      client(at, person.token)("POST /v1/oauth/approve", { request: raced, label: "raced" }),
    ),
  );
  expect(new Set(made.map(({ body }) => body.key.id)).size).toBe(1);
  expect(await keys()).toBe(before + 2);
});

test("a code is valid for 60 seconds [§18.5.1]", async () => {
  const [early, late] = [await obtainCode(url, person), await obtainCode(url, person)];
  await clock.skip(59.9);
  expect((await requestTokens(url, early.fields)).status).toBe(200);
  await clock.skip(0.1);
  expectError(await requestTokens(url, late.fields), "invalid_grant");
});

test("a code is refused for another client, verifier, redirect URI or resource", async () => {
  const flow = await obtainCode(url, person);
  const other = await register(url, { client_name: "Other" });
  for (const [change, error] of [
    [{ client_id: other }, "invalid_grant"],
    [{ code_verifier: createVerifier().verifier }, "invalid_grant"],
    [{ code_verifier: "short" }, "invalid_grant"],
    [{ redirect_uri: "http://127.0.0.1:5000/callback" }, "invalid_grant"],
    [{ code: `mcc_${"A".repeat(43)}` }, "invalid_grant"],
    [{ resource: "https://elsewhere.example/mcp" }, "invalid_target"],
  ] as const) {
    expectError(await requestTokens(url, { ...flow.fields, ...change }), error);
  }
  // None of these requests used it up.
  const { status } = await requestTokens(url, { ...flow.fields, resource: `${url}/mcp` });
  expect(status).toBe(200);
});

test("the request for a code's tokens needs every field", async () => {
  const { fields } = await obtainCode(url, person);
  for (const name of Object.keys(fields)) {
    const { [name as keyof typeof fields]: _, ...rest } = fields;
    expectError(await requestTokens(url, rest), "invalid_request");
    expectError(await requestTokens(url, { ...rest, [name]: "" }), "invalid_request");
  }
  expectError(
    await requestTokens(url, { ...fields, grant_type: "password" }),
    "unsupported_grant_type",
  );
});

test("a code that is sent twice ends the tokens of its first use [§18.5.1]", async () => {
  const flow = await obtainCode(url, person);
  const { body: tokens } = await requestTokens(url, flow.fields);
  expect(await opens(tokens.access_token)).toBe(200);
  // Long afterwards, and by a client that has only the code.
  await clock.skip(5 * MINUTE);
  const stolen = { ...flow.fields, code_verifier: createVerifier().verifier };
  expectError(await requestTokens(beside.url, stolen), "invalid_grant");
  expect([await opens(tokens.access_token), await opens(tokens.access_token, beside.url)]).toEqual([
    401, 401,
  ]);
  expectError(await refresh(url, tokens.refresh_token), "invalid_grant");
  expect((await person.send("GET /v1/keys")).body.keys).toContainEqual(
    expect.objectContaining({ id: flow.key.id }),
  );
});

test("of two concurrent uses of a code at most one gets tokens, and the tokens end", async () => {
  for (let round = 0; round < 5; round++) {
    const { fields } = await obtainCode(url, person);
    const answers = await Promise.all([url, beside.url].map((at) => requestTokens(at, fields)));
    const given = answers.filter(({ status }) => status === 200);
    expect(given.length).toBe(1);
    expect(await opens(given[0]!.body.access_token)).toBe(401);
  }
});

test("an access token is valid for 24 hours and only for its key [§18.5.2] [§4.1.1]", async () => {
  const { tokens, key, send } = await connectClient(url, person);
  const other = await createAgent(url, person, "other");
  const { body: task } = await other.send("POST /v1/tasks", { title: "not the client's" });
  expect((await send(`GET /v1/tasks/${task.id}`)).status).toBe(404);
  const { body: listed } = await send("GET /v1/agents");
  expect(listed.agents.find(({ self }: any) => self).key_id).toBe(key.id);
  for (const route of ["GET /v1/account", "GET /v1/keys", "GET /v1/events"] as const) {
    expect((await send(route)).status).toBe(403);
  }
  expect((await person.send("POST /v1/oauth/request", { request: "x" })).status).toBe(404);
  expect((await send("POST /v1/oauth/request", { request: "x" })).status).toBe(403);
  await clock.skip(DAY - 1);
  expect(await opens(tokens.access_token)).toBe(200);
  await clock.skip(1);
  expect(await opens(tokens.access_token)).toBe(401);
});

test("a refresh token is valid for 60 days after its client got it [§18.5.4]", async () => {
  let { refresh_token } = (await connectClient(url, person)).tokens;
  for (const days of [59, 59]) {
    await clock.skip(days * DAY);
    const { status, body } = await refresh(url, refresh_token);
    expect(status).toBe(200);
    expect(await opens(body.access_token)).toBe(200);
    ({ refresh_token } = body);
  }
  await clock.skip(60 * DAY);
  expectError(await refresh(url, refresh_token), "invalid_grant");
});

test("for 10 minutes a used refresh token gives the same tokens again, on every server [§18.5.4]", async () => {
  const { tokens, key } = await connectClient(url, person);
  const first = await refresh(url, tokens.refresh_token);
  expect(first.body.refresh_token).not.toBe(tokens.refresh_token);
  for (const [at, seconds] of [
    [beside.url, 0],
    [url, 300],
    [beside.url, 299],
  ] as const) {
    await clock.skip(seconds);
    const again = await refresh(at, tokens.refresh_token);
    expect(again.body).toEqual({ ...first.body, expires_in: expect.any(Number) });
  }
  expect(await opens(first.body.access_token)).toBe(200);
  expect(await grantsOf(key.id)).toHaveLength(1);
  await clock.skip(1);
  expectError(await refresh(url, tokens.refresh_token), "invalid_grant");
  expect(await opens(first.body.access_token)).toBe(401);
  expect(await grantsOf(key.id)).toEqual([]);
});

test("a refresh token older than the last one ends the grant at once, but not the key [§18.5.4]", async () => {
  const { tokens, key } = await connectClient(url, person);
  const one = (await refresh(url, tokens.refresh_token)).body;
  const two = (await refresh(url, one.refresh_token)).body;
  expect(await opens(two.access_token)).toBe(200);
  expectError(await refresh(url, tokens.refresh_token), "invalid_grant");
  for (const { access_token, refresh_token } of [tokens, one, two]) {
    expect(await opens(access_token)).toBe(401);
    expectError(await refresh(url, refresh_token), "invalid_grant");
  }
  expect((await person.send(`GET /v1/keys/${key.id}/grants`)).status).toBe(200);
});

test("many concurrent refreshes on two servers give one successor, which remains valid", async () => {
  let { refresh_token } = (await connectClient(url, person)).tokens;
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => refresh(i % 2 ? url : beside.url, refresh_token)),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const pairs = answers.map(({ body }) => `${body.access_token} ${body.refresh_token}`);
    expect(new Set(pairs).size).toBe(1);
    expect(await opens(answers[0]!.body.access_token)).toBe(200);
    ({ refresh_token } = answers[0]!.body);
  }
});

test("a grant has two valid access tokens, however often it is refreshed [§18.5.5]", async () => {
  const { tokens } = await connectClient(url, person);
  const all = [tokens];
  for (let i = 0; i < 3; i++) all.push((await refresh(url, all.at(-1)!.refresh_token)).body);
  const statuses = await Promise.all(all.map(({ access_token }) => opens(access_token)));
  expect(statuses).toEqual([401, 401, 200, 200]);
});

test("a refresh by another client or for another resource is refused, and ends nothing", async () => {
  const { tokens, client_id } = await connectClient(url, person);
  const other = await register(url);
  expect(other).toBe(client_id);
  const named = await register(url, { client_name: "Other" });
  expectError(await refresh(url, tokens.refresh_token, { client_id: named }), "invalid_grant");
  for (const resource of ["https://elsewhere.example/mcp", `${url}/v1`, `${beside.url}/mcp`]) {
    expectError(await refresh(url, tokens.refresh_token, { resource }), "invalid_target");
  }
  const more = { client_id, resource: `${url}/mcp` };
  expect((await refresh(url, tokens.refresh_token, more)).status).toBe(200);
});

test("every value that is not a token gets the same refusal", async () => {
  const { tokens } = await connectClient(url, person);
  for (const token of [
    "",
    "x",
    tokens.access_token,
    `mcr_${"A".repeat(65)}`,
    `mcr_${"A".repeat(64)}`,
    `${tokens.refresh_token} `,
  ]) {
    const { body } = await refresh(url, token);
    expect(body.error).toBe(token === "" ? "invalid_request" : "invalid_grant");
  }
  expect((await refresh(url, tokens.refresh_token)).status).toBe(200);
  // An access token is not a refresh token, nor the reverse.
  expect(await opens(tokens.refresh_token)).toBe(401);
});

test("the store keeps only digests of codes and tokens [§18.5.3]", async () => {
  const { tokens, code } = await connectClient(url, person);
  const raw = connectTo(database_url);
  const { rows: tables } = await raw.execute("select name from sqlite_schema where type = 'table'");
  let dump = "";
  for (const { name } of tables) {
    dump += JSON.stringify((await raw.execute(`select * from "${name}"`)).rows);
  }
  raw.close();
  expect(dump).toContain("Test client");
  for (const secret of [tokens.access_token, tokens.refresh_token, code]) {
    expect(dump).not.toContain(secret);
    expect(dump).not.toContain(secret.slice(4, 26));
  }
});
