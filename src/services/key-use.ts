/** Records the use of credentials: when (§2.9), and for a key the host and the client (§2.3). */

import type { Usage } from "../auth/authenticate.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Caller, KeyCaller } from "../model/caller.ts";
import { type ClientInfo, isSameClient } from "../model/client.ts";
import { createOutage } from "../observability/outages.ts";
import type { Keys } from "./keys.ts";

interface KeyUseOptions {
  readonly keys: Pick<Keys, "touch" | "setHost" | "setClient">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Credentials whose last write is remembered: without it, clocks that differ would cause more writes. */
const REMEMBERED = 10_000;

export function createKeyUse({ keys, clock, log }: KeyUseOptions) {
  /** By credential: when this process wrote `last_used_at`, by {@link Clock.elapsed}. */
  const touched = new Map<string, number>();
  const outage = createOutage({ clock, log });

  const quietly = (work: Promise<unknown>): Promise<void> =>
    work.then(
      () => {},
      (error: unknown) => {
        // The request itself must not fail. A key deleted meanwhile needs no record, and a store
        // that cannot be used logs that itself.
        if (error instanceof ServiceError && error.code !== "internal") return;
        outage.failed("use of a credential not recorded", error);
      },
    );

  /** A time too far ahead was written by a clock that was wrong. */
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
    /** Records a use. Resolves once what is due is written. Undefined if nothing is due. */
    record(usage: Usage, host: string | null): Promise<void> | undefined {
      const used = isDue(usage.caller.credential, usage.last_used_at);
      if (!("last_host" in usage)) return used ? quietly(touch(usage.caller)) : undefined;
      const { caller, last_host } = usage;
      const moved = host !== null && (host !== last_host || hosts.has(caller.key_id));
      if (!used && !moved) return undefined;
      return quietly(Promise.all([used && touch(caller), moved && hosts.set(caller, host)]));
    },

    /** Records the client that an MCP request names. Undefined if nothing is due. */
    recordClient(usage: Usage, client: ClientInfo): Promise<void> | undefined {
      if (!("last_client" in usage)) return undefined;
      const { caller, last_client } = usage;
      if (isSameClient(client, last_client) && !clients.has(caller.key_id)) return undefined;
      return quietly(clients.set(caller, client));
    },

    /** Writes the values that {@link createPacer} still holds back. */
    async stop(): Promise<void> {
      await Promise.all([hosts.stop(), clients.stop()]);
    },
  };
}

interface PacerOptions<T> {
  readonly clock: Clock;
  /** Seconds between two writes for one key. */
  readonly every: number;
  readonly write: (caller: KeyCaller, value: T) => Promise<unknown>;
  readonly quietly: (work: Promise<unknown>) => Promise<void>;
}

/** Writes a value of a key at most once in `every` seconds; the newest value is written last (§2.3.4). */
function createPacer<T>({ clock, every, write, quietly }: PacerOptions<T>) {
  /** Keys written within the last `every` seconds; `next`: the newest value since, if any. */
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
