/** Waits that are longer than one request can be (docs/interface.md §6). */

import type { Question } from "../model/question.ts";
import { type RetryOptions, retry } from "./retry.ts";
import { pause, type Timers } from "./timers.ts";
import type { UnreadItems } from "./types.ts";

/** Seconds that one request waits: `wait_max` (§10.4). */
const WAIT = 50;
/** Seconds of a wait that ends sooner than asked, after which it is repeated; see {@link repeat}. */
const EARLY = 1;

/**
 * Repeats a waiting request until its result is `done`, or `within` has passed; then gives the last result.
 * Failures that may pass, such as a lost connection, are repeated too.
 */
async function repeat<Result>(
  timers: Timers,
  { within, signal }: RetryOptions,
  request: (wait: number) => Promise<Result>,
  done: (result: Result) => boolean,
): Promise<Result> {
  const end = timers.elapsed() + within;
  for (;;) {
    const begun = timers.elapsed();
    const left = end - begun;
    const wait = Math.max(0, Math.min(WAIT, Math.floor(left)));
    const result = await retry(timers, { within: left, signal }, () => request(wait));
    if (done(result) || wait === 0) return result;
    // A server that stops ends its waits at once (§6.4): do not ask the next one in a tight loop.
    const early = begun + EARLY - timers.elapsed();
    await pause(timers, Math.min(early, end - timers.elapsed()), signal);
  }
}

/** The question once it has left `pending`; still pending if `within` seconds have passed. */
export function waitForAnswer(
  timers: Timers,
  options: RetryOptions,
  get: (wait: number) => Promise<Question>,
): Promise<Question> {
  return repeat(timers, options, get, ({ status }) => status !== "pending");
}

/** The unread items of an inbox once there are any; none if `within` seconds have passed. */
export function waitForItems(
  timers: Timers,
  options: RetryOptions,
  read: (wait: number) => Promise<UnreadItems>,
): Promise<UnreadItems> {
  return repeat(timers, options, read, ({ items }) => items.length > 0);
}
