/** Any sequence of operations obeys the rules of the states, and the events tell all of it. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { QUESTION_STATUSES, type Question } from "../../src/model/question.ts";
import { TASK_STATUSES, type Task } from "../../src/model/task.ts";
import { startTestApp } from "../support/app.ts";
import { type Answer, createAgent, createPerson, type Send } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { SEED } from "../support/random.ts";
import { STORE_KIND } from "../support/store.ts";
import { type EventStream, openStream } from "../support/stream.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

/** Number of stories. The rules are the same on both stores, and a libSQL server takes three times as long. */
const RUNS = STORE_KIND === "server" ? 12 : 28;

const by = fc.constantFrom("person", "agent", "second" as const);
/** Selects one of the tasks or questions made so far. */
const which = fc.nat({ max: 5 });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const fields = {
  title: optional(fc.constantFrom("a", "b")),
  status: optional(fc.constantFrom(...TASK_STATUSES)),
  priority: optional(fc.constantFrom("low", "urgent")),
  notify: optional(fc.boolean()),
};
const patch = fc.record({
  ...fields,
  progress: optional(fc.constantFrom(null, 0, 50, 100)),
  status_note: optional(fc.constantFrom(null, "n")),
});

const operation = fc.oneof(
  fc.record({ does: fc.constant("create" as const), by, body: fc.record(fields) }),
  fc.record({ does: fc.constant("change" as const), by, which, body: patch }),
  fc.record({ does: fc.constant("change" as const), by, which, body: patch }),
  fc.record({ does: fc.constant("delete" as const), by, which }),
  fc.record({ does: fc.constant("see" as const), by, which }),
  fc.record({
    does: fc.constant("ask" as const),
    about: optional(which),
    expires_in: fc.constantFrom(60, 120),
  }),
  fc.record({ does: fc.constant("answer" as const), which, yes: fc.boolean() }),
  fc.record({ does: fc.constant("cancel" as const), which }),
  fc.record({ does: fc.constant("look" as const), by, which }),
  fc.record({ does: fc.constant("list" as const), by }),
  fc.record({ does: fc.constant("inbox" as const), peek: fc.boolean() }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Steps run in turn and the operations of a step concurrently; then time passes. */
const story = fc.array(
  fc.record({
    at_once: fc.array(operation, { minLength: 1, maxLength: 4 }),
    passes: fc.constantFrom(0, 0, 0.001, 1, 61),
  }),
  { maxLength: 12 },
);

/** The last seen state of each resource, and what must hold ever after. */
function createWitness() {
  const finished = new Map<string, Question>();
  return {
    task(task: Task, before?: Task): void {
      if (task.status === "done") expect(task.completed_at).toBeNumber();
      else expect(task.completed_at).toBeNull();
      expect(task.updated_at).toBeGreaterThanOrEqual(task.created_at);
      if (task.seen_at !== null) expect(task.seen_at).toBeGreaterThanOrEqual(task.created_at);
      if (!before) return;
      if (task.status === "done" && before.status !== "done") expect(task.progress).toBe(100);
      if (before.seen_at !== null) expect(task.seen_at).toBe(before.seen_at);
      expect(task).toMatchObject({
        key_id: before.key_id,
        source: before.source,
        host: before.host,
        created_at: before.created_at,
      });
      // It grows with each change of a field that a PATCH can name, and with no other.
      const { seen_at: _, updated_at: now, ...rest } = task;
      const { seen_at: __, updated_at: then, ...old } = before;
      if (Bun.deepEquals(rest, old)) expect(now).toBe(then);
      else expect(now).toBeGreaterThan(then);
    },
    /** `in_order`: not one of several concurrent responses. */
    question(shown: Question, { in_order }: { in_order: boolean }): void {
      // Only the account sees where an answer came from, when it reads the question alone.
      const { answered_from: _, ...question } = shown;
      const { status, answer, answered_at } = question;
      expect([answer !== null, answered_at !== null]).toEqual(Array(2).fill(status === "answered"));
      const known = finished.get(question.id);
      if (known && (in_order || status !== "pending")) expect(question).toEqual(known);
      if (status !== "pending") finished.set(question.id, question);
    },
  };
}

const ALL = `status=${QUESTION_STATUSES.join()}`;

async function lists(person: Send) {
  const { tasks } = (await person<{ tasks: Task[] }>("GET /v1/tasks?limit=500")).body;
  const { questions } = (await person<{ questions: Question[] }>(`GET /v1/questions?${ALL}`)).body;
  const { keys } = (await person("GET /v1/keys")).body;
  const unread: Record<string, number> = {};
  for (const { id } of keys) {
    unread[id] = (await person(`GET /v1/keys/${id}/inbox?limit=1`)).body.unread;
  }
  return {
    tasks: new Map(tasks.map((task) => [task.id, task])),
    questions: new Map(questions.map((question) => [question.id, question])),
    unread,
  };
}

type State = Awaited<ReturnType<typeof lists>>;

/** What a client that follows the events has made of the first lists. */
function replay(state: State, stream: EventStream) {
  const witness = createWitness();
  for (const { event, data } of stream.events.slice(1)) {
    if (event === "task.created") expect(state.tasks.has(data.task.id)).toBe(false);
    if (event.startsWith("question.")) {
      witness.question(data.question, { in_order: true });
      state.questions.set(data.question.id, data.question);
    } else if (event === "task.deleted") {
      expect(state.tasks.delete(data.task_id)).toBe(true);
    } else if (event.startsWith("task.")) {
      witness.task(data.task, state.tasks.get(data.task.id));
      state.tasks.set(data.task.id, data.task);
    } else if (event === "inbox.updated") {
      state.unread[data.key_id] = data.unread;
    }
  }
}

async function play(steps: readonly { at_once: readonly Operation[]; passes: number }[]) {
  const person = await createPerson(app.url);
  const agent = await createAgent(app.url, person);
  const second = await createAgent(app.url, person);
  const senders = { person: person.send, agent: agent.send, second: second.send };
  const tasks: string[] = [];
  const questions: string[] = [];
  const witness = createWitness();
  const nth = (ids: readonly string[], n: number) => ids[n % Math.max(1, ids.length)] ?? "none";

  const act = async (step: Operation): Promise<Answer> => {
    switch (step.does) {
      case "create": {
        const key_id = step.by === "person" ? { key_id: agent.key.id } : {};
        const made = await senders[step.by]("POST /v1/tasks", {
          ...step.body,
          title: step.body.title ?? "t",
          ...key_id,
        });
        tasks.push(made.body.id);
        return made;
      }
      case "change":
        return senders[step.by](`PATCH /v1/tasks/${nth(tasks, step.which)}`, step.body);
      case "delete":
        return senders[step.by](`DELETE /v1/tasks/${nth(tasks, step.which)}`);
      case "see":
        return senders[step.by](`GET /v1/tasks/${nth(tasks, step.which)}`);
      case "ask": {
        const { about, expires_in } = step;
        const task_id = about === undefined ? null : nth(tasks, about);
        const asked = await agent.send("POST /v1/questions", { prompt: "p", task_id, expires_in });
        if (asked.status === 201) questions.push(asked.body.id);
        return asked;
      }
      case "answer":
        return person.send(`POST /v1/questions/${nth(questions, step.which)}/answer`, {
          answer: step.yes ? "Yes" : "No",
        });
      case "cancel":
        return agent.send(`DELETE /v1/questions/${nth(questions, step.which)}`);
      case "look":
        return senders[step.by](`GET /v1/questions/${nth(questions, step.which)}`);
      case "list":
        return senders[step.by]("GET /v1/tasks");
      case "inbox":
        return agent.send(`GET /v1/inbox?peek=${step.peek}`);
    }
  };

  const stream = await openStream(app.url, person.token);
  const first = await lists(person.send);
  for (const { at_once, passes } of steps) {
    const answers = await Promise.all(at_once.map(act));
    for (const { status, body } of answers) {
      expect(status).toBeOneOf([200, 201, 204, 404, 409]);
      if (status < 300 && body?.title !== undefined) witness.task(body);
      if (status < 300 && body?.prompt !== undefined) {
        witness.question(body, { in_order: at_once.length === 1 });
      }
    }
    if (passes > 0) await clock.advance(passes);
    await app.jobs.settled();
  }
  const last = await lists(person.send);
  const { body: end } = await person.send("POST /v1/keys", { label: "end" });
  await stream.next(({ data }) => data.key?.id === end.key.id);
  stream.close();
  replay(first, stream);
  expect(first).toEqual(last);
  for (const question of last.questions.values()) witness.question(question, { in_order: true });
  await person.send("DELETE /v1/account");
}

test("any story obeys the rules, and its events replayed over the first lists give the last lists [§3.1.1] [§3.2.2] [§3.2.3] [§5.5.5(3)] [§7.4.1]", async () => {
  await fc.assert(fc.asyncProperty(story, play), { numRuns: RUNS, seed: SEED });
}, 300_000);
