/** Bounds the bytes of the answers in one tRPC batch (§13.4). */

import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";

/** Bytes reserved for each query of a batch while it runs, which bounds how many run at once. */
const QUERY_BYTES = 256 * 1024;

export type BatchBudget = ReturnType<typeof createBatchBudget>;

/**
 * The budget of one batch. Each query reserves a part of it while it runs, and the others wait until enough is
 * free. So a batch of large lists takes no more memory and work than one page, and small lists still run
 * several at once.
 */
export function createBatchBudget() {
  let used = 0;
  let reserved = 0;
  const waiting: (() => void)[] = [];

  const left = () => Math.max(0, LIMITS.batch_bytes - used - reserved);
  const assertLeft = () => {
    if (used < LIMITS.batch_bytes) return;
    fail("rate_limited", {
      detail: `The answers of one batch share ${LIMITS.batch_bytes} bytes, which are used up.`,
    });
  };

  return {
    /**
     * Waits until bytes are free for the answer of a query, reserves them and returns their number. Throws
     * `429 rate_limited` once earlier answers have used up the budget.
     */
    async reserve(): Promise<number> {
      for (;;) {
        assertLeft();
        // While no call is under way `left` is above 0, so some call always wakes the others.
        const part = Math.min(QUERY_BYTES, left());
        if (part > 0) {
          reserved += part;
          return part;
        }
        await new Promise<void>((wake) => waiting.push(wake));
      }
    },

    /** Releases what {@link reserve} returned, and counts the bytes of the real answer. */
    settle(part: number, bytes: number): void {
      reserved -= part;
      used += bytes;
      for (const wake of waiting.splice(0)) wake();
    },

    /** Bytes for the answer of a query that waits for an event and so reserves none. Throws as {@link reserve} does. */
    share(): number {
      assertLeft();
      return Math.floor(LIMITS.batch_bytes / LIMITS.trpc_batch);
    },
  };
}
