/** Bytes of answers that the calls of one tRPC batch share (docs/interface.md 13.4). */

import { fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { BatchBudget } from "../rpc/context.ts";

/** Bytes reserved for each query of a batch while it runs, which bounds how many run at once. */
const QUERY_BYTES = 256 * 1024;

/**
 * The budget of one batch. A query reserves a part of it while it runs, and the others wait until
 * enough is free: a batch of large lists never has more than its budget under way, and small lists
 * still run several at once. So a batch takes no more memory and work than one page.
 */
export function createBatchBudget(): BatchBudget {
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
    async reserve() {
      for (;;) {
        assertLeft();
        // With no call under way `left` is above 0, so some call always wakes the others.
        const part = Math.min(QUERY_BYTES, left());
        if (part > 0) {
          reserved += part;
          return part;
        }
        await new Promise<void>((wake) => waiting.push(wake));
      }
    },

    settle(part, bytes) {
      reserved -= part;
      used += bytes;
      for (const wake of waiting.splice(0)) wake();
    },

    share() {
      assertLeft();
      return Math.floor(LIMITS.batch_bytes / LIMITS.trpc_batch);
    },
  };
}
