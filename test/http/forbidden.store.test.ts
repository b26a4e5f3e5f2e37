/** The title of `403 forbidden` is true of each cause, and the detail names the cause (§9.2). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair, pair } from "../support/client.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const app = await startTestApp();
const { person, agent } = await createPair(app.url);
const fresh = await pair(app.url, person);

const HOST = { host: "rebound.example" };
const ORIGIN = { origin: "https://foreign.example" };

test("403 mentions credentials only for a wrong credential, not for a refused host, origin or sign-in", async () => {
  for (const [cause, method, path, credential, headers] of [
    ["ALLOWED_HOSTS", "POST", "/mcp", agent.secret, HOST],
    ["ALLOWED_HOSTS", "GET", "/oauth/authorize", undefined, HOST],
    ["ALLOWED_HOSTS", "POST", "/oauth/register", undefined, HOST],
    ["Origin", "POST", "/mcp", agent.secret, ORIGIN],
    ["origin", "POST", "/v1/tasks", agent.secret, ORIGIN],
    ["10 minutes", "POST", "/v1/pairings", fresh.token, {}],
    ["needs an account token", "POST", "/v1/pairings", agent.secret, {}],
    ["needs an account token", "GET", "/v1/events", agent.secret, {}],
    ["needs an API key", "GET", "/v1/inbox", person.token, {}],
    ["needs an API key", "POST", "/mcp", person.token, {}],
  ] as const) {
    const body = method === "POST" ? "{}" : undefined;
    const answer = await exchange(app.url, method, path, { credential, headers, body });
    expectProblem(answer, "forbidden");
    expect([path, answer.body.title]).toEqual([path, "Not allowed"]);
    expect(answer.body.detail).toContain(cause);
  }
});
