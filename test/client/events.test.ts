/** The client's event stream: typed events and reconnection. */

import { afterAll, expect, test } from "bun:test";
import { createClient } from "../../src/client/client.ts";
import type { StreamEvent } from "../../src/model/event.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { startCutProxy } from "../support/cut-proxy.ts";
import { until } from "../support/until.ts";

const app = await startTestApp();

/** Follows the stream at `url` and keeps its events. */
function follow(url: string, token: string) {
  const clock = createTestClock();
  const timers = { ...clock, jitter: () => 0.5 };
  const client = createClient({ url, credential: token, timers });
  const ended = new AbortController();
  afterAll(() => ended.abort());
  const events: StreamEvent[] = [];
  const read = async () => {
    for await (const event of client.events({ signal: ended.signal })) events.push(event);
  };
  const done = read().then(
    () => "ended",
    (error: unknown) => error,
  );
  return { clock, events, ended, done, names: () => events.map(({ name }) => name) };
}

/** A server that responds to each request for a stream with the next of these. */
function serveStreams(answers: readonly (() => Response)[]) {
  let at = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => answers[Math.min(at++, answers.length - 1)]!(),
  });
  afterAll(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, requests: () => at };
}

const READY = 'event: ready\ndata: {"account_id":"acc_1"}\n\n';
const stream = (...parts: string[]) => new Response(parts.join(""));
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json(
    { code, detail: code },
    { status, headers: { "content-type": "application/problem+json", ...headers } },
  );

test("the client's stream yields every event of the account in order, and ends with the account [§7.2 ready]", async () => {
  const { person, agent } = await createPair(app.url);
  const { events, names, done } = follow(app.url, person.token);
  await until(() => events.length === 1);
  const task = await createTask(agent.send);
  await agent.send("POST /v1/questions", { prompt: "Go on?" });
  await person.send("POST /v1/messages", { key_id: agent.key.id, text: "Yes" });
  await person.send(`DELETE /v1/keys/${agent.key.id}`);
  await person.send("DELETE /v1/account");
  expect(await done).toBe("ended");
  expect(events.slice(0, 2)).toEqual([
    { name: "ready", data: { account_id: person.account.id } },
    { name: "task.created", data: { task } },
  ]);
  expect(names().slice(2)).toEqual([
    "question.created",
    "inbox.updated",
    "key.deleted",
    "account.deleted",
  ]);
});

test("the client's stream reconnects after the connection is lost [§7.4.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const proxy = await startCutProxy(app.url);
  const { clock, events, names } = follow(proxy.url, person.token);
  for (let connection = 1; connection <= 3; connection++) {
    await until(() => events.length === connection);
    proxy.cut();
    // Each connection succeeds, so the pause does not grow.
    await until(() => clock.pendingIn(0.5) === 1);
    await clock.advance(0.5);
  }
  await until(() => events.length === 4);
  await createTask(agent.send);
  await until(() => events.length === 5);
  expect(names()).toEqual(["ready", "ready", "ready", "ready", "task.created"]);
});

test("the client waits longer after each failure, and as long as Retry-After says [§7.4.3]", async () => {
  const { url, requests } = serveStreams([
    () => stream(),
    () => new Response("", { status: 502 }),
    () => problem(503, "store_unavailable", { "retry-after": "7" }),
    () => stream(READY, "event: account.deleted\ndata: {}\n\n"),
  ]);
  const { clock, done } = follow(url, "mca_x");
  for (const [failures, seconds] of [0.5, 1, 7].entries()) {
    await until(() => clock.pendingIn(seconds) === 1);
    expect(requests()).toBe(failures + 1);
    await clock.advance(seconds);
  }
  expect(await done).toBe("ended");
});

test("a refused credential ends the client's stream with the error", async () => {
  const { person, agent } = await createPair(app.url);
  expect(await follow(app.url, agent.secret).done).toMatchObject({ code: "forbidden" });
  const { events, clock, done } = follow(app.url, person.token);
  await until(() => events.length === 1);
  await person.send("POST /v1/account/token", {});
  await until(() => clock.pendingIn(0.5) === 1);
  await clock.advance(0.5);
  expect(await done).toMatchObject({ code: "unauthorized" });
});

test("the client treats a stream that falls silent as lost", async () => {
  let open: ReadableStreamDefaultController<string> | undefined;
  const body = new ReadableStream<string>({
    start(controller) {
      controller.enqueue(READY);
      open = controller;
    },
  });
  const { url, requests } = serveStreams([
    () => new Response(body.pipeThrough(new TextEncoderStream())),
    () => problem(401, "unauthorized"),
  ]);
  const { clock, events, done } = follow(url, "mca_x");
  await until(() => events.length === 1);
  await until(() => clock.pendingIn(45) === 1);
  await clock.advance(44);
  open!.enqueue(": ping\n\n");
  await until(() => clock.pendingIn(45) === 1);
  await clock.advance(45);
  await until(() => clock.pendingIn(0.5) === 1);
  expect(requests()).toBe(1);
  await clock.advance(0.5);
  expect(await done).toMatchObject({ code: "unauthorized" });
});

test("the client reads events that arrive in pieces, and skips unknown ones [§7.1.2]", async () => {
  const text = `: hello\n\n${READY}event: task.archived\ndata: {}\n\n${READY}`;
  const bytes = new TextEncoder().encode(text);
  const pieces = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (let at = 0; at < bytes.length; at += 7) {
        controller.enqueue(bytes.subarray(at, at + 7));
        await new Promise((next) => setImmediate(next));
      }
      controller.enqueue(new TextEncoder().encode("event: account.deleted\ndata: {}\n\n"));
    },
  });
  const { url } = serveStreams([() => new Response(pieces)]);
  const { names, done } = follow(url, "mca_x");
  expect(await done).toBe("ended");
  expect(names()).toEqual(["ready", "ready", "account.deleted"]);
});

test("leaving the loop and an aborted signal both close the client's stream", async () => {
  const { person } = await createPair(app.url);
  for await (const { name } of createClient({ url: app.url, credential: person.token }).events()) {
    expect(name).toBe("ready");
    break;
  }
  const { events, ended, done } = follow(app.url, person.token);
  await until(() => events.length === 1);
  ended.abort("enough");
  expect(await done).toBe("enough");
  await until(() => app.streams.count() === 0);
});
