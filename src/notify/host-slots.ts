/**
 * Limits the connections to hosts that users name: a few per host (name and port), in turns of accounts, so that
 * neither a host that hangs nor an account with much to send holds up others (docs/interface.md 19.4.6).
 */

import { WEBHOOK } from "../notification-limits.ts";

/** Ends the use of a connection or request; harmless when called again. */
export type Release = () => void;

/** Who waits for a connection, and until when. */
export interface Patience {
  /** Id of the account. */
  readonly owner: string;
  /** The test of a channel. */
  readonly is_test: boolean;
  readonly until: AbortSignal;
}

export type HostSlots = ReturnType<typeof createHostSlots>;

interface Waiter {
  readonly is_test: boolean;
  readonly wake: (release: Release | null) => void;
}

interface Host {
  used: number;
  /** Owners of tests that are under way. */
  readonly tests: Set<string>;
  /** Who waits, by owner in the order of their turns; tests come first. */
  readonly line: Map<string, readonly Waiter[]>;
  /** Waiters that are not tests. */
  queued: number;
}

interface HostSlotsOptions {
  /** Connections to a host at once. */
  readonly per_host?: number;
  /** Requests that wait for one host, tests not counted. */
  readonly waiting_per_host?: number;
}

/** The connections of this process. Tests use at most half of those to a host, one of each account. */
export function createHostSlots({
  per_host = WEBHOOK.per_host,
  waiting_per_host = WEBHOOK.waiting_per_host,
}: HostSlotsOptions = {}) {
  const hosts = new Map<string, Host>();

  const hostOf = (name: string): Host => {
    const known = hosts.get(name);
    if (known) return known;
    const host = {
      used: 0,
      tests: new Set<string>(),
      line: new Map(),
      queued: 0,
    };
    hosts.set(name, host);
    return host;
  };

  const forgetIdle = (name: string, host: Host) => {
    if (host.used === 0 && host.line.size === 0) hosts.delete(name);
  };

  const free = (name: string): number => per_host - (hosts.get(name)?.used ?? 0);

  const admits = (name: string, owner: string, is_test: boolean): boolean => {
    if (free(name) <= 0) return false;
    const tests = hosts.get(name)?.tests;
    return !is_test || !tests || (!tests.has(owner) && tests.size < per_host / 2);
  };

  /** `test_of`: the owner of a test; null for what is queued. */
  const occupy = (name: string, test_of: string | null): Release => {
    const host = hostOf(name);
    host.used++;
    if (test_of !== null) host.tests.add(test_of);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      host.used--;
      if (test_of !== null) host.tests.delete(test_of);
      serve(name, host);
      forgetIdle(name, host);
    };
  };

  const leave = (host: Host, owner: string, waiter: Waiter) => {
    const others = host.line.get(owner)?.filter((one) => one !== waiter) ?? [];
    if (!waiter.is_test) host.queued--;
    if (others.length > 0) host.line.set(owner, others);
    else host.line.delete(owner);
  };

  /** Gives what is free to those who wait; an owner who was served goes to the end of the line. */
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
      next.wake(occupy(name, next.is_test ? owner : null));
    }
  };

  return {
    /** Connections that may still be made. */
    free,
    /** Hosts that have their full number. */
    full: (): string[] => [...hosts.keys()].filter((host) => free(host) <= 0),
    /** Null when the host has its full number. */
    take: (name: string): Release | null => (free(name) > 0 ? occupy(name, null) : null),

    /** Waits for a connection; null if there was none in time, or if too many wait for the host. */
    async wait(name: string, { owner, is_test, until }: Patience): Promise<Release | null> {
      if (until.aborted) return null;
      const waits = hosts.get(name)?.line.has(owner) ?? false;
      // What an owner has queued goes in its order, and a test before it.
      if ((is_test || !waits) && admits(name, owner, is_test)) {
        return occupy(name, is_test ? owner : null);
      }
      const host = hostOf(name);
      if (!is_test && host.queued >= waiting_per_host) return null;
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
