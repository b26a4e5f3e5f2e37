/** Limits of any hour whose counts are in the store, so that they hold over all processes (docs/interface.md §10.6.1). */

import type { usesOf } from "../../db/uses.ts";
import { fail } from "../errors.ts";
import type { Rate } from "../limits.ts";
import type { ServiceDeps } from "./deps.ts";

/** What names the row that is counted in. */
interface Owned {
  readonly id: string;
  readonly account_id: string;
}

/** The end of a `detail`: when to try again after `seconds`. */
export function againIn(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `Try again in ${minutes} ${minutes === 1 ? "minute" : "minutes"}.`;
}

/**
 * Counts one use of a row: throws `429 rate_limited` at the `quota`-th within the window of `rate`; false when
 * there is no such row. A quota of 0 is off, and gives true. `what`: the beginning of the error's `detail`, such as
 * "A channel can be tested".
 */
export function createUseLimit(
  { store, clock }: Pick<ServiceDeps, "store" | "clock">,
  uses: ReturnType<typeof usesOf<Owned>>,
  { window }: Rate,
  quota: number,
  what: string,
) {
  return async (row: Owned): Promise<boolean> => {
    if (quota === 0) return true;
    const values = { ...row, now_ms: Math.round(clock.now() * 1000) };
    const [counted] = await store.write([uses.count({ ...values, limit: quota })]);
    if (counted!.changes > 0) return true;
    const [found] = await store.read(uses.first(values));
    if (!found) return false;
    const since = found[0] === null ? 0 : (values.now_ms - found[0]) / 1000;
    const retry_after = Math.max(1, Math.ceil(window - since));
    const detail = `${what} at most ${quota} times in an hour. ${againIn(retry_after)}`;
    return fail("rate_limited", { detail, retry_after });
  };
}
