/**
 * Finds the addresses of host names (§11.6.5) without the thread pool that files need, with a deadline and a share for
 * each account.
 */

import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import { readIfChanged } from "./changed-file.ts";
import { LOOK_UP } from "./limits.ts";
import { createNameServers, LookUpError } from "./name-servers.ts";
import { type NameServices, nameServicesOf } from "./name-services.ts";
import { createShares } from "./shares.ts";

/**
 * Finds every address of a host name, at least one, or throws {@link LookUpError} within `LOOK_UP.seconds`. `owner`: the
 * account, or the service of the operator, whose share of the look-ups it takes.
 */
export type Resolve = (host: string, owner: string) => Promise<readonly string[]>;

interface ResolverOptions {
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
  /** Replacements for the system's name servers, files and name services in tests. */
  readonly servers?: readonly string[];
  readonly resolv_conf?: string;
  readonly hosts_file?: string;
  readonly services?: NameServices;
}

/** Creates the resolver of a process. */
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
    // Name servers must not be asked (RFC 6761, section 6.3).
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

const HOSTS_FILE =
  process.platform === "win32" ? "C:\\Windows\\System32\\drivers\\etc\\hosts" : "/etc/hosts";

/**
 * Returns a function that finds the addresses of a name (lower case, without a final dot) in the hosts file, in its
 * order. The text is searched instead of parsed, since such files may have 100,000 lines.
 */
function createHostsFile(path: string = HOSTS_FILE): (name: string) => readonly string[] {
  const read = readIfChanged(path, (text) => `\n${text.toLowerCase()}\n`);
  return (name) => {
    const text = read();
    const found = new Set<string>();
    const end = (from: number) => text.indexOf("\n", from);
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      // First, since a short name is part of many others.
      if (!isBlank(text[at - 1]) || !/[\s#]/.test(text[at + name.length]!)) continue;
      const line = text.slice(text.lastIndexOf("\n", at) + 1, end(at));
      const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
      if (names.includes(name) && isIP(address)) found.add(address);
      at = end(at);
    }
    return [...found];
  };
}

const isBlank = (character: string | undefined) => character === " " || character === "\t";
