/** Paths, methods and the headers of every response: exact, or refused. */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createTask } from "../support/client.ts";
import { sendRaw } from "../support/raw.ts";
import { nameOf, ROUTES } from "../support/routes.ts";
import { exchange, expectProblem, faultsOf, MARK } from "../support/wire.ts";
import { bodyOf, createWorld, type Kind, kindsOf } from "../support/world.ts";

const app = await startTestApp();
const world = await createWorld(app);

/** Routes that are not procedures. */
const MORE = [
  "GET /v1/events",
  "GET /v1/openapi.json",
  "GET /health",
  "GET /docs",
  "GET /",
  "GET /sw.js",
  "GET /manifest.webmanifest",
];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

/** Path to its methods. */
const PATHS = new Map<string, string[]>();
for (const name of [...ROUTES.map(nameOf), ...MORE]) {
  const [method, path] = name.split(" ") as [string, string];
  PATHS.set(path, [...(PATHS.get(path) ?? []), method]);
}

/** The path with its parameters filled in. */
const filled = (path: string) => path.replace(/\{(\w+)\}/g, (_, name: string) => world.ids[name]!);

const bearer = (kind: Kind) => ({ authorization: `Bearer ${world.credentials[kind]}` });

test("a known path with another method is 405 and names its methods [§9.1.3] [§1.2.4]", async () => {
  const before = await world.stored();
  const faults: string[] = [];
  for (const [path, methods] of PATHS) {
    const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
    for (const method of METHODS.filter((other) => !allowed.includes(other))) {
      for (const kind of ["account", "key"] as const) {
        const answer = await sendRaw(app.url, method, filled(path), bearer(kind));
        const allow = answer.headers.get("allow")?.split(/, */).sort().join();
        const wrong = method === "HEAD" ? [] : faultsOf(answer, "method_not_allowed");
        if (answer.status !== 405) wrong.push(`status ${answer.status}`);
        if (allow !== allowed.sort().join()) wrong.push(`Allow: ${allow}`);
        faults.push(...wrong.map((fault) => `${method} ${path}: ${fault}`));
      }
    }
  }
  expect(faults).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test("HEAD answers like GET, without a body [§1.2.5]", async () => {
  const wrong: unknown[] = [];
  for (const [path, methods] of PATHS) {
    if (!methods.includes("GET") || path === "/v1/events") continue;
    for (const kind of ["account", "key", "none"] as const) {
      for (const target of [
        filled(path),
        path.replace(/\{\w+\}/g, "x"),
        `${filled(path)}?limit=0`,
      ]) {
        const headers = kind === "none" ? {} : bearer(kind);
        const get = await sendRaw(app.url, "GET", target, headers);
        const answer = await sendRaw(app.url, "HEAD", target, headers);
        const told = ({ status, headers }: typeof get) => [
          status,
          ...["content-type", "cache-control", "www-authenticate"].map((name) => headers.get(name)),
        ];
        if (answer.text !== "" || !Bun.deepEquals(told(answer), told(get))) {
          wrong.push([kind, target, told(answer), told(get)]);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
});

test("HEAD of the event stream opens no stream [§7.1.1]", async () => {
  const { status, headers, text } = await sendRaw(app.url, "HEAD", "/v1/events", bearer("account"));
  expect([status, headers.get("content-type"), text]).toEqual([200, "text/event-stream", ""]);
  expect((await sendRaw(app.url, "HEAD", "/v1/events", bearer("key"))).status).toBe(403);
  expect((await sendRaw(app.url, "HEAD", "/v1/events")).status).toBe(401);
  expect(app.streams.count()).toBe(0);
});

test("HEAD has no effect: the task is not marked as seen, and the request does not wait [§2.4.2]", async () => {
  const { agent, person, question } = world;
  const unseen = await createTask(person.send, { title: "unseen", key_id: agent.key.id });
  for (const path of [`/v1/tasks/${unseen.id}`, "/v1/tasks"]) {
    expect((await sendRaw(app.url, "HEAD", path, bearer("key"))).status).toBe(200);
    const { body } = await person.send(`GET /v1/tasks/${unseen.id}`);
    expect([body.seen_at, body.updated_at]).toEqual([null, unseen.updated_at]);
  }
  // With GET it would sleep for 50 seconds.
  const path = `/v1/questions/${question.id}?wait=50`;
  expect((await sendRaw(app.url, "HEAD", path, bearer("key"))).status).toBe(200);
  expect(app.waits.owners()).toBe(0);
  // The same read with GET does have the effect.
  expect((await agent.send(`GET /v1/tasks/${unseen.id}`)).body.seen_at).toBeNumber();
});

test("paths are exact: another spelling of a path is not a route [§9.1.3] [§17.1] [§1.2.3]", async () => {
  const before = await world.stored();
  const upper = (path: string) => path.replace(/^\/v1\/\w/, (start) => start.toUpperCase());
  const spellings: ((path: string) => string)[] = [
    (path) => `${path}/`,
    (path) => `${path}//`,
    (path) => `/${path}`,
    (path) => path.replace("/v1/", "/v1//"),
    (path) => path.replace("/v1/", "/v1/./"),
    (path) => path.replace("/v1/", "/v1/x/../"),
    (path) => path.replace("/v1/", "/v1%2F"),
    (path) => path.replace("/v1/", "/%761/"),
    (path) => path.replace(/^\/v1\/(.)/, (_, c: string) => `/v1/%${c.charCodeAt(0).toString(16)}`),
    (path) => path.replace("/v1/", "/V1/"),
    upper,
    (path) => path.replace("/v1/", "/"),
    (path) => path.replace("/v1/", "/v2/"),
    (path) => path.replace("/v1/", "/v1/v1/"),
    (path) => `${path}/x`,
    (path) => `${path}%20`,
    (path) => `${path}.json`,
    (path) => `${path};a=b`,
    (path) => path.replace("/v1/", "/v1\\"),
    (path) => path.slice(0, path.indexOf("/", 4) + 1 || path.length) + MARK,
  ];
  const faults: string[] = [];
  for (const [path, methods] of PATHS) {
    const target = filled(path);
    for (const spell of spellings) {
      const spelled = spell(target);
      // A longer id is still an id, and another name may be a route of its own.
      const is_id = path.endsWith("}") && /(%20|\.json|;a=b)$/.test(spelled);
      const is_other = [...PATHS.keys()].some((other) =>
        new RegExp(`^${other.replace(/\{\w+\}/g, "[^/]+")}$`).test(spelled),
      );
      if (is_id || is_other) continue;
      for (const method of [...methods, "PUT"]) {
        const answer = await sendRaw(app.url, method, spelled, bearer("account"));
        const wrong = faultsOf(answer, "unknown_path");
        faults.push(...wrong.map((fault) => `${method} ${spelled}: ${fault}`));
      }
    }
  }
  expect(faults).toEqual([]);
  expect(await world.stored()).toEqual(before);
});

test("an unknown path is 404, with and without a credential [§9.1.3] [§17.1]", async () => {
  const paths = ["/v1", "/v1/", "/v1/nothing", "/v2/tasks", "/tasks", `/${MARK}`, `/v1/${MARK}`];
  for (const path of [...paths, "/v1/constructor", "/v1/__proto__", "/v1/:task_id", "/trpc"]) {
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      for (const kind of ["none", "key"] as const) {
        const headers = kind === "none" ? {} : bearer(kind);
        const answer = await sendRaw(app.url, method, path, headers);
        expectProblem(answer, "unknown_path");
      }
    }
  }
});

test("dot segments in a path do not lead to another route [§1.4.3]", async () => {
  const dots = ["/v1/tasks/..", "/v1/tasks/.", "/v1/keys/../tasks", "/v1/tasks/%2e%2e/keys"];
  for (const path of [...dots, "/v1/tasks/../keys", "/v1/tasks/../../v1/keys", "/../v1/keys"]) {
    const { status, headers, text } = await sendRaw(app.url, "GET", path, bearer("account"));
    // As an id it is not found, as part of a path it is unknown; neither exists.
    expect(["not_found", "unknown_path"]).toContain(JSON.parse(text).code);
    expect([status, headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  }
});

test("every response of a route has its type and may not be stored [§9.1.3] [§1.2.2]", async () => {
  for (const route of ROUTES) {
    for (const kind of ["none", ...kindsOf(route)] as const) {
      const body = bodyOf(world, route, kind === "none" ? kindsOf(route)[0]! : kind);
      // Deletes something else, so that the other resources stay.
      const path = route.path.replace(/\{\w+\}/g, "x");
      if (route.procedure === "accounts.delete" && kind !== "none") continue;
      const credential = world.credentials[kind];
      for (const sent of body === undefined ? [{}] : [{ body }, { body: "{" }, {}]) {
        const answer = await exchange(app.url, route.method, path, { ...sent, credential });
        const { headers, status } = answer;
        const type = status < 300 ? "application/json" : "application/problem+json";
        expect([nameOf(route), headers.get("cache-control")]).toEqual([nameOf(route), "no-store"]);
        if (status !== 204) expect(headers.get("content-type")).toBe(type);
        if (status === 401) expect(headers.get("www-authenticate")).toBe("Bearer");
      }
    }
  }
  for (const kind of ["none", "key"] as const) {
    const sent = { credential: world.credentials[kind] };
    const events = await exchange(app.url, "GET", "/v1/events", sent);
    expectProblem(events, kind === "none" ? "unauthorized" : "forbidden");
    const document = await exchange(app.url, "GET", "/v1/openapi.json", sent);
    expect([document.status, document.headers.get("cache-control")]).toEqual([200, "no-store"]);
  }
});

test("204 has neither a body nor a content type [§1.2.1]", async () => {
  const { body: task } = await world.agent.send("POST /v1/tasks", { title: "gone soon" });
  const answer = await sendRaw(app.url, "DELETE", `/v1/tasks/${task.id}`, bearer("key"));
  const told = ["content-type", "cache-control"].map((name) => answer.headers.get(name));
  expect([answer.status, answer.text, ...told]).toEqual([204, "", null, "no-store"]);
});
