/** Counts the wrong codes that accounts send, so that none can be guessed (docs/interface.md §18.6.4). */

import type { Clock } from "../clock.ts";
import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";

/** Accounts that are remembered at most; then all counts start over. */
const REMEMBERED = 10_000;
const MINUTE = 60;

/** Not a rate limit of the configuration: it also holds with `RATE_LIMITS=off`. */
export function createWrongCodes(clock: Pick<Clock, "elapsed">) {
  /** When each account sent its latest wrong codes, by {@link Clock.elapsed}; the oldest first. */
  const sent = new Map<string, number[]>();

  return {
    /** Throws `429 rate_limited` when the account has sent its full number within a minute. */
    assertLeft(account_id: string): void {
      const now = clock.elapsed();
      const recent = (sent.get(account_id) ?? []).filter((at) => at > now - MINUTE);
      if (recent.length < LIMITS.wrong_approval_codes) return;
      fail("rate_limited", { retry_after: Math.ceil(recent[0]! + MINUTE - now) });
    },

    count(account_id: string): void {
      if (sent.size >= REMEMBERED) sent.clear();
      const before = sent.get(account_id) ?? [];
      const kept = before.slice(1 - LIMITS.wrong_approval_codes);
      sent.set(account_id, [...kept, clock.elapsed()]);
    },
  };
}
