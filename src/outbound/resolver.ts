/**
 * Finds the addresses of host names without the thread pool that files need, with a deadline and a
 * share for each account (docs/interface.md §11.6.5).
 */

import type { Clock } from "../clock.ts";
import { createHostsFile } from "./hosts-file.ts";
import { LOOK_UP } from "./limits.ts";
import { createNameServers, LookUpError } from "./name-servers.ts";
import { type NameServices, nameServicesOf } from "./name-services.ts";
import { createShares } from "./shares.ts";

/**
 * Every address of a host name, at least one. `owner`: whose share of the look-ups it counts
 * against, an account or a service of the operator. Throws a {@link LookUpError} within
 * `LOOK_UP.seconds`.
 */
export type Resolve = (host: string, owner: string) => Promise<readonly string[]>;

interface ResolverOptions {
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
  /** Instead of the system's, for tests: name servers, and paths of files. */
  readonly servers?: readonly string[];
  readonly resolv_conf?: string;
  readonly hosts_file?: string;
  readonly services?: NameServices;
}

/** The resolver of a process. */
export function createResolver(options: ResolverOptions): Resolve {
  const { timers, services = nameServicesOf() } = options;
  const listed = createHostsFile(options.hosts_file);
  const askServers = createNameServers(options);
  const turns = createShares({ per_owner: LOOK_UP.per_account, in_all: LOOK_UP.in_all });
  const processes = createShares({ per_owner: 1, in_all: LOOK_UP.processes });

  const askServices = async (name: string, owner: string, signal: AbortSignal) => {
    const release = await processes.take(owner, signal);
    return services
      .ask(name, signal)
      .catch(() => [])
      .finally(release);
  };

  const ask = async (host: string, owner: string, signal: AbortSignal) => {
    const name = bare(host);
    const order = services.order(name);
    if (order === "first") {
      const addresses = await askServices(name, owner, signal);
      if (addresses.length > 0) return addresses;
    }
    try {
      return await askServers(host);
    } catch (error) {
      if (order !== "last" || (error as LookUpError).code !== "ENOTFOUND") throw error;
      const addresses = await askServices(name, owner, signal);
      if (addresses.length > 0) return addresses;
      throw error;
    }
  };

  return async (host, owner) => {
    const name = bare(host);
    const known = listed(name);
    if (known.length > 0) return known;
    // Never asked for outside (RFC 6761 6.3).
    if (name === "localhost" || name.endsWith(".localhost")) return ["127.0.0.1", "::1"];
    const late = new AbortController();
    const cancel = timers.after(LOOK_UP.seconds, () => late.abort(new LookUpError("DNS_ETIMEOUT")));
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => {});
    late.signal.addEventListener("abort", () => ended.reject(late.signal.reason), { once: true });
    try {
      const release = await turns.take(owner, late.signal);
      return await Promise.race([ask(host, owner, late.signal), ended.promise]).finally(release);
    } finally {
      cancel();
    }
  };
}

const bare = (host: string): string => host.toLowerCase().replace(/\.$/, "");
