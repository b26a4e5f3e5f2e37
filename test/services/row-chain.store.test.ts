/** Overlapping changes of one task share commits, and behave as if they came one after the other. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import type { Task, TaskPatch } from "../../src/model/task.ts";
import { startTestApp } from "../support/app.ts";
import { createAgent, createPair, createPerson, createTask } from "../support/client.ts";
import { SEED } from "../support/random.ts";
import { type Fault, openServices } from "../support/services.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const { url: database_url } = await createTestStore();
const app = await startTestApp({ database_url });
const one = await openServices(database_url);
const two = await openServices(database_url);
const { person, agent } = await createPair(app.url);
const key = await one.callerOf(agent.secret);
const account = await one.callerOf(person.token);

const MANY = 64;
const STATUSES = ["todo", "in_progress", "done", "cancelled"] as const;
const newTask = () => createTask(person.send, { title: "hot", key_id: agent.key.id });
const times = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));

/** The fields that a PATCH sets on a task, without times. */
function apply(task: Task, patch: TaskPatch): object {
  const { updated_at: _, completed_at: __, seen_at: ___, ...next } = { ...task, ...patch };
  return next.status === "done" && task.status !== "done" ? { ...next, progress: 100 } : next;
}

/** Returns the result or the error code. */
const ended = <T>(work: Promise<T>): Promise<T | string> =>
  work.catch((error: unknown) => (error instanceof ServiceError ? error.code : `${error}`));

/** The states of a task from `first` on, as shown by its events. */
async function statesOf(first: Task): Promise<Task[]> {
  const events = await one.eventsOf(first.id);
  return events.flatMap(({ name, data }) =>
    name === "task.updated"
      ? [(data as { task: Task }).task]
      : name === "task.created"
        ? [first]
        : [],
  );
}

/**
 * Proves that the changes happened one after the other: each state follows from the previous one by a
 * PATCH with its own note, and whoever got a response got the state that its PATCH left.
 */
async function expectSequence(
  first: Task,
  done: readonly { readonly patch: TaskPatch; readonly result: Task | string }[],
): Promise<Task> {
  const states = await statesOf(first);
  const seen = new Set<string | null>();
  for (let i = 1; i < states.length; i++) {
    const [before, after] = [states[i - 1]!, states[i]!];
    if (after.updated_at === before.updated_at) {
      expect([before.seen_at, after]).toEqual([null, { ...before, seen_at: after.seen_at }]);
      continue;
    }
    expect(after.updated_at).toBeGreaterThan(before.updated_at);
    const maker = done.find(({ patch }) => patch.status_note === after.status_note)!;
    expect(seen).not.toContain(after.status_note);
    seen.add(after.status_note);
    expect(after).toMatchObject(apply(before, maker.patch));
    expect(after.completed_at === null).toBe(after.status !== "done");
    if (typeof maker.result !== "string") expect(after).toEqual(maker.result);
  }
  for (const { result } of done) {
    if (typeof result === "string") continue;
    expect(states.some((state) => Bun.deepEquals(state, result))).toBe(true);
  }
  const { body } = await person.send(`GET /v1/tasks/${first.id}`);
  expect(body).toEqual(states.at(-1));
  return body;
}

const patchOf = (i: number): TaskPatch => ({
  status_note: `note ${i}`,
  ...(i % 3 === 0 && { status: STATUSES[i % 4]! }),
  ...(i % 4 === 1 && { progress: i }),
  ...(i % 5 === 2 && { title: `title ${i}`, notify: i % 2 === 0 }),
});

const groupsOf = ({ store }: typeof one) => store.stats().groups.counts.reduce((a, b) => a + b);

test("many changes of one task share commits, and each response is the state that its change left", async () => {
  const task = await newTask();
  const before = groupsOf(one);
  const written = one.writes();
  const release = one.holdWrites();
  const changes = Promise.all(
    times(MANY, async (i) => {
      const patch = patchOf(i);
      const result = await one.tasks.update(i % 2 ? account : key, task.id, patch);
      return { patch, result };
    }),
  );
  // On a busy machine the first would be committed before the last is decided.
  await until(() => one.writes() - written === MANY);
  release();
  const done = await changes;
  expect(groupsOf(one) - before).toBeLessThanOrEqual(3);
  const states = await statesOf(task);
  expect(states.length).toBe(1 + MANY);
  await expectSequence(task, done);
});

test("a deletion among changes happens in its turn, and later changes find no task", async () => {
  const task = await newTask();
  const before = one.writes();
  const release = one.holdWrites();
  const changes = times(MANY, (i) => ended(one.tasks.update(key, task.id, patchOf(i))));
  await until(() => one.writes() - before === MANY);
  const removed = one.tasks.remove(account, task.id);
  await until(() => one.writes() - before === MANY + 1);
  const later = [
    ...times(MANY, (i) => ended(one.tasks.update(key, task.id, patchOf(100 + i)))),
    ended(one.tasks.update(account, task.id, {})),
    ended(one.tasks.remove(account, task.id)),
  ];
  await person.send(`GET /v1/tasks/${task.id}`);
  release();
  await removed;
  for (const result of await Promise.all(changes)) expect(result).toBeObject();
  expect(new Set(await Promise.all(later))).toEqual(new Set(["not_found"]));
  // Nothing was tried in vain.
  expect(one.writes() - before).toBe(MANY + 1);
  const events = (await one.eventsOf(task.id)).map(({ name }) => name);
  expect(events.lastIndexOf("task.deleted")).toBe(events.length - 1);
  expect(events.length).toBe(MANY + 2);
});

test("a change that alters nothing is answered only once the state it found is durable", async () => {
  const task = await newTask();
  const release = one.holdWrites();
  const patch = { status_note: "held" };
  const first = one.tasks.update(account, task.id, patch);
  let answered = false;
  // By the time this is read, the first change has been handed to the store.
  await one.tasks.read(account, task.id, { effects: true });
  const second = one.tasks.update(account, task.id, patch).finally(() => {
    answered = true;
  });
  for (let i = 0; i < 10; i++) await one.tasks.read(account, task.id, { effects: true });
  expect(answered).toBe(false);
  release();
  expect(await second).toEqual(await first);
  expect((await statesOf(task)).length).toBe(2);
});

test("a change that alters nothing is refused like the change that it waited for", async () => {
  const task = await newTask();
  const release = one.holdWrites();
  one.breakWrites(["refused"]);
  const patch = { status_note: "never" };
  const first = ended(one.tasks.update(account, task.id, patch));
  await one.tasks.read(account, task.id, { effects: true });
  const second = ended(one.tasks.update(account, task.id, patch));
  await one.tasks.read(account, task.id, { effects: true });
  release();
  expect(await Promise.all([first, second])).toEqual(["store_unavailable", "store_unavailable"]);
  expect(await statesOf(task)).toEqual([task]);
});

const FAULTS: Record<Fault, string> = {
  refused: "store_unavailable",
  lost: "store_unavailable",
  faulty: "",
};
test.each(Object.keys(FAULTS) as Fault[])(
  "when a write in the middle is %s, the changes after it are decided again",
  async (fault) => {
    const task = await newTask();
    one.breakWrites([null, null, fault]);
    const done = await Promise.all(
      times(8, async (i) => {
        const patch = patchOf(i);
        return { patch, result: await ended(one.tasks.update(account, task.id, patch)) };
      }),
    );
    const failed = done.filter(({ result }) => typeof result === "string");
    expect(failed.length).toBe(1);
    expect(failed[0]!.result).toContain(FAULTS[fault]);
    expect((await statesOf(task)).length).toBe(1 + (fault === "lost" ? 8 : 7));
    await expectSequence(task, done);
  },
);

test("a change by another account finds no task, even while changes are under way", async () => {
  const stranger = await createPerson(app.url);
  const their_key = await createAgent(app.url, stranger);
  const sibling = await createAgent(app.url, person, "sibling");
  const task = await newTask();
  const callers = await Promise.all(
    [stranger.token, their_key.secret, sibling.secret].map(one.callerOf),
  );
  const release = one.holdWrites();
  const own = one.tasks.update(key, task.id, { title: "own" });
  await one.tasks.read(account, task.id, { effects: true });
  for (const caller of callers) {
    for (const patch of [{ title: "theirs" }, { title: "own" }, {}]) {
      expect(await ended(one.tasks.update(caller, task.id, patch))).toBe("not_found");
    }
    expect(await ended(one.tasks.remove(caller, task.id))).toBe("not_found");
  }
  release();
  expect(await own).toMatchObject({ title: "own" });
});

test("changes under way are refused when their key is deleted [§4.1.5]", async () => {
  const gone = await createAgent(app.url, person, "gone");
  const task = await createTask(gone.send);
  const caller = await one.callerOf(gone.secret);
  const release = one.holdWrites();
  const by_key = times(8, (i) => ended(one.tasks.update(caller, task.id, patchOf(i))));
  const by_account = times(8, (i) => ended(one.tasks.update(account, task.id, patchOf(i))));
  const same = ended(one.tasks.update(caller, task.id, {}));
  await one.tasks.list(account, {}, { effects: true, page_bytes: LIMITS.page_bytes });
  await person.send(`DELETE /v1/keys/${gone.key.id}`);
  release();
  expect(new Set(await Promise.all(by_key))).toEqual(new Set(["unauthorized"]));
  expect(new Set(await Promise.all(by_account))).toEqual(new Set(["not_found"]));
  const found = await same;
  if (typeof found === "string") expect(found).toBe("unauthorized");
  else expect(found).toEqual(task);
  expect((await one.eventsOf(task.id)).map(({ name }) => name)).toEqual(["task.created"]);
});

test("retention does not delete a finished task that a concurrent change reopens", async () => {
  const task = await createTask(agent.send, { title: "old", status: "done" });
  const release = one.holdWrites();
  const change = one.tasks.update(key, task.id, { status: "todo" });
  await one.tasks.read(account, task.id, { effects: true });
  const pass = one.tasks.expireFinished(task.updated_at + 60, 100);
  await one.tasks.read(account, task.id, { effects: true });
  release();
  await pass;
  expect(await change).toMatchObject({ status: "todo" });
  expect((await person.send(`GET /v1/tasks/${task.id}`)).status).toBe(200);
});

test("a process that changes a task without a pause does not starve another process", async () => {
  const task = await newTask();
  let stop = false;
  let count = 0;
  const done: { patch: TaskPatch; result: Task | string }[] = [];
  const hammer = async (service: typeof one) => {
    const patch = patchOf(++count * 7);
    done.push({ patch, result: await ended(service.tasks.update(account, task.id, patch)) });
  };
  const busy = times(16, async () => {
    while (!stop) {
      await hammer(one);
      // A refusal needs no turn of the event loop, and the other process has to get one.
      await new Promise((next) => setImmediate(next));
    }
  });
  let most = 0;
  try {
    for (let i = 0; i < 20; i++) {
      const before = two.writes();
      await hammer(two);
      most = Math.max(most, two.writes() - before);
    }
    const before = two.writes();
    await two.tasks.remove(account, task.id);
    most = Math.max(most, two.writes() - before);
  } finally {
    stop = true;
    await Promise.all(busy);
  }
  // Three misses, the claim, and the change; another change may get between once or twice.
  expect(most).toBeLessThanOrEqual(16);
  expect(done.filter(({ result }) => result === "store_unavailable")).toEqual([]);
});

const fault = fc.option(fc.constantFrom<Fault>("refused", "lost", "faulty"), { freq: 8 });
const operation = fc.record({
  does: fc.constantFrom("change", "change", "change", "same", "see"),
  in_second: fc.boolean(),
  by_key: fc.boolean(),
  status: fc.option(fc.constantFrom(...STATUSES), { nil: undefined }),
  progress: fc.option(fc.constantFrom(0, 50, null), { nil: undefined }),
});
const round = fc.record({
  at_once: fc.array(operation, { minLength: 1, maxLength: 24 }),
  faults: fc.tuple(fc.array(fault, { maxLength: 12 }), fc.array(fault, { maxLength: 12 })),
});

test("any mix of changes in two processes, with faults, happens one after the other", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 4 }), async (rounds) => {
      const task = await newTask();
      const done: { patch: TaskPatch; result: Task | string }[] = [];
      let notes = 0;
      for (const { at_once, faults } of rounds) {
        one.breakWrites(faults[0]);
        two.breakWrites(faults[1]);
        await Promise.all(
          at_once.map(async ({ does, in_second, by_key, status, progress }) => {
            const { tasks } = in_second ? two : one;
            const caller = by_key ? key : account;
            if (does === "see") {
              const result = await ended(tasks.read(key, task.id, { effects: true }));
              if (typeof result !== "string") expect(result.seen_at).not.toBeNull();
              return;
            }
            const patch: TaskPatch =
              does === "same" ? { title: "hot" } : { status_note: `${++notes}` };
            if (does === "change" && status !== undefined) patch.status = status;
            if (does === "change" && progress !== undefined) patch.progress = progress;
            done.push({ patch, result: await ended(tasks.update(caller, task.id, patch)) });
          }),
        );
        one.breakWrites([]);
        two.breakWrites([]);
      }
      await expectSequence(task, done);
    }),
    { numRuns: 60, seed: SEED },
  );
}, 300_000);
