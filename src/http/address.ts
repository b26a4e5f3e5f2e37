/** The address a client is known by for rate limits (docs/interface.md 10.6.5). */

import { isIP } from "node:net";
import type { Log } from "../log.ts";

interface AddressOptions {
  /** Number of entries of `X-Forwarded-For`, from the right, that our own proxies wrote; 0: none. */
  readonly trusted_hops: number;
  /** The address of the request's socket; null once the client is gone. */
  readonly socketOf: (request: Request) => string | null;
  readonly log: Log;
}

export type Addresses = ReturnType<typeof createAddresses>;

/** All clients that are gone share one, so that leaving early does not evade a limit. */
const GONE = "gone";

export function createAddresses({ trusted_hops, socketOf, log }: AddressOptions) {
  let watching = true;
  /** The entry that our outermost proxy wrote, without the port that some proxies add. */
  const hopOf = ({ headers }: Request): string => {
    const hop = headers.get("x-forwarded-for")?.split(",").at(-trusted_hops)?.trim() ?? "";
    const [, address = hop] = /^\[(.*)\](?::\d+)?$/.exec(hop) ?? /^([\d.]+):\d+$/.exec(hop) ?? [];
    return address;
  };
  return {
    /** Warns once about a proxy whose header cannot be read: all its clients share one address. */
    watch(request: Request): void {
      if (!watching || !request.headers.has("x-forwarded-for")) return;
      if (trusted_hops > 0 && network(hopOf(request)) !== null) return;
      watching = false;
      log.warn(
        trusted_hops === 0
          ? "X-Forwarded-For arrived and is not trusted: is TRUST_PROXY missing?"
          : "X-Forwarded-For holds no address where TRUST_PROXY says it does",
      );
    },

    of(request: Request): string {
      const forwarded = trusted_hops > 0 ? network(hopOf(request)) : null;
      return forwarded ?? network(socketOf(request) ?? "") ?? GONE;
    },
  };
}

/** An IPv4 address as it is, an IPv6 address as its /64 (one client owns all of it); else null. */
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
