/** The address by which rate limits know a client (§10.6.5). */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { RequestScope } from "./request-scope.ts";

interface ClientAddressOptions {
  /** How many entries of `X-Forwarded-For`, from the right, our own proxies wrote. */
  readonly trusted_hops: number;
  /** The address of the request's socket; null once the client is gone. */
  readonly socketOf: (request: Request) => string | null;
}

export type ClientAddresses = ReturnType<typeof createClientAddresses>;

/** Clients that are gone share one address, so that leaving early does not evade a limit. */
const GONE = "gone";

export function createClientAddresses({ trusted_hops, socketOf }: ClientAddressOptions) {
  let watching = true;
  /** The entry that our outermost proxy wrote, without the port that some proxies add. */
  const hopOf = ({ headers }: Request): string => {
    const hop = headers.get("x-forwarded-for")?.split(",").at(-trusted_hops)?.trim() ?? "";
    const [, address = hop] = /^\[(.*)\](?::\d+)?$/.exec(hop) ?? /^([\d.]+):\d+$/.exec(hop) ?? [];
    return address;
  };
  return {
    /** Warns once about a proxy whose header cannot be read, so that all its clients share one address. */
    watch(scope: Pick<RequestScope, "request" | "log">): void {
      const { request } = scope;
      if (!watching || !request.headers.has("x-forwarded-for")) return;
      if (trusted_hops > 0 && network(hopOf(request)) !== null) return;
      watching = false;
      scope
        .log()
        .warn(
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

/** An IPv4 address, or the /64 of an IPv6 address, since one client owns all of it; null for other text. */
function network(address: string): string | null {
  const version = isIP(address);
  if (version !== 6) return version === 4 ? address : null;
  const ip = ipaddr.IPv6.parse(address);
  if (ip.isIPv4MappedAddress()) return ip.toIPv4Address().toString();
  const front = ip.parts.slice(0, 4).map((part) => part.toString(16));
  return `${front.join(":")}::/64`;
}
