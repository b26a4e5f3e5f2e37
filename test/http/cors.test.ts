/** CORS: off, or only for the named origins. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair } from "../support/client.ts";
import { OPERATIONS } from "../support/operations.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const ORIGIN = "https://app.example";
const OTHER = "http://localhost:5173";
const app = await startTestApp({ env: { CORS_ORIGINS: `${ORIGIN}, ${OTHER}`, RATE_LIMITS: "on" } });
const { person, agent } = await createPair(app.url);
const off = await startTestApp();

const EXPOSED =
  "retry-after, ratelimit, ratelimit-policy, idempotency-replayed, mcp-session-id, www-authenticate, x-request-id";
const SENT =
  "authorization, content-type, idempotency-key, x-agent-host, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id, trpc-accept";

const corsOf = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith("access-control-")));

const preflight = (url: string, path: string, origin = ORIGIN) =>
  exchange(url, "OPTIONS", path, {
    headers: { origin, "access-control-request-method": "POST" },
  });

/** Path -> its methods in the interface. */
const METHODS = new Map<string, Set<string>>();
for (const name of [...Object.keys(OPERATIONS), "GET /v1/openapi.json"]) {
  const [method, path] = name.split(" ") as [string, string];
  const methods = METHODS.get(path) ?? new Set();
  METHODS.set(path, methods.add(method));
  if (method === "GET") methods.add("HEAD");
}

test("a preflight of an allowed origin names the path's methods and the headers that may be sent", async () => {
  expect(METHODS.size).toBeGreaterThan(8);
  for (const [path, methods] of [...METHODS, ["/trpc/tasks.list", new Set(["GET", "POST"])]] as [
    string,
    Set<string>,
  ][]) {
    const { status, headers, text } = await preflight(app.url, path.replace(/\{\w+\}/g, "x"));
    expect([path, status, text]).toEqual([path, 204, ""]);
    const { "access-control-allow-methods": allowed, ...rest } = corsOf(headers);
    expect([path, allowed!.split(", ").sort()]).toEqual([path, [...methods].sort()]);
    expect(rest).toEqual({
      "access-control-allow-origin": ORIGIN,
      "access-control-allow-headers": SENT,
      "access-control-max-age": "7200",
    });
    expect([headers.get("vary"), headers.get("cache-control")]).toEqual(["Origin", "no-store"]);
  }
  // However often it is repeated, it is not refused.
  for (let i = 0; i < 70; i++) await preflight(app.url, "/v1/tasks", OTHER);
  const { status, headers } = await preflight(app.url, "/v1/tasks", OTHER);
  expect([status, headers.get("access-control-allow-origin")]).toEqual([204, OTHER]);
});

test("every response to an allowed origin may be read, including errors and streams [§1.2.6]", async () => {
  const credential = agent.secret;
  const answers = [
    [200, "GET", "/v1/tasks", { credential }],
    [201, "POST", "/v1/tasks", { credential, body: '{"title":"a"}' }],
    [404, "GET", "/v1/tasks/x", { credential }],
    [404, "GET", "/v1/nothing", { credential }],
    [405, "PUT", "/v1/tasks", { credential }],
    [401, "GET", "/v1/keys", {}],
    [400, "POST", "/v1/tasks", { credential, body: "{" }],
    [413, "POST", "/v1/tasks", { credential, body: "x".repeat(256 * 1024 + 1) }],
    [422, "GET", "/v1/tasks?limit=0", { credential }],
    [403, "GET", "/v1/events", { credential }],
    [200, "GET", "/v1/openapi.json", {}],
    [200, "GET", "/trpc/tasks.list?input={}", { credential }],
    [404, "GET", "/trpc/nothing", { credential }],
    [401, "GET", "/trpc/tasks.list?input={}", {}],
  ] as const;
  for (const [status, method, path, sent] of answers) {
    const answer = await exchange(app.url, method, path, { ...sent, headers: { origin: ORIGIN } });
    expect([path, answer.status]).toEqual([path, status]);
    expect([path, corsOf(answer.headers)]).toEqual([
      path,
      { "access-control-allow-origin": ORIGIN, "access-control-expose-headers": EXPOSED },
    ]);
    expect(answer.headers.get("vary")).toContain("Origin");
  }
  const response = await fetch(`${app.url}/v1/events`, {
    headers: { authorization: `Bearer ${person.token}`, origin: OTHER },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("access-control-allow-origin")).toBe(OTHER);
  expect(response.headers.get("vary")).toBe("Origin");
  await response.body!.cancel();
});

test("any other origin, and a request without one, gets no CORS headers", async () => {
  const credential = agent.secret;
  const strange = ["https://app.example:8443", "http://app.example", "https://APP.example", "null"];
  for (const origin of [
    ...strange,
    "https://app.example.evil.example",
    `${ORIGIN},${OTHER}`,
    "*",
  ]) {
    const answer = await exchange(app.url, "GET", "/v1/tasks", { credential, headers: { origin } });
    expect([origin, answer.status, corsOf(answer.headers)]).toEqual([origin, 200, {}]);
    // The response depends on the origin, and caches must know that.
    expect(answer.headers.get("vary")).toBe("Origin");
    const asked = await preflight(app.url, "/v1/tasks", origin);
    expectProblem(asked, "method_not_allowed");
    expect([origin, corsOf(asked.headers)]).toEqual([origin, {}]);
  }
  const plain = await exchange(app.url, "GET", "/v1/tasks", { credential });
  expect([corsOf(plain.headers), plain.headers.get("vary")]).toEqual([{}, "Origin"]);
  // OPTIONS without a preflight is an ordinary method.
  const headers = { origin: ORIGIN };
  const options = await exchange(app.url, "OPTIONS", "/v1/tasks", { headers });
  expectProblem(options, "method_not_allowed");
  expect(options.headers.get("allow")).toBe("GET, POST, HEAD");
  expectProblem(await preflight(app.url, "/v1/nothing"), "unknown_path");
});

test("paths that are not an interface for pages have no CORS", async () => {
  for (const path of ["/health", "/nothing", "/v1x", "/trpcx/a"]) {
    const answer = await exchange(app.url, "GET", path, { headers: { origin: ORIGIN } });
    expect([path, corsOf(answer.headers), answer.headers.get("vary")]).toEqual([path, {}, null]);
    expect((await preflight(app.url, path)).status).not.toBe(204);
  }
});

test("without CORS_ORIGINS no header is sent, and OPTIONS is refused as usual", async () => {
  const { agent: one } = await createPair(off.url);
  for (const path of ["/v1/tasks", "/v1/nothing", "/trpc/tasks.list?input={}"]) {
    const headers = { origin: ORIGIN };
    const answer = await exchange(off.url, "GET", path, { credential: one.secret, headers });
    expect(corsOf(answer.headers)).toEqual({});
    expect(answer.headers.get("vary") ?? "").not.toContain("Origin");
    const asked = await preflight(off.url, path);
    expect([asked.status >= 400, corsOf(asked.headers)]).toEqual([true, {}]);
  }
  const asked = await preflight(off.url, "/v1/tasks");
  expectProblem(asked, "method_not_allowed");
  expect(asked.headers.get("allow")).toBe("GET, POST, HEAD");
});
