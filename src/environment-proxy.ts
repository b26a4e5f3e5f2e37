/** For which requests the proxies of the environment (`HTTP_PROXY` and others) are not meant. */

import { isLoopback } from "./loopback.ts";

/** This machine, on whatever interface. */
const UNSPECIFIED = ["0.0.0.0", "[::]"];

/** A proxy would look for this host in its own place: this machine, or a name of the local network. */
function isNear(hostname: string): boolean {
  if (isLoopback(hostname) || UNSPECIFIED.includes(hostname)) return true;
  // An IPv4 address of this machine, written as IPv6.
  if (/^\[::ffff:7f[0-9a-f]{2}:/.test(hostname)) return true;
  return !/[.:]/.test(hostname);
}

/**
 * Options of `fetch` for a request to `url`: Bun sends it through the proxy that the environment
 * names, except to this machine and to names without a dot, such as those of containers. Other
 * `fetch` functions ignore them.
 */
export function proxyOptions(url: string): RequestInit {
  const hostname = URL.parse(url)?.hostname;
  // Bun's types do not know false, which alone turns the environment's proxy off.
  return hostname !== undefined && isNear(hostname) ? ({ proxy: false } as RequestInit) : {};
}
