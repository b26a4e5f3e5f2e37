/** Bounds what is under way at once, for each owner and in all. Owners that wait take turns. */

import { createFairQueue } from "../overload/fair-queue.ts";
import { LOOK_UP } from "./limits.ts";
import { LookUpError } from "./name-servers.ts";

interface SharesOptions {
  /** Most under way for one owner, and in all. */
  readonly per_owner: number;
  readonly in_all: number;
}

export function createShares({ per_owner, in_all }: SharesOptions) {
  const used = new Map<string, number>();
  let in_use = 0;
  const waiting = createFairQueue<() => void>();

  const admits = (owner: string) => in_use < in_all && (used.get(owner) ?? 0) < per_owner;

  const add = (owner: string, n: 1 | -1) => {
    in_use += n;
    const left = (used.get(owner) ?? 0) + n;
    if (left > 0) used.set(owner, left);
    else used.delete(owner);
  };

  const holdOne = (owner: string) => {
    add(owner, 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      add(owner, -1);
      waiting.take(admits)?.();
    };
  };

  return {
    /**
     * Waits for a turn. Call the result when the work is over. Throws the reason of the signal if it aborts first, and
     * {@link LookUpError} if too much of the owner waits already.
     */
    async take(owner: string, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      if (admits(owner)) return holdOne(owner);
      if (waiting.sizeOf(owner) >= LOOK_UP.waiting) throw new LookUpError("DNS_ETIMEOUT");
      const turn = Promise.withResolvers<() => void>();
      const begin = () => turn.resolve(holdOne(owner));
      waiting.add(owner, begin);
      const stop = () => {
        waiting.remove(owner, begin);
        turn.reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      return turn.promise.finally(() => signal.removeEventListener("abort", stop));
    },
  };
}
