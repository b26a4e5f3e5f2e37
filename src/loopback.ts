/** Which hosts are this machine, and which requests therefore ignore the environment's proxy. */

import { isIP } from "node:net";

/** The name without the final dot of the DNS root. */
export const bareName = (hostname: string): string => hostname.replace(/\.$/, "");

/** The host of a URL as a name or an address: IPv6 without its brackets. */
export const unbracketed = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, "$1");

/** True if a host, as a URL writes it (IPv6 in brackets), is this machine on its loopback interface. */
export function isLoopback(hostname: string): boolean {
  const name = bareName(hostname);
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    (isIP(name) === 4 && name.startsWith("127."))
  );
}

/** This machine on any of its interfaces. */
const UNSPECIFIED = ["0.0.0.0", "[::]"];

/** True if a proxy would resolve the host differently: it is this machine, or a name of the local network. */
function isNear(hostname: string): boolean {
  if (isLoopback(hostname) || UNSPECIFIED.includes(hostname)) return true;
  // An IPv4 address of this machine, written as IPv6.
  if (/^\[::ffff:7f[0-9a-f]{2}:/.test(hostname)) return true;
  return !/[.:]/.test(hostname);
}

/** True if a request to `url` goes past a proxy of the environment: to this machine, or to a name without a dot. */
export function passesProxy(url: string): boolean {
  const hostname = URL.parse(url)?.hostname;
  return hostname !== undefined && isNear(hostname);
}

/**
 * Options of `fetch` for a request to `url`. They keep Bun from using a proxy of the environment (`HTTP_PROXY` and
 * others) for this machine and for names without a dot, such as those of containers. Other runtimes ignore them.
 */
export const proxyOptions = (url: string): RequestInit =>
  // Only `false` turns the environment's proxy off; Bun's types do not have it.
  passesProxy(url) ? ({ proxy: false } as RequestInit) : {};
