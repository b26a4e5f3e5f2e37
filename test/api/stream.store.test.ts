/** The event stream: frames, pings, the limit of streams, and every way a stream ends (§7). */

import { expect, test } from "bun:test";
import { connect } from "node:net";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createPerson, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { rejectionOf } from "../support/rejection.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

test("ready comes first and once, in the documented frame [§7.1.1] [§7.1.2] [§7.2 ready] [§4.1.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const response = await fetch(`${app.url}/v1/events`, {
    headers: { authorization: `Bearer ${person.token}`, accept: "text/event-stream" },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const reader = response.body!.getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await text()).toBe(`event: ready\ndata: {"account_id":"${person.account.id}"}\n\n`);
  // A line break in the content must not break the single data line.
  const task = await createTask(agent.send, { title: "two\nlines\r\n" });
  expect(await text()).toBe(`event: task.created\ndata: ${JSON.stringify({ task })}\n\n`);
  await reader.cancel();
  await until(() => app.streams.count() === 0);
});

test("a ping comes after 20 seconds of silence [§10.4 ping_after]", async () => {
  const { person, agent } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  await clock.advance(19.9);
  await createTask(agent.send);
  await stream.names(1);
  await clock.advance(19.9);
  expect(stream.comments).toEqual([]);
  await clock.advance(0.1);
  await until(() => stream.comments.length === 1);
  expect(stream.comments).toEqual([": ping"]);
  await clock.advance(60);
  await until(() => stream.comments.length === 4);
  stream.close();
});

test("pings continue when the machine's clock is set back an hour or on by days", async () => {
  const { person } = await createPair(app.url);
  const stream = await openStream(app.url, person.token);
  let pings = 0;
  for (const seconds of [-3_600, 3 * 86_400, -3 * 86_400 + 3_600]) {
    clock.shiftWall(seconds);
    await clock.advance(19.9);
    expect(stream.comments.length).toBe(pings++);
    await clock.advance(0.1);
    await until(() => stream.comments.length === pings);
  }
  stream.close();
});

test("a stream shows only its own account's events [§7.1.2]", async () => {
  const one = await createPair(app.url);
  const two = await createPair(app.url);
  const stream = await openStream(app.url, one.person.token);
  await createTask(two.agent.send);
  await ask(two.agent.send);
  await createTask(one.agent.send);
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("every change is in the lists read after ready, or comes as an event [§7.4.1]", async () => {
  const { person, agent } = await createPair(app.url);
  for (let i = 0; i < 32; i++) {
    const writes = Array.from({ length: 6 }, () => createTask(agent.send));
    for (let turn = 0; turn < i % 8; turn++) await new Promise((next) => setImmediate(next));
    const stream = await openStream(app.url, person.token);
    const before = (await agent.send("GET /v1/tasks?limit=500")).body.tasks as { id: string }[];
    await Promise.all(writes);
    const last = await createTask(agent.send);
    await stream.next(({ data }) => data.task?.id === last.id);
    const known = new Set([
      ...before.map(({ id }) => id),
      ...stream.events.slice(1).map(({ data }) => data.task.id),
    ]);
    const { body } = await agent.send("GET /v1/tasks?limit=500");
    for (const { id } of body.tasks) expect(known.has(id)).toBe(true);
    for (const { id } of body.tasks) await agent.send(`DELETE /v1/tasks/${id}`);
    stream.close();
  }
});

test("the 17th stream of an account ends the oldest one [§10.2 streams]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await openStream(app.url, (await createPerson(app.url)).token);
  const streams = [];
  for (let i = 0; i < 18; i++) streams.push(await openStream(app.url, person.token));
  await Promise.all([streams[0]!.ended, streams[1]!.ended]);
  expect(app.streams.count()).toBe(17);
  expect(app.streams.ended()).toEqual({ limit: 2, slow: 0 });
  await createTask(agent.send);
  for (const stream of streams.slice(2)) expect(await stream.names(1)).toEqual(["task.created"]);
  for (const stream of [...streams, other]) stream.close();
  await until(() => app.streams.count() === 0);
});

test("a reader that is too slow is disconnected, and does not delay others [§11.3.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const quick = await openStream(app.url, person.token);
  const { port } = new URL(app.url);
  const slow = connect(Number(port), "127.0.0.1");
  slow.pause();
  slow.write(
    `GET /v1/events HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer ${person.token}\r\n\r\n`,
  );
  await until(() => app.streams.count() === 2);
  const tasks = await Promise.all(Array.from({ length: 40 }, () => createTask(agent.send)));
  let sent = 0;
  // Loopback buffers take some megabytes before the server notices.
  while (app.streams.count() === 2 && sent < 3_000) {
    await Promise.all(
      tasks.map(({ id }) => {
        const description = `${sent++} `.padEnd(9_990, "€");
        return agent.send(`PATCH /v1/tasks/${id}`, { description });
      }),
    );
  }
  expect(app.streams.count()).toBe(1);
  expect(app.streams.ended().slow).toBe(1);
  await quick.names(tasks.length + sent);
  quick.close();
  // The socket is closed too, though nothing was read from it.
  slow.resume();
  await new Promise<void>((done) => slow.on("close", () => done()).on("error", () => {}));
});

test("stopping the server ends streams and answers waits with the question as it is [§7.4.2 The server stops]", async () => {
  const own = await startTestApp({ clock });
  const { person, agent } = await createPair(own.url);
  const { id } = await ask(agent.send);
  const stream = await openStream(own.url, person.token);
  const waits = [agent.send, person.send].map((send) => send(`GET /v1/questions/${id}?wait=50`));
  await until(() => own.waits.count() === 2);
  await own.stop();
  await stream.ended;
  expect(stream.events.length).toBe(1);
  for (const { status, body } of await Promise.all(waits)) {
    expect([status, body.id, body.status]).toEqual([200, id, "pending"]);
  }
  expect(await rejectionOf(agent.send("GET /v1/tasks"))).toBeInstanceOf(Error);
});

test("a burst of events does not end the stream of a reader that keeps up [§11.3.3]", async () => {
  const { person, agent } = await createPair(app.url);
  const description = "€".repeat(10_000);
  const made: { readonly id: string }[] = [];
  // If all came at once, a busy server would refuse the last ones.
  while (made.length < 200) {
    const tasks = Array.from({ length: 20 }, () =>
      createTask(person.send, { title: "t", description, key_id: agent.key.id }),
    );
    made.push(...(await Promise.all(tasks)));
  }
  const stream = await openStream(app.url, person.token);
  // Marks every task as seen in few commits: six megabytes of events at once. A busy server refuses some.
  const see = ({ id }: { readonly id: string }) =>
    until(async () => (await agent.send(`GET /v1/tasks/${id}`)).status === 200);
  await Promise.all(made.map(see));
  expect(await stream.names(200)).toEqual(Array(200).fill("task.updated"));
  // The reader has caught up when the server checks it.
  await clock.advance(1);
  await createTask(agent.send);
  await stream.names(201);
  stream.close();
});

test("a stream that opens while its account is being deleted ends with the account [§7.4.2 The account is deleted] [§4.1.5]", async () => {
  for (let round = 0; round < 10; round++) {
    const { token, send } = await createPerson(app.url);
    const opening = Array.from({ length: 12 }, async (_, i) => {
      for (let turn = 0; turn < i; turn++) await new Promise((next) => setImmediate(next));
      return openStream(app.url, token);
    });
    const deleting = send("DELETE /v1/account");
    for (const { response, ended, events } of await Promise.all(opening)) {
      await ended;
      if (response.ok) expect(events.at(-1)!.event).toBe("account.deleted");
      else expect(response.status).toBe(401);
    }
    expect((await deleting).status).toBe(204);
  }
});
