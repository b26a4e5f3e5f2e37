/** Records when and from which host a key was used (interface.md §2 Key). */

import type { KeyUsage } from "../auth/authenticate.ts";
import type { Cancel, Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { KeyCaller } from "../model/caller.ts";
import type { Keys } from "./keys.ts";

interface UsageOptions {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export function createUsage({ keys, clock, log }: UsageOptions) {
  /** Keys whose host was written within the last second, with the newest host since. */
  const recent = new Map<string, { next: string | null; caller: KeyCaller; cancel: Cancel }>();

  const quietly = (work: Promise<unknown>): Promise<void> =>
    work.then(
      () => {},
      // The request itself must not fail for this; a store that is away fails it anyway.
      (error: unknown) => log.warn("use of a key not recorded", describeError(error)),
    );

  /** At most once a second per key, the newest one last (decisions.md, Inbox). */
  const setHost = async (caller: KeyCaller, host: string): Promise<void> => {
    const found = recent.get(caller.key_id);
    if (found) {
      found.next = host;
      return;
    }
    const cancel = clock.after(LIMITS.last_host_every, () => {
      const { next } = recent.get(caller.key_id)!;
      recent.delete(caller.key_id);
      if (next !== null) void quietly(setHost(caller, next));
    });
    recent.set(caller.key_id, { next: null, caller, cancel });
    await keys.setHost(caller, host);
  };

  return {
    /** Resolves when what is due now was written; undefined when nothing is. */
    record(usage: KeyUsage, host: string | null): Promise<void> | undefined {
      const { caller, last_used_at, last_host } = usage;
      const used = last_used_at === null || clock.now() - last_used_at >= LIMITS.last_used_every;
      const moved = host !== null && (host !== last_host || recent.has(caller.key_id));
      if (!used && !moved) return undefined;
      return quietly(Promise.all([used && keys.touch(caller), moved && setHost(caller, host)]));
    },

    /** Writes the hosts that still wait for their second to pass. */
    async stop(): Promise<void> {
      const waiting = [...recent.values()];
      recent.clear();
      for (const { cancel } of waiting) cancel();
      await Promise.all(
        waiting.map(({ caller, next }) =>
          next === null ? undefined : quietly(keys.setHost(caller, next)),
        ),
      );
    },
  };
}
