/** The process as a service manager sees it: start, failures to start, lost output, stop. */

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startTestApp } from "./support/app.ts";
import { ask, client, createPair, createTask } from "./support/client.ts";
import { createTestClock } from "./support/clock.ts";
import { failToStart, startProcess } from "./support/process.ts";
import { freePort } from "./support/sqld.ts";
import { createEmptyStore } from "./support/store.ts";
import { openStream } from "./support/stream.ts";
import { tempFolder } from "./support/temp.ts";
import { until } from "./support/until.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("a start that fails says why in one line that names the variable", async () => {
  const folder = tempFolder();
  mkdirSync(join(folder, "taken.db"));
  writeFileSync(join(folder, "empty"), "\n");
  writeFileSync(join(folder, "short"), "secret of the file");
  const { url } = await createEmptyStore();
  const running = await startProcess({ DATABASE_URL: url });
  const cases: [Record<string, string>, string][] = [
    [{ PORT: new URL(running.url).port, DATABASE_URL: url }, "PORT"],
    [{ HOST: "192.0.2.1", DATABASE_URL: url }, "HOST"],
    [{ HOST: "relay.invalid", DATABASE_URL: url }, "HOST"],
    [{ HOST: "999.1.1.1", DATABASE_URL: url }, "HOST"],
    [{ DATABASE_URL: `file:${folder}/taken.db` }, "DATABASE_URL"],
    [{ DATABASE_URL: `http://127.0.0.1:${freePort()}` }, "DATABASE_URL"],
    [{ DATABASE_URL: url, PORT: "99999" }, "PORT"],
    [{ DATABASE_URL: url, ADMIN_TOKEN: `${folder}/short`.slice(-31) }, "ADMIN_TOKEN"],
    [{ DATABASE_URL: url, ADMIN_TOKEN_FILE: `${folder}/none` }, "ADMIN_TOKEN_FILE"],
    [{ DATABASE_URL: url, ADMIN_TOKEN_FILE: `${folder}/empty` }, "ADMIN_TOKEN_FILE"],
    [{ DATABASE_URL: url, ADMIN_TOKEN_FILE: `${folder}/short` }, "ADMIN_TOKEN"],
    [
      { DATABASE_URL: url, ADMIN_TOKEN: "x".repeat(32), ADMIN_TOKEN_FILE: `${folder}/none` },
      "ADMIN_TOKEN_FILE",
    ],
  ];
  for (const [env, variable] of cases) {
    const { code, said } = await failToStart(env);
    expect([code, said.split("\n").length]).toEqual([1, 1]);
    expect(said).toStartWith(`Relay cannot start: ${variable}: `);
    // A path is shown; a possible secret is not.
    const names_path = /taken\.db|\/(none|empty)/.test(JSON.stringify(env)) && !env.ADMIN_TOKEN;
    expect([said, said.includes(folder)]).toEqual([said, names_path]);
    expect(said).not.toContain("secret of the file");
  }
  // The running process was not disturbed.
  expect((await client(running.url)("GET /health")).status).toBe(200);
});

test("a secret can be in a file", async () => {
  const { url } = await createEmptyStore();
  const token = "of-a-file".repeat(4);
  const path = join(tempFolder(), "admin");
  writeFileSync(path, `${token}\n`);
  const running = await startProcess({ DATABASE_URL: url, ADMIN_TOKEN_FILE: path });
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(`${running.url}/metrics`, { headers })).status).toBe(200);
});

test("the process keeps running when the reader of its log exits", async () => {
  const { url: DATABASE_URL } = await createEmptyStore();
  const port = String(freePort());
  const child = Bun.spawn([process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? "", PORT: port, DATABASE_URL, LOG_LEVEL: "debug" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const send = client(`http://127.0.0.1:${port}`);
  await until(async () => (await send("GET /health")).status === 200);
  await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
  // Each of these requests has a line in the log.
  for (let i = 0; i < 20; i++) expect((await send("GET /health")).status).toBe(200);
  expect(child.exitCode).toBeNull();
  child.kill("SIGKILL");
  await child.exited;
});

test("an invalid Host header is not a server error", async () => {
  const app = await startTestApp();
  const { port } = new URL(app.url);
  for (const path of ["/nope", "/trpc/tasks.list"]) {
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: [bad:::::\r\nConnection: close\r\n\r\n`);
    const answer = await new Response(socket as unknown as ReadableStream).text();
    expect(answer).toMatch(path === "/nope" ? /^HTTP\/1.1 404 / : /^HTTP\/1.1 401 /);
  }
  expect(app.lines.filter((line) => line.includes('"error"'))).toEqual([]);
});

test("a stop does not wait for its time limit, also while a stream is being opened", async () => {
  const app = await startTestApp({ timers: createTestClock() });
  const { person } = await createPair(app.url);
  const { feed } = app;
  const caughtUp = feed.caughtUp;
  let stopping: Promise<void> | undefined;
  // The stop comes while the stream's request waits for the events before it.
  feed.caughtUp = async () => {
    await caughtUp();
    stopping = app.stop();
  };
  const headers = { authorization: `Bearer ${person.token}` };
  const response = await fetch(`${app.url}/v1/events`, { headers });
  expect(response.status).toBe(503);
  // A stream left open would hold up the stop until its time limit, which never comes.
  await stopping;
});

test("a start says that it waits for the store, and a signal ends it", async () => {
  // A libSQL server that hangs.
  const hung = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const where = `http://127.0.0.1:${hung.port}`;
  // As the first process of a container it would ignore signals that it does not handle.
  const child = Bun.spawn([process.execPath, "src/main.ts"], {
    env: { PORT: "0", DATABASE_URL: where, DATABASE_AUTH_TOKEN: "secret-token" },
    stdout: "pipe",
    stderr: "pipe",
  });
  let log = "";
  const read = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      log += chunk;
      if (log.includes("waiting")) child.kill("SIGTERM");
    }
  })();
  expect([await child.exited, await new Response(child.stdout).text()]).toEqual([0, ""]);
  await read;
  hung.stop(true);
  expect(
    log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { event: "waiting for the store", where },
    { event: "stopping", signal: "SIGTERM" },
  ]);
  expect(log).not.toContain("secret-token");
});

test("no log line contains content or a credential", async () => {
  const app = await startTestApp({ env: { LOG_LEVEL: "debug" } });
  const { person, agent } = await createPair(app.url);
  const word = "zanzibar";
  const task = await agent.send("POST /v1/tasks", { title: word, description: word });
  await agent.send(`PATCH /v1/tasks/${task.body.id}`, { status_note: word, [word]: word });
  await agent.send("POST /v1/tasks", `{"title": "${word}`);
  await agent.send(`GET /v1/tasks/${word}`);
  await agent.send(`GET /v1/${word}`);
  await agent.send(`GET /v1/tasks?cursor=${word}`);
  await agent.send("GET /v1/tasks", undefined, { headers: { "x-agent-host": word } });
  const asked = await agent.send("POST /v1/questions", { prompt: word, kind: "text" });
  await person.send(`POST /v1/questions/${asked.body.id}/answer`, { answer: word });
  await client(app.url, `mck_${word}`)("GET /v1/tasks");
  const lines = app.lines.filter((line) => line.includes('"request"'));
  expect(lines.length).toBeGreaterThan(8);
  for (const line of app.lines) {
    expect(() => JSON.parse(line)).not.toThrow();
    for (const secret of [word, person.token, agent.secret]) expect(line).not.toContain(secret);
  }
});

test("a stop behind a proxy serves requests until the drain is over, and /health says that it stops [§5.12.1]", async () => {
  const timers = createTestClock();
  const app = await startTestApp({ timers, env: { TRUST_PROXY: "1", DRAIN_SECONDS: "" } });
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send);
  const stream = await openStream(app.url, person.token);
  const question = await ask(agent.send, { prompt: "Go on?", kind: "text" });
  const waiting = agent.send(`GET /v1/questions/${question.id}?wait=50`);
  await until(() => app.waits.count() > 0);
  const health = () => fetch(`${app.url}/health`);
  expect([(await health()).status, (await fetch(`${app.url}/health/live`)).status]).toEqual([
    200, 200,
  ]);

  const stopping = app.stop();
  const drained = await health();
  expect([drained.status, await drained.json()]).toEqual([
    503,
    expect.objectContaining({ status: "unavailable", store: "ok", problems: ["stopping"] }),
  ]);
  expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
  const headers = { authorization: `Bearer ${agent.secret}` };
  for (const path of [`/v1/tasks/${id}`, "/trpc/tasks.list", "/nothing"]) {
    const response = await fetch(app.url + path, { headers });
    expect([path, response.headers.get("connection")]).toEqual([path, "close"]);
  }
  const changed = await agent.send(`PATCH /v1/tasks/${id}`, { status_note: "Still served" });
  expect(changed.status).toBe(200);
  await stream.next(({ event }) => event === "task.updated");

  await timers.advance(5);
  await stream.ended;
  expect(await waiting).toMatchObject({ status: 200, body: { status: "pending" } });
  await stopping;
  expect(
    await health().then(
      () => "answered",
      () => "refused",
    ),
  ).toBe("refused");
});

test("without a proxy a stop does not wait [§5.12.1]", async () => {
  const app = await startTestApp({ timers: createTestClock(), env: { DRAIN_SECONDS: "" } });
  await app.stop();
});
