/** Inboxes, messages and agents (§5.9, §5.10, §5.11). */

import { expect, test } from "bun:test";
import type { Item } from "../../src/model/item.ts";
import { startTestApp } from "../support/app.ts";
import { ask, createAgent, createPair, createTask } from "../support/client.ts";
import { createTestClock } from "../support/clock.ts";
import { openStream } from "../support/stream.ts";
import { until } from "../support/until.ts";

const clock = createTestClock();
const app = await startTestApp({ clock });

const DAY = 86_400;
const asleep = (count: number) => until(() => app.waits.count() === count);
const types = (items: readonly Item[]) => items.map(({ type }) => type);

test("each change by the account adds an inbox item that says what changed [§5.9.1] [§2.6] [§2.7] [§7.3.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const stream = await openStream(app.url, person.token);
  const base = { key_id, from: { kind: "account" }, changes: [], read_at: null, text: null };

  const task = await createTask(person.send, { title: "one", key_id });
  await clock.advance(1);
  const path = `/v1/tasks/${task.id}` as const;
  await person.send(`PATCH ${path}`, { status: "done", title: "two", notify: true });
  const about = await createTask(agent.send);
  const question = await ask(agent.send, { prompt: "p", task_id: about.id });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  const { body: last } = await person.send(`GET ${path}`);
  await person.send(`DELETE ${path}`);
  const now = clock.now();

  const { status, body } = await agent.send("GET /v1/inbox?peek=true");
  expect(status).toBe(200);
  const of_question = (await agent.send(`GET /v1/questions/${question.id}`)).body;
  expect(body).toEqual({
    unread: 4,
    items: [
      {
        ...base,
        type: "task.created",
        task_id: task.id,
        question_id: null,
        // The task is deleted by now.
        task: null,
        question: null,
        created_at: now - 1,
      },
      {
        ...base,
        type: "task.updated",
        task_id: task.id,
        question_id: null,
        task: null,
        question: null,
        changes: ["title", "status", "progress"],
        created_at: now,
      },
      {
        ...base,
        type: "question.answered",
        task_id: about.id,
        question_id: question.id,
        task: about,
        question: of_question,
        created_at: now,
      },
      {
        ...base,
        type: "task.deleted",
        task_id: task.id,
        question_id: null,
        task: last,
        question: null,
        created_at: now,
      },
    ].map((item) => ({ ...item, id: expect.stringMatching(/^itm_[0-9a-f]{32}$/) })),
  });

  const names = ["task.created", "inbox.updated", "task.updated", "inbox.updated"];
  names.push("task.created", "question.created", "question.updated", "inbox.updated");
  names.push("task.deleted", "inbox.updated");
  expect(await stream.names(10)).toEqual(names);
  const unread = stream.events.filter(({ event }) => event === "inbox.updated");
  expect(unread.map(({ data }) => data)).toEqual(
    [1, 2, 3, 4].map((n) => ({ key_id, unread: n, unreceived: n })),
  );
  stream.close();
});

test("the agent's own changes and changes without effect add no inbox item [§5.9.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const task = await createTask(agent.send);
  const gone = await createTask(agent.send);
  const question = await ask(agent.send);
  const overdue = await ask(agent.send, { prompt: "p", expires_in: 60 });
  await agent.send(`PATCH /v1/tasks/${task.id}`, { progress: 5 });
  await agent.send(`DELETE /v1/tasks/${gone.id}`);
  await agent.send(`DELETE /v1/questions/${question.id}`);
  await person.send(`PATCH /v1/tasks/${task.id}`, { progress: 5, title: task.title });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "Yes" });
  await clock.advance(60);
  expect((await agent.send(`GET /v1/questions/${overdue.id}`)).body.status).toBe("expired");
  const stream = await openStream(app.url, person.token);
  for (const query of ["", "?peek=true", "?ack=itm_0", `?ack=${task.id}`]) {
    expect((await agent.send(`GET /v1/inbox${query}`)).body).toEqual({ items: [], unread: 0 });
  }
  await createTask(agent.send);
  // A read that found nothing sends no event.
  expect(await stream.names(1)).toEqual(["task.created"]);
  stream.close();
});

test("a read without peek marks the returned items as read, oldest first [§5.9.2] [§7.3.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  for (let i = 0; i < 5; i++) await person.send("POST /v1/messages", { key_id, text: `m${i}` });
  const stream = await openStream(app.url, person.token);
  const texts = async (query: string) => {
    const { body } = await agent.send(`GET /v1/inbox${query}`);
    // A response that marks items as read shows them as read.
    const read_at = query.startsWith("?peek") ? null : clock.now();
    expect(body.items.map((item: Item) => item.read_at)).toEqual(body.items.map(() => read_at));
    return [body.items.map(({ text }: Item) => text).join(), body.unread];
  };
  expect(await texts("?peek=true&limit=2")).toEqual(["m0,m1", 5]);
  expect((await agent.send("HEAD /v1/inbox?limit=2")).status).toBe(200);
  expect(await texts("?limit=2")).toEqual(["m0,m1", 3]);
  await clock.advance(3);
  expect(await texts("")).toEqual(["m2,m3,m4", 0]);
  expect(await texts("")).toEqual(["", 0]);
  await createTask(agent.send);
  expect(await stream.names(3)).toEqual(["inbox.updated", "inbox.updated", "task.created"]);
  expect(stream.events.slice(1, 3).map(({ data }) => data)).toEqual([
    { key_id, unread: 3, unreceived: 3 },
    { key_id, unread: 0, unreceived: 0 },
  ]);
  stream.close();

  const { body } = await person.send(`GET /v1/keys/${key_id}/inbox`);
  const now = clock.now();
  expect(body.items.map(({ text, read_at }: Item) => [text, read_at])).toEqual([
    ...["m4", "m3", "m2"].map((text) => [text, now]),
    ...["m1", "m0"].map((text) => [text, now - 3]),
  ]);
});

test("ack first marks its item and all older ones as read; an item of another inbox changes nothing [§5.9.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const key_id = agent.key.id;
  const send = async (to: string, text: string): Promise<string> =>
    (await person.send("POST /v1/messages", { key_id: to, text })).body.id;
  const ids: string[] = [];
  for (let i = 0; i < 6; i++) ids.push(await send(key_id, `m${i}`));
  const foreign = await send(other.key.id, "not yours");
  const peek = async (query: string) => {
    const { body } = await agent.send(`GET /v1/inbox?peek=true${query}`);
    return [body.items.map(({ text }: Item) => text).join(), body.unread];
  };

  const stream = await openStream(app.url, person.token);
  for (const ack of [foreign, "itm_x", "", key_id]) {
    expect(await peek(`&ack=${ack}`)).toEqual(["m0,m1,m2,m3,m4,m5", 6]);
  }
  expect(await peek(`&ack=${ids[2]}&limit=2`)).toEqual(["m3,m4", 3]);
  // Acknowledging again, or an older item, marks nothing more.
  expect(await peek(`&ack=${ids[2]}`)).toEqual(["m3,m4,m5", 3]);
  expect(await peek(`&ack=${ids[0]}`)).toEqual(["m3,m4,m5", 3]);
  // Acknowledging and reading in one request sends one event.
  const { body } = await agent.send(`GET /v1/inbox?ack=${ids[3]}&limit=1`);
  expect([body.items[0].text, body.unread]).toEqual(["m4", 1]);
  expect(await peek(`&ack=${ids[5]}`)).toEqual(["", 0]);
  expect((await agent.send(`HEAD /v1/inbox?ack=${ids[5]}`)).status).toBe(200);
  await createTask(agent.send);
  expect(await stream.names(4)).toEqual([...Array(3).fill("inbox.updated"), "task.created"]);
  const told = stream.events.slice(1, 4).map(({ data }) => data.unread);
  expect(told).toEqual([3, 1, 0]);
  stream.close();
  expect((await other.send("GET /v1/inbox")).body.items[0].text).toBe("not yours");
});

test("each inbox item reaches one of many concurrent readers [§5.9.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const sent = Array.from({ length: 60 }, (_, i) => `m${i}`);
  for (const text of sent) await person.send("POST /v1/messages", { key_id, text });
  const reads = await Promise.all(
    Array.from({ length: 30 }, () => agent.send("GET /v1/inbox?limit=3")),
  );
  const got = reads.flatMap(({ body }) => body.items.map(({ text }: Item) => text));
  expect(got.toSorted()).toEqual(sent.toSorted());
  for (const { body } of reads) {
    const order = body.items.map(({ text }: Item) => sent.indexOf(text!));
    expect(order).toEqual(order.toSorted((a: number, b: number) => a - b));
  }
  expect(reads.some(({ body }) => body.unread === 0)).toBe(true);
});

test("reading an item about a task sets its seen_at, with peek too, and the response shows it [§2.4.2] [§7.2 task.updated]", async () => {
  const { person, agent } = await createPair(app.url);
  for (const query of ["", "?peek=true"]) {
    const task = await createTask(person.send, { title: "new", key_id: agent.key.id });
    await person.send(`PATCH /v1/tasks/${task.id}`, { title: "newer" });
    await agent.send("HEAD /v1/inbox");
    expect((await person.send(`GET /v1/tasks/${task.id}`)).body.seen_at).toBeNull();
    expect((await person.send(`GET /v1/keys/${agent.key.id}/inbox`)).body.items[0].task).toEqual(
      (await person.send(`GET /v1/tasks/${task.id}`)).body,
    );
    await clock.advance(1);
    const stream = await openStream(app.url, person.token);
    const { body } = await agent.send(`GET /v1/inbox${query}`);
    const stored = (await person.send(`GET /v1/tasks/${task.id}`)).body;
    expect(stored).toMatchObject({ title: "newer", seen_at: clock.now() });
    expect(body.items.map((item: Item) => item.task)).toEqual([stored, stored]);
    // A second read sends no second event.
    await agent.send("GET /v1/inbox?peek=true");
    await createTask(agent.send);
    const read = query === "" ? ["inbox.updated"] : [];
    const names = await stream.names(2 + read.length);
    expect(names).toEqual(["task.updated", ...read, "task.created"]);
    stream.close();
  }
});

test("an inbox wait ends with the first unread item, and counts toward the limit of waits [§5.9.2 wait] [§6.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const question = await ask(agent.send);
  const readers = Array.from({ length: 31 }, () => agent.send("GET /v1/inbox?wait=50&peek=true"));
  const asking = agent.send(`GET /v1/questions/${question.id}?wait=50`);
  await asleep(32);
  const over = await agent.send("GET /v1/inbox?wait=1");
  expect([over.status, over.body.code, over.headers.get("retry-after")]).toEqual([
    429,
    "too_many_waits",
    "1",
  ]);
  expect((await agent.send("GET /v1/inbox?wait=0")).body).toEqual({ items: [], unread: 0 });
  const { body: sent } = await person.send("POST /v1/messages", { key_id, text: "hello" });
  for (const { body } of await Promise.all(readers)) {
    expect(body).toEqual({ items: [sent], unread: 1 });
  }
  // With an unread item the response comes at once, however many waits there are.
  expect((await agent.send("GET /v1/inbox?wait=50")).body.items).toHaveLength(1);

  const nothing = agent.send("GET /v1/inbox?wait=7");
  await asleep(2);
  await clock.advance(7);
  expect((await nothing).body).toEqual({ items: [], unread: 0 });
  await person.send(`POST /v1/questions/${question.id}/answer`, { answer: "No" });
  await asking;
  expect(app.waits.owners()).toBe(0);
});

test("one item wakes one of several readers without peek, and the others sleep on [§5.9.2 wait]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const readers = [1, 2, 3].map(() => agent.send("GET /v1/inbox?wait=50"));
  await asleep(3);
  for (let left = 2; left >= 0; left--) {
    await person.send("POST /v1/messages", { key_id, text: `${left}` });
    await asleep(left);
  }
  const got = (await Promise.all(readers)).map(({ body }) => body.items.map((i: Item) => i.text));
  expect(got.toSorted()).toEqual([["0"], ["1"], ["2"]]);
});

test("a waiting reader that disconnects, or whose key is deleted, frees its place and takes no item [§5.9.2 wait] [§4.1.5]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const controller = new AbortController();
  const gone = agent.send("GET /v1/inbox?wait=50", undefined, { signal: controller.signal });
  await asleep(1);
  controller.abort();
  await gone.catch(() => {});
  await asleep(0);
  await person.send("POST /v1/messages", { key_id, text: "kept" });
  expect((await agent.send("GET /v1/inbox")).body.items).toHaveLength(1);
  const waiting = agent.send("GET /v1/inbox?wait=50");
  await asleep(1);
  await person.send(`DELETE /v1/keys/${key_id}`);
  expect((await waiting).status).toBe(401);
});

test("from 200 unread items on, changes of one task merge into its last unread item [§5.9.1]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const task = await createTask(person.send, { title: "t", key_id });
  const busy = await createTask(person.send, { title: "b", key_id });
  await agent.send("GET /v1/inbox");
  const patch = (id: string, body: object) => person.send(`PATCH /v1/tasks/${id}`, body);
  await patch(task.id, { title: "u" });
  await patch(task.id, { status_note: "v" });
  await Promise.all(
    Array.from({ length: 197 }, (_, i) =>
      person.send("POST /v1/messages", { key_id, text: `${i}` }),
    ),
  );
  // 200 items are below the number from which changes merge.
  await patch(task.id, { priority: "low" });
  const all = async (): Promise<Item[]> =>
    (await person.send(`GET /v1/keys/${key_id}/inbox?limit=100`)).body.items;
  const unread = async () =>
    (await person.send(`GET /v1/keys/${key_id}/inbox?limit=1`)).body.unread;
  expect(await unread()).toBe(200);
  const [newest] = await all();
  expect(newest!.changes).toEqual(["priority"]);

  const stream = await openStream(app.url, person.token);
  await patch(task.id, { notify: false, title: "w" });
  expect(await unread()).toBe(198);
  const [merged] = await all();
  expect(merged!.changes.toSorted()).toEqual(["notify", "priority", "status_note", "title"]);
  expect(merged!.id).not.toBe(newest!.id);
  expect(await stream.names(2)).toEqual(["task.updated", "inbox.updated"]);
  expect(stream.events[2]!.data).toEqual({ key_id, unread: 198, unreceived: 198 });
  stream.close();
  // A change of another task, and of one without an unread item, adds an item.
  for (let n = 199; n <= 201; n++) {
    await person.send("POST /v1/messages", { key_id, text: "x" });
    expect(await unread()).toBe(n);
  }
  await patch(busy.id, { title: "c" });
  expect(await unread()).toBe(202);
  await patch(busy.id, { description: "d" });
  expect(await unread()).toBe(202);
  const first = (await all()).slice(0, 5);
  expect([types(first), first[0]!.changes.toSorted()]).toEqual([
    ["task.updated", "message", "message", "message", "task.updated"],
    ["description", "title"],
  ]);
  // Acknowledging an item that was merged away acknowledges nothing.
  const { body } = await agent.send(`GET /v1/inbox?peek=true&ack=${newest!.id}&limit=1`);
  expect(body.unread).toBe(202);
});

test("the account reads the list pages of an inbox, newest first, and marks nothing as read [§5.9.4]", async () => {
  const { person, agent } = await createPair(app.url);
  const other = await createAgent(app.url, person, "other");
  const key_id = agent.key.id;
  const sent = Array.from({ length: 7 }, (_, i) => `m${i}`);
  for (const text of sent) await person.send("POST /v1/messages", { key_id, text });
  await agent.send("GET /v1/inbox?limit=3");
  const got: string[] = [];
  let cursor = "";
  do {
    const { body } = await person.send(`GET /v1/keys/${key_id}/inbox?limit=3${cursor}`);
    expect(body.unread).toBe(4);
    got.push(...body.items.map(({ text }: Item) => text));
    cursor = body.next_cursor && `&cursor=${body.next_cursor}`;
    // Items that arrive meanwhile do not shift the following list pages.
    if (got.length === 3) {
      const elsewhere = await person.send(`GET /v1/keys/${other.key.id}/inbox?${cursor.slice(1)}`);
      expect([elsewhere.status, Object.keys(elsewhere.body.fields)]).toEqual([422, ["cursor"]]);
    }
  } while (cursor);
  expect(got).toEqual(sent.toReversed());
  const page = await person.send(`GET /v1/keys/${key_id}/inbox?limit=7`);
  expect([page.body.items.length, page.body.next_cursor]).toEqual([7, null]);
  expect((await agent.send("GET /v1/inbox?peek=true")).body.unread).toBe(4);
});

test("read items are kept 7 days and unread ones 30, and an event tells when they expire [§7.3.2]", async () => {
  const { person, agent } = await createPair(app.url);
  const key_id = agent.key.id;
  const move = async (seconds: number) => {
    await app.jobs.settled();
    await clock.skip(seconds);
    await app.jobs.settled();
  };
  const kept = async () => {
    const { body } = await person.send(`GET /v1/keys/${key_id}/inbox`);
    return [body.items.map(({ text }: Item) => text).join(), body.unread];
  };
  for (const text of ["read", "old"]) await person.send("POST /v1/messages", { key_id, text });
  await agent.send("GET /v1/inbox?limit=1");
  await move(6.99 * DAY);
  expect(await kept()).toEqual(["old,read", 1]);
  await move(0.02 * DAY);
  expect(await kept()).toEqual(["old", 1]);
  await person.send("POST /v1/messages", { key_id, text: "new" });
  await move(22.98 * DAY);
  expect(await kept()).toEqual(["new,old", 2]);
  const stream = await openStream(app.url, person.token);
  await move(0.02 * DAY);
  expect(await kept()).toEqual(["new", 1]);
  await createTask(agent.send);
  expect(await stream.names(2)).toEqual(["inbox.updated", "task.created"]);
  expect(stream.events[1]!.data).toEqual({ key_id, unread: 1, unreceived: 1 });
  stream.close();
});
