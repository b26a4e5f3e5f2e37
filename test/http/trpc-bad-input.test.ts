/** What `/trpc` refuses: the same faults as on REST, with the same codes and without a stack trace. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { connect, head, sendRaw } from "../support/raw.ts";
import { BODY_ROUTES, ROUTES, type Route } from "../support/routes.ts";
import { exchange, MARK, type WireAnswer } from "../support/wire.ts";
import { bodyBeside, bodyOf, createWorld, kindsOf, rowOf, withField } from "../support/world.ts";

const app = await startTestApp();
const world = await createWorld(app);
const { agent, person, task, credentials } = world;

let before: unknown;
beforeEach(async () => {
  before = await world.stored();
});
afterEach(async () => {
  expect(await world.stored()).toEqual(before);
});

type Sent = NonNullable<Parameters<typeof exchange>[3]>;

const post = (procedure: string, sent: Sent) =>
  exchange(app.url, "POST", `/trpc/${procedure}`, { credential: agent.secret, ...sent });

/** Every response to a query whose input is this JSON text. */
const get = (procedure: string, input: string, credential = agent.secret) =>
  exchange(app.url, "GET", `/trpc/${procedure}?input=${encodeURIComponent(input)}`, { credential });

/** The faults of a response that should be this error. */
function faultsOf(answer: WireAnswer, status: number, code: string, fields?: string[]): string[] {
  const data = answer.body?.error?.data;
  const got = [answer.status, data?.httpStatus, data?.code_name];
  const faults: string[] = [];
  if (!Bun.deepEquals(got, [status, status, code])) {
    faults.push(`${got} instead of ${status} ${code}: ${answer.text.slice(0, 100)}`);
  }
  if (fields && Object.keys(data?.fields ?? {}).join() !== fields.join()) {
    faults.push(`fields: ${Object.keys(data?.fields ?? {})}, not ${fields}`);
  }
  if (/stack|\.ts\b|node_modules/.test(answer.text)) faults.push("a stack");
  if (answer.text.includes(MARK)) faults.push("repeats what was sent");
  if (answer.headers.get("content-type") !== "application/json") faults.push("content type");
  if (status === 401 && !answer.headers.has("www-authenticate")) faults.push("no challenge");
  return faults;
}

/** The whole input of the procedure, as JSON text. */
function inputOf(route: Route, kind: "none" | "account" | "key"): string {
  const ids = Object.fromEntries(route.in_path.map((name) => [name, world.ids[name]!]));
  return JSON.stringify({ ...ids, ...JSON.parse(bodyOf(world, route, kind) ?? "{}") });
}

test("each field of each procedure refuses the values that it refuses on REST [§9.2.1 422]", async () => {
  const faults: string[] = [];
  for (const route of BODY_ROUTES) {
    const kind = kindsOf(route)[0]!;
    for (const name of [...route.in_body!, "extra", "constructor", "__proto__"]) {
      const known = route.in_body!.includes(name);
      const whole = inputOf(route, kind);
      const input = known ? bodyBeside(whole, route.procedure, name) : whole;
      for (const value of known ? rowOf(route.procedure, name).bad : ["1"]) {
        const sent = { body: withField(input, name, value), credential: credentials[kind] };
        const field = name === "__proto__" ? "unknown" : name;
        const some = faultsOf(await post(route.procedure, sent), 422, "invalid_fields", [field]);
        faults.push(...some.map((f) => `${route.procedure} ${name} ${value.slice(0, 30)}: ${f}`));
      }
    }
  }
  expect(faults).toEqual([]);
});

test("a tRPC input that is not an object is 422, and one that is not JSON is 400 [§9.2.1 422]", async () => {
  const faults: string[] = [];
  for (const route of ROUTES) {
    const kind = kindsOf(route)[0]!;
    const send = (input: string) =>
      route.type === "query"
        ? get(route.procedure, input, credentials[kind])
        : post(route.procedure, { body: input, credential: credentials[kind] });
    for (const input of ["[1]", "null", '"x"', "5", "true", "[]", `["${MARK}"]`]) {
      const some = faultsOf(await send(input), 422, "invalid_fields", ["body"]);
      faults.push(...some.map((fault) => `${route.procedure} ${input}: ${fault}`));
    }
    for (const input of ["{", `{"title":"${MARK}"`, MARK, "{}{}"]) {
      const some = faultsOf(await send(input), 400, "invalid_json");
      faults.push(...some.map((fault) => `${route.procedure} ${input}: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
});

test("inputs of tRPC queries are never coerced [§9.2.1 422]", async () => {
  const bad: [procedure: string, field: string, ...values: unknown[]][] = [
    ["tasks.list", "limit", "5", 0, 501, 1.5, null, true, [5]],
    ["tasks.list", "status", "todo", [], ["x"], null, {}, [["todo"]]],
    ["tasks.list", "priority", "low", [], ["LOW"], null],
    ["tasks.list", "cursor", 5, null, "x", {}],
    ["questions.list", "status", "pending", [], ["x"], null],
    ["questions.get", "wait", "0", -1, 51, 1.5, null],
  ];
  const faults: string[] = [];
  for (const [procedure, field, ...values] of bad) {
    const rest = procedure === "questions.get" ? { question_id: world.question.id } : {};
    for (const value of values) {
      const answer = await get(procedure, JSON.stringify({ ...rest, [field]: value }));
      const some = faultsOf(answer, 422, "invalid_fields", [field]);
      faults.push(...some.map((fault) => `${procedure} ${field} ${value}: ${fault}`));
    }
  }
  expect(faults).toEqual([]);
});

test("invalid patches are 422 on both surfaces, at first and after many valid ones [§5.5.5(2)] [§9.2.1 422]", async () => {
  const path = `PATCH /v1/tasks/${task.id}` as const;
  const bodies: [body: string, field: string][] = [
    ['{"notify":"no"}', "notify"],
    ['{"progress":"50"}', "progress"],
    ['{"notify":null}', "notify"],
    ["[1]", "body"],
    ["null", "body"],
  ];
  const check = async () => {
    for (const [body, field] of bodies) {
      const rest = await agent.send(path, body);
      expect([rest.status, rest.body.code]).toEqual([422, "invalid_fields"]);
      expect(Object.keys(rest.body.fields)).toEqual([field]);
      const input = body.replace("{", `{"task_id":"${task.id}",`);
      const trpc = await post("tasks.update", { body: input });
      expect(faultsOf(trpc, 422, "invalid_fields", [field])).toEqual([]);
    }
  };
  await check();
  for (let i = 0; i < 100; i++) {
    const body = { notify: i % 2 === 0, progress: i };
    const input = { body: JSON.stringify({ task_id: task.id, ...body }) };
    const { status } = i % 4 < 2 ? await agent.send(path, body) : await post("tasks.update", input);
    expect(status).toBe(200);
  }
  await check();
  // The changes of the valid patches stay.
  before = await world.stored();
});

test("each error code has its status on tRPC too [§9.1.3] [§4.1.5]", async () => {
  const json = (value: object) => ({ body: JSON.stringify(value) });
  const mine = { task_id: task.id };
  const no_task = json({ task_id: `${MARK}0` });
  const cases: [WireAnswer, number, string][] = [
    [await exchange(app.url, "POST", "/trpc/tasks.update", json(mine)), 401, "unauthorized"],
    [await post("tasks.update", { ...json(mine), credential: MARK }), 401, "unauthorized"],
    [await post("keys.create", json({ label: MARK })), 403, "forbidden"],
    [await post("tasks.delete", no_task), 404, "not_found"],
    [await post("tasks.nothing", json({})), 404, "unknown_path"],
    [await post("constructor", json({})), 404, "unknown_path"],
    [await post("tasks.get", json(mine)), 405, "method_not_allowed"],
    [await get("tasks.update", JSON.stringify(mine)), 405, "method_not_allowed"],
    [await post("tasks.create", { body: "{}", type: "text/plain" }), 415, "unsupported_media_type"],
    [await post("tasks.create", { body: "{}", type: null }), 415, "unsupported_media_type"],
    [await post("tasks.create", { body: Buffer.of(0x22, 0xff, 0x22) }), 400, "invalid_json"],
    [await post("tasks.create", { body: " ".repeat(256 * 1024 + 1) }), 413, "body_too_large"],
  ];
  expect(cases.flatMap(([answer, status, code]) => faultsOf(answer, status, code))).toEqual([]);
});

test("a tRPC body above the limit is refused before it arrives [§9.1.3]", async () => {
  const connection = await connect(app.url);
  const authorization = `Bearer ${agent.secret}`;
  const headers = { authorization, "content-type": "application/json" };
  const length = { "content-length": String(10 * 1024 * 1024) };
  connection.write(head("POST", "/trpc/tasks.create", { ...headers, ...length }));
  expect((await connection.answer())?.status).toBe(413);
  connection.end();
});

test("a batch of 21 calls is refused as a whole, and all calls of a batch of 20 run [§5.5.1]", async () => {
  const batch = (count: number) => {
    const inputs = Array.from({ length: count }, (_, i) => ({ title: `${i}` }));
    const names = Array(count).fill("tasks.create").join(",");
    return post(`${names}?batch=1`, { body: JSON.stringify({ ...inputs }) });
  };
  const refused = await batch(21);
  expect(refused.status).toBe(422);
  expect(refused.text).not.toMatch(/stack|\.ts\b|"result"/);
  expect(refused.headers.get("content-type")).toBe("application/json");
  const { message, data } = [refused.body].flat()[0].error;
  expect([message, data.code, data.httpStatus]).toEqual([
    "Invalid fields: batch.",
    "UNPROCESSABLE_CONTENT",
    422,
  ]);
  expect([data.code_name, Object.keys(data.fields)]).toEqual(["invalid_fields", ["batch"]]);
  expect(await world.stored()).toEqual(before);

  const made = await batch(20);
  expect(made.status).toBe(200);
  expect(made.body.map((one: any) => one.result.data.title)).toEqual(
    Array.from({ length: 20 }, (_, i) => `${i}`),
  );
  const queries = (count: number) => {
    const inputs = JSON.stringify({ ...Array(count).fill({ limit: 1 }) });
    return get(`${Array(count).fill("tasks.list").join(",")}`, inputs);
  };
  const path = (count: number) => `/trpc/${Array(count).fill("tasks.list").join(",")}?batch=1`;
  const input = (count: number) =>
    `&input=${encodeURIComponent(JSON.stringify({ ...Array(count).fill({ limit: 1 }) }))}`;
  for (const [count, status] of [
    [20, 200],
    [21, 422],
  ] as const) {
    const answer = await exchange(app.url, "GET", path(count) + input(count), {
      credential: agent.secret,
    });
    expect(answer.status).toBe(status);
  }
  expect((await queries(2)).status).toBeGreaterThanOrEqual(400);
  for (const one of made.body) await agent.send(`DELETE /v1/tasks/${one.result.data.id}`);
  const { body } = await person.send("GET /v1/tasks");
  expect(body.tasks).toHaveLength(2);
});

test("each call of a batch has its own code, and a failing call does not stop the others [§9.1.3]", async () => {
  const inputs = [{ task_id: task.id }, { task_id: "x" }, { task_id: 5 }, {}, null];
  const names = `${Array(5).fill("tasks.get").join(",")},keys.list,tasks.nothing`;
  const input = encodeURIComponent(JSON.stringify({ ...inputs, 5: {}, 6: {} }));
  const path = `/trpc/${names}?batch=1&input=${input}`;
  const { status, body, text } = await exchange(app.url, "GET", path, { credential: agent.secret });
  expect(status).toBe(207);
  const codes = body.map((one: any) => one.error?.data.code_name ?? one.result.data.id);
  const invalid = "invalid_fields";
  const expected = [task.id, "not_found", invalid, invalid, invalid, "forbidden", "unknown_path"];
  expect(codes).toEqual(expected);
  expect(text).not.toMatch(/stack|\.ts\b/);
});

test("an unknown procedure name is not repeated in the response, alone or in a batch", async () => {
  const long = "x".repeat(6_000);
  const one = encodeURIComponent(JSON.stringify({ 0: { task_id: task.id }, 1: {} }));
  const list = Array(600).fill("tasks.list").join();
  const answers = [
    await post(long, { body: "{}" }),
    await post(MARK, { body: "{}" }),
    await post(`${MARK}%2e%`, { body: "{}" }),
    await post(list, { body: "{}" }),
    await post(long, { body: "{" }),
    await post(long, { body: "{}", credential: "mck_nobody" }),
    await get(long, "{}"),
    await get(list, "{}"),
  ];
  for (const { status, text } of answers) {
    expect([404, 405, 422, 400, 401]).toContain(status);
    expect(text.length).toBeLessThan(500);
    expect(text).not.toContain(MARK);
  }
  // Known names are repeated as they were sent.
  const url = `/trpc/tasks%2Eget,${long}/?batch=1&input=${one}`;
  const batch = await exchange(app.url, "GET", url, { credential: agent.secret });
  expect(batch.status).toBe(207);
  expect(batch.body[0].result.data.id).toBe(task.id);
  expect(batch.body[1].error.data).toMatchObject({ code_name: "unknown_path", path: "unknown" });
  const slash = await post("tasks.update/", { body: JSON.stringify({ task_id: task.id, x: 1 }) });
  expect(slash.body.error.data).toMatchObject({ code_name: "unknown_path", path: "unknown" });
});

test("other HTTP methods have no effect on tRPC [§9.1.3]", async () => {
  const body = JSON.stringify({ task_id: task.id });
  const input = `?input=${encodeURIComponent(body)}`;
  const headers = { authorization: `Bearer ${agent.secret}`, "content-type": "application/json" };
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "GET", "TRACE"]) {
    const path = `/trpc/tasks.delete${input}`;
    const { status, text } = await sendRaw(
      app.url,
      method,
      path,
      headers,
      method === "GET" ? "" : body,
    );
    expect([method, status < 500, text.includes('"result"')]).toEqual([method, true, false]);
  }
  const { body: fresh } = await person.send("POST /v1/tasks", { title: "a", key_id: agent.key.id });
  const read = encodeURIComponent(JSON.stringify({ task_id: fresh.id }));
  await sendRaw(app.url, "HEAD", `/trpc/tasks.get?input=${read}`, headers);
  expect((await person.send(`GET /v1/tasks/${fresh.id}`)).body.seen_at).toBeNull();
  await person.send(`DELETE /v1/tasks/${fresh.id}`);
});
