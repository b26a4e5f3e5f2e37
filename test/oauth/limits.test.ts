/** What counts toward the limit of an address, and requests that a web page forges (§18.8, §18.4.3). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { client, createPerson } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { oldEra, post } from "../support/mcp.ts";
import {
  authorize,
  connectClient,
  createVerifier,
  postForm,
  REDIRECT,
  refresh,
  register,
  sealedOf,
} from "../support/oauth.ts";

const clock = createTestClock();
const app = await startTestApp({ clock, env: { RATE_LIMITS: "on" } });
const { url } = app;
const person = await createPerson(url);
const DAY = 86_400;

/** Requests that the address has left. */
const left = async () => {
  const { headers } = await client(url)("GET /v1/tasks");
  return Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
};

test("metadata, refreshes, registrations and expired tokens do not count, and refusals do [§18.8.1] [§18.8.2]", async () => {
  const { tokens, client_id } = await connectClient(url, person);
  await clock.skip(DAY);
  const before = await left();
  const { challenge } = createVerifier();
  const asked = {
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
  };
  for (let i = 0; i < 5; i++) {
    for (const path of ["oauth-protected-resource/mcp", "oauth-authorization-server"] as const) {
      expect((await client(url)(`GET /.well-known/${path}`)).status).toBe(200);
    }
    expect((await refresh(url, tokens.refresh_token)).status).toBe(200);
    sealedOf(await authorize(url, asked));
    expect((await oldEra(url, tokens.access_token)("tools/list")).status).toBe(401);
    expect((await client(url, tokens.access_token)("GET /v1/tasks")).status).toBe(401);
    await postForm(`${url}/oauth/revoke`, { token: "x" });
  }
  // Reading the number counts as one.
  expect(await left()).toBe(before - 1);
  await register(url);
  await refresh(url, "x");
  await authorize(url, { ...asked, client_id: "x" });
  await client(url, `mco_${"A".repeat(43)}`)("GET /v1/tasks");
  expect(await left()).toBe(before - 5);
});

test("a client that loops with an invalid credential does not block registration, which has its own limit [§18.8.1]", async () => {
  await clock.skip(DAY);
  while ((await client(url, "mck_dead")("GET /v1/tasks")).status !== 429);
  const answers = [];
  for (let i = 0; i < 61; i++) {
    answers.push(await client(url)("POST /oauth/register", { redirect_uris: [REDIRECT] }));
  }
  expect(answers.map(({ status }) => status)).toEqual([...Array(60).fill(201), 429]);
  expect(answers[0]!.headers.get("ratelimit-policy")).toBe('"registrations";q=60;w=60');
  expect(answers[60]!.body.error).toBe("temporarily_unavailable");
  await clock.skip(60);
});

test("a client that loops with an invalid credential does not block the 401 of /mcp, which has its own limit [§18.8.2]", async () => {
  await clock.skip(DAY);
  while ((await client(url, "mck_dead")("GET /v1/tasks")).status !== 429);
  const begin = () => post(url, null, "{}");
  const answers = [];
  for (let i = 0; i < 61; i++) answers.push(await begin());
  expect(answers.map(({ status }) => status)).toEqual([...Array(60).fill(401), 429]);
  expect(answers[59]!.headers.get("www-authenticate")).toContain("resource_metadata=");
  expect((await client(url)("GET /v1/tasks")).status).toBe(429);
  await clock.skip(60);
});

test("an address above its limit is told in OAuth's form, and a client can continue [§18.8.1]", async () => {
  const { tokens } = await connectClient(url, person);
  await clock.skip(DAY);
  while ((await client(url)("GET /v1/tasks")).status !== 429);
  for (const answer of [
    await refresh(url, "x"),
    await client(url)("POST /oauth/register", { redirect_uris: ["ftp://x"] }),
  ]) {
    expect([answer.status, answer.body.error]).toEqual([429, "temporarily_unavailable"]);
    expect(answer.headers.get("retry-after")).toBe("1");
  }
  expect((await authorize(url, { client_id: "x" })).status).toBe(429);
  expect((await client(url, tokens.access_token)("GET /v1/tasks")).status).toBe(401);
  const fresh = await refresh(url, tokens.refresh_token);
  expect(fresh.status).toBe(200);
  expect((await client(url, fresh.body.access_token)("GET /v1/tasks")).status).toBe(200);
});

test("refusals of expired tokens count from the 61st in a minute on, and refreshes never [§18.8.2]", async () => {
  await clock.skip(60);
  const { tokens } = await connectClient(url, person);
  await clock.skip(DAY);
  const before = await left();
  const expired = () => client(url, tokens.access_token)("GET /v1/tasks");
  // A client with several requests under way refreshes at once for each of them.
  const answers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      expect((await expired()).status).toBe(401);
      return (await refresh(url, tokens.refresh_token)).status;
    }),
  );
  expect(answers).toEqual(Array(6).fill(200));
  for (let i = 6; i < 60; i++) expect((await expired()).status).toBe(401);
  expect(await left()).toBe(before - 1);
  for (let i = 0; i < 3; i++) expect((await expired()).status).toBe(401);
  expect(await left()).toBe(before - 5);
  while ((await expired()).status === 401);
  expect((await expired()).status).toBe(429);
  expect((await refresh(url, tokens.refresh_token)).status).toBe(200);
});

test("a web page of another origin can neither approve nor get tokens [§18.4.3]", async () => {
  await clock.skip(60);
  const { request, tokens } = await connectClient(url, person);
  const { body: before } = await person.send("GET /v1/keys");
  const headers = { origin: "https://evil.example" };
  // What a browser sends for a form without a script, and with the token if it had it.
  for (const [path, body] of [
    ["/v1/oauth/approve", JSON.stringify({ request, label: "forged" })],
    ["/v1/oauth/deny", JSON.stringify({ request })],
  ] as const) {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json"]) {
      for (const credential of [undefined, person.token]) {
        const response = await fetch(url + path, {
          method: "POST",
          headers: {
            ...headers,
            "content-type": type,
            ...(credential && { authorization: `Bearer ${credential}` }),
          },
          body,
        });
        expect(response.status).toBe(403);
      }
    }
    // From a page of the server itself, but without the token: a browser sends no credential by itself.
    const own = await client(url)(`POST ${path}`, body, { headers: { origin: url } });
    expect(own.status).toBe(401);
  }
  const forged = await postForm(
    `${url}/oauth/token`,
    { grant_type: "refresh_token", refresh_token: tokens.refresh_token },
    headers,
  );
  expect(forged.status).toBe(403);
  expect((await person.send("GET /v1/keys")).body).toEqual(before);
});

test("pages of CORS_ORIGINS may read metadata, register and get tokens", async () => {
  const origin = "https://inspector.example";
  const open = await startTestApp({ clock, env: { CORS_ORIGINS: origin } });
  const owner = await createPerson(open.url);
  const { tokens } = await connectClient(open.url, owner);
  const fields = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
  const headers = { origin };
  for (const answer of [
    await client(open.url)("GET /.well-known/oauth-authorization-server", undefined, { headers }),
    await client(open.url)("POST /oauth/register", { redirect_uris: [REDIRECT] }, { headers }),
    await postForm(`${open.url}/oauth/token`, fields, headers),
  ]) {
    expect(answer.status).toBeLessThan(300);
    expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
  }
  const preflight = await fetch(`${open.url}/oauth/token`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST" },
  });
  expect(preflight.status).toBe(204);
});
