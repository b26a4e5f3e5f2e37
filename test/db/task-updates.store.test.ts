/** What an update of a task writes. */

import { afterAll, expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { type TaskRow, taskById, updateTask } from "../../db/tasks.ts";
import type { Caller } from "../../src/model/caller.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { connectTo, createTestStore } from "../support/store.ts";

const clock = createTestClock();
const test_store = await createTestStore();
const app = await startTestApp({ clock, database_url: test_store.url });
const store = await openStore({ url: test_store.url, auth_token: undefined }, clock);
afterAll(async () => {
  await store.close();
  await app.stop();
});

test("an update leaves out the columns of silent agents unless they change, which a trigger may have set since", async () => {
  const { person, agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, {
    status: "in_progress",
    title: "A task",
    expect_update_within: 300,
  });
  const db = connectTo(test_store.url);
  const find = async () => {
    const account_id = person.account.id;
    const [row] = await store.read(taskById({ kind: "account", account_id } as Caller, id));
    return row!;
  };
  const before = await find();
  const as = (revision: string, from: TaskRow, change: Partial<TaskRow["task"]>): TaskRow => ({
    ...from,
    task: { ...from.task, ...change },
    revision,
  });
  await db.execute(`update tasks set silent_due_at = 5000 where id = '${id}'`);

  await store.write([updateTask(before, as("rev_second", before, { status_note: "Half" }))]);
  const second = await find();
  expect(second.silent_due_at).toBe(5);
  expect(second.task.status_note).toBe("Half");

  await store.write([
    updateTask(second, { ...as("rev_third", second, { status: "done" }), silent_due_at: null }),
  ]);
  const third = await find();
  expect(third.silent_due_at).toBeNull();
  expect(third.task.status).toBe("done");
  db.close();
});
