/**
 * Remembers hosts that have not answered lately, in the memory of this process. Each account tries such a host by one
 * request at a time; once two accounts had no answer, all accounts together make one request at a time. So one
 * account's requests cannot keep others from a host.
 */

import type { Clock } from "../../clock.ts";
import { exponentialDelay, LOST_BACKOFF, LOST_BACKOFF_MOST } from "./channel.ts";

interface Fault {
  readonly times: number;
  /** By {@link Clock.elapsed}. */
  readonly until: number;
  readonly probing: boolean;
  /** The only account that had no answer; null if there are several. */
  readonly only: string | null;
}

/**
 * Hosts that are remembered at most; beyond it, the oldest is dropped. Pairs of a host and an account have the same
 * bound.
 */
const REMEMBERED = 10_000;

/** Keeps how long to wait for each host that failed. The wait grows with each failure in a row. */
export function createHostFaults(clock: Pick<Clock, "elapsed">) {
  const of_all = new Map<string, Fault>();
  const of_account = new Map<string, Fault>();
  const nameOf = (host: string, owner: string) => `${host} ${owner}`;

  const note = (faults: Map<string, Fault>, name: string, fault: Fault) => {
    faults.delete(name);
    if (faults.size >= REMEMBERED) faults.delete(faults.keys().next().value!);
    faults.set(name, fault);
  };

  const fail = (faults: Map<string, Fault>, name: string, owner: string) => {
    const before = faults.get(name);
    const times = (before?.times ?? 0) + 1;
    const until = clock.elapsed() + exponentialDelay(LOST_BACKOFF, times, LOST_BACKOFF_MOST);
    const only = before === undefined || before.only === owner ? owner : null;
    note(faults, name, { times, until, probing: false, only });
  };

  return {
    /**
     * Seconds until the account may try a request to the host. At 0 the caller may try, and must report
     * the outcome by `answered` or `failed`.
     */
    wait(host: string, owner: string): number {
      const name = nameOf(host, owner);
      const own = of_account.get(name);
      const shared = of_all.get(host);
      const faults = [own, shared?.only === null ? shared : undefined];
      const left = Math.max(
        ...faults.map((fault) => {
          if (!fault) return 0;
          const seconds = fault.until - clock.elapsed();
          return fault.probing || seconds > 0 ? Math.max(1, seconds) : 0;
        }),
      );
      if (left > 0) return left;
      if (own) note(of_account, name, { ...own, probing: true });
      if (shared?.only === null) note(of_all, host, { ...shared, probing: true });
      return 0;
    },

    answered(host: string, owner: string): void {
      of_account.delete(nameOf(host, owner));
      of_all.delete(host);
    },

    failed(host: string, owner: string): void {
      fail(of_account, nameOf(host, owner), owner);
      fail(of_all, host, owner);
    },
  };
}
