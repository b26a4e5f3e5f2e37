/** Registration and authorization requests: which are accepted or refused, and what a refusal does (§18.3, §18.4). */

import { afterAll, expect, test } from "bun:test";
import { sharedSecret } from "../../db/secrets.ts";
import { openStore } from "../../db/store/open.ts";
import { systemClock } from "../../src/clock.ts";
import { createSignedTokens, createSigner } from "../../src/signer.ts";
import { startTestApp } from "../support/app.ts";
import { client, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import {
  answerOf,
  authorize,
  createVerifier,
  postForm,
  REDIRECT,
  register,
  sealedOf,
} from "../support/oauth.ts";
import { connectTo, createTestStore } from "../support/store.ts";

const clock = createTestClock();
const { url: database_url } = await createTestStore();
const app = await startTestApp({ clock, database_url });
const { url } = app;
const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
afterAll(() => store.close());
const signer = createSigner(await sharedSecret(store, "signing", "never used"));
const person = await createPerson(url);
const client_id = await register(url);
const { challenge } = createVerifier();

const GOOD = {
  response_type: "code",
  client_id,
  redirect_uri: REDIRECT,
  code_challenge: challenge,
  code_challenge_method: "S256",
  state: "s t&a=te",
};

const registration = (body: unknown) => client(url)("POST /oauth/register", body);

/** The page of a refusal, and its link back to the client. */
async function refusalOf(response: Response) {
  expect(response.headers.get("location")).toBeNull();
  expect(response.headers.get("content-type")).toStartWith("text/html");
  expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  const html = await response.text();
  expect(html).not.toContain("<script");
  const [, link] = /<a rel="noreferrer" href="([^"]+)">/.exec(html) ?? [];
  return { status: response.status, link: link?.replaceAll("&#38;", "&") ?? null };
}

test("a client registers with its redirect URIs, as a public client [§18.3.1] [§18.3.2]", async () => {
  const { status, headers, body } = await registration({
    client_name: "A  client\n\u202e",
    redirect_uris: ["https://app.example/cb?x=1", "http://localhost/cb", "http://[::1]:1/"],
    token_endpoint_auth_method: "client_secret_basic",
    grant_types: ["authorization_code", "refresh_token", "implicit"],
    unknown: { deep: [1] },
  });
  expect([status, headers.get("cache-control")]).toEqual([201, "no-store"]);
  expect(body).toEqual({
    client_id: expect.any(String),
    client_id_issued_at: Math.floor(clock.now()),
    client_name: "A client",
    redirect_uris: ["https://app.example/cb?x=1", "http://localhost/cb", "http://[::1]:1/"],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    scope: "agent",
  });
});

test("an unusable registration is refused [§18.3.1] [§18.3.3]", async () => {
  for (const redirect_uri of [
    "http://app.example/cb",
    "http://192.168.1.2/cb",
    "http://localhost.evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://127.0.0.1@evil.example/cb",
    "https://user@app.example/cb",
    "https://app.example/cb#part",
    "https://app.example/cb#",
    "https://",
    "https:app.example",
    "/cb",
    "cursor://callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://app.example/a b",
    "https://app.example/cb?code=1",
    "http://localhost/cb?x=1&state",
    "http://[::1]/cb?is%73=https://evil.example",
    "https://app.example/cb?error=none",
    `https://app.example/${"a".repeat(2_000)}`,
    "",
  ]) {
    const { status, body } = await registration({ redirect_uris: [redirect_uri] });
    expect([redirect_uri, status, body.error]).toEqual([redirect_uri, 400, "invalid_redirect_uri"]);
  }
  const eleven = Array.from({ length: 11 }, (_, i) => `http://localhost/${i}`);
  for (const [body, error] of [
    [{}, "invalid_redirect_uri"],
    [{ redirect_uris: [] }, "invalid_redirect_uri"],
    [{ redirect_uris: "https://app.example" }, "invalid_redirect_uri"],
    [{ redirect_uris: eleven }, "invalid_redirect_uri"],
    [{ redirect_uris: [`https://app.example/${"a".repeat(1_800)}`] }, "invalid_client_metadata"],
    [{ redirect_uris: [REDIRECT], client_name: 7 }, "invalid_client_metadata"],
    [{ redirect_uris: [REDIRECT], grant_types: ["implicit"] }, "invalid_client_metadata"],
    [{ redirect_uris: [REDIRECT], response_types: ["token"] }, "invalid_client_metadata"],
    [[], "invalid_client_metadata"],
    ["not json", "invalid_client_metadata"],
    [`${"[".repeat(40)}${"]".repeat(40)}`, "invalid_client_metadata"],
    [{ redirect_uris: [REDIRECT], padding: "x".repeat(8_192) }, "invalid_request"],
  ] as const) {
    const answer = await registration(body);
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  }
});

test("a flood of registrations and requests stores nothing [§18.3.2] [§18.4.3]", async () => {
  const raw = connectTo(database_url);
  const rows = async () => {
    const { rows: tables } = await raw.execute(
      "select name from sqlite_schema where type = 'table'",
    );
    const counts: Record<string, unknown> = {};
    for (const { name } of tables) {
      const { rows } = await raw.execute(`select count(*) as n from "${name}"`);
      counts[name as string] = rows[0]!.n;
    }
    return counts;
  };
  const before = await rows();
  for (let i = 0; i < 200; i++) {
    const id = await register(url, { client_name: `Client ${i}` });
    sealedOf(await authorize(url, { ...GOOD, client_id: id }));
  }
  expect(await rows()).toEqual(before);
  raw.close();
});

test("a valid authorization request redirects to the page, signed [§18.4.1] [§18.4.3]", async () => {
  const response = await authorize(url, { ...GOOD, scope: "agent other", resource: `${url}/mcp` });
  expect(response.headers.get("cache-control")).toBe("no-store");
  const request = sealedOf(response);
  const { status, body } = await person.send("POST /v1/oauth/request", { request });
  expect(status).toBe(200);
  expect(body).toEqual({
    client_name: "Test client",
    client_host: null,
    document_host: null,
    suggested_key_id: null,
    requested_at: clock.now(),
    expires_at: clock.now() + 600,
    approval: null,
  });
});

test("the redirect URI, not the client, decides where access is said to lead [§18.4.4]", async () => {
  const redirect_uris = ["http://localhost/cb", "http://[::1]/cb", "https://app.example:8443/cb"];
  const id = await register(url, { client_name: "relay.example", redirect_uris });
  const hosts = [];
  for (const redirect_uri of redirect_uris) {
    const request = sealedOf(await authorize(url, { ...GOOD, client_id: id, redirect_uri }));
    hosts.push((await person.send("POST /v1/oauth/request", { request })).body.client_host);
  }
  expect(hosts).toEqual([null, null, "app.example:8443"]);
});

test("an authorization request expires after 10 minutes, and cannot be changed [§18.4.3]", async () => {
  const request = sealedOf(await authorize(url, GOOD));
  const statusOf = async (request: string) => [
    (await person.send("POST /v1/oauth/request", { request })).status,
    (await person.send("POST /v1/oauth/approve", { request, label: "x" })).status,
    (await person.send("POST /v1/oauth/deny", { request })).status,
  ];
  const [payload = "", mark = ""] = request.split(".");
  const changed = JSON.parse(Buffer.from(payload, "base64url").toString());
  changed.redirect_uri = "https://evil.example/";
  const forged = Buffer.from(JSON.stringify(changed)).toString("base64url");
  for (const bad of [`${forged}.${mark}`, payload, `${payload}.`, `${request}.x`, client_id, "x"]) {
    expect(await statusOf(bad)).toEqual([404, 404, 404]);
  }
  await clock.skip(599.9);
  expect((await person.send("POST /v1/oauth/request", { request })).status).toBe(200);
  await clock.skip(0.1);
  expect(await statusOf(request)).toEqual([404, 404, 404]);
});

test("a loopback redirect URI may have another port, and must otherwise be equal [§18.3.3]", async () => {
  const ids = {
    loopback: await register(url, {
      redirect_uris: ["http://127.0.0.1/cb", "http://localhost:1/", "http://[::1]/cb"],
    }),
    web: await register(url, { redirect_uris: ["https://app.example/cb?a=1"] }),
    // A client that registered before such URIs were refused.
    older: createSignedTokens(signer, "oauth-client").write("", [
      null,
      "https://app.example/cb?code=1",
      "http://127.0.0.1/cb?iss=1",
    ]),
  };
  const statusOf = async (name: keyof typeof ids, redirect_uri: string) =>
    (await authorize(url, { ...GOOD, client_id: ids[name], redirect_uri })).status;
  for (const uri of [
    "http://127.0.0.1/cb",
    "http://127.0.0.1:49152/cb",
    "http://localhost:2/",
    "http://[::1]:49152/cb",
  ]) {
    expect([uri, await statusOf("loopback", uri)]).toEqual([uri, 303]);
  }
  expect(await statusOf("web", "https://app.example/cb?a=1")).toBe(303);
  for (const [name, uri] of [
    ["loopback", "http://127.0.0.1/other"],
    ["loopback", "http://127.0.0.1/cb?a=1"],
    ["loopback", "http://127.0.0.2/cb"],
    ["loopback", "http://localhost/cb"],
    ["loopback", "https://127.0.0.1/cb"],
    ["loopback", "http://127.0.0.1:1@evil.example/cb"],
    ["loopback", "http://[::1]:1/other"],
    ["loopback", "http://[::2]:1/cb"],
    ["loopback", "http://127.0.0.1:80/cb#x"],
    ["web", "https://app.example:8443/cb?a=1"],
    ["web", "https://app.example/cb"],
    ["web", "https://app.example/cb?a=1&b=2"],
    ["web", "https://app.example.evil.example/cb?a=1"],
    ["web", "https://evil.example/cb?a=1"],
    ["web", "https://app.example/cb/../x?a=1"],
    ["web", "HTTPS://app.example/cb?a=1"],
    ["older", "https://app.example/cb?code=1"],
    ["older", "http://127.0.0.1/cb?iss=1"],
    ["older", "http://127.0.0.1:49152/cb?iss=1"],
    ["web", ""],
  ] as const) {
    expect([uri, await statusOf(name, uri)]).toEqual([uri, 400]);
  }
});

test("nothing redirects to an unknown client or address [§18.4.5]", async () => {
  const { redirect_uri: _, ...without } = GOOD;
  for (const fields of [
    { ...GOOD, client_id: "unknown" },
    { ...GOOD, client_id: `${client_id}x` },
    { ...GOOD, client_id: "https://client.example/description" },
    { ...GOOD, client_id: "x".repeat(3_000) },
    { ...GOOD, redirect_uri: "https://evil.example/" },
    { ...GOOD, state: "x".repeat(2_001) },
    without,
  ]) {
    const response = await authorize(url, fields);
    expect(await refusalOf(response)).toEqual({ status: 400, link: null });
  }
  const twice = new URLSearchParams(GOOD);
  twice.append("redirect_uri", "https://evil.example/");
  const response = await fetch(`${url}/oauth/authorize?${twice}`, { redirect: "manual" });
  expect(await refusalOf(response)).toEqual({ status: 400, link: null });
});

test("any other fault leaves the decision to return to the person, with a link that has the error [§18.4.5] [§18.4.6]", async () => {
  const { code_challenge: _, ...no_challenge } = GOOD;
  const { code_challenge_method: __, ...plain } = GOOD;
  for (const [fields, error] of [
    [{ ...GOOD, response_type: "token" }, "unsupported_response_type"],
    [{ ...GOOD, response_type: "" }, "invalid_request"],
    [{ ...GOOD, response_mode: "fragment" }, "invalid_request"],
    [no_challenge, "invalid_request"],
    [plain, "invalid_request"],
    [{ ...GOOD, code_challenge_method: "plain" }, "invalid_request"],
    [{ ...GOOD, code_challenge: "short" }, "invalid_request"],
    [{ ...GOOD, resource: "https://elsewhere.example/mcp" }, "invalid_target"],
    [{ ...GOOD, resource: `${url}/v1` }, "invalid_target"],
    [{ ...GOOD, resource: `${url}/mcp#x` }, "invalid_target"],
    [{ ...GOOD, resource: `${url}/v1?x=${url}/mcp` }, "invalid_target"],
  ] as const) {
    const { status, link } = await refusalOf(await authorize(url, fields));
    expect(status).toBe(400);
    expect(link).toStartWith(`${REDIRECT}?`);
    expect(answerOf(link!)).toEqual({
      error,
      error_description: expect.any(String),
      state: GOOD.state,
      iss: url,
    });
  }
  const twice = new URLSearchParams(GOOD);
  twice.append("code_challenge_method", "plain");
  const response = await fetch(`${url}/oauth/authorize?${twice}`, { redirect: "manual" });
  expect(answerOf((await refusalOf(response)).link!).error).toBe("invalid_request");
});

test("the page of a fault shows what was sent as text [§18.4.5]", async () => {
  const redirect_uri = "https://app.example/cb?'&<b>=1";
  const id = await register(url, { redirect_uris: ["https://app.example/cb?'&b=1"] });
  const fields = { ...GOOD, client_id: id, redirect_uri, state: '"><script>x</script>' };
  const html = await (await authorize(url, { ...fields, response_type: "x" })).text();
  expect(html).not.toMatch(/<script|<b>/);
  const good = { ...fields, redirect_uri: "https://app.example/cb?'&b=1", response_type: "x" };
  expect(await (await authorize(url, good)).text()).not.toContain("<script");
});

test("a denial returns to the client with state and issuer [§18.4.6] [§5.15.3]", async () => {
  const request = sealedOf(await authorize(url, GOOD));
  const { body } = await person.send("POST /v1/oauth/deny", { request });
  expect(answerOf(body.redirect_to)).toEqual({
    error: "access_denied",
    error_description: expect.any(String),
    state: GOOD.state,
    iss: url,
  });
});

test("`resource` may be the base address, with or without its slash, or /mcp with any query [§18.4.2]", async () => {
  for (const resource of [url, `${url}/`, `${url}/mcp`, `${url}/mcp?tools=approve`]) {
    expect((await authorize(url, { ...GOOD, resource })).status).toBe(303);
  }
});

test("where the policy refuses OAuth clients, no OAuth route or metadata is offered [§18.1.4]", async () => {
  const headers = { host: "192.168.1.20:3000" };
  const refused = await client(url)("POST /mcp", {}, { headers });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  for (const path of [
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
  ] as const) {
    const { status, body } = await client(url)(`GET ${path}`, undefined, { headers });
    expect([status, body.code]).toEqual([404, "unknown_path"]);
  }
  for (const path of ["register", "token", "revoke"]) {
    const { status, body } = await postForm(`${url}/oauth/${path}`, { token: "x" }, headers);
    expect([status, body.code]).toEqual([404, "unknown_path"]);
  }
  const page = await fetch(`${url}/oauth/authorize?${new URLSearchParams(GOOD)}`, {
    redirect: "manual",
    headers,
  });
  expect(await refusalOf(page)).toEqual({ status: 400, link: null });
  const foreign = { headers: { host: "rebound.example" } };
  for (const route of ["GET /oauth/authorize", "POST /oauth/token"] as const) {
    const { status, body } = await client(url)(route, undefined, foreign);
    expect([status, body.code]).toEqual([403, "forbidden"]);
  }
});

test("authorization requests and their errors have the form of the RFC [§18.1.3]", async () => {
  const form = "application/x-www-form-urlencoded";
  const send = async (path: string, body: string, type = form) => {
    const headers = { "content-type": type };
    return client(url)(`POST ${path as `/${string}`}`, body, { headers });
  };
  for (const [path, body, type] of [
    ["/oauth/token", '{"grant_type":"refresh_token","refresh_token":"x"}', "application/json"],
    ["/oauth/token", "grant_type=refresh_token&refresh_token=x&refresh_token=y", form],
    ["/oauth/token", "grant_type=refresh_token&unknown=1&unknown=2&refresh_token=x", form],
    ["/oauth/token", `refresh_token=${"x".repeat(8_192)}`, form],
    ["/oauth/token", "", form],
    ["/oauth/revoke", "", form],
    ["/oauth/revoke", "token=", form],
    ["/oauth/register", "redirect_uris=x", form],
  ] as const) {
    const answer = await send(path, body, type);
    expect([body, answer.status, answer.body.error]).toEqual([body, 400, "invalid_request"]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  }
  const unknown = await send("/oauth/token", "grant_type=refresh_token&more=1&refresh_token=x");
  expect(unknown.body.error).toBe("invalid_grant");
  const { status, headers } = await client(url)("GET /oauth/token");
  expect([status, headers.get("allow")]).toEqual([405, "POST"]);
});
