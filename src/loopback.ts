/** Hosts that are this machine itself. */

import { isIP } from "node:net";

/** Without the dot of the DNS root. */
export const bareName = (hostname: string): string => hostname.replace(/\.$/, "");

/** Whether a host in serialized form, IPv6 in brackets, is this machine itself. */
export function isLoopback(hostname: string): boolean {
  const name = bareName(hostname);
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    (isIP(name) === 4 && name.startsWith("127."))
  );
}
