/** The address of a server, as people type it. */

import { Fault } from "./io.ts";

/** The base address as typed, without its last slash. Throws a {@link Fault} that names it if it is none. */
export function baseOf(text: string, name = text): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Fault(`${name} is not the address of a server, such as https://relay.example`);
  }
  return url.href.replace(/\/+$/, "");
}
