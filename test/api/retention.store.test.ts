/** What is kept, and for how long (§10.5, §3.2.4). */

import { expect, test } from "bun:test";
import { createQuestionPruner } from "../../db/retention.ts";
import { openStore } from "../../db/store/open.ts";
import { sql } from "../../db/store/sql.ts";
import { statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { createTestStore } from "../support/store.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const DAY = 86_400;

test("a finished task expires with its questions after its days, and an open one never [§3.2.4]", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: { TASK_RETENTION_DAYS: "2" } });
  const { person, agent } = await createPair(app.url);
  const make = (status: string) => createTask(agent.send, { title: status, status });
  const [done, cancelled, revived, todo] = [
    await make("done"),
    await make("cancelled"),
    await make("done"),
    await make("todo"),
  ];
  const question = await ask(agent.send, { prompt: "p", task_id: done.id, expires_in: 86_400 });
  /** Moves time on, and runs the jobs at the end. */
  const move = async (seconds: number) => {
    await app.jobs.settled();
    await clock.skip(seconds);
    await app.jobs.settled();
  };
  const listed = async () => {
    const { body } = await agent.send("GET /v1/tasks");
    return new Set(body.tasks.map(({ id }: { id: string }) => id));
  };

  await move(0.9 * DAY);
  await agent.send(`PATCH /v1/tasks/${revived.id}`, { status_note: "not so fast" });
  const stream = await openStream(app.url, person.token);
  await move(1.09 * DAY);
  expect(await listed()).toEqual(new Set([todo.id, revived.id, cancelled.id, done.id]));
  await move(0.02 * DAY);
  await until(async () => (await listed()).size === 2);
  expect(await listed()).toEqual(new Set([todo.id, revived.id]));
  const deleted = stream.events.filter(({ event }) => event === "task.deleted");
  expect(new Set(deleted.map(({ data }) => data.task_id))).toEqual(
    new Set([done.id, cancelled.id]),
  );
  expect((await agent.send(`GET /v1/questions/${question.id}`)).body.status).toBe("expired");
  stream.close();
});

test("a pending question is cancelled when its task expires", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: { TASK_RETENTION_DAYS: "1" } });
  const { agent } = await createPair(app.url);
  const { id: task_id } = await createTask(agent.send, { title: "t", status: "done" });
  await clock.skip(DAY - 3_600);
  await app.jobs.settled();
  const { id } = await ask(agent.send, { prompt: "p", task_id, expires_in: 86_400 });
  await clock.skip(3_700);
  await until(async () => (await agent.send(`GET /v1/tasks/${task_id}`)).status === 404);
  expect((await agent.send(`GET /v1/questions/${id}`)).body).toMatchObject({
    status: "cancelled",
    task_id,
  });
});

test("TASK_RETENTION_DAYS=0 keeps every task", async () => {
  const clock = createTestClock();
  const app = await startTestApp({ clock, env: { TASK_RETENTION_DAYS: "0" } });
  const { agent } = await createPair(app.url);
  const { id } = await createTask(agent.send, { title: "t", status: "done" });
  await app.jobs.settled();
  await clock.skip(60 * DAY);
  await app.jobs.settled();
  expect((await agent.send(`GET /v1/tasks/${id}`)).status).toBe(200);
});

test("a key keeps its newest 1,000 finished questions and every pending one", async () => {
  const { url: database_url } = await createTestStore();
  const app = await startTestApp({ clock: createTestClock(), database_url });
  const { person, agent } = await createPair(app.url);
  const other = await createPair(app.url);
  const old = await ask(agent.send);
  await ask(other.agent.send);
  await person.send(`POST /v1/questions/${old.id}/answer`, { answer: "Yes" });
  const pending = await ask(agent.send);

  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  const count = async () => {
    const query = sql`select key_id, count(*), max(created_at) from questions where status <> 'pending' group by key_id`;
    return store.read(statement(query, { returns: "rows" })({}));
  };
  // 1,300 newer questions, inserted: asking and answering each would prove no more.
  const columns = "key_id, account_id, prompt, kind, options, expires_at, revision";
  const copy = sql.raw(`insert into questions (id, status, created_at, ${columns})
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1300)
    select id || i, 'answered', created_at + i, ${columns} from questions, n where id = '${old.id}'`);
  await store.write([statement(copy)({})]);
  // Two each, so that deleting them takes a statement of its own.
  const deliver =
    sql.raw(`insert into question_deliveries (question_id, target_id, id, lane, label, status, queued_at)
    select q.id, t.value, q.id || t.value, 'x', 'x', 'sent', 0 from questions q, json_each('["a", "b"]') t`);
  await store.write([statement(deliver)({})]);
  const orphans =
    sql.raw(`select count(*), count(distinct question_id), sum(question_id not in (select id from questions))
    from question_deliveries`);
  const [[, , newest] = []] = await count();

  let writes = 0;
  const prune = createQuestionPruner({
    ...store,
    write(...args) {
      writes++;
      return store.write(...args);
    },
  });
  while (await prune(1));
  const needed = writes;
  while (await prune(1));
  // Without a question too many, a pass only reads.
  expect([needed > 0, writes]).toEqual([true, needed]);
  expect(await count()).toEqual([[agent.key.id, 1_000, newest!]]);
  // The 1,000, the pending one, and the other key's question.
  const left = await store.read(statement(orphans, { returns: "rows" })({}));
  expect(left).toEqual([[2_004, 1_002, 0]]);
  expect((await agent.send(`GET /v1/questions/${old.id}`)).status).toBe(404);
  expect((await agent.send(`GET /v1/questions/${pending.id}`)).body.status).toBe("pending");
  expect((await other.agent.send("GET /v1/questions")).body.questions.length).toBe(1);
  await store.close();
});
