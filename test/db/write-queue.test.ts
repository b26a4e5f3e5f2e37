/** The queue of writes: which ones share a commit, and when a caller is told that the store hangs. */

import { expect, test } from "bun:test";
import {
  IN_BACKGROUND,
  STORE_SECONDS,
  type Statement,
  unavailable,
  type WriteOptions,
  type WriteResult,
} from "../../db/store/store.ts";
import { createWriteQueue, QUEUED, QUEUED_SIZE } from "../../db/store/write-queue.ts";
import { createTestClock } from "../support/clock.ts";

const write = (text: string): Statement => ({
  sql: "insert into t values (?)",
  args: [text],
  returns: "nothing",
  read: (rows) => rows,
});
const done = (statements: readonly Statement[]): WriteResult[] =>
  statements.map(() => ({ rows: [], changes: 1, row_id: 1 }));
const textOf = ({ args }: Statement) => String(args[0]);
const turn = () => new Promise<void>((next) => setImmediate(next));

/** A write queue on a store that answers when the test tells it to. */
function createSlowQueue() {
  const clock = createTestClock();
  const faults: unknown[] = [];
  const commits: { readonly texts: readonly string[]; readonly end: (error?: unknown) => void }[] =
    [];
  const queue = createWriteQueue(
    (statements) =>
      new Promise((resolve, reject) => {
        commits.push({
          texts: statements.map(textOf),
          end: (error) => (error === undefined ? resolve(done(statements)) : reject(error)),
        });
      }),
    clock,
    (error) => faults.push(error),
  );
  /** Ends the commit under way and lets the next one begin. */
  const end = async (error?: unknown) => {
    commits.at(-1)!.end(error);
    for (let i = 0; i < 3; i++) await turn();
    await clock.advance(0.01);
  };
  return { clock, faults, commits, queue, end };
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: { code?: string }) => error.code,
  );

test("a write is answered in time, whether it waits for its turn or is under way", async () => {
  const { clock, commits, faults, queue, end } = createSlowQueue();
  const first = outcomeOf(queue.write([write("first")]));
  await turn();
  await clock.advance(1);
  const second = outcomeOf(queue.write([write("second")]));
  const settled: string[] = [];
  void first.then(() => settled.push("first"));
  void second.then(() => settled.push("second"));

  await clock.advance(STORE_SECONDS - 1.01);
  expect(settled).toEqual([]);
  expect(queue.writable()).toBe(true);
  await clock.advance(0.01);
  expect(settled).toEqual(["first"]);
  await clock.advance(0.99);
  expect(settled).toEqual(["first"]);
  await clock.advance(0.01);
  expect(settled).toEqual(["first", "second"]);
  expect([await first, await second]).toEqual(["store_unavailable", "store_unavailable"]);
  expect(queue.writable()).toBe(false);
  expect(faults).toHaveLength(2);

  // A write that was given up while it waited is never written; the store works again once it answers.
  const third = outcomeOf(queue.write([write("third")]));
  await end();
  expect(commits.map(({ texts }) => texts)).toEqual([["first"], ["third"]]);
  expect(queue.writable()).toBe(true);
  await end();
  expect(await third).toBe("done");
  expect(queue.stats().queued).toBe(0);
});

test("a stall of the process refuses no write, whether it waits or is under way", async () => {
  const { clock, commits, faults, queue, end } = createSlowQueue();
  const first = outcomeOf(queue.write([write("first")]));
  await turn();
  const second = outcomeOf(queue.write([write("second")]));
  // As if the machine had no time for the process: the timer is the first to run.
  await clock.skip(STORE_SECONDS + 1);
  await end();
  expect(await first).toBe("done");
  expect(commits.map(({ texts }) => texts)).toEqual([["first"], ["second"]]);
  await end();
  expect([await second, faults, queue.writable()]).toEqual(["done", [], true]);

  // But only once.
  const third = outcomeOf(queue.write([write("third")]));
  await turn();
  await clock.skip(STORE_SECONDS + 1);
  await clock.skip(STORE_SECONDS + 1);
  expect(await third).toBe("store_unavailable");
});

test("a full queue refuses at once, by batches and by size", async () => {
  const { queue } = createSlowQueue();
  void outcomeOf(queue.write([write("under way")]));
  await turn();
  const waiting = Array.from({ length: QUEUED }, () => outcomeOf(queue.write([write("x")])));
  expect(await outcomeOf(queue.write([write("one more")]))).toBe("store_unavailable");
  expect(queue.stats().queued).toBe(QUEUED);
  expect(waiting).toHaveLength(QUEUED);

  const other = createSlowQueue();
  const large = "x".repeat(QUEUED_SIZE / 4);
  for (let i = 0; i < 4; i++) void outcomeOf(other.queue.write([write(large)]));
  expect(await outcomeOf(other.queue.write([write("one more")]))).toBe("store_unavailable");
  await turn();
  // One of them left the queue for its commit, alone because of its size.
  expect(other.commits.map(({ texts }) => texts.length)).toEqual([1]);
  void outcomeOf(other.queue.write([write("room again")]));
  expect(other.queue.stats().queued).toBe(4);
});

test("after a slow commit, the next one waits a moment for the clients just answered", async () => {
  const { clock, commits, queue } = createSlowQueue();
  void queue.write([write("a")]);
  await turn();
  void queue.write([write("b")]);
  await clock.advance(0.02);
  commits[0]!.end();
  await turn();
  await turn();
  // Sent in answer to the first commit: it belongs to the second.
  void queue.write([write("c")]);
  expect(commits).toHaveLength(1);
  await clock.advance(0.003);
  expect(commits.map(({ texts }) => texts)).toEqual([["a"], ["b", "c"]]);
});

test("background work takes turns with requests, one batch at a time", async () => {
  const { commits, queue, end } = createSlowQueue();
  const order: string[] = [];
  const add = (text: string, options?: WriteOptions) =>
    void queue.write([write(text)], options).then(() => order.push(text));
  add("request 1");
  await turn();
  for (const text of ["work 1", "work 2", "work 3"]) add(text, IN_BACKGROUND);
  for (const text of ["request 2", "request 3"]) add(text);
  await end();
  add("request 4");
  await end();
  await end();
  await end();
  const groups = [["request 1"], ["work 1"], ["request 2", "request 3", "request 4"]];
  expect(commits.map(({ texts }) => texts)).toEqual([...groups, ["work 2"], ["work 3"]]);
  await end();
  expect(order).toEqual([...groups.flat(), "work 2", "work 3"]);
});

test("background batches share a commit while no request writes, or where many wait", async () => {
  const { commits, queue, end } = createSlowQueue();
  const sizes = () => commits.map(({ texts }) => texts.length);
  const add = (count: number, options?: WriteOptions) => {
    for (let i = 0; i < count; i++) void outcomeOf(queue.write([write("x")], options));
  };
  add(10, IN_BACKGROUND);
  await turn();
  await end();
  expect(sizes()).toEqual([8, 2]);
  add(80, IN_BACKGROUND);
  add(1);
  await end();
  await end();
  // Only part of them, so that the last is not overdue while requests never end.
  expect(sizes()).toEqual([8, 2, 1, 10]);
});

test("background work is answered in time, too", async () => {
  const { clock, commits, queue, end } = createSlowQueue();
  const request = outcomeOf(queue.write([write("request")]));
  await turn();
  const work = outcomeOf(queue.write([write("work")], IN_BACKGROUND));
  await clock.advance(STORE_SECONDS);
  expect([await request, await work]).toEqual(["store_unavailable", "store_unavailable"]);
  expect(queue.stats().queued).toBe(0);
  await end();
  expect(commits).toHaveLength(1);
});

test("an invalid batch among many costs a few more commits, and fails alone", async () => {
  const clock = createTestClock();
  let commits = 0;
  const queue = createWriteQueue(
    async (statements) => {
      commits++;
      if (statements.some((one) => textOf(one) === "bad")) throw new Error("bad");
      return done(statements);
    },
    clock,
    () => {},
  );
  const texts = Array.from({ length: 256 }, (_, i) => (i === 100 ? "bad" : `good ${i}`));
  const results = await Promise.allSettled(texts.map((text) => queue.write([write(text)])));
  const failed = results.flatMap(({ status }, i) => (status === "rejected" ? [i] : []));
  expect(failed).toEqual([100]);
  expect(commits).toBeLessThan(20);
  expect(queue.writable()).toBe(true);
});

test("an unavailable store fails the whole group at once, and is reported as a fault", async () => {
  const { faults, queue, end } = createSlowQueue();
  const writes = ["a", "b"].map((text) => outcomeOf(queue.write([write(text)])));
  await turn();
  await end(unavailable(new Error("gone")));
  expect(await Promise.all(writes)).toEqual(["store_unavailable", "store_unavailable"]);
  expect(faults).toHaveLength(1);
  expect(queue.writable()).toBe(false);
});

test("closing waits for a commit under way, but not for one that hangs", async () => {
  const { queue, clock, commits, end } = createSlowQueue();
  void outcomeOf(queue.write([write("a")]));
  await turn();
  const closed = queue.close();
  await end();
  expect(await closed).toBe(true);
  expect(commits).toHaveLength(1);

  const hung = createSlowQueue();
  void outcomeOf(hung.queue.write([write("a")]));
  await turn();
  const given_up = hung.queue.close();
  await hung.clock.advance(STORE_SECONDS);
  expect(await given_up).toBe(false);
  expect(clock.pending()).toBe(0);
});
