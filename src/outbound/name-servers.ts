/** Asks the name servers of this machine, over sockets of its own (docs/interface.md §11.6.5). */

import { Resolver } from "node:dns/promises";
import type { Clock } from "../clock.ts";
import { readIfChanged } from "./changed-file.ts";
import { LOOK_UP } from "./limits.ts";

interface NameServerOptions {
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
  /** Addresses with or without a port, instead of the system's, for tests. */
  readonly servers?: readonly string[] | undefined;
  /** Where the system says which name servers and domains it uses. */
  readonly resolv_conf?: string | undefined;
}

/**
 * `code`: `ENOTFOUND` if there is no such name or it has no address; `DNS_ETIMEOUT` if no name server
 * answered in time; `DNS_` and a code of c-ares for another fault.
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

/** A name server answered that there is no such name, or that it has no address of this family. */
const MISSING = new Set(["ENOTFOUND", "ENODATA"]);

interface Domains {
  readonly search: readonly string[];
  /** A name with fewer dots is first looked for in the domains. */
  readonly ndots: number;
}

/**
 * Returns a function that gives every address of a name, IPv4 and IPv6 in turn, and throws a
 * {@link LookUpError}. It follows `search`, `domain` and `options ndots:` of resolv.conf as the system
 * does, and takes up a changed file without a restart.
 */
export function createNameServers(options: NameServerOptions) {
  const { timers, servers, resolv_conf = "/etc/resolv.conf" } = options;
  const domains = readIfChanged(resolv_conf, parseDomains);
  let resolver: Resolver | undefined;
  let made_of: Domains | undefined;
  let made_at = 0;

  /**
   * Shared by all look-ups, since it remembers which server does not answer. It also remembers
   * answers, longer than what users expect, and reads resolv.conf once: so it is replaced regularly.
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

  /** The addresses of this very name; empty if it has none. */
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
      throw new LookUpError(`DNS_${codeOf(fault)}`, { cause: fault });
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
        // A server that is broken for one domain may know the next.
        if ((error as LookUpError).code !== "DNS_ESERVFAIL") throw error;
        fault = error;
      }
    }
    throw fault ?? new LookUpError("ENOTFOUND");
  };
}

/** What to ask for, in this order. */
function namesOf(host: string, { search, ndots }: Domains): readonly string[] {
  if (host.endsWith(".")) return [host.slice(0, -1)];
  const searched = search.map((domain) => `${host}.${domain}`);
  return host.split(".").length > ndots ? [host, ...searched] : [...searched, host];
}

/** Of `domain` and `search`, the last one counts. */
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

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "EUNKNOWN";
}
