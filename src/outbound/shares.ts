/** Bounds what is under way at once, for each owner and in all. Owners that wait take turns. */

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
  /** What waits, by owner, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();

  const admits = (owner: string) => in_use < in_all && (used.get(owner) ?? 0) < per_owner;

  const add = (owner: string, n: 1 | -1) => {
    in_use += n;
    const left = (used.get(owner) ?? 0) + n;
    if (left > 0) used.set(owner, left);
    else used.delete(owner);
  };

  const wakeNext = () => {
    for (const [owner, entries] of waiting) {
      if (!admits(owner)) continue;
      const begin = entries.shift()!;
      waiting.delete(owner);
      if (entries.length > 0) waiting.set(owner, entries);
      return begin();
    }
  };

  const leave = (owner: string, entry: () => void) => {
    const others = waiting.get(owner)?.filter((one) => one !== entry) ?? [];
    if (others.length > 0) waiting.set(owner, others);
    else waiting.delete(owner);
  };

  const holdOne = (owner: string) => {
    add(owner, 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      add(owner, -1);
      wakeNext();
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
      const line = waiting.get(owner) ?? [];
      if (line.length >= LOOK_UP.waiting) throw new LookUpError("DNS_ETIMEOUT");
      const turn = Promise.withResolvers<() => void>();
      const begin = () => turn.resolve(holdOne(owner));
      waiting.set(owner, [...line, begin]);
      const stop = () => {
        leave(owner, begin);
        turn.reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
      return turn.promise.finally(() => signal.removeEventListener("abort", stop));
    },
  };
}
