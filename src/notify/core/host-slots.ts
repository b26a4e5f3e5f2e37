/**
 * Limits the connections to hosts that users name: a few per host (name and port), in turns of
 * accounts, so that neither a host that hangs nor an account with much to send holds up others (§19.4.6).
 */

import { WEBHOOK_LIMITS } from "../../notification-limits.ts";
import type { RequestOrigin } from "./channel.ts";
import { addTo, once, type Release } from "./under-way.ts";

/** Requests of one process that wait for a connection to one host, tests not counted. */
const WAITING_PER_HOST = 44;

/** Who waits for a connection, and until when. */
interface ConnectionWait extends RequestOrigin {
  readonly until: AbortSignal;
}

export type HostSlots = ReturnType<typeof createHostSlots>;

interface Waiter {
  readonly is_test: boolean;
  readonly wake: (release: Release | null) => void;
}

interface Host {
  used: number;
  /** Connections in use, by owner. */
  readonly held: Map<string, number>;
  /** Owners of tests that are under way. */
  readonly tests: Set<string>;
  /** Waiters by owner, in the order of the owners' turns. Tests come first. */
  readonly line: Map<string, readonly Waiter[]>;
  /** Number of waiters that are not tests. */
  queued: number;
}

/**
 * True if an account that holds `own` connections may take another of the `free` ones. An account
 * that holds one never takes the last: however slowly a host answers it, others still get through.
 */
export const mayTake = (free: number, own: number): boolean =>
  free > 1 || (free === 1 && own === 0);

/**
 * The connections of this process: `per_host` at once to each. Tests of channels use at most half of these,
 * and each account one.
 */
export function createHostSlots({
  per_host = WEBHOOK_LIMITS.per_host,
  waiting_per_host = WAITING_PER_HOST,
}: {
  readonly per_host?: number;
  readonly waiting_per_host?: number;
} = {}) {
  const hosts = new Map<string, Host>();

  const hostOf = (name: string): Host => {
    const known = hosts.get(name);
    if (known) return known;
    const host = { used: 0, held: new Map(), tests: new Set<string>(), line: new Map(), queued: 0 };
    hosts.set(name, host);
    return host;
  };

  const forgetIdle = (name: string, host: Host) => {
    if (host.used === 0 && host.line.size === 0) hosts.delete(name);
  };

  const free = (name: string): number => per_host - (hosts.get(name)?.used ?? 0);

  const heldBy = (name: string, owner: string): number => hosts.get(name)?.held.get(owner) ?? 0;

  const admits = (name: string, owner: string, is_test: boolean): boolean => {
    if (!mayTake(free(name), heldBy(name, owner))) return false;
    const tests = hosts.get(name)?.tests;
    return !is_test || !tests || (!tests.has(owner) && tests.size < per_host / 2);
  };

  const occupy = (name: string, owner: string, is_test: boolean): Release => {
    const host = hostOf(name);
    const add = (n: 1 | -1) => {
      host.used += n;
      addTo(host.held, owner, n);
    };
    add(1);
    if (is_test) host.tests.add(owner);
    return once(() => {
      add(-1);
      if (is_test) host.tests.delete(owner);
      serve(name, host);
      forgetIdle(name, host);
    });
  };

  const queuedOf = (host: Host, owner: string): readonly Waiter[] =>
    host.line.get(owner)?.filter(({ is_test }) => !is_test) ?? [];

  const leave = (host: Host, owner: string, waiter: Waiter) => {
    const others = host.line.get(owner)?.filter((one) => one !== waiter) ?? [];
    if (!waiter.is_test) host.queued--;
    if (others.length > 0) host.line.set(owner, others);
    else host.line.delete(owner);
  };

  /** Hands free connections to waiters. An owner who was served goes to the end of the line. */
  const serve = (name: string, host: Host) => {
    for (const [owner, waiters] of [...host.line]) {
      if (free(name) <= 0) return;
      const next = waiters.find(({ is_test }) => admits(name, owner, is_test));
      if (!next) continue;
      leave(host, owner, next);
      const others = host.line.get(owner);
      if (others) {
        host.line.delete(owner);
        host.line.set(owner, others);
      }
      next.wake(occupy(name, owner, next.is_test));
    }
  };

  /**
   * Makes room in a full line for another waiter of `owner`, by giving up one of the owner who has the
   * most waiters there. False if no other owner has more.
   */
  const makeRoom = (host: Host, owner: string): boolean => {
    let most = queuedOf(host, owner).length + 1;
    let last: { readonly owner: string; readonly waiter: Waiter } | undefined;
    for (const other of host.line.keys()) {
      const queued = queuedOf(host, other);
      if (queued.length <= most) continue;
      most = queued.length;
      last = { owner: other, waiter: queued.at(-1)! };
    }
    if (!last) return false;
    leave(host, last.owner, last.waiter);
    last.waiter.wake(null);
    return true;
  };

  return {
    /** Connections to a host that may still be made. */
    free,
    /** Connections of an account to a host. */
    heldBy,
    /** Hosts to which no further connection may be made. */
    full: (): string[] => [...hosts.keys()].filter((host) => free(host) <= 0),
    /** Null if the host has no connection for the account. */
    take: (name: string, owner: string): Release | null =>
      admits(name, owner, false) ? occupy(name, owner, false) : null,

    /**
     * Waits for a connection. Null if none was free in time, or if too many requests wait for the host
     * and no account has more of them than this one.
     */
    async wait(name: string, { owner, is_test, until }: ConnectionWait): Promise<Release | null> {
      if (until.aborted) return null;
      const waits = hosts.get(name)?.line.has(owner) ?? false;
      // Requests of one owner keep their order; a test goes before them.
      if ((is_test || !waits) && admits(name, owner, is_test)) {
        return occupy(name, owner, is_test);
      }
      const host = hostOf(name);
      if (!is_test && host.queued >= waiting_per_host && !makeRoom(host, owner)) return null;
      const turn = Promise.withResolvers<Release | null>();
      const waiter = { is_test, wake: turn.resolve };
      const own = host.line.get(owner) ?? [];
      const tests = own.filter((one) => one.is_test);
      const others = own.filter((one) => !one.is_test);
      host.line.set(owner, is_test ? [...tests, waiter, ...others] : [...own, waiter]);
      if (!is_test) host.queued++;
      const end = () => {
        if (!host.line.get(owner)?.includes(waiter)) return;
        leave(host, owner, waiter);
        forgetIdle(name, host);
        turn.resolve(null);
      };
      until.addEventListener("abort", end, { once: true });
      return turn.promise.finally(() => until.removeEventListener("abort", end));
    },
  };
}
