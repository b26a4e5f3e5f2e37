/** The address a client is known by for rate limits (decisions.md, Limits). */

import { isIP } from "node:net";
import type { Log } from "../log.ts";

interface AddressOptions {
  /** How many entries of `X-Forwarded-For`, from its right, our own proxies wrote; 0: none. */
  readonly trusted_hops: number;
  /** The address of the request's socket; null once the client is gone. */
  readonly socketOf: (request: Request) => string | null;
  readonly log: Log;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** Of all who are gone: an address like another, so that leaving early is no way around a limit. */
const GONE = "gone";

export function createAddresses({ trusted_hops, socketOf, log }: AddressOptions) {
  let watching = trusted_hops === 0;
  return {
    /** Warns once of a proxy that nobody told us of: all its clients would share one address. */
    watch({ headers }: Request): void {
      if (!watching || !headers.has("x-forwarded-for")) return;
      watching = false;
      log.warn("X-Forwarded-For arrived and is not trusted: is TRUST_PROXY missing?");
    },

    of(request: Request): string {
      const hops = trusted_hops > 0 && request.headers.get("x-forwarded-for")?.split(",");
      const hop = (hops || []).at(-trusted_hops)?.trim() ?? "";
      return network(hop) ?? network(socketOf(request) ?? "") ?? GONE;
    },
  };
}

/** An IPv4 address as it is, an IPv6 one as its /64, which one client has whole; null for neither. */
function network(address: string): string | null {
  const version = isIP(address);
  if (version !== 6) return version === 4 ? address : null;
  // The URL parser writes groups without leading zeros, and a dotted end as groups.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, "")}]`);
  const [front = "", back] = hostname.slice(1, -1).split("::");
  const groups = front === "" ? [] : front.split(":");
  if (back !== undefined) {
    const rest = back === "" ? [] : back.split(":");
    groups.push(...Array<string>(8 - groups.length - rest.length).fill("0"), ...rest);
  }
  if (groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff") {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}
