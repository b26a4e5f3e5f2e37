/** The id of a request: where it comes from, and that it is in the response and in log lines (§1.2.11). */

import { expect, test } from "bun:test";
import { ADMIN, ADMIN_TOKEN } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createPair } from "../support/client.ts";
import { exchange } from "../support/wire.ts";

const MADE = /^req_[0-9a-f]{12}_[0-9a-z]+$/;
const PING = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';
const ACCEPT = { accept: "application/json, text/event-stream" };

/** One route of each surface, with a body if it needs one. */
const SURFACES = [
  ["GET", "/v1/tasks"],
  ["GET", "/trpc/tasks.list?input={}"],
  ["POST", "/mcp", PING],
  ["POST", "/oauth/token", "{}"],
  ["GET", "/oauth/authorize"],
  ["GET", "/.well-known/oauth-authorization-server"],
  ["GET", "/admin/trpc/jobs"],
  ["GET", "/docs"],
  ["GET", "/health"],
  ["GET", "/nothing"],
] as const;

test("a trusted proxy gives the id, on every surface; anybody else's is ignored [§1.2.11]", async () => {
  const app = await startTestApp({ env: { ...ADMIN, TRUST_PROXY: "1" } });
  const direct = await startTestApp({ env: ADMIN });
  const idOf = async (url: string, sent: string, [method, path, body]: (typeof SURFACES)[number]) =>
    (
      await exchange(url, method, path, { body, headers: { ...ACCEPT, "x-request-id": sent } })
    ).headers.get("x-request-id");
  const longest = `Az09._:+/=@-${"x".repeat(116)}`;
  for (const surface of SURFACES) {
    expect([surface[1], await idOf(app.url, longest, surface)]).toEqual([surface[1], longest]);
    expect(await idOf(direct.url, longest, surface)).toMatch(MADE);
  }
  for (const bad of [`${longest}x`, "", "two words", 'quo"te', "comma,", "\u00e9"]) {
    expect([bad, await idOf(app.url, bad, SURFACES[0])]).toEqual([
      bad,
      expect.stringMatching(MADE),
    ]);
  }
});

test("requests that are answered at the same time keep their own ids [§1.2.11]", async () => {
  const app = await startTestApp();
  const { agent } = await createPair(app.url);
  for (let i = 0; i < 30; i++) await agent.send("POST /v1/tasks", { title: "x".repeat(200) });
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      agent.send(i % 2 === 0 ? "GET /v1/tasks?limit=30" : "GET /v1/agents"),
    ),
  );
  const ids = answers.map(({ headers }) => headers.get("x-request-id"));
  expect(new Set(ids).size).toBe(60);
  const logged = app.lines.map((line) => JSON.parse(line).request_id);
  expect(ids.filter((id) => !logged.includes(id))).toEqual([]);
});

test("the log lines of a request have its id, on every surface; a wait ends with it [§1.2.11]", async () => {
  const app = await startTestApp({ env: ADMIN });
  const { person, agent } = await createPair(app.url);
  const credential = agent.secret;
  /** The event of each log line about the request, and its route. */
  const linesOf = ({ headers }: { readonly headers: Headers }) =>
    app.lines
      .map((line) => JSON.parse(line))
      .filter(({ request_id }) => request_id === headers.get("x-request-id"))
      .map(({ event, route }) => [event, route]);

  const question = await ask(agent.send, { prompt: "Go on?", kind: "text" });
  const waiting = agent.send(`GET /v1/questions/${question.id}?wait=20`);
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "yes" });
  const answered = await waiting;
  expect(linesOf(answered)).toEqual([["request", "GET /v1/questions/{question_id}"]]);
  // So that one search for a question finds the requests that asked and answered it.
  const about = app.lines
    .map((line) => JSON.parse(line))
    .filter((line) => line.about === question.id);
  expect(about.map(({ route }) => route).sort()).toEqual([
    "GET /v1/questions/{question_id}",
    "POST /v1/questions",
    "POST /v1/questions/{question_id}/answer",
  ]);

  const broken = app.services as unknown as Record<string, Record<string, unknown>>;
  broken.tasks!.list = async () => {
    throw new Error("a fault");
  };
  const fault = ["internal error", "GET /v1/tasks"];
  expect(linesOf(await agent.send("GET /v1/tasks"))).toEqual([fault, ["request", "GET /v1/tasks"]]);
  const call = await exchange(app.url, "GET", "/trpc/tasks.list?input={}", { credential });
  expect(linesOf(call)).toEqual([
    ["internal error", "/trpc/tasks.list"],
    ["request", "GET /trpc/tasks.list"],
  ]);
  const params = { name: "list_tasks", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const tool = await exchange(app.url, "POST", "/mcp", { credential, body, headers: ACCEPT });
  expect(linesOf(tool)).toEqual([
    ["internal error", "POST /mcp list_tasks"],
    ["request", "POST /mcp"],
  ]);
  const blocked = await exchange(app.url, "POST", "/admin/trpc/setBlocked", {
    credential: ADMIN_TOKEN,
    body: JSON.stringify({ account_id: person.account.id, blocked: true }),
  });
  expect(linesOf(blocked)).toEqual([
    ["account blocked by the administrator", undefined],
    ["request", "POST /admin/trpc"],
  ]);
});
