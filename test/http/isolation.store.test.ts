/** Which header is a credential, what lists hide, and deletions that hold in every process. */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { startTestApp } from "../support/app.ts";
import {
  ask,
  client,
  createAgent,
  createPair,
  createPerson,
  createTask,
  newToken,
} from "../support/client.ts";
import { sendRaw } from "../support/raw.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";
import { exchange, expectProblem } from "../support/wire.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
/** Another server process on the same store, as far as a request can tell. */
const peer = await startTestApp({ database_url });

test("a credential is a bearer token, complete and unchanged [§4.1.1] [§4.1.3]", async () => {
  const { person, agent } = await createPair(app.url);
  for (const [path, secret] of [
    ["/v1/account", person.token],
    ["/v1/tasks", agent.secret],
  ] as const) {
    const digest = createHash("sha256").update(secret).digest();
    const other = secret.startsWith("mca_") ? "mck_" : "mca_";
    const headers = [
      ...[
        "",
        " ",
        "Bearer",
        "Bearer ",
        secret,
        `Basic ${secret}`,
        `Token ${secret}`,
        "Bearer null",
      ],
      ...[`Bearer${secret}`, `Bearer: ${secret}`, `Bearer ${secret} x`, `Bearer "${secret}"`],
      ...[`Bearer ${secret}, Bearer ${secret}`, `Bearer ${secret},`, `x Bearer ${secret}`],
      ...[`Bearer ${secret.slice(0, -1)}`, `Bearer ${secret}A`, `Bearer ${secret.slice(4)}`],
      ...[`Bearer ${secret.toLowerCase()}`, `Bearer ${secret.toUpperCase()}`],
      ...[`Bearer ${other}${secret.slice(4)}`, `Bearer ${secret.slice(0, 4)}`, "Bearer mck_%"],
      ...[`Bearer ${secret.slice(0, 4)}${digest.toString("base64url")}`, `Bearer ${agent.key.id}`],
      ...[
        `Bearer ${digest.toString("hex")}`,
        "Bearer mca_' or 1=1 --",
        `Bearer mca_${"x".repeat(8_000)}`,
      ],
      `Bearer ${agent.key.prefix}${agent.key.last4}`,
    ];
    for (const authorization of headers) {
      const answer = await sendRaw(app.url, "GET", path, { authorization });
      expectProblem(answer, "unauthorized");
      expect(answer.text).not.toContain(secret.slice(4, 20));
    }
    for (const query of ["token", "access_token", "key", "authorization"]) {
      const answer = await exchange(app.url, "GET", `${path}?${query}=${secret}`);
      expectProblem(answer, "unauthorized");
    }
    expectProblem(
      await exchange(app.url, "GET", path, { headers: { "x-api-key": secret } }),
      "unauthorized",
    );
    expectProblem(
      await exchange(app.url, "GET", path, { headers: { cookie: `token=${secret}` } }),
      "unauthorized",
    );
    // The name of the scheme is case-insensitive (RFC 9110).
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const headers = { authorization: `${scheme} ${secret}` };
      expect((await exchange(app.url, "GET", path, { headers })).status).toBe(200);
    }
  }
});

test("a credential sent where none is needed is ignored [§4.1.3]", async () => {
  for (const authorization of ["Bearer mca_x", "Basic x", "x"]) {
    const answer = await exchange(app.url, "POST", "/v1/accounts", { headers: { authorization } });
    expect(answer.status).toBe(201);
  }
});

test("lists show only the caller's own resources [§5.5.1] [§5.7.1] [§5.4.1]", async () => {
  const person = await createPerson(app.url);
  const agents = [await createAgent(app.url, person, "a"), await createAgent(app.url, person, "b")];
  const stranger = await createPair(app.url);
  const own = [];
  for (const agent of [...agents, stranger.agent]) {
    const task = await createTask(agent.send);
    const question = await ask(agent.send, { prompt: "?", task_id: task.id });
    own.push({ agent, task, question });
  }
  const [a, b, s] = own as [(typeof own)[0], (typeof own)[0], (typeof own)[0]];
  const seen = async (send: typeof person.send, path: `/${string}`) => {
    const { body } = await send(`GET ${path}`);
    return (body.tasks ?? body.questions ?? body.keys).map(({ id }: { id: string }) => id).sort();
  };
  const every = "/v1/questions?status=pending,answered,expired,cancelled" as const;
  for (const one of own) {
    expect(await seen(one.agent.send, "/v1/tasks?limit=500")).toEqual([one.task.id]);
    expect(await seen(one.agent.send, every)).toEqual([one.question.id]);
    expect(await seen(one.agent.send, `${every}&task_id=${one.task.id}`)).toEqual([
      one.question.id,
    ]);
  }
  expect(await seen(person.send, "/v1/tasks")).toEqual([a.task.id, b.task.id].sort());
  expect(await seen(person.send, every)).toEqual([a.question.id, b.question.id].sort());
  expect(await seen(person.send, "/v1/keys")).toEqual([a.agent.key.id, b.agent.key.id].sort());
  expect(await seen(stranger.person.send, "/v1/tasks")).toEqual([s.task.id]);
  expect(await seen(stranger.person.send, every)).toEqual([s.question.id]);
  expect(await seen(stranger.person.send, "/v1/keys")).toEqual([s.agent.key.id]);
  expect(await seen(person.send, `/v1/tasks?key_id=${a.agent.key.id}`)).toEqual([a.task.id]);
  expect(await seen(person.send, `${every}&key_id=${b.agent.key.id}`)).toEqual([b.question.id]);
  // Filtering by another account's id is refused, even where two filters would leave nothing.
  for (const path of [
    `/v1/tasks?key_id=${s.agent.key.id}`,
    `${every}&key_id=${s.agent.key.id}`,
    `${every}&task_id=${s.task.id}`,
    `${every}&key_id=${a.agent.key.id}&task_id=${s.task.id}`,
  ]) {
    expectProblem(await exchange(app.url, "GET", path, { credential: person.token }), "not_found");
  }
  const path = `${every}&task_id=${b.task.id}`;
  expectProblem(await exchange(app.url, "GET", path, { credential: a.agent.secret }), "not_found");
  // Counts are only of the key's own tasks.
  const { body } = await person.send("GET /v1/keys");
  expect(body.keys.map((key: any) => key.counts.todo)).toEqual([1, 1]);
});

test("a resource that does not exist and one of another owner get the same response [§1.4.3]", async () => {
  const mine = await createPair(app.url);
  const other = await createPair(app.url);
  const task = await createTask(other.agent.send);
  const question = await ask(other.agent.send);
  const told = async (method: string, path: string, credential: string, body?: object) => {
    const sent = body ? { credential, body: JSON.stringify(body) } : { credential };
    const { status, text, headers } = await exchange(app.url, method, path, sent);
    const kept = [...headers].filter(([name]) => !/^(date|x-request-id)$/.test(name)).sort();
    return { status, text, headers: kept };
  };
  const { token } = mine.person;
  const { secret } = mine.agent;
  for (const [method, path, id, credential, body] of [
    ["GET", "/v1/tasks/", task.id, secret],
    ["PATCH", "/v1/tasks/", task.id, token, { title: "x" }],
    ["DELETE", "/v1/tasks/", task.id, secret],
    ["GET", "/v1/questions/", question.id, token],
    ["DELETE", "/v1/questions/", question.id, secret],
    ["PATCH", "/v1/keys/", other.agent.key.id, token, { label: "x" }],
    ["DELETE", "/v1/keys/", other.agent.key.id, token],
    ["GET", "/v1/tasks?key_id=", other.agent.key.id, token],
  ] as const) {
    const never = id.replace(/[0-9a-f]{12}$/, "000000000000");
    const theirs = await told(method, path + id, credential, body);
    expect(theirs).toEqual(await told(method, path + never, credential, body));
    expect(theirs.status).toBe(404);
  }
});

test("a key deleted in one process is refused at once in another [§4.1.5] [§5.4.6(1)]", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const question = await ask(agent.send);
  const there = { agent: client(peer.url, agent.secret), person: client(peer.url, person.token) };
  expect((await there.agent("GET /v1/tasks")).status).toBe(200);
  expect((await person.send(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(204);
  for (const request of [
    `GET /v1/tasks/${task.id}`,
    "GET /v1/tasks",
    "GET /v1/questions",
    `DELETE /v1/questions/${question.id}`,
  ] as const) {
    expect([request, (await there.agent(request)).status]).toEqual([request, 401]);
  }
  expect((await there.agent("POST /v1/tasks", { title: "late" })).status).toBe(401);
  // Nobody can read its data any more.
  expect((await there.person("GET /v1/tasks")).body.tasks).toEqual([]);
  expect((await there.person("GET /v1/questions")).body.questions).toEqual([]);
  expect((await there.person("GET /v1/keys")).body.keys).toEqual([]);
  for (const path of [`tasks/${task.id}`, `questions/${question.id}`] as const) {
    expect((await there.person(`GET /v1/${path}`)).status).toBe(404);
  }
});

test("an account deleted in one process is refused at once in another, with its keys [§4.1.5] [§5.2.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const there = { agent: client(peer.url, agent.secret), person: client(peer.url, person.token) };
  const stream = await openStream(peer.url, person.token);
  expect((await person.send("DELETE /v1/account")).status).toBe(204);
  expect((await there.person("GET /v1/account")).status).toBe(401);
  expect((await there.person("DELETE /v1/account")).status).toBe(401);
  expect((await there.agent("GET /v1/tasks")).status).toBe(401);
  expect((await openStream(peer.url, person.token)).response.status).toBe(401);
  await stream.ended;
  expect(stream.events.at(-1)).toEqual({ event: "account.deleted", data: {} });
});

test("a token replaced in one process reads nothing in another that remembers it [§4.1.5] [§5.2.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const read = `GET /v1/tasks/${(await createTask(agent.send)).id}` as const;
  const old = client(peer.url, person.token);
  expect([(await old(read)).status, (await old(read)).status]).toEqual([200, 200]);
  const token = newToken();
  expect((await person.send("POST /v1/account/token", { token })).status).toBe(200);
  expect((await old(read)).status).toBe(401);
  expect((await client(peer.url, token)(read)).status).toBe(200);
});

test("a request that waits is refused at once when its credential ends in another process [§4.1.5]", async () => {
  for (const end of ["key", "account"] as const) {
    const { person, agent } = await createPair(app.url);
    const question = await ask(agent.send);
    const path = `GET /v1/questions/${question.id}?wait=50` as const;
    const waiting = [client(peer.url, agent.secret)(path), client(app.url, agent.secret)(path)];
    await until(() => peer.waits.count() === 1 && app.waits.count() === 1);
    const request =
      end === "key" ? (`DELETE /v1/keys/${agent.key.id}` as const) : "DELETE /v1/account";
    expect((await person.send(request)).status).toBe(204);
    // Far sooner than 50 seconds, or the test times out.
    for (const answer of await Promise.all(waiting)) {
      expect([answer.status, answer.body.code]).toEqual([401, "unauthorized"]);
    }
  }
});
