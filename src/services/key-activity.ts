/**
 * Records when a credential was used, and from which host and by which client a key was
 * (docs/interface.md 2.3, 2.9).
 */

import type { Usage } from "../auth/authenticate.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import type { Caller, KeyCaller } from "../model/caller.ts";
import { type ClientInfo, isSameClient } from "../model/client.ts";
import type { Keys } from "./keys.ts";

interface KeyActivityOptions {
  readonly keys: Pick<Keys, "touch" | "setHost" | "setClient">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Credentials whose last write is remembered, so that clocks that differ lead to no more of them. */
const REMEMBERED = 10_000;

export function createKeyActivity({ keys, clock, log }: KeyActivityOptions) {
  /** By credential: when this process wrote `last_used_at`, by {@link Clock.elapsed}. */
  const touched = new Map<string, number>();

  const quietly = (work: Promise<unknown>): Promise<void> =>
    work.then(
      () => {},
      (error: unknown) => {
        // The request itself must not fail for this. A key that is deleted meanwhile needs no record,
        // and a store that cannot be used is logged by itself.
        if (error instanceof ServiceError && error.code !== "internal") return;
        log.warn("use of a credential not recorded", describeError(error));
      },
    );
  /** A time that is as far ahead as it may lag behind is from a clock that was wrong. */
  const isDue = (credential: string, last_used_at: number | null): boolean => {
    const every = LIMITS.last_used_every;
    if (last_used_at !== null && Math.abs(clock.now() - last_used_at) < every) return false;
    const at = touched.get(credential);
    return at === undefined || clock.elapsed() - at >= every;
  };

  const touch = (caller: Caller): Promise<void> => {
    if (touched.size >= REMEMBERED) touched.clear();
    touched.set(caller.credential, clock.elapsed());
    return keys.touch(caller).catch((error: unknown) => {
      touched.delete(caller.credential);
      throw error;
    });
  };

  const hosts = createPacer({ clock, every: LIMITS.last_host_every, write: keys.setHost, quietly });
  const clients = createPacer({
    clock,
    every: LIMITS.last_client_every,
    write: keys.setClient,
    quietly,
  });

  return {
    /** Resolves when what is due now was written; undefined when nothing is. */
    record(usage: Usage, host: string | null): Promise<void> | undefined {
      const used = isDue(usage.caller.credential, usage.last_used_at);
      if (!("last_host" in usage)) return used ? quietly(touch(usage.caller)) : undefined;
      const { caller, last_host } = usage;
      const moved = host !== null && (host !== last_host || hosts.has(caller.key_id));
      if (!used && !moved) return undefined;
      return quietly(Promise.all([used && touch(caller), moved && hosts.set(caller, host)]));
    },

    /** The same for the client that an MCP request names. */
    recordClient(usage: Usage, client: ClientInfo): Promise<void> | undefined {
      if (!("last_client" in usage)) return undefined;
      const { caller, last_client } = usage;
      if (isSameClient(client, last_client) && !clients.has(caller.key_id)) return undefined;
      return quietly(clients.set(caller, client));
    },

    /** Writes what still waits for its second to pass. */
    async stop(): Promise<void> {
      await Promise.all([hosts.stop(), clients.stop()]);
    },
  };
}

interface PacerOptions<T> {
  readonly clock: Clock;
  /** Seconds between two writes of one key. */
  readonly every: number;
  readonly write: (caller: KeyCaller, value: T) => Promise<unknown>;
  readonly quietly: (work: Promise<unknown>) => Promise<void>;
}

/** Writes a value of a key at most so often, the newest one last (docs/interface.md 2.3.4). */
function createPacer<T>({ clock, every, write, quietly }: PacerOptions<T>) {
  /** Keys whose value was written just now, with the newest value since. */
  const recent = new Map<string, { next: T | null; caller: KeyCaller; cancel: Cancel }>();

  const set = async (caller: KeyCaller, value: T): Promise<void> => {
    const found = recent.get(caller.key_id);
    if (found) {
      found.next = value;
      return;
    }
    const cancel = clock.after(every, () => {
      const { next } = recent.get(caller.key_id)!;
      recent.delete(caller.key_id);
      if (next !== null) void quietly(set(caller, next));
    });
    recent.set(caller.key_id, { next: null, caller, cancel });
    await write(caller, value);
  };

  return {
    set,
    has: (key_id: string): boolean => recent.has(key_id),
    async stop(): Promise<void> {
      const waiting = [...recent.values()];
      recent.clear();
      for (const { cancel } of waiting) cancel();
      await Promise.all(
        waiting.map(({ caller, next }) =>
          next === null ? undefined : quietly(write(caller, next)),
        ),
      );
    },
  };
}
