/** While nobody could watch an agent, it does not count as silent: a restart, and a store that was away (§3.3.4). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { holdWriteLock } from "../support/lock.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const EXPECTED = 300;

async function begin() {
  const clock = createTestClock();
  const { url: database_url, sqld } = await createTestStore();
  const start = () => startTestApp({ clock, database_url });
  let app = await start();
  const { person, agent } = await createPair(app.local_url);
  const task = await createTask(agent.send, {
    title: "Build",
    status: "in_progress",
    expect_update_within: EXPECTED,
  });
  return {
    clock,
    sqld,
    database_url,
    person,
    app: () => app,
    async restart() {
      app = await start();
    },
    /** Moves time in steps in which the process looks. */
    async pass(seconds: number, step = 15) {
      for (let left = seconds; left > 0; left -= step) {
        await clock.skip(step);
        await app.jobs.settled();
      }
    },
    /** Since when the agent is silent; null while it is not. */
    async since(): Promise<number | null> {
      const url = `${app.local_url}/v1/tasks/${task.id}`;
      const headers = { authorization: `Bearer ${person.token}` };
      const read: any = await (await fetch(url, { headers })).json();
      return read.silent_since;
    },
  };
}

test("after a restart, an agent is silent only once the new process has watched for its time [§3.3.4]", async () => {
  const { clock, app, restart, pass, since } = await begin();
  await pass(240);
  await app().stop();
  await clock.skip(3_600);
  await restart();
  await pass(EXPECTED + 45);
  expect(await since()).toBeNull();
  await pass(150);
  expect(await since()).not.toBeNull();
});

test("a store that was away does not make an agent silent [§3.3.4]", async () => {
  const { database_url, sqld, person, pass, since } = await begin();
  await pass(315);
  if (sqld) {
    await sqld.stop();
    await pass(40, 40);
    await sqld.restart();
  } else {
    const lock = await holdWriteLock(database_url);
    expect((await person.send("POST /v1/keys", { label: "k" })).status).toBe(503);
    await pass(40, 40);
    await lock.release();
  }
  await until(async () => (await person.send("POST /v1/keys", { label: "k" })).status === 201);
  await pass(EXPECTED);
  expect(await since()).toBeNull();
  await pass(150);
  expect(await since()).not.toBeNull();
}, 300_000);
