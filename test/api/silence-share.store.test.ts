/** Many agents that fall silent at once leave others their turn (§3.3). */

import { expect, test } from "bun:test";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { ADMIN, metricsOf } from "../support/admin.ts";
import { startTestApp } from "../support/app.ts";
import { createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { until } from "../support/until.ts";

const working = { title: "Build", status: "in_progress", expect_update_within: 300 };

/** An account with `many` tasks that are due before the one of another account. */
async function createWorld(many: number) {
  const { url: database_url } = await createTestStore();
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const read = (text: string) => store.read(statement(sql.raw(text), { returns: "rows" })({}));
  const clock = createTestClock();
  const app = await startTestApp({ clock, database_url, env: ADMIN });
  const [hog, other] = [await createPair(app.url), await createPair(app.url)];
  const { id } = await createTask(hog.agent.send, working);
  await clock.advance(1);
  const others = await createTask(other.agent.send, working);
  const columns = (await read("select name from pragma_table_info('tasks')")).flat() as string[];
  const copied = columns.filter((name) => !["id", "seq", "revision"].includes(name)).join();
  await store.write([
    statement(
      sql.raw(`insert into tasks (id, revision, ${copied})
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many - 1})
        select printf('tsk_%032d', i), 'r' || i, ${copied} from n, tasks where id = '${id}'`),
    )({}),
  ]);
  return {
    ...{ app, clock, others },
    /** The tasks that have become silent, in this order. */
    silent: async () =>
      (await read("select subject from events where name = 'task.updated' order by seq")).flat(),
    close: store.close,
  };
}

test("alarms that are due together are written a few at a time [§3.3.1]", async () => {
  const { app, clock, silent, close } = await createWorld(50);
  const commits = async () => {
    const { series } = (await metricsOf(app.url)).all.get("relay_store_commit_batches")!;
    const upTo = (le: string) => series.find(({ labels }) => labels.le === le)!.value;
    // Jobs write at most 8 batches at once.
    return { all: upTo("+Inf"), of_more: upTo("+Inf") - upTo("8") };
  };
  const before = await commits();
  for (let i = 0; i < 27; i++) {
    await clock.advance(15);
    await app.jobs.settled();
  }
  expect((await silent()).length).toBe(51);
  const after = await commits();
  expect(after.all - before.all).toBeGreaterThanOrEqual(13);
  expect(after.of_more).toBe(before.of_more);
  await close();
});

test("an account with thousands of due alarms does not hide the later one of another account [§3.3.1]", async () => {
  const { app, clock, others, silent, close } = await createWorld(1_500);
  for (let i = 0; i < 25; i++) {
    await clock.advance(15);
    if (i < 22) await app.jobs.settled();
  }
  const place = await until(async () => {
    await clock.advance(1);
    return (await silent()).findIndex((subject) => String(subject).includes(others.id)) + 1;
  });
  // Of 60 steps with 25 tasks each.
  expect(place).toBeLessThanOrEqual(300);
  await close();
});
