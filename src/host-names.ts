/** Hosts in URLs that users give: which can exist (§11.6.1), and which are the same. */

import { isIP } from "node:net";
import { bareName, unbracketed } from "./loopback.ts";

/** Characters of a name without its final dot (RFC 1035 2.3.4). */
const NAME = 253;
/** A part of a name. More than RFC 1123 2.1 permits, since names of local networks may have `_`. */
const LABEL = /^[a-z0-9_-]{1,63}$/;

/** True if the host of a URL is an IP address, or a name that a name server can know: every part has characters. */
export function isHost({ hostname }: URL): boolean {
  if (isIP(unbracketed(hostname)) !== 0) return true;
  const name = bareName(hostname);
  return name.length <= NAME && name.split(".").every((label) => LABEL.test(label));
}

/** The host and port of a URL, by which shares are counted: a final dot makes no other host. Empty for no URL. */
export const hostOf = (url: string): string =>
  URL.parse(url)?.host.replace(/\.(?=$|:\d+$)/, "") ?? "";
