/** The task list: order, filters, list pages (§5.5.2). */

import { expect, test } from "bun:test";
import type { Task } from "../../src/model/task.ts";
import { startTestApp } from "../support/app.ts";
import { type Agent, createAgent, createPair, createTask, type Send } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const STATUSES = ["todo", "in_progress", "done", "cancelled"] as const;
const PRIORITIES = ["low", "medium", "high", "urgent"] as const;

interface Page {
  tasks: Task[];
  next_cursor: string | null;
}

async function page(send: Send, query: string): Promise<Page> {
  const { status, body } = await send(`GET /v1/tasks?${query}`);
  expect(status).toBe(200);
  return body;
}

/** Every page of a list; `between` runs after each. */
async function walk(send: Send, query: string, between = async () => {}): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next: Page = await page(send, query + (cursor && `&cursor=${cursor}`));
    pages.push(next);
    cursor = next.next_cursor;
    await between();
  }
  return pages;
}

const ids = (pages: Page[]) => pages.flatMap(({ tasks }) => tasks.map(({ id }) => id));

/** `count` tasks over all statuses and priorities, some of them in the same millisecond. */
async function fill(agent: Agent, count: number): Promise<Task[]> {
  const made: Task[] = [];
  for (let i = 0; i < count; i++) {
    if (i % 3 === 0) await clock.advance(0.001);
    made.push(
      await createTask(agent.send, {
        title: `t${i}`,
        status: STATUSES[i % 4],
        priority: PRIORITIES[(i >> 2) % 4],
      }),
    );
  }
  return made.sort((a, b) => b.updated_at - a.updated_at || (a.id < b.id ? 1 : -1));
}

test("tasks are listed by newest updated_at, ties by id, over all list pages [§5.5.2(1)] [§1.5.2] [§5.5.2 limit]", async () => {
  const { person, agent } = await createPair(app.url);
  const all = await fill(agent, 23);
  for (const send of [agent.send, person.send]) {
    for (const limit of [1, 4, 22, 23, 24, 500]) {
      const pages = await walk(send, `limit=${limit}`);
      expect(pages.flatMap(({ tasks }) => tasks)).toEqual(all);
      for (const { tasks, next_cursor } of pages) {
        if (next_cursor !== null) expect(tasks.length).toBe(limit);
      }
      // No list page is empty, so every cursor led to more tasks.
      expect(pages.at(-1)!.tasks.length).toBeGreaterThan(0);
    }
  }
});

test("the filters status and priority take one value or several [§5.5.2 status] [§5.5.2(2)]", async () => {
  const { person, agent } = await createPair(app.url);
  const all = await fill(agent, 32);
  const some = [["todo"], ["todo", "done"], ["cancelled", "in_progress", "todo"], [...STATUSES]];
  for (const send of [agent.send, person.send]) {
    for (const statuses of some) {
      const expected = all.filter(({ status }) => statuses.includes(status));
      const pages = await walk(send, `limit=3&status=${statuses.join(",")}`);
      expect(ids(pages)).toEqual(expected.map(({ id }) => id));
      const urgent = expected.filter(({ priority }) => /urgent|low/.test(priority));
      const narrowed = await walk(send, `limit=3&priority=urgent,low&status=${statuses.join(",")}`);
      expect(ids(narrowed)).toEqual(urgent.map(({ id }) => id));
    }
  }
});

test("a rare priority gives short list pages instead of a long scan [§5.5.2(2)]", async () => {
  const { agent } = await createPair(app.url);
  const rare = await createTask(agent.send, { title: "old", priority: "urgent" });
  for (let i = 0; i < 21; i++) {
    await Promise.all(Array.from({ length: 100 }, () => createTask(agent.send)));
    await clock.advance(0.01);
  }
  const pages = await walk(agent.send, "priority=urgent");
  expect(pages.map(({ tasks }) => tasks.length)).toEqual([0, 1]);
  expect(ids(pages)).toEqual([rare.id]);
});

test("the account filters its list by a key [§5.5.2 key_id]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person);
  const mine = await createTask(agent.send);
  await clock.advance(1);
  const theirs = await createTask(other.send);
  expect(ids([await page(person.send, "")])).toEqual([theirs.id, mine.id]);
  expect(ids([await page(person.send, `key_id=${agent.key.id}`)])).toEqual([mine.id]);
  expect(ids([await page(agent.send, "")])).toEqual([mine.id]);
});

test("the limit of a list is 100 by default and 500 at most [§10.3 task_page]", async () => {
  const { agent } = await createPair(app.url);
  await Promise.all(Array.from({ length: 101 }, () => createTask(agent.send)));
  expect((await page(agent.send, "")).tasks.length).toBe(100);
  expect((await page(agent.send, "limit=500")).tasks.length).toBe(101);
  for (const limit of ["0", "501", "-1", "1.5", "ten"]) {
    const { status, body } = await agent.send(`GET /v1/tasks?limit=${limit}`);
    expect([status, Object.keys(body.fields)]).toEqual([422, ["limit"]]);
  }
});

test("a cursor is valid only for the list it was made for [§1.5.2]", async () => {
  const { person, agent } = await createPair(app.url);
  await fill(agent, 8);
  const { next_cursor } = await page(agent.send, "limit=2&status=todo,done");
  // The same filter in another order, or with another limit, is the same list.
  expect(
    (await page(agent.send, `limit=3&status=done,todo&cursor=${next_cursor}`)).tasks,
  ).not.toEqual([]);
  const refused = [
    [agent.send, `cursor=${next_cursor}`],
    [agent.send, `status=todo&cursor=${next_cursor}`],
    [person.send, `status=todo,done&cursor=${next_cursor}`],
    [agent.send, `status=todo,done&cursor=${next_cursor!.slice(0, -2)}`],
    [agent.send, "cursor="],
    [agent.send, "cursor=AAAA"],
  ] as const;
  for (const [send, query] of refused) {
    const { status, body } = await send(`GET /v1/tasks?${query}`);
    expect([status, Object.keys(body.fields)]).toEqual([422, ["cursor"]]);
  }
});

test("paging while tasks change skips no unchanged task [§1.5.2]", async () => {
  const { agent } = await createPair(app.url);
  const all = await fill(agent, 60);
  const still = new Set(all.filter((_, i) => i % 3 > 0).map(({ id }) => id));
  const moving = all.filter(({ id }) => !still.has(id));
  let turn = 0;
  for (const query of ["limit=7", "limit=7&status=todo,in_progress,done,cancelled"]) {
    const pages = await walk(agent.send, query, async () => {
      await clock.advance(0.002);
      for (let i = 0; i < 3; i++) {
        const { id } = moving[turn++ % moving.length]!;
        await agent.send(`PATCH /v1/tasks/${id}`, { progress: turn % 100 });
      }
      await createTask(agent.send);
    });
    const seen = ids(pages).filter((id) => still.has(id));
    expect(seen.length).toBe(still.size);
    expect(new Set(seen)).toEqual(still);
  }
});
