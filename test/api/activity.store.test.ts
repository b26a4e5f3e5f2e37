/** The request log over REST and tRPC: which requests have an entry, and what it contains. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { actionsOf, apart, entriesOf, readAll } from "../support/entries.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange, MARK } from "../support/wire.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

test("a log entry has the time, action, outcome, duration and host [§2.8] [§5.4.5] [§15.1.5] [§15.1.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const path = `/v1/keys/${agent.key.id}/activity` as const;
  expect((await person.send(`GET ${path}`)).body).toEqual({ items: [], next_cursor: null });
  const at = clock.now();
  const headers = { "x-agent-host": "build-7" };
  await agent.send("POST /v1/tasks", { title: "a" }, { headers });
  // The entry is there shortly after the response, never before it.
  expect((await person.send(`GET ${path}`)).body.items).toEqual([]);
  await clock.advance(0.05);
  const later = clock.now();
  await agent.send("PATCH /v1/tasks/nothing", { progress: 5 });
  await clock.advance(0.05);
  const { body } = await until(async () => {
    const answer = await person.send(`GET ${path}`);
    return answer.body.items.length === 2 && answer;
  });
  const entry = {
    id: expect.stringMatching(/^act_[0-9a-f]{32}$/),
    surface: "rest",
    duration_ms: 0,
    client: null,
  };
  expect(body).toEqual({
    items: [
      {
        ...entry,
        at: later,
        action: "PATCH /v1/tasks/{task_id}",
        status: "error",
        code: "not_found",
        message: "Not found.",
        host: null,
        count: 1,
        last_at: later,
      },
      {
        ...entry,
        at,
        action: "POST /v1/tasks",
        status: "ok",
        code: null,
        message: null,
        host: "build-7",
        count: 1,
        last_at: at,
      },
    ],
    next_cursor: null,
  });
});

test("each request has one log entry with the method and path of its route, on REST and tRPC [§15.1.1] [§15.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const credential = agent.secret;
  const expected: [string, string][] = [];
  for (const route of ROUTES) {
    const path = route.path.replace(/\{\w+\}/g, "x");
    // A JSON body that is not an object; where there is no body, an id with NUL, or else nothing wrong.
    const answer = route.in_body
      ? await exchange(app.url, route.method, path, { credential, body: "[1]" })
      : await exchange(app.url, route.method, path.replace(/\/x(?=\/|$)/, "/%00"), { credential });
    const trpc = `/trpc/${route.procedure}`;
    const called =
      route.type === "query"
        ? await exchange(app.url, "GET", `${trpc}?input=[1]`, { credential })
        : await exchange(app.url, "POST", trpc, { credential, body: "[1]" });
    if (route.access === "none") continue;
    expected.push(
      [nameOf(route), answer.status < 300 ? null : answer.body.code],
      [nameOf(route), called.body.error.data.code_name],
    );
  }
  expect(expected.length).toBeGreaterThan(30);
  const entries = await entriesOf(clock, person, agent);
  expect(actionsOf(entries)).toEqual(expected);
  expect(new Set(entries.map(({ surface }) => surface))).toEqual(new Set(["rest"]));
  expect(new Set(expected.map(([, code]) => code))).toEqual(
    new Set([null, "forbidden", "invalid_fields"] as never),
  );
});

test("HEAD is logged as HEAD, and every call of a tRPC batch has its own entry [§15.1.1] [§15.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const credential = agent.secret;
  const task = await createTask(agent.send);
  const question = await ask(agent.send);
  await agent.send("HEAD /v1/tasks");
  await agent.send(`HEAD /v1/tasks/${task.id}`);
  await agent.send(`HEAD /v1/questions/${question.id}?wait=5`);
  const inputs = { 0: {}, 1: { task_id: task.id }, 2: {}, 3: {} };
  const names = "tasks.list,tasks.get,keys.list,nothing";
  const query = `batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
  await exchange(app.url, "GET", `/trpc/${names}?${query}`, { credential });
  // The batch is refused before any of its calls.
  const many = Array(21).fill("tasks.list").join();
  await exchange(app.url, "GET", `/trpc/${many}?batch=1`, { credential });
  await exchange(app.url, "POST", "/trpc/tasks.create,tasks.list?batch=1", {
    credential,
    body: '{"0":{"title":"t"},"1":{}}',
  });
  const got = actionsOf(await entriesOf(clock, person, agent));
  expect(got.slice(0, 5)).toEqual([
    ["POST /v1/tasks", null],
    ["POST /v1/questions", null],
    ["HEAD /v1/tasks", null],
    ["HEAD /v1/tasks/{task_id}", null],
    ["HEAD /v1/questions/{question_id}", null],
  ]);
  // The calls of a batch run concurrently, in any order.
  expect(got.slice(5, 8).sort()).toEqual([
    ["GET /v1/keys", "forbidden"],
    ["GET /v1/tasks", null],
    ["GET /v1/tasks/{task_id}", null],
  ]);
  expect(got.slice(8)).toEqual([
    ["GET /trpc", "invalid_fields"],
    ["POST /trpc", "invalid_fields"],
  ]);
});

test("requests that fail before the credential is checked, or come without a key, have no log entry [§15.1.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const credential = agent.secret;
  const none: [number, string, string, object?][] = [
    [404, "GET", "/v1/nothing"],
    [404, "GET", "/v1/tasks/"],
    [405, "PUT", "/v1/tasks"],
    [405, "OPTIONS", "/v1/tasks"],
    [413, "POST", "/v1/tasks", { body: "x".repeat(256 * 1024 + 1) }],
    [415, "POST", "/v1/tasks", { body: "{}", type: "text/plain" }],
    [400, "POST", "/v1/tasks", { body: "{" }],
    [400, "POST", "/v1/tasks", { body: "" }],
    [200, "GET", "/health"],
    [200, "GET", "/v1/openapi.json"],
    [403, "GET", "/v1/events"],
    [201, "POST", "/v1/accounts"],
    [404, "GET", "/trpc/nothing"],
    [405, "POST", "/trpc/tasks.list", { body: "{}" }],
    [400, "POST", "/trpc/tasks.create", { body: "{" }],
    [413, "POST", "/trpc/tasks.create", { body: "x".repeat(256 * 1024 + 1) }],
    [200, "POST", "/trpc/accounts.create", { body: "{}" }],
    [401, "GET", "/v1/tasks", { credential: `${credential}x` }],
    [401, "GET", "/v1/tasks", { credential: undefined }],
  ];
  for (const [status, method, path, sent] of none) {
    const answer = await exchange(app.url, method, path, { credential, ...sent });
    expect([path, method, answer.status]).toEqual([path, method, status]);
  }
  // Requests of the account are not logged for the key, whatever they are about.
  const task = await createTask(person.send, { title: "a", key_id: agent.key.id });
  await person.send(`PATCH /v1/tasks/${task.id}`, { title: "b" });
  await person.send(`GET /v1/keys/${agent.key.id}/activity`);
  expect(await entriesOf(clock, person, agent)).toEqual([]);
});

test("a request whose JSON body is not an object has a log entry, and so has every later error [§15.1.1] [§15.1.4] [§9.1.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const asked = await ask(agent.send);
  await person.send(`POST /v1/questions/${asked.id}/answer`, { answer: "Yes" });
  const calls: [`${string} /${string}`, unknown, string | null][] = [
    ["POST /v1/tasks", "[1]", "Invalid fields: body."],
    ["POST /v1/tasks", "null", "Invalid fields: body."],
    ["POST /v1/tasks", "{}", "Invalid fields: title."],
    ["POST /v1/tasks", { title: 1, priority: "high!", notify: 0 }, null],
    // An unknown field name may be content: the response repeats it, the log does not.
    ["POST /v1/tasks", { title: "a", zqmarkqz: 1 }, "Invalid fields: unknown."],
    ["POST /v1/tasks", { title: "", zqmarkqz: 1, [MARK]: 1 }, "Invalid fields: title, unknown."],
    ["POST /v1/tasks", { title: "a", body: 1, unknown: 1 }, "Invalid fields: unknown."],
    ["POST /v1/questions", { prompt: "p", wait: 1 }, "Invalid fields: unknown."],
    ["POST /v1/tasks", { title: "a", key_id: "key_x" }, "Invalid fields: key_id."],
    ["POST /v1/questions", { prompt: "p", kind: "choice" }, "Invalid fields: options."],
    ["GET /v1/tasks?limit=0&limit=0", undefined, "Invalid fields: limit."],
    ["GET /v1/tasks?cursor=x", undefined, "Invalid fields: cursor."],
    ["GET /v1/tasks?key_id=x", undefined, "Invalid fields: key_id."],
    ["GET /v1/keys", undefined, null],
    ["GET /v1/tasks/x", undefined, null],
    [`DELETE /v1/questions/${asked.id}`, undefined, null],
  ];
  const answers = [];
  for (const [request, body] of calls) {
    answers.push((await agent.send(request, body, apart())).body);
  }
  const entries = (await entriesOf(clock, person, agent)).slice(1);
  expect(entries.map(({ code, status }) => [code, status])).toEqual(
    answers.map(({ code }) => [code, "error"]),
  );
  const codes = ["invalid_fields", "forbidden", "not_found", "question_not_pending"];
  expect([...new Set(answers.map(({ code }) => code))]).toEqual(codes);
  for (const [i, [request, , message]] of calls.entries()) {
    if (message) expect([request, entries[i]!.message]).toEqual([request, message]);
  }
  expect(entries[3]!.message).toBe("Invalid fields: title, priority, notify.");
  expect(JSON.stringify(entries)).not.toMatch(/zqmarkqz|key_x/i);
});

test("list pages hold every log entry once, newest first, also while entries are added [§5.4.5] [§10.3 activity_page]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  for (let i = 0; i < 120; i++) {
    await agent.send(i % 2 ? "GET /v1/tasks" : "GET /v1/questions", undefined, apart());
    // Some requests share a millisecond.
    if (i % 3 === 0) await clock.advance(0.001);
  }
  await other.send("GET /v1/tasks");
  const sent = await entriesOf(clock, person, agent);
  expect(sent.length).toBe(120);
  const path = `/v1/keys/${agent.key.id}/activity` as const;
  expect((await person.send(`GET ${path}`)).body.items.length).toBe(50);

  const seen: any[] = [];
  let cursor = "";
  for (let pages = 0; ; pages++) {
    const { body } = await person.send(`GET ${path}?limit=7${cursor && `&cursor=${cursor}`}`);
    seen.push(...body.items);
    if (body.next_cursor === null) break;
    expect([pages < 20, body.items.length]).toEqual([true, 7]);
    cursor = body.next_cursor;
    await agent.send("GET /v1/tasks", undefined, apart());
    await clock.advance(0.1);
  }
  expect(seen.length).toBe(121);
  const ordered = seen.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1));
  expect(seen).toEqual(ordered);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(121);
  expect(seen.slice(1).reverse()).toMatchObject(sent);
  // A cursor is valid for its own list only.
  const stranger = await createPair(app.url);
  for (const [send, target] of [
    [person.send, `/v1/keys/${other.key.id}/activity`],
    [person.send, "/v1/tasks"],
  ] as const) {
    const { status, body } = await send(`GET ${target as `/${string}`}?cursor=${cursor}`);
    expect([status, Object.keys(body.fields)]).toEqual([422, ["cursor"]]);
  }
  expect((await stranger.person.send(`GET ${path}`)).status).toBe(404);
});

test("a log entry sends no event [§7.3.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  await agent.send("GET /v1/tasks");
  await until(async () => {
    await clock.advance(0.1);
    return (await readAll(person.send, agent.key.id)).length === 1;
  });
  await createTask(agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("the log of a deleted key cannot be read, and nothing is added to it [§15.1.5] [§5.4.6(1)]", async () => {
  const { person, agent } = await createPair(app.url);
  await agent.send("GET /v1/tasks");
  expect((await entriesOf(clock, person, agent)).length).toBe(1);
  await agent.send("GET /v1/tasks");
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  const path = `GET /v1/keys/${agent.key.id}/activity` as const;
  expect((await person.send(path)).status).toBe(404);
  await clock.advance(0.1);
  expect((await person.send(path)).status).toBe(404);
  expect((await client(app.url, agent.secret)("GET /v1/tasks")).status).toBe(401);
});
