/** List pages end by bytes as well as by number (§1.5.3). */

import { expect, test } from "bun:test";
import { startTestApp } from "../support/app.ts";
import { ask, client, createAgent, createPair, createTask, type Send } from "../support/client.ts";

const app = await startTestApp();

const MIB = 1024 * 1024;
/** JSON turns these 10,000 bytes into 60,000. */
const ESCAPED = "\u0001".repeat(10_000);
const WIDE = "é".repeat(10_000);

interface Page {
  readonly bytes: number;
  readonly body: any;
}

/** A list page, and its size on the wire. */
async function page(token: string, path: string): Promise<Page> {
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  expect(response.status).toBe(200);
  return { bytes: Buffer.byteLength(text), body: JSON.parse(text) };
}

/** All pages of a list, by their cursors. */
async function walk(token: string, path: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    pages.push(await page(token, path + (cursor && `&cursor=${cursor}`)));
    cursor = pages.at(-1)!.body.next_cursor;
    expect(pages.length).toBeLessThan(100);
  }
  return pages;
}

const idsOf = (pages: Page[], name: string): string[] =>
  pages.flatMap(({ body }) => body[name].map(({ id }: { id: string }) => id));

/** Tasks of every size in turn. */
async function fill(send: Send, count: number, key_id?: string) {
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const description = [ESCAPED, "short", WIDE, "x".repeat(3_000)][i % 4]!;
    made.push(
      (await createTask(send, { title: `t${i}`, description, ...(key_id && { key_id }) })).id,
    );
  }
  return made;
}

test("a list page of tasks ends after 1 MiB of JSON, and its cursor continues without a gap", async () => {
  const { person, agent } = await createPair(app.url);
  const ids = await fill(person.send, 60, agent.key.id);
  for (const query of [
    "limit=500",
    "limit=40",
    "limit=500&priority=medium",
    "limit=500&status=todo,done",
  ]) {
    const pages = await walk(person.token, `/v1/tasks?${query}`);
    expect(idsOf(pages, "tasks")).toEqual(ids.toReversed());
    expect(pages.length).toBeGreaterThan(1);
    for (const { bytes } of pages) expect(bytes).toBeLessThan(MIB + 1_000);
    // A list page is as full as it can be.
    if (!query.startsWith("limit=40")) expect(pages[0]!.bytes).toBeGreaterThan(MIB - 64 * 1024);
    const shown = pages.flatMap(({ body }) => body.tasks).toReversed();
    expect(shown.map(({ description }: any) => description.length)).toEqual(
      ids.map((_, i) => [10_000, 5, 10_000, 3_000][i % 4]),
    );
    expect(shown.slice(0, 3).map(({ description }: any) => description)).toEqual([
      ESCAPED,
      "short",
      WIDE,
    ]);
  }
  const single = await walk(person.token, "/v1/tasks?limit=1");
  expect(idsOf(single, "tasks")).toEqual(ids.toReversed());

  // The agent has seen the tasks of its list page, and no others.
  const [first] = (await page(agent.secret, "/v1/tasks?limit=500")).body.tasks.slice(-1);
  const seen = (await walk(person.token, "/v1/tasks?limit=500"))
    .flatMap(({ body }) => body.tasks)
    .filter(({ seen_at }: any) => seen_at !== null);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThan(60);
  expect(seen.at(-1).id).toBe(first.id);
});

test("an inbox read ends after 1 MiB, and the rest stays unread and unseen", async () => {
  const { person, agent } = await createPair(app.url);
  const ids = await fill(person.send, 60, agent.key.id);
  const inbox = await walk(person.token, `/v1/keys/${agent.key.id}/inbox?limit=100`);
  expect(inbox.flatMap(({ body }) => body.items.map((item: any) => item.task_id))).toEqual(
    ids.toReversed(),
  );
  for (const { bytes } of inbox) expect(bytes).toBeLessThan(MIB + 1_000);

  const read: string[] = [];
  for (let unread = 60; unread > 0; ) {
    const { bytes, body } = await page(agent.secret, "/v1/inbox?limit=100");
    expect(bytes).toBeLessThan(MIB + 1_000);
    expect(body.items.length).toBeGreaterThan(0);
    read.push(...body.items.map((item: any) => item.task_id));
    unread -= body.items.length;
    expect(body.unread).toBe(unread);
    if (read.length === body.items.length) {
      const { body: next } = await person.send(`GET /v1/tasks/${ids[body.items.length]}`);
      expect(next.seen_at).toBeNull();
    }
  }
  expect(read).toEqual(ids);
});

test("list pages of questions end by number and by bytes, newest first", async () => {
  const { person } = await createPair(app.url);
  const ids: string[] = [];
  const prompt = "\u0001".repeat(1_999);
  for (let i = 0; i < 5; i++) {
    const agent = await createAgent(app.url, person, `a${i}`);
    for (let k = 0; k < 12; k++) {
      const { id } = await ask(agent.send, { prompt: `${prompt}?`, kind: "text" });
      const answer = { answer: `${"\u0001".repeat(3_999)}!` };
      if (k % 2)
        expect((await person.send(`POST /v1/questions/${id}/answer`, answer)).status).toBe(200);
      ids.push(id);
    }
  }
  const all = "status=pending,answered";
  for (const query of [all, `${all}&limit=7`]) {
    const pages = await walk(person.token, `/v1/questions?${query}`);
    expect(idsOf(pages, "questions")).toEqual(ids.toReversed());
    for (const { bytes } of pages) expect(bytes).toBeLessThan(MIB + 1_000);
    expect(pages.length).toBeGreaterThan(1);
  }
  const { body } = await page(person.token, `/v1/questions?${all}&limit=7`);
  for (const query of [`status=pending&cursor=${body.next_cursor}`, `${all}&cursor=AAAA`]) {
    const refused = await client(app.url, person.token)(`GET /v1/questions?${query}`);
    expect([refused.status, Object.keys(refused.body.fields)]).toEqual([422, ["cursor"]]);
  }
  expect((await page(person.token, "/v1/questions?status=expired")).body).toEqual({
    questions: [],
    next_cursor: null,
  });
});
