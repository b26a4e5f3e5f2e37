/** An account that other browsers join, at the page's address on the network. */

import type { Person } from "../support/client.ts";
import { LAN_NAME } from "./browser.ts";

/** What the browser complains of at an address of plain http. */
export const OF_PLAIN_HTTP = /Cross-Origin-Opener-Policy/;

/** Pairings at the server at `url`. */
export function pairingsAt(url: string) {
  /** The page's address as another device on the network uses it, over plain http. */
  const lan = url.replace("127.0.0.1", LAN_NAME);
  return {
    lan,

    /** A link without its address. */
    atOf: (link: string) => link.slice(lan.length + 1),

    /** A pairing code of the account, with a link for the network. */
    async newCode({ token }: Pick<Person, "token">) {
      const response = await fetch(`${url}/v1/pairings`, {
        method: "POST",
        body: "{}",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          host: new URL(lan).host,
        },
      });
      return (await response.json()) as { code: string; url: string };
    },
  };
}
