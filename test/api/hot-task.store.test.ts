/** Many clients that change one task at once, over real sockets (§11). */

import { expect, test } from "bun:test";
import type { Task } from "../../src/model/task.ts";
import { type Answer, client, createPair, createTask } from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";

const { url: DATABASE_URL } = await createTestStore();
const one = await startProcess({ DATABASE_URL });
const two = await startProcess({ DATABASE_URL });
const MANY = 64;

const times = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));

/** Bodies with one field each, and the state that they leave together, in any order. */
const bodyOf = (i: number) =>
  [{ status_note: `note ${i}` }, { progress: i }, { title: `title ${i}` }][i % 3]!;

/** The responses in the order of their changes: each differs from the previous one by its own field. */
function expectInOrder(first: Task, answers: readonly Answer<Task>[], bodies: readonly object[]) {
  const order = answers
    .map(({ body }, i) => ({ body, sent: bodies[i]! }))
    .sort((a, b) => a.body.updated_at - b.body.updated_at);
  let last = first;
  for (const { body, sent } of order) {
    expect(body.updated_at).toBeGreaterThan(last.updated_at);
    expect(body).toEqual({ ...last, ...sent, updated_at: body.updated_at });
    last = body;
  }
  return order.map(({ body }) => body);
}

test.each([
  ["one process", 1],
  ["two processes", 2],
] as const)(
  "64 concurrent PATCHes of one task through %s have the right responses and events [§7.2 task.updated]",
  async (_, processes) => {
    const { person, agent } = await createPair(one.url);
    const task = await createTask(agent.send);
    const streams = await Promise.all([one, two].map(({ url }) => openStream(url, person.token)));
    const bodies = times(MANY, bodyOf);
    const answers = await Promise.all(
      bodies.map((body, i) =>
        client([one, two][i % processes]!.url, i % 5 ? agent.secret : person.token)(
          `PATCH /v1/tasks/${task.id}`,
          body,
        ),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const states = expectInOrder(task, answers, bodies);
    for (const { url } of [one, two]) {
      const { body } = await client(url, agent.secret)(`GET /v1/tasks/${task.id}`);
      expect(body).toEqual(states.at(-1));
    }
    for (const stream of streams) {
      await stream.next(({ data }) => Bun.deepEquals(data.task, states.at(-1)));
      const updated = stream.events.filter(({ event }) => event === "task.updated");
      expect(updated.map(({ data }) => data.task)).toEqual(states);
      stream.close();
    }
  },
);

test("a DELETE among PATCHes of one task in two processes succeeds, and later PATCHes are 404", async () => {
  const { person, agent } = await createPair(one.url);
  const task = await createTask(agent.send);
  const stream = await openStream(two.url, person.token);
  let deleted = false;
  const changes = times(MANY, async (i) => {
    const send = client([one, two][i % 2]!.url, agent.secret);
    for (;;) {
      const sent_after = deleted;
      const { status } = await send(`PATCH /v1/tasks/${task.id}`, { progress: (i * 7) % 100 });
      if (status === 404) return;
      expect([status, sent_after]).toEqual([200, false]);
    }
  });
  await stream.names(3);
  expect((await person.send(`DELETE /v1/tasks/${task.id}`)).status).toBe(204);
  deleted = true;
  await Promise.all(changes);
  await stream.next(({ event }) => event === "task.deleted");
  expect((await person.send(`GET /v1/tasks/${task.id}`)).status).toBe(404);
  expect(stream.events.at(-1)!.event).toMatch(/task.deleted|inbox.updated/);
  stream.close();
});
