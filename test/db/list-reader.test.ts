/** Lists of an embedded store take turns: with each other, and with the rest of the event loop. */

import { expect, test } from "bun:test";
import { createListReader } from "../../db/list-reader.ts";
import type { Statement, WriteResult } from "../../db/store.ts";
import { LIMITS } from "../../src/limits.ts";
import { createTestClock } from "../support/clock.ts";

const listOf = (of: string): Statement => ({
  sql: "select 1",
  args: [],
  gives: "rows",
  of,
  read: (rows) => rows,
});
const RESULT: WriteResult = { rows: [], changes: 0, row_id: 0 };
const turn = () => new Promise<void>((next) => setImmediate(next));

test("few lists run in one turn of the event loop, one of each owner in its turn", async () => {
  const clock = createTestClock();
  const ran: string[] = [];
  /** A list takes 6 ms, so that a second one begins in the turn, and no third. */
  const reader = createListReader(({ of }) => {
    void clock.skip(0.006);
    ran.push(of!);
    return RESULT;
  }, clock);
  const owners = [...Array(6).fill("greedy"), "modest", "greedy", "third"];
  const all = Promise.all(owners.map((of) => reader.read(of, listOf(of), LIMITS.store_answer)));
  const seen = [0];
  while (ran.length < owners.length) {
    await turn();
    seen.push(ran.length);
  }
  await all;
  expect(Math.max(...seen.slice(1).map((count, i) => count - seen[i]!))).toBeLessThan(3);
  // The first one had nobody before it.
  expect(ran.slice(1, 4)).toEqual(["greedy", "modest", "third"]);
});

test("a list that has no turn in time is 503, and so is one too many", async () => {
  const clock = createTestClock();
  /** The first list takes longer than any turn, so that the others wait for the next one. */
  const reader = createListReader(() => {
    void clock.skip(1);
    return RESULT;
  }, clock);
  const codeOf = (work: Promise<unknown>) =>
    work.catch((error: unknown) => (error as { code: unknown }).code);
  const first = reader.read("a", listOf("a"), 1);
  const late = codeOf(reader.read("a", listOf("a"), 1));
  void clock.skip(1);
  expect(await late).toBe("store_unavailable");
  await first;
  await turn();

  const running = reader.read("a", listOf("a"), 1);
  const waiting = Array.from({ length: LIMITS.lists_queued }, () =>
    codeOf(reader.read("a", listOf("a"), 1)),
  );
  expect(await codeOf(reader.read("b", listOf("b"), 1))).toBe("store_unavailable");
  void clock.skip(1);
  await running;
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["store_unavailable"]));
});
