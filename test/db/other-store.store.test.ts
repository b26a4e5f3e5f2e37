/** A libSQL server whose store was lost, exchanged or is another program's is refused until the right one is back. */

import { afterAll, expect, test } from "bun:test";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startTestApp } from "../support/app.ts";
import { client, createPair, createTask } from "../support/client.ts";
import { failToStart, startProcess } from "../support/process.ts";
import { startSqld } from "../support/sqld.ts";
import { connectTo, createTestStore, STORE_KIND } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { tempFolder } from "../support/temp.ts";
import { until } from "../support/until.ts";

const server = test.if(STORE_KIND === "server");
const ADMIN_TOKEN = "x".repeat(32);

/** A server whose data can be set aside and put back while it is down. */
async function startExchangeable() {
  const folder = tempFolder();
  const sqld = await startSqld(folder);
  const aside = tempFolder();
  const empty = () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  };
  const save = (name: string) => cpSync(folder, join(aside, name), { recursive: true });
  const load = (name: string) => {
    empty();
    cpSync(join(aside, name), folder, { recursive: true });
  };
  return {
    url: sqld.url,
    /** Keeps a copy of the data under this name. */
    async keep(name: string): Promise<void> {
      await sqld.kill();
      save(name);
      await sqld.restart();
    },
    /** Comes back with the copy of this name, or with no data. */
    async comeBack(name: string | null): Promise<void> {
      await sqld.kill();
      if (name === null) empty();
      else load(name);
      await sqld.restart();
    },
  };
}

const healthOf = (url: string) => client(url)("GET /health");

const metricsOf = async (url: string): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).text();

const tablesOf = async (url: string): Promise<unknown[]> => {
  const raw = connectTo(url);
  const { rows } = await raw.execute(
    "select name from sqlite_schema where name not like 'libsql%' and name not like 'sqlite%'",
  );
  raw.close();
  return rows.map(({ name }) => name);
};

server(
  "a server that comes back empty is refused, stays empty, and is used again once its data is back [§11.4.9]",
  async () => {
    const data = await startExchangeable();
    const relay = await startProcess({ DATABASE_URL: data.url, ADMIN_TOKEN });
    const { person, agent } = await createPair(relay.url);
    const task = await createTask(agent.send, { title: "Kept" });
    await data.keep("right");

    await data.comeBack(null);
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.all([
        agent.send(`GET /v1/tasks/${task.id}`),
        agent.send("GET /v1/tasks"),
        agent.send("POST /v1/tasks", { title: "Nowhere" }),
        person.send("GET /v1/questions"),
        client(relay.url)("POST /v1/accounts"),
      ]);
      expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
        answers.map(() => [503, "store_unavailable"]),
      );
    }
    expect(await healthOf(relay.url)).toMatchObject({
      status: 503,
      body: { status: "unavailable", store: "unavailable", problems: ["other_store"] },
    });
    expect(await metricsOf(relay.url)).toMatch(
      /relay_store_faults_total\{kind="other store"\} [1-9]/,
    );
    await until(() => relay.log().includes('"event":"other store"'));
    expect(relay.log().match(/"event":"other store"/g)).toHaveLength(1);
    expect(await tablesOf(data.url)).toEqual([]);

    await data.comeBack("right");
    await until(async () => (await healthOf(relay.url)).status === 200);
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
    expect((await agent.send("POST /v1/tasks", { title: "Again" })).status).toBe(201);
    expect((await healthOf(relay.url)).body).not.toHaveProperty("problems");
    expect(relay.log()).not.toContain('"status":500');
  },
  300_000,
);

server(
  "when another process fills an empty server, each process keeps to the store that it began with [§11.4.9]",
  async () => {
    const data = await startExchangeable();
    const first = await startProcess({ DATABASE_URL: data.url });
    const { agent } = await createPair(first.url);
    const task = await createTask(agent.send, { title: "Of the first store" });
    await data.keep("first");

    await data.comeBack(null);
    const second = await startProcess({ DATABASE_URL: data.url });
    expect(second.output()).toContain(`Created a new, empty store: ${data.url}`);
    const other = await createPair(second.url);
    const theirs = await createTask(other.agent.send, { title: "Of the second store" });
    // Not 401: the credential belongs to the first store.
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).status).toBe(503);
    expect((await healthOf(first.url)).status).toBe(503);
    expect((await healthOf(second.url)).status).toBe(200);
    await data.keep("second");

    await data.comeBack("first");
    await until(async () => (await healthOf(first.url)).status === 200);
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).body).toEqual(task);
    expect((await other.agent.send(`GET /v1/tasks/${theirs.id}`)).status).toBe(503);
    expect((await healthOf(second.url)).status).toBe(503);
  },
  300_000,
);

server("a store that loses its tables is 503, not 500 [§11.4.9]", async () => {
  const data = await startExchangeable();
  const app = await startTestApp({ database_url: data.url });
  const { agent } = await createPair(app.url);
  const raw = connectTo(data.url);
  await raw.execute("drop table tasks");
  raw.close();
  expect((await agent.send("GET /v1/tasks")).status).toBe(503);
  expect((await agent.send("POST /v1/tasks", { title: "No" })).status).toBe(503);
});

server(
  "an older copy of the same store is used, and its streams continue with new events",
  async () => {
    const data = await startExchangeable();
    const relay = await startProcess({ DATABASE_URL: data.url });
    const { person, agent } = await createPair(relay.url);
    await data.keep("older");
    // The events are followed again after that restart: otherwise there would be no position to continue from.
    await until(() => relay.log().includes("store is back"));
    for (let i = 0; i < 10; i++) await createTask(agent.send, { title: "Lost" });
    // This way it does not see the server as unavailable.
    relay.kill("SIGSTOP");
    await data.comeBack("older");
    relay.kill("SIGCONT");
    await until(async () => (await agent.send("POST /v1/tasks", { title: "New" })).status === 201);
    await until(() => relay.log().includes("older copy of the store"));
    const stream = await until(async () => {
      const opened = await openStream(relay.url, person.token);
      return opened.response.ok && opened;
    });
    const task = await createTask(agent.send, { title: "Seen" });
    await until(() => JSON.stringify(stream.events).includes(task.id));
  },
  300_000,
);

server(
  "a server with the tables of another program is refused before anything is written [§11.4.7]",
  async () => {
    const { url } = await startExchangeable();
    const raw = connectTo(url);
    await raw.execute("create table notes (text text)");
    raw.close();
    const { code, said } = await failToStart({ DATABASE_URL: url });
    expect([code, said]).toEqual([
      1,
      "Relay cannot start: DATABASE_URL: the database belongs to another program; name one of its own for Relay",
    ]);
    expect(await tablesOf(url)).toEqual(["notes"]);
  },
);

/** Forwards to a libSQL server that can be exchanged; ends each stream with its first request if `is_short`. */
function startForwarder(first: string, is_short: boolean) {
  let target = first;
  const forwarder = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (!pathname.endsWith("/pipeline")) return new Response(null, { status: 404 });
      const { headers } = request;
      const body = await request.text();
      const answer = await fetch(target + pathname + search, { method: "POST", headers, body });
      if (!answer.ok || !is_short) return answer;
      return Response.json({ ...((await answer.json()) as object), baton: null });
    },
  });
  afterAll(() => forwarder.stop(true));
  return {
    url: forwarder.url.origin,
    leadTo(url: string): void {
      target = url;
    },
  };
}

server.each([
  ["kept", false],
  ["short", true],
] as const)(
  "an address that leads to another server is noticed, with %s streams [§11.4.9]",
  async (_, is_short) => {
    const [right, wrong] = [await createTestStore(), await createTestStore()];
    const forwarder = startForwarder(right.url, is_short);
    const app = await startTestApp({ database_url: forwarder.url });
    const other = await startTestApp({ database_url: wrong.url });
    await createPair(other.url);
    const { agent } = await createPair(app.url);
    const task = await createTask(agent.send, { title: "Kept" });
    forwarder.leadTo(wrong.url);
    expect((await agent.send("POST /v1/tasks", { title: "No" })).status).toBe(503);
    expect((await agent.send(`GET /v1/tasks/${task.id}`)).status).toBe(503);
    forwarder.leadTo(right.url);
    await until(async () => (await healthOf(app.url)).status === 200);
    expect((await agent.send("GET /v1/tasks")).body.tasks).toEqual([task]);
  },
);
