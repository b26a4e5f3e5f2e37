/** Token buckets: how many calls pass at once, how tokens return, and what is forgotten. */

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/errors.ts";
import { RATES } from "../../src/limits.ts";
import type { Caller } from "../../src/model/caller.ts";
import { BUCKETS, createLimiter, tokensOf } from "../../src/overload/limiter.ts";
import { createTestClock } from "../support/clock.ts";

const account = (id: string): Caller => ({
  kind: "account",
  account_id: id,
  session_id: "ses_1",
  credential: "",
});
const key = (id: string): Caller => ({ ...account("acc_1"), kind: "key", key_id: id });

/** Seconds to wait; null if the call was admitted. */
function waitOf(call: () => unknown): number | null {
  try {
    call();
    return null;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "rate_limited") throw error;
    return error.retry_after!;
  }
}

/** Calls admitted at once. */
function count(call: () => unknown, most = 1_000): number {
  for (let i = 0; i < most; i++) if (waitOf(call) !== null) return i;
  return most;
}

/** The limits of §10.6.1: calls at once, calls in a further minute, and the wait once none is left. */
const LIMITED = [
  { name: "key", burst: 120, a_minute: 600, wait: 1 },
  { name: "account", burst: 240, a_minute: 1_200, wait: 1 },
  { name: "address", burst: 60, a_minute: 60, wait: 1 },
  { name: "challenges", burst: 20, a_minute: 20 / 60, wait: 180 },
] as const;

for (const { name, burst, a_minute, wait } of LIMITED) {
  test(`the limit ${name} admits ${burst} at once and ${a_minute} a minute [§10.6.2]`, async () => {
    const clock = createTestClock();
    const limiter = createLimiter({ clock, on: true });
    const call = (id: string) => () =>
      name === "key"
        ? limiter.charge(key(id))
        : name === "account"
          ? limiter.charge(account(id))
          : limiter.chargeAddress(name, id);
    expect(count(call("a"))).toBe(burst);
    expect(waitOf(call("a"))).toBe(wait);
    expect(count(call("b"))).toBe(burst);
    const every = 60 / a_minute;
    await clock.advance(every - 0.001);
    expect(waitOf(call("a"))).toBe(1);
    await clock.advance(0.001);
    expect(count(call("a"))).toBe(1);
    // Refused calls cost nothing.
    let let_in = 0;
    for (let i = 0; i < 10; i++) {
      await clock.advance(6 * every);
      let_in += count(call("a"));
    }
    expect(let_in).toBe(60);
    await clock.advance(3_600);
    expect(count(call("a"))).toBe(burst);
  });
}

test("the rate limit headers say how much is left and when the bucket is full again", async () => {
  const clock = createTestClock();
  const limiter = createLimiter({ clock, on: true });
  const policy = '"key";q=120;w=12';
  const state = (left: number, t: number) => ({
    headers: { "ratelimit-policy": policy, ratelimit: `"key";r=${left};t=${t}` },
  });
  expect(limiter.peek(key("a"))).toEqual(state(120, 0));
  expect(limiter.charge(key("a"))).toEqual(state(119, 1));
  for (let i = 0; i < 9; i++) limiter.charge(key("a"));
  expect(limiter.charge(key("a"))).toEqual(state(109, 2));
  expect(limiter.peek(key("a"))).toEqual(state(109, 2));
  count(() => limiter.charge(key("a")));
  expect(limiter.peek(key("a"))).toEqual(state(0, 12));
  await clock.advance(12);
  expect(limiter.peek(key("a"))).toEqual(state(120, 0));
});

test("setting the wall clock neither locks a caller out nor refills a bucket", () => {
  let now = 2_000_000_000;
  let elapsed = 5;
  const clock = { ...createTestClock(), now: () => now, elapsed: () => elapsed };
  const limiter = createLimiter({ clock, on: true });
  const call = () => limiter.charge(key("a"));
  expect(count(call)).toBe(120);
  for (const jump of [-86_400, 172_800]) {
    now += jump;
    expect(waitOf(call)).toBe(1);
  }
  elapsed += 0.1;
  expect(count(call)).toBe(1);
  elapsed += 12;
  expect(count(call)).toBe(120);
});

test("a large response costs by its size, and leaves a debt of at most one further window", async () => {
  const clock = createTestClock();
  const limiter = createLimiter({ clock, on: true });
  const call = () => limiter.charge(key("a"));
  const left = () => limiter.peek(key("a"))?.headers.ratelimit;
  expect([0, 65_536, 65_537, 102_400, 1_048_576].map(tokensOf)).toEqual([0, 0, 2, 2, 16]);
  call();
  expect(limiter.spend(key("a"), 16)?.headers.ratelimit).toBe('"key";r=103;t=2');
  expect(count(call)).toBe(103);
  limiter.spend(key("a"), 16);
  expect(left()).toBe('"key";r=0;t=14');
  expect(waitOf(call)).toBe(2);
  for (let i = 0; i < 100; i++) limiter.spend(key("a"), 16);
  expect(left()).toBe('"key";r=0;t=24');
  expect(waitOf(call)).toBe(13);
  // A debt is not forgotten together with the buckets that are full again.
  for (let i = 0; i < 12; i++) {
    await clock.advance(1);
    limiter.charge(key("b"));
  }
  expect(waitOf(call)).toBe(1);
  await clock.advance(0.1);
  expect(count(call)).toBe(1);
});

test("a limit of 0 is off, and RATE_LIMITS=off turns every limit off", () => {
  const clock = createTestClock();
  const off = { quota: 0, window: 12 };
  const some = createLimiter({ clock, on: true, rates: { ...RATES, key: off, address: off } });
  expect(some.charge(key("a"))).toBeNull();
  expect(count(() => some.charge(key("a")))).toBe(1_000);
  expect(count(() => some.chargeAddress("address", "a"))).toBe(1_000);
  expect(count(() => some.charge(account("a")))).toBe(240);
  const none = createLimiter({ clock, on: false });
  expect(count(() => none.charge(account("a")))).toBe(1_000);
  expect([none.peek(account("a")), none.chargeAddress("challenges", "a")]).toEqual([null, null]);
});

test("a table of buckets does not grow with the number of addresses", () => {
  const limiter = createLimiter({ clock: createTestClock(), on: true });
  const call = () => limiter.chargeAddress("address", "first");
  expect(count(call)).toBe(60);
  for (let i = 0; i < BUCKETS - 1; i++) limiter.chargeAddress("address", `a${i}`);
  expect(waitOf(call)).toBe(1);
  for (let i = 0; i < 2 * BUCKETS + 1; i++) limiter.chargeAddress("address", `b${i}`);
  // The bucket that was unused for longest had to go.
  expect(count(call)).toBe(60);
});
