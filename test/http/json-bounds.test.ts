/** JSON that is too deep or too wide is refused with little work and a short response, on every surface. */

import { expect, test } from "bun:test";
import { idempotentRequestOf } from "../../src/http/idempotency.ts";
import { LIMITS } from "../../src/limits.ts";
import { createSigner } from "../../src/signer.ts";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { entriesOf } from "../support/entries.ts";
import { envelope, newEra, oldEra, post } from "../support/mcp.ts";
import { exchange, faultsOf, MARK } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });
const { person, agent } = await createPair(app.url);
const credential = agent.secret;

const nested = (levels: number, inner = "") => "[".repeat(levels) + inner + "]".repeat(levels);

/** Bodies that nest arrays or objects, up to 250 KB. */
const DEEP = [
  nested(125_000),
  `{"title":${nested(120_000)}}`,
  `${'{"title":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  `{"title":"${'\\"['.repeat(1_000)}","x":${nested(LIMITS.json_depth)}}`,
];

/** The nested bodies cut off, so that they are not JSON. */
const BROKEN = ["[".repeat(250_000), nested(100_000).slice(1), `${'{"a":'.repeat(50_000)}1`];

/** Names that look like fields, 240 KB of them. */
const WIDE = Array.from({ length: 20_000 }, (_, i) => `f${i}`);
const wide = `{${WIDE.map((name) => `"${name}":1`).join()}}`;

const SMALL = 8 * 1024;

test("JSON deeper than 32 levels is 422 and names  [§1.3.8]`body`, whatever else is wrong with it", async () => {
  const headers = { "idempotency-key": "a" };
  for (const body of DEEP) {
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(LIMITS.body_bytes);
    const rest = await exchange(app.url, "POST", "/v1/tasks", { credential, body, headers });
    expect(faultsOf(rest, "invalid_fields", ["body"])).toEqual([]);
    const call = { credential, body, headers };
    const { status, body: told } = await exchange(app.url, "POST", "/trpc/tasks.create", call);
    expect([status, Object.keys(told.error.data.fields)]).toEqual([422, ["body"]]);
    const { error } = (await post(app.url, credential, body)).body;
    expect([error.data.status, Object.keys(error.data.fields)]).toEqual([422, ["body"]]);
    // The credential is checked first.
    const nobody = await exchange(app.url, "POST", "/v1/tasks", { body });
    expect(faultsOf(nobody, "unauthorized")).toEqual([]);
  }
  const entries = await entriesOf(clock, person, agent);
  const told = new Set(entries.map(({ action, message }) => `${action}: ${message}`));
  expect([...told].sort()).toEqual([
    "POST /mcp: Invalid fields: body.",
    "POST /v1/tasks: Invalid fields: body.",
  ]);
});

test("deep text with unclosed brackets is not JSON, and is not parsed either", async () => {
  for (const body of BROKEN) {
    const rest = await exchange(app.url, "POST", "/v1/tasks", { credential, body });
    expect(faultsOf(rest, "invalid_json")).toEqual([]);
    const trpc = await exchange(app.url, "POST", "/trpc/tasks.create", { credential, body });
    expect([trpc.status, trpc.body.error.data.code_name]).toEqual([400, "invalid_json"]);
    expect((await post(app.url, credential, body)).body.error.code).toBe(-32700);
  }
});

test("the levels around a batch, a query and an MCP call count too", async () => {
  const deep = nested(LIMITS.json_depth);
  const batch = await exchange(app.url, "POST", "/trpc/tasks.create,tasks.create?batch=1", {
    credential,
    body: `{"0":${deep},"1":{"title":"t"}}`,
  });
  const codes = batch.body.map((one: any) => one.error.data.code_name);
  expect(codes).toEqual(["invalid_fields", "invalid_fields"]);
  const input = encodeURIComponent(`{"limit":${deep}}`);
  const query = await exchange(app.url, "GET", `/trpc/tasks.list?input=${input}`, { credential });
  expect(Object.keys(query.body.error.data.fields)).toEqual(["body"]);
  for (const rpc of [oldEra(app.url, credential), newEra(app.url, credential)]) {
    const state = { name: "list_tasks", arguments: {}, requestState: JSON.parse(deep) };
    const { error } = (await rpc("tools/call", state)).body;
    expect([error.code, Object.keys(error.data.fields)]).toEqual([-32600, ["body"]]);
  }
});

test("32 levels are accepted, and so is any number of brackets in text or side by side", async () => {
  const text = `${"[{".repeat(500)}\\"\\\\`;
  const body = `{"title":"t","description":"${text}"}`;
  const made = await exchange(app.url, "POST", "/v1/tasks", { credential, body });
  expect([made.status, made.body.description]).toEqual([201, JSON.parse(`"${text}"`)]);
  for (const value of [nested(LIMITS.json_depth - 1), `[${Array(500).fill("[[]],{}").join()}]`]) {
    const answer = await exchange(app.url, "POST", "/v1/tasks", {
      credential,
      body: `{"title":"t","priority":${value}}`,
    });
    expect(faultsOf(answer, "invalid_fields", ["priority"])).toEqual([]);
  }
});

test("of 20,000 unknown fields the first 20 are named, in less than 8 KiB [§9.1.4]", async () => {
  const first = WIDE.slice(0, LIMITS.named_fields);
  const rest = await exchange(app.url, "POST", "/v1/messages", { credential, body: wide });
  const named = ["key_id", "text", ...first.slice(0, 18)];
  expect(faultsOf(rest, "invalid_fields", named)).toEqual([]);
  expect(rest.text.length).toBeLessThan(SMALL);
  const put = await exchange(app.url, "PATCH", `/v1/tasks/x`, { credential, body: wide });
  expect(faultsOf(put, "invalid_fields", first)).toEqual([]);

  const call = { credential, body: wide };
  const trpc = await exchange(app.url, "POST", "/trpc/messages.send", call);
  expect(Object.keys(trpc.body.error.data.fields)).toEqual(named);
  expect(trpc.text.length).toBeLessThan(SMALL);
  for (const rpc of [oldEra(app.url, credential), newEra(app.url, credential)]) {
    const sent = { name: "send_message", arguments: JSON.parse(wide) };
    const { text, body } = await rpc("tools/call", sent);
    const { result } = body;
    const problem = result.structuredContent ?? result._meta.problem;
    expect(Object.keys(problem.fields)).toEqual(named);
    expect(text.length).toBeLessThan(SMALL);
  }
  for (const { message } of await entriesOf(clock, person, agent)) {
    expect(String(message).length).toBeLessThan(200);
  }
});

test("other unusual names count as one, and nothing inside a field is named", async () => {
  const strange = `{${WIDE.slice(0, 10_000)
    .map((name) => `"${MARK}${name}":1`)
    .join()}}`;
  const odd = await exchange(app.url, "POST", "/v1/messages", { credential, body: strange });
  expect(faultsOf(odd, "invalid_fields", ["key_id", "text", "unknown"])).toEqual([]);
  const settings = await exchange(app.url, "PATCH", "/v1/account", {
    credential: person.token,
    body: `{"settings":${wide}}`,
  });
  expect(faultsOf(settings, "invalid_fields", ["settings"])).toEqual([]);
  const options = await exchange(app.url, "POST", "/v1/questions", {
    credential,
    body: `{"prompt":"?","kind":"choice","options":[${Array(100_000).fill(1)}]}`,
  });
  expect(faultsOf(options, "invalid_fields", ["options"])).toEqual([]);
  const attestation = await exchange(app.url, "POST", "/v1/accounts", {
    body: `{"attestation":${wide}}`,
  });
  expect(faultsOf(attestation, "invalid_fields", ["attestation"])).toEqual([]);
  for (const answer of [odd, settings, options, attestation]) {
    expect(answer.text.length).toBeLessThan(SMALL);
  }
});

test("an MCP message with a wide envelope gets a short refusal too", async () => {
  const rest = JSON.parse(wide);
  const plain = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const bodies = [
    { ...plain, ...rest },
    { ...plain, params: rest },
    { ...plain, params: { _meta: { ...envelope(), ...rest } } },
    { ...rest },
  ];
  for (const body of bodies) {
    const { text } = await post(app.url, credential, JSON.stringify(body), {
      headers: { "mcp-protocol-version": "2025-11-25" },
    });
    expect(JSON.parse(text).error === undefined || text.length < SMALL).toBe(true);
  }
});

test("the digest of a body is computed once, and only if the procedure asks for it", () => {
  const headers = { "idempotency-key": "a" };
  const request = new Request("http://localhost/", { method: "POST", headers });
  let looks = 0;
  const body = () => {
    looks++;
    return { b: [1, { d: 1, c: 2 }], a: "x" };
  };
  const caller = {
    kind: "account",
    account_id: "acc_1",
    session_id: "ses_1",
    credential: "c",
  } as const;
  const sent = { caller, method: "POST", path: "/v1/tasks", params: {}, body };
  const signer = createSigner("secret");
  const once = idempotentRequestOf(request, sent, signer)!;
  expect([once.id.length > 0, looks]).toEqual([true, 0]);
  const text = '{"a":"x","b":[1,{"c":2,"d":1}]}';
  expect([once.body, once.body]).toEqual(Array(2).fill(signer.sign("idempotent body", text)));
  expect(looks).toBe(1);
});

test("the same body in another order is replayed, and a refused body has no digest", async () => {
  const headers = { "idempotency-key": "digest" };
  const send = (body: string) =>
    exchange(app.url, "POST", "/v1/tasks", { credential, body, headers });
  const made = await send('{"title":"t","priority":"low"}');
  const again = await send('{"priority":"low","title":"t"}');
  expect([again.status, again.body.id]).toEqual([201, made.body.id]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(faultsOf(await send(wide), "invalid_fields", ["title", ...WIDE.slice(0, 19)])).toEqual([]);
  const other = await send('{"title":"u","priority":"low"}');
  expect([other.status, other.body.code]).toEqual([422, "idempotency_mismatch"]);
});
