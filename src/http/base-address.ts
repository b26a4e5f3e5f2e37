/** Base addresses of this server: the one a request came by, and those for another device (§1.7). */

import { isIP } from "node:net";
import { hostname as machineName, networkInterfaces } from "node:os";
import { ServiceError } from "../errors.ts";
import { bareName, isLoopback } from "../loopback.ts";

interface BaseAddressOptions {
  /** `PUBLIC_URL`. */
  readonly public_url: string | undefined;
  /** Host names of `ALLOWED_HOSTS`. */
  readonly allowed_hosts: readonly string[];
  /** `HOST`: the address that this process listens on. */
  readonly listen_host: string;
  /** The port that it listens on, known once it listens. */
  readonly port: () => number;
  /** True if this process serves TLS itself. */
  readonly tls: boolean;
  /** `TRUST_PROXY`: above 0, `X-Forwarded-Proto` gives the scheme. */
  readonly trusted_hops: number;
  /** The name of this machine, by default the system's. */
  readonly machineName?: () => string;
  /** Its network interfaces, by default the system's. */
  readonly interfaces?: typeof networkInterfaces;
}

/** An address for another device, or why there is none. */
type BestAddress =
  | { readonly url: string; readonly reason?: never }
  | { readonly url: null; readonly reason: string };

export type BaseAddresses = ReturnType<typeof createBaseAddresses>;

export function createBaseAddresses(options: BaseAddressOptions) {
  const { public_url, allowed_hosts, listen_host, port, tls, trusted_hops } = options;
  const { machineName: nameOfMachine = machineName, interfaces = networkInterfaces } = options;
  const shown = public_url === undefined ? null : new URL(public_url);
  const shown_href = shown?.href.replace(/\/$/, "") ?? null;
  const shown_base = shown && !isLoopback(shown.hostname) ? shown_href : null;
  const named = new Set(
    [...allowed_hosts, ...(shown ? [shown.host] : [])].map((host) => bareName(hostnameOf(host))),
  );

  /**
   * True if a request for this host name or IP address (IPv6 in brackets) may be meant for this server, on any
   * port (§1.7.2). DNS rebinding needs a dotted name, so every other name is accepted.
   */
  const isAcceptedHost = (hostname: string): boolean => {
    const name = bareName(hostnameOf(hostname));
    if (name === "") return false;
    if (isAddress(name) || !name.includes(".") || isLoopback(name) || named.has(name)) return true;
    if (!name.endsWith(".local")) return false;
    return name === `${nameOfMachine().split(".")[0]!.toLowerCase()}.local`;
  };

  /** True once a client came by the host name of `PUBLIC_URL`. */
  let is_used = false;
  /** The last `Host` of a client that named another one. */
  let other: string | null = null;

  const schemeOf = (headers: Headers): string => {
    if (tls) return "https:";
    if (trusted_hops === 0) return "http:";
    // The value that our outermost proxy wrote. The client may have sent those before it.
    const sent = headers.get("x-forwarded-proto")?.split(",") ?? [];
    const scheme = sent.at(-Math.min(trusted_hops, sent.length))?.trim().toLowerCase();
    return scheme === "https" ? "https:" : "http:";
  };

  /**
   * The base address by which a request came (§1.7.3), as the URL parser writes it, without a trailing slash.
   * Null unless its `Host` is accepted. Only that of `PUBLIC_URL` may have a path, which a proxy removed from
   * the request.
   */
  const ofRequest = ({ headers }: Request): string | null => {
    const host = headers.get("host") ?? "";
    if (!isAcceptedHost(host)) return null;
    if (shown && parseHost(host, shown.protocol)?.host === shown.host) return shown_href;
    return parseHost(host, schemeOf(headers))?.origin ?? null;
  };

  /**
   * Base addresses at which other machines may reach this server, best first: `PUBLIC_URL` with its path,
   * unless it is loopback, then those of the network interfaces that it listens on.
   */
  const reachable = (): string[] => {
    const urls = shown_base === null ? [] : [shown_base];
    const hosts = listensOnAll(listen_host)
      ? lanAddresses(interfaces()).filter((ip) => listen_host !== "0.0.0.0" || isIP(ip) === 4)
      : [listen_host];
    for (const host of hosts) {
      const at = `${isIP(host) === 6 ? `[${host}]` : host}:${port()}`;
      const url = parseHost(at, tls ? "https:" : "http:");
      if (url && !isLoopback(url.hostname)) urls.push(url.origin);
    }
    return urls;
  };

  return {
    isAcceptedHost,
    ofRequest,
    reachable,

    /**
     * The base address to give to another device (§1.7.4): `PUBLIC_URL`, else the one by which the request
     * came, else the best one of the local network. Never a loopback address.
     */
    best(request?: Request): BestAddress {
      if (shown_base !== null) return { url: shown_base };
      const came_by = request ? ofRequest(request) : null;
      if (came_by !== null && !isLoopback(new URL(came_by).hostname)) return { url: came_by };
      const [first] = reachable();
      if (first !== undefined) return { url: first };
      const reason = listensOnAll(listen_host)
        ? "This machine has no network address that others can reach. Set PUBLIC_URL."
        : "Relay accepts connections from this machine only. Set HOST=0.0.0.0, or PUBLIC_URL if a proxy stands in front.";
      return { url: null, reason };
    },

    /** Notes by which `Host` a client came whose credential is valid: anybody else could send any name. */
    note({ headers }: Request): void {
      const host = headers.get("host");
      if (shown === null || is_used || host === null || host === other) return;
      const name = bareName(hostnameOf(host));
      if (name === bareName(shown.hostname)) is_used = true;
      // Other names are those of the machine or its network, or set on purpose.
      else if (name.includes(".") && !isLoopback(name) && !named.has(name)) other = host;
    },

    /**
     * The host names by which a client came and which `PUBLIC_URL` has, if no client has come by the latter since the
     * start. Null otherwise, and without `PUBLIC_URL`.
     */
    otherHost(): { readonly came_by: string; readonly shown: string } | null {
      if (shown === null || is_used || other === null) return null;
      return { came_by: hostnameOf(other), shown: shown.hostname };
    },

    /** True if MCP clients accept OAuth at this base address: loopback, or https with a DNS name. */
    offersOAuth(base: string): boolean {
      const { protocol, hostname } = new URL(base);
      return isLoopback(hostname) || (protocol === "https:" && !isAddress(hostname));
    },

    /** `403 forbidden` for a request whose `Host` is not accepted, else null (§1.7.2). */
    hostRefusal({ headers }: Request): ServiceError | null {
      if (isAcceptedHost(headers.get("host") ?? "")) return null;
      return new ServiceError("forbidden", {
        detail:
          "The Host header does not name this server. The operator can add the name to ALLOWED_HOSTS.",
      });
    },
  };
}

const NO_HOST = /[/?#@\\\s]/;

/** A `Host` with or without a port; null if it is invalid. */
export function parseHost(host: string, protocol: string): URL | null {
  return NO_HOST.test(host) ? null : URL.parse(`${protocol}//${host}`);
}

const hostnameOf = (host: string): string => parseHost(host, "http:")?.hostname ?? "";

/** True if a host in serialized form is an IP address. */
const isAddress = (hostname: string): boolean => hostname.startsWith("[") || isIP(hostname) === 4;

/** True if a `HOST` means every interface. */
const listensOnAll = (host: string): boolean => host === "0.0.0.0" || /^[0:]+$/.test(host);

/** Addresses that are shown at most: an interface may have many of IPv6. */
const SHOWN = 8;

/** Bridges and tunnels of containers, virtual machines and VPNs, by their usual names. */
const VIRTUAL =
  /^(docker|br-|bridge|veth|virbr|vmnet|vboxnet|cni|flannel|cali|podman|lxc|lxd|incus|tun|tap|utun|wg|zt|tailscale|awdl|llw|ap\d|ifb|dummy|gif|stf|vEthernet)/i;

const PRIVATE_IPV4 = /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/;
const LINK_LOCAL = /^(169\.254\.|fe[89ab][0-9a-f]:)/i;

/**
 * IP addresses of the interfaces, best first and at most eight: private IPv4 addresses of network cards, then other
 * IPv4 addresses of network cards, those of virtual interfaces, and IPv6. Without loopback and link-local ones.
 */
export function lanAddresses(interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const found = Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ address, internal }) => !internal && isIP(address) && !LINK_LOCAL.test(address))
      .map(({ address }) => ({ address, rank: rankOf(name, address) })),
  );
  // The sort is stable: equal ranks keep the system's order.
  found.sort((a, b) => a.rank - b.rank);
  return found.slice(0, SHOWN).map(({ address }) => address);
}

function rankOf(name: string, address: string): number {
  const is_virtual = VIRTUAL.test(name);
  if (isIP(address) === 6) return is_virtual ? 4 : 3;
  if (is_virtual) return 2;
  return PRIVATE_IPV4.test(address) ? 0 : 1;
}
