/** The security headers of every kind of response (§1.2.10). */

import { expect, test } from "bun:test";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createTestClock } from "../support/clock.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { exchange } from "../support/wire.ts";
import { createWorld, kindsOf } from "../support/world.ts";

const ORIGIN = "https://app.example";
const env = { ...ADMIN, CORS_ORIGINS: ORIGIN };
const app = await startTestApp({ env });
const secure = await startTestApp({ env: { ...env, PUBLIC_URL: "https://relay.example" } });

const NOTHING = "default-src 'none'; frame-ancestors 'none'";
const API = {
  "content-security-policy": NOTHING,
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};
const page = (policy: string) => ({
  ...API,
  "content-security-policy": `default-src 'none'; script-src 'self'; style-src 'self'; ${policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
});
const PERSON = page(
  "connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; worker-src 'self'",
);
const DOCS = page("img-src 'self' data:; connect-src 'self'");
const PROBLEM = {
  ...DOCS,
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};
const WORKER = {
  ...API,
  "content-security-policy":
    "default-src 'none'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'",
};

const NAMES = [...Object.keys(PERSON), "strict-transport-security"];
const HSTS = { "strict-transport-security": "max-age=31536000" };

const ACCEPT = { accept: "application/json, text/event-stream" };
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
});

/** The headers that concern security. */
const securityOf = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => NAMES.includes(name)));

/** Ids of the requests so far: each has one of its own. */
const request_ids = new Set<string>();
const hasNewId = (headers: Headers): boolean => {
  const id = headers.get("x-request-id") ?? "";
  const is_new = /^req_[0-9a-f]{12}_[0-9a-z]+$/.test(id) && !request_ids.has(id);
  request_ids.add(id);
  return is_new;
};

type Sent = NonNullable<Parameters<typeof exchange>[3]>;

for (const [name, url, more] of [
  ["http", app.url, {}],
  ["https", secure.local_url, HSTS],
] as const) {
  test(`every kind of response of a server at ${name} has the security headers and a request id [§1.2.11]`, async () => {
    const world = await createWorld({ url });
    const credential = world.agent.secret;
    const large = "x".repeat(256 * 1024 + 1);
    const preflight = { headers: { origin: ORIGIN, "access-control-request-method": "POST" } };
    const html = await (await fetch(`${url}/`)).text();
    const assets = [...html.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(
      ([, path]) => [200, "GET", `/${path}`, {}, API] as const,
    );
    expect(assets.length).toBe(5);
    const docs = await (await fetch(`${url}/docs`)).text();
    const [, script] = /src="(docs\/[^"]+)"/.exec(docs)!;
    const cases: readonly (readonly [number, string, string, Sent, object])[] = [
      [200, "GET", "/", {}, PERSON],
      [200, "HEAD", "/", {}, PERSON],
      [405, "POST", "/", {}, API],
      [200, "GET", "/admin", {}, PERSON],
      [200, "GET", "/docs", {}, DOCS],
      [200, "GET", `/${script}`, {}, API],
      [200, "GET", "/sw.js", {}, WORKER],
      [200, "GET", "/manifest.webmanifest", {}, API],
      ...assets,
      [404, "GET", "/assets/nothing.js", {}, API],
      [200, "GET", "/problems/not_found", {}, PROBLEM],
      [404, "GET", "/problems/nothing", {}, API],
      [200, "GET", "/health", {}, API],
      [200, "GET", "/v1/openapi.json", {}, API],
      [200, "GET", "/v1/tasks", { credential }, API],
      [200, "HEAD", "/v1/tasks", { credential }, API],
      [201, "POST", "/v1/tasks", { credential, body: '{"title":"t"}' }, API],
      [204, "DELETE", `/v1/tasks/${world.task.id}`, { credential }, API],
      [204, "OPTIONS", "/v1/tasks", preflight, API],
      [204, "OPTIONS", "/trpc/tasks.list", preflight, API],
      [400, "POST", "/v1/tasks", { credential, body: "{" }, API],
      [401, "GET", "/v1/tasks", {}, API],
      [403, "GET", "/v1/keys", { credential }, API],
      [403, "GET", "/v1/events", { credential }, API],
      [404, "GET", "/v1/tasks/x", { credential }, API],
      [404, "GET", "/v1/nothing", {}, API],
      [404, "GET", "/nothing", {}, API],
      [405, "PUT", "/v1/tasks", { credential }, API],
      [413, "POST", "/v1/tasks", { credential, body: large }, API],
      [415, "POST", "/v1/tasks", { credential, body: "{}", type: "text/plain" }, API],
      [422, "GET", "/v1/tasks?limit=0", { credential }, API],
      [200, "GET", "/trpc/tasks.list?input={}", { credential }, API],
      [401, "GET", "/trpc/tasks.list?input={}", {}, API],
      [404, "GET", "/trpc/nothing", { credential }, API],
      [200, "GET", "/admin/trpc/jobs", { credential: ADMIN_TOKEN }, API],
      [401, "GET", "/admin/trpc/jobs", {}, API],
      [200, "GET", "/metrics", { credential: ADMIN_TOKEN }, API],
      [401, "GET", "/metrics", {}, API],
      [413, "POST", "/trpc/tasks.create", { credential, body: large }, API],
      [200, "POST", "/mcp", { credential, body: INITIALIZE, headers: ACCEPT }, API],
      [401, "POST", "/mcp", { body: INITIALIZE, headers: ACCEPT }, API],
      [403, "POST", "/mcp", { credential, headers: { origin: "https://other.example" } }, API],
      [405, "GET", "/mcp", { credential }, API],
    ];
    for (const [status, method, path, sent, wanted] of cases) {
      const answer = await exchange(url, method, path, sent);
      const { headers } = answer;
      const told = [method, path, answer.status, securityOf(headers), hasNewId(headers)];
      expect(told).toEqual([method, path, status, { ...wanted, ...more }, true]);
    }
    const headers = { authorization: `Bearer ${world.person.token}` };
    const stream = await fetch(`${url}/v1/events`, { headers });
    expect(securityOf(stream.headers)).toEqual({ ...API, ...more });
    expect(hasNewId(stream.headers)).toBe(true);
    await stream.body!.cancel();
    // At least one refusal of each route and, where it needs no body, its success.
    for (const route of ROUTES) {
      if (route.procedure === "accounts.delete") continue;
      for (const kind of ["none", ...kindsOf(route)] as const) {
        const answer = await world.send(route, kind);
        const told = [nameOf(route), securityOf(answer.headers), hasNewId(answer.headers)];
        expect(told).toEqual([nameOf(route), { ...API, ...more }, true]);
      }
    }
  });
}

test("a rate-limited response has the security headers too", async () => {
  // A busy machine could take so long that the address may call again.
  const limited = await startTestApp({ clock: createTestClock(), env: { RATE_LIMITS: "on" } });
  let answer = await exchange(limited.url, "GET", "/nothing");
  for (let i = 0; i < 60; i++) answer = await exchange(limited.url, "GET", "/nothing");
  expect([answer.status, securityOf(answer.headers), hasNewId(answer.headers)]).toEqual([
    429,
    API,
    true,
  ]);
});
