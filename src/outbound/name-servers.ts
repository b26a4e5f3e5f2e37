/** Asks the name servers of this machine over its own sockets (§11.6.5). */

import { Resolver } from "node:dns/promises";
import type { Clock } from "../clock.ts";
import { codeOf } from "../log.ts";
import { readIfChanged } from "./changed-file.ts";
import { LOOK_UP } from "./limits.ts";

interface NameServerOptions {
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
  /** Addresses, with or without a port, that tests use instead of the system's. */
  readonly servers?: readonly string[] | undefined;
  /** The path of resolv.conf. */
  readonly resolv_conf?: string | undefined;
}

/**
 * `code`: `ENOTFOUND` if the name does not exist or has no address, `DNS_ETIMEOUT` if no name server answered in time,
 * and otherwise `DNS_` with the code of c-ares.
 */
export class LookUpError extends Error {
  override readonly name = "LookUpError";
  constructor(
    readonly code: string,
    options?: ErrorOptions,
  ) {
    super(code, options);
  }
}

/** Codes of answers that a name does not exist or has no address of a family. */
const MISSING = new Set(["ENOTFOUND", "ENODATA"]);

interface Domains {
  readonly search: readonly string[];
  /** A name with fewer dots is first looked for in the search domains. */
  readonly ndots: number;
}

/**
 * Returns a function that finds every address of a name, IPv4 and IPv6 in turn, or throws {@link LookUpError}. It
 * follows `search`, `domain` and `options ndots:` of resolv.conf, and reads the file again when it changes.
 */
export function createNameServers(options: NameServerOptions) {
  const { timers, servers, resolv_conf = "/etc/resolv.conf" } = options;
  const domains = readIfChanged(resolv_conf, parseDomains);
  let resolver: Resolver | undefined;
  let made_of: Domains | undefined;
  let made_at = 0;

  /**
   * All look-ups share a resolver, since it remembers which server does not answer. It is replaced regularly, since it
   * also remembers answers for long and reads resolv.conf only once.
   */
  const current = (of: Domains): Resolver => {
    const age = timers.elapsed() - made_at;
    if (resolver && made_of === of && age < LOOK_UP.renew_every) return resolver;
    resolver = new Resolver({ timeout: LOOK_UP.first_try * 1000, tries: LOOK_UP.tries });
    if (servers) resolver.setServers(servers);
    made_of = of;
    made_at = timers.elapsed();
    return resolver;
  };

  /** Returns the addresses of exactly this name; empty if it has none. */
  const ask = async (at: Resolver, name: string): Promise<string[]> => {
    const families = [at.resolve4(name), at.resolve6(name)];
    const found: string[][] = [[], []];
    let fault: unknown;
    const done = Promise.withResolvers<void>();
    let cancel = () => {};
    let left = families.length;
    for (const [i, family] of families.entries()) {
      void family
        .then(
          (addresses) => {
            found[i] = addresses;
            if (addresses.length > 0) cancel = timers.after(LOOK_UP.other_family, done.resolve);
          },
          (error: unknown) => {
            if (!MISSING.has(codeOf(error))) fault = error;
          },
        )
        .finally(() => {
          if (--left === 0) done.resolve();
        });
    }
    await done.promise;
    cancel();
    const [four = [], six = []] = found;
    const most = Math.max(four.length, six.length);
    const both = Array.from({ length: most }, (_, i) => [four[i], six[i]]).flat();
    const addresses = both.filter((address) => address !== undefined);
    if (addresses.length === 0 && fault !== undefined) {
      throw new LookUpError(`DNS_${codeOf(fault) || "EUNKNOWN"}`, { cause: fault });
    }
    return addresses;
  };

  return async (host: string): Promise<readonly string[]> => {
    const of = domains();
    const at = current(of);
    let fault: unknown;
    for (const name of namesOf(host, of)) {
      try {
        const addresses = await ask(at, name);
        if (addresses.length > 0) return addresses;
      } catch (error) {
        // A server that fails for one domain may know the next.
        if ((error as LookUpError).code !== "DNS_ESERVFAIL") throw error;
        fault = error;
      }
    }
    throw fault ?? new LookUpError("ENOTFOUND");
  };
}

/** The names to ask for, in order. */
function namesOf(host: string, { search, ndots }: Domains): readonly string[] {
  if (host.endsWith(".")) return [host.slice(0, -1)];
  const searched = search.map((domain) => `${host}.${domain}`);
  return host.split(".").length > ndots ? [host, ...searched] : [...searched, host];
}

/** Parses resolv.conf. The last line `domain` or `search` counts. */
function parseDomains(text: string): Domains {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const line of text.split("\n")) {
    const [key, ...values] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    if (key === "search" || key === "domain") {
      search = values.map((domain) => domain.replace(/\.$/, "")).filter((domain) => domain !== "");
    }
    const given = key === "options" ? values.find((value) => /^ndots:\d+$/.test(value)) : undefined;
    if (given) ndots = Math.min(15, Number(given.slice("ndots:".length)));
  }
  return { search, ndots };
}
