/** Two processes change the same rows at once: every reader sees one order and correct counts. */

import { expect, test } from "bun:test";
import type { Key } from "../../src/model/key.ts";
import { TASK_STATUSES, type Task } from "../../src/model/task.ts";
import {
  type Answer,
  client,
  createAgent,
  createPair,
  createTask,
  type Send,
} from "../support/client.ts";
import { startProcess } from "../support/process.ts";
import { seeded } from "../support/random.ts";
import { createTestStore } from "../support/store.ts";
import { type EventStream, openStream, type StreamEvent } from "../support/stream.ts";

const CHANGES = 100;

/** Two processes on one new store. */
async function startTwo() {
  const env = { RATE_LIMITS: "off", DATABASE_URL: (await createTestStore()).url };
  return Promise.all([startProcess(env), startProcess(env)]);
}

/** Every event of each stream before the one that is made last. */
async function eventsUntilNow(streams: readonly EventStream[], person: Send) {
  const { body } = await person("POST /v1/keys", { label: "the last event" });
  return Promise.all(
    streams.map(async (stream) => {
      await stream.next(
        ({ event, data }) => event === "key.created" && data.key.id === body.key.id,
      );
      stream.close();
      return stream.events.slice(1, -1);
    }),
  );
}

test("changes of one task by two processes reach every stream in one order, each exactly once [§7.2 task.updated]", async () => {
  const apps = await startTwo();
  const { person, agent } = await createPair(apps[0].url);
  const task = await createTask(agent.send);
  const streams = await Promise.all(apps.map(({ url }) => openStream(url, person.token)));

  // The agent uses one process and the person the other, each as fast as possible.
  const senders = [client(apps[0].url, agent.secret), client(apps[1].url, person.token)];
  const answered = await Promise.all(
    senders.map(async (send, who) => {
      const answers: Task[] = [];
      for (let i = 0; i < CHANGES; i++) {
        const patch = { status_note: `${who} ${i}`, progress: i % 101 };
        const { status, body } = await send<Task>(`PATCH /v1/tasks/${task.id}`, patch);
        expect(status).toBe(200);
        expect(body).toMatchObject(patch);
        answers.push(body);
      }
      return answers;
    }),
  );

  const [first, second] = await eventsUntilNow(streams, person.send);
  expect(second).toEqual(first!);
  const [changes, notices] = ["task.updated", "inbox.updated"].map((name) =>
    first!.filter(({ event }) => event === name),
  ) as [StreamEvent[], StreamEvent[]];
  expect(changes).toHaveLength(2 * CHANGES);
  expect(first).toHaveLength(3 * CHANGES);
  expect(notices.map(({ data }) => data.unread)).toEqual(Array.from(notices, (_, i) => i + 1));
  const shown: Task[] = changes.map(({ data }) => data.task);
  for (const [i, state] of shown.entries()) {
    expect(state.updated_at).toBeGreaterThan((shown[i - 1] ?? task).updated_at);
  }
  // Each response is one event, and a client sees its own changes in the order it made them.
  for (const [who, answers] of answered.entries()) {
    expect(shown.filter(({ status_note }) => status_note?.startsWith(`${who} `))).toEqual(answers);
  }
  for (const { url } of apps) {
    const stored = await client(url, person.token)(`GET /v1/tasks/${task.id}`);
    expect(stored.body).toEqual(shown.at(-1)!);
  }
}, 300_000);

test(
  "counts, lists and events of two busy processes agree [§2.3.5] [§7.4.1]",
  seeded("two busy processes", async (random) => {
    const apps = await startTwo();
    const { person, agent } = await createPair(apps[0].url);
    const other = await createAgent(apps[0].url, person);
    const streams = await Promise.all(apps.map(({ url }) => openStream(url, person.token)));
    const created: string[] = [];
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

    const step = async (url: string): Promise<void> => {
      const key = pick([agent, other]);
      const id = created.length > 0 && pick(created);
      const chance = random();
      if (!id || chance < 0.4) {
        const made = await client(url, key.secret)("POST /v1/tasks", {
          title: "t",
          status: pick(TASK_STATUSES),
        });
        expect(made.status).toBe(201);
        created.push(made.body.id);
        return;
      }
      const send = client(url, person.token);
      const answer: Answer =
        chance < 0.8
          ? await send(`PATCH /v1/tasks/${id}`, { status: pick(TASK_STATUSES) })
          : await send(`DELETE /v1/tasks/${id}`);
      // Another worker may have deleted it.
      expect(answer.status).toBeOneOf([200, 204, 404]);
    };
    await Promise.all(
      [...apps, ...apps, ...apps].map(async ({ url }) => {
        for (let i = 0; i < 40; i++) await step(url);
      }),
    );

    const [first, second] = await eventsUntilNow(streams, person.send);
    expect(second).toEqual(first!);
    const rebuilt = new Map<string, Task>();
    const unread = new Map<string, number>();
    for (const { event, data } of first!) {
      if (event === "inbox.updated") {
        unread.set(data.key_id, data.unread);
        continue;
      }
      if (event === "task.deleted") expect(rebuilt.delete(data.task_id)).toBe(true);
      else rebuilt.set(data.task.id, data.task);
    }
    expect(first!.some(({ event }) => event === "task.deleted")).toBe(true);

    for (const { url } of apps) {
      const send = client(url, person.token);
      const page = await send<{ tasks: Task[]; next_cursor: null }>("GET /v1/tasks?limit=500");
      expect(page.body.next_cursor).toBeNull();
      const { tasks } = page.body;
      // A client that followed the events knows the same tasks as one that gets the list.
      expect(new Map(tasks.map((task) => [task.id, task]))).toEqual(rebuilt);
      const keys = (await send<{ keys: Key[] }>("GET /v1/keys")).body.keys;
      for (const { key } of [agent, other]) {
        const of_key = tasks.filter(({ key_id }) => key_id === key.id);
        expect(of_key.length).toBeGreaterThan(0);
        const counts = Object.fromEntries(
          TASK_STATUSES.map((name) => [
            name,
            of_key.filter(({ status }) => status === name).length,
          ]),
        );
        expect(keys.find(({ id }) => id === key.id)?.counts).toEqual(counts as Key["counts"]);
        const inbox = await send(`GET /v1/keys/${key.id}/inbox`);
        expect(inbox.body.unread).toBe(unread.get(key.id));
      }
    }
  }),
  300_000,
);
