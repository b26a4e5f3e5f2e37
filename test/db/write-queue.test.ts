/** The queue of writes: what shares a commit, and when a caller is told that the store hangs. */

import { expect, test } from "bun:test";
import { type Statement, unavailable, type WriteResult } from "../../db/store.ts";
import { createLane } from "../../db/write-queue.ts";
import { LIMITS } from "../../src/limits.ts";
import { createTestClock } from "../support/clock.ts";

const write = (text: string): Statement => ({
  sql: "insert into t values (?)",
  args: [text],
  gives: "nothing",
  read: (rows) => rows,
});
const done = (statements: readonly Statement[]): WriteResult[] =>
  statements.map(() => ({ rows: [], changes: 1, row_id: 1 }));
const textOf = ({ args }: Statement) => String(args[0]);
const turn = () => new Promise<void>((next) => setImmediate(next));

/** A lane on a store that answers when the test says so. */
function createSlowLane() {
  const clock = createTestClock();
  const faults: unknown[] = [];
  const commits: { readonly texts: readonly string[]; readonly end: (error?: unknown) => void }[] =
    [];
  const lane = createLane(
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
  return { clock, faults, commits, lane, end };
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: { code?: string }) => error.code,
  );

test("a write has its answer in time, whether it waits for its turn or is under way", async () => {
  const { clock, commits, faults, lane, end } = createSlowLane();
  const first = outcomeOf(lane.write([write("first")]));
  await turn();
  await clock.advance(1);
  const second = outcomeOf(lane.write([write("second")]));
  const settled: string[] = [];
  void first.then(() => settled.push("first"));
  void second.then(() => settled.push("second"));

  await clock.advance(LIMITS.store_answer - 1.01);
  expect(settled).toEqual([]);
  expect(lane.writable()).toBe(true);
  await clock.advance(0.01);
  expect(settled).toEqual(["first"]);
  await clock.advance(0.99);
  expect(settled).toEqual(["first"]);
  await clock.advance(0.01);
  expect(settled).toEqual(["first", "second"]);
  expect([await first, await second]).toEqual(["store_unavailable", "store_unavailable"]);
  expect(lane.writable()).toBe(false);
  expect(faults).toHaveLength(2);

  // What was given up while it waited is never written; the store works again once it answers.
  const third = outcomeOf(lane.write([write("third")]));
  await end();
  expect(commits.map(({ texts }) => texts)).toEqual([["first"], ["third"]]);
  expect(lane.writable()).toBe(true);
  await end();
  expect(await third).toBe("done");
  expect(lane.stats().queued).toBe(0);
});

test("a queue that is full refuses at once, by batches and by size", async () => {
  const { lane } = createSlowLane();
  void outcomeOf(lane.write([write("under way")]));
  await turn();
  const waiting = Array.from({ length: LIMITS.write_queue }, () =>
    outcomeOf(lane.write([write("x")])),
  );
  expect(await outcomeOf(lane.write([write("one more")]))).toBe("store_unavailable");
  expect(lane.stats().queued).toBe(LIMITS.write_queue);
  expect(waiting).toHaveLength(LIMITS.write_queue);

  const other = createSlowLane();
  const large = "x".repeat(LIMITS.write_queue_bytes / 4);
  for (let i = 0; i < 4; i++) void outcomeOf(other.lane.write([write(large)]));
  expect(await outcomeOf(other.lane.write([write("one more")]))).toBe("store_unavailable");
  await turn();
  // One of them left the queue for its commit, alone for its size.
  expect(other.commits.map(({ texts }) => texts.length)).toEqual([1]);
  void outcomeOf(other.lane.write([write("room again")]));
  expect(other.lane.stats().queued).toBe(4);
});

test("after a slow commit the next one waits a moment for those who send again", async () => {
  const { clock, commits, lane } = createSlowLane();
  void lane.write([write("a")]);
  await turn();
  void lane.write([write("b")]);
  await clock.advance(0.02);
  commits[0]!.end();
  await turn();
  await turn();
  // Sent in answer to the first: it belongs to the second commit.
  void lane.write([write("c")]);
  expect(commits).toHaveLength(1);
  await clock.advance(0.003);
  expect(commits.map(({ texts }) => texts)).toEqual([["a"], ["b", "c"]]);
});

test("a bad batch among many costs a few commits more, and fails alone", async () => {
  const clock = createTestClock();
  let commits = 0;
  const lane = createLane(
    async (statements) => {
      commits++;
      if (statements.some((one) => textOf(one) === "bad")) throw new Error("bad");
      return done(statements);
    },
    clock,
    () => {},
  );
  const texts = Array.from({ length: 256 }, (_, i) => (i === 100 ? "bad" : `good ${i}`));
  const results = await Promise.allSettled(texts.map((text) => lane.write([write(text)])));
  const failed = results.flatMap(({ status }, i) => (status === "rejected" ? [i] : []));
  expect(failed).toEqual([100]);
  expect(commits).toBeLessThan(20);
  expect(lane.writable()).toBe(true);
});

test("a store that is away fails a group at once, and is told as a fault", async () => {
  const { faults, lane, end } = createSlowLane();
  const writes = ["a", "b"].map((text) => outcomeOf(lane.write([write(text)])));
  await turn();
  await end(unavailable(new Error("gone")));
  expect(await Promise.all(writes)).toEqual(["store_unavailable", "store_unavailable"]);
  expect(faults).toHaveLength(1);
  expect(lane.writable()).toBe(false);
});

test("closing waits for a commit under way, but not for one that hangs", async () => {
  const { lane, clock, commits, end } = createSlowLane();
  void outcomeOf(lane.write([write("a")]));
  await turn();
  const closed = lane.close();
  await end();
  expect(await closed).toBe(true);
  expect(commits).toHaveLength(1);

  const hung = createSlowLane();
  void outcomeOf(hung.lane.write([write("a")]));
  await turn();
  const given_up = hung.lane.close();
  await hung.clock.advance(LIMITS.store_answer);
  expect(await given_up).toBe(false);
  expect(clock.pending()).toBe(0);
});
