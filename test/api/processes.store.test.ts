/** Two server processes on one store act as one service (§7.1.3). */

import { expect, test } from "bun:test";
import { ask, client, createPair, createPerson, createTask } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const { url: DATABASE_URL } = await createTestStore();
const one = await startProcess({ DATABASE_URL });
const two = await startProcess({ DATABASE_URL });
const at = (i: number) => (i % 2 ? one : two).url;

test("one of 100 concurrent answers wins, and every waiter gets it [§5.7.4(3)] [§3.1.1]", async () => {
  for (let round = 0; round < 5; round++) {
    const { person, agent } = await createPair(one.url);
    const question = await ask(agent.send, { prompt: "p", kind: "text" });
    const path = `/v1/questions/${question.id}` as const;
    const streams = await Promise.all([0, 1].map((i) => openStream(at(i), person.token)));
    const waits = Array.from({ length: 30 }, (_, i) =>
      client(at(i), agent.secret)(`GET ${path}?wait=50`),
    );
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        client(at(i), person.token)(`POST ${path}/answer`, { answer: `answer ${i}` }),
      ),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won.length).toBe(1);
    const lost = answers.filter(({ status }) => status !== 200);
    expect(new Set(lost.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
      new Set(["409 question_not_pending"]),
    );
    for (const { body } of await Promise.all(waits)) expect(body).toEqual(won[0]!.body);
    await createTask(agent.send);
    for (const stream of streams) {
      expect(await stream.names(3)).toEqual(["question.updated", "inbox.updated", "task.created"]);
      expect(stream.events[1]!.data).toEqual({ question: won[0]!.body });
      stream.close();
    }
  }
});

test("a change in one process wakes a wait in the other at once [§6.1]", async () => {
  const { person, agent } = await createPair(one.url);
  for (let i = 0; i < 20; i++) {
    const { id } = await ask(agent.send);
    const wait = client(two.url, agent.secret)(`GET /v1/questions/${id}?wait=50`);
    await person.send(`POST /v1/questions/${id}/answer`, { answer: "Yes" });
    expect((await wait).body.status).toBe("answered");
  }
});

test("a question asked while its task is deleted is refused or cancelled, never left pending [§5.5.6]", async () => {
  const { agent } = await createPair(one.url);
  const outcomes = new Set<string>();
  for (let round = 0; round < 40; round++) {
    const { id: task_id } = await createTask(agent.send);
    const asking = [0, 1, 2, 3].map((i) =>
      client(at(i), agent.secret)("POST /v1/questions", { prompt: "p", task_id }),
    );
    const deleting = client(at(round), agent.secret)(`DELETE /v1/tasks/${task_id}`);
    expect((await deleting).status).toBe(204);
    for (const { status, body } of await Promise.all(asking)) {
      outcomes.add(`${status}`);
      if (status === 201) {
        const { body: question } = await agent.send(`GET /v1/questions/${body.id}`);
        expect(question.status).toBe("cancelled");
      } else expect(status).toBe(404);
    }
  }
  expect(outcomes.has("201")).toBe(true);
});

test("a deletion in one process is refused in the other at once [§5.4.6(1)] [§4.1.5]", async () => {
  const { person, agent } = await createPair(one.url);
  const { id } = await ask(agent.send);
  const there = client(two.url, agent.secret);
  const wait = there(`GET /v1/questions/${id}?wait=50`);
  const stream = await openStream(two.url, person.token);
  expect((await person.send(`DELETE /v1/keys/${agent.key.id}`)).status).toBe(204);
  expect((await there("GET /v1/tasks")).status).toBe(401);
  expect((await wait).status).toBe(401);
  expect((await person.send("DELETE /v1/account")).status).toBe(204);
  expect((await client(two.url, person.token)("GET /v1/account")).status).toBe(401);
  await stream.ended;
  expect(stream.events.map(({ event }) => event)).toEqual([
    "ready",
    "key.deleted",
    "account.deleted",
  ]);
});

test("what one process committed before ready does not come after it in the other [§7.4.1]", async () => {
  const { token, send } = await createPerson(one.url);
  for (let i = 0; i < 20; i++) {
    const { body } = await send("POST /v1/keys", { label: "before" });
    const stream = await openStream(two.url, token);
    const after = await send("POST /v1/keys", { label: "after" });
    await stream.names(1);
    expect(stream.events[1]!.data).toEqual({ key: after.body.key });
    for (const { id } of [body.key, after.body.key]) await send(`DELETE /v1/keys/${id}`);
    stream.close();
  }
});

test("SIGTERM stops a process gracefully: its waits are answered [§7.4.2 The server stops]", async () => {
  const third = await startProcess({ DATABASE_URL });
  const { person, agent } = await createPair(third.url);
  const { id } = await ask(agent.send);
  const stream = await openStream(third.url, person.token);
  const wait = agent.send(`GET /v1/questions/${id}?wait=50`);
  // The wait arrives first: this request follows it on the same connection.
  await agent.send("GET /v1/tasks");
  third.kill("SIGTERM");
  third.kill("SIGTERM");
  expect((await wait).body).toMatchObject({ id, status: "pending" });
  await stream.ended;
  expect(await third.exited).toBe(0);
});

test("large changes of one account reach another process, and end no stream there", async () => {
  const { person, agent } = await createPair(one.url);
  const other = await createPerson(one.url);
  const own_stream = await openStream(two.url, person.token);
  const other_stream = await openStream(two.url, other.token);
  // Control characters take six bytes each in JSON: 300 of these have 18 MB.
  const description = "\u0001".repeat(10_000);
  const body = { title: "Large", description };
  // A busy server refuses some of so many requests, and a client sends those again.
  const create = async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    await until(async () => (await agent.send("POST /v1/tasks", body, { headers })).status === 201);
  };
  for (let i = 0; i < 3; i++) await Promise.all(Array.from({ length: 100 }, create));
  expect(await own_stream.names(300)).toEqual(Array(300).fill("task.created"));
  await other.send("POST /v1/keys", { label: "Still there" });
  expect(await other_stream.names(1)).toEqual(["key.created"]);
  expect(two.log()).not.toContain("store lost");
  own_stream.close();
  other_stream.close();
}, 300_000);
