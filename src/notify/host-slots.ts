/**
 * Limits the connections to hosts that users name: a few per host (name and port), shared by all
 * accounts, so that a host that hangs holds up nobody else (docs/interface.md 19.4.6).
 */

import { WEBHOOK } from "../notification-limits.ts";

/** Ends the use of a connection or request; harmless when called again. */
export type Release = () => void;

/** Who waits for a connection, and until when: it aborts after `PUSH.connection_wait`. */
export interface Patience {
  /** Id of the account. */
  readonly owner: string;
  readonly until: AbortSignal;
}

export type HostSlots = ReturnType<typeof createHostSlots>;

interface Waiter {
  readonly owner: string;
  readonly wake: () => void;
}

/**
 * Connections of this process: `per_host` to each host, at most. Half of them can be waited for, one
 * by each owner, so that tests of channels hold up neither each other nor what is queued.
 */
export function createHostSlots(per_host: number = WEBHOOK.per_host) {
  const used = new Map<string, number>();
  /** By host: the owners of connections that were waited for, and who waits, in order. */
  const waited_for = new Map<string, Set<string>>();
  const waiting = new Map<string, readonly Waiter[]>();

  const free = (host: string) => per_host - (used.get(host) ?? 0);

  const leaveLine = (host: string, waiter: Waiter) => {
    const others = waiting.get(host)?.filter((one) => one !== waiter) ?? [];
    if (others.length > 0) waiting.set(host, others);
    else waiting.delete(host);
  };

  const wakeNext = (host: string) => {
    const next = waiting.get(host)?.find(({ owner }) => admits(host, owner));
    if (!next) return;
    leaveLine(host, next);
    next.wake();
  };

  const take = (host: string, onRelease?: () => void): Release | null => {
    if (free(host) <= 0) return null;
    used.set(host, (used.get(host) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      onRelease?.();
      const left = used.get(host)! - 1;
      if (left > 0) used.set(host, left);
      else used.delete(host);
      wakeNext(host);
    };
  };

  /** Whether an owner who waits may have a connection now. */
  const admits = (host: string, owner: string): boolean => {
    const owners = waited_for.get(host);
    if (owners && (owners.has(owner) || owners.size >= per_host / 2)) return false;
    return free(host) > 0;
  };

  const takePatiently = (host: string, owner: string): Release => {
    const owners = waited_for.get(host) ?? new Set();
    waited_for.set(host, owners.add(owner));
    // Others have their turn before this owner has another.
    const line = waiting.get(host);
    const isOwn = (one: Waiter) => one.owner === owner;
    if (line) waiting.set(host, [...line.filter((one) => !isOwn(one)), ...line.filter(isOwn)]);
    return take(host, () => {
      owners.delete(owner);
      if (owners.size === 0) waited_for.delete(host);
    })!;
  };

  return {
    /** Connections that may still be made. */
    free,
    /** Hosts that have their full number. */
    full: (): string[] => [...used.keys()].filter((host) => free(host) <= 0),
    /** Null when the host has its full number. */
    take: (host: string): Release | null => take(host),

    /** Waits for a connection; null if there was none in time. */
    async wait(host: string, { owner, until }: Patience): Promise<Release | null> {
      while (!until.aborted) {
        if (admits(host, owner)) return takePatiently(host, owner);
        const turn = Promise.withResolvers<void>();
        const waiter = { owner, wake: turn.resolve };
        waiting.set(host, [...(waiting.get(host) ?? []), waiter]);
        until.addEventListener("abort", () => turn.resolve(), { once: true });
        await turn.promise;
        leaveLine(host, waiter);
      }
      // It may have been woken as its time ran out.
      wakeNext(host);
      return null;
    },
  };
}
