/**
 * `fetch` for known hosts, such as push services: to an address that Relay looked up itself, and never through a proxy
 * of the environment (§11.6.4, §11.6.5).
 */

import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import { OUTBOUND } from "../limits.ts";
import { codeOf } from "../log.ts";
import { unbracketed } from "../loopback.ts";
import { LOOK_UP } from "./limits.ts";
import type { Resolve } from "./resolver.ts";

/** Options of `fetch`, with the headers as an object. */
export type DirectInit = Omit<RequestInit, "headers"> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls?: Readonly<Record<string, unknown>>;
  readonly protocol?: string;
};

export interface DirectFetch {
  /**
   * Sends as `fetch` does, and keeps connections. `Host` has the host of the URL, for which the certificate must be
   * valid. Throws the error of `fetch`, or a `LookUpError`.
   */
  send(url: string, init: DirectInit): Promise<Response>;
  /** Returns the addresses of a host, remembered for `LOOK_UP.known_for` seconds; those that failed come last. */
  addressesOf(host: string): Promise<readonly string[]>;
}

interface DirectFetchOptions {
  readonly resolve: Resolve;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "elapsed">;
}

/** Codes of errors before a byte was sent. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ConnectionRefused|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|FailedToOpenSocket)/;

export function createDirectFetch({ resolve, timers }: DirectFetchOptions): DirectFetch {
  const known = new Map<
    string,
    { readonly addresses: Promise<string[]>; readonly until: number }
  >();

  const addressesOf = async (host: string): Promise<string[]> => {
    if (isIP(host)) return [host];
    const now = timers.elapsed();
    const remembered = known.get(host);
    if (remembered && remembered.until > now) return remembered.addresses;
    known.delete(host);
    if (known.size >= LOOK_UP.known_hosts) known.delete(known.keys().next().value!);
    // All requests of a host share one look-up. Its failure is not remembered.
    const addresses = resolve(host, host).then((found) => found.slice(0, OUTBOUND.addresses));
    const entry = { addresses, until: now + LOOK_UP.known_for };
    known.set(host, entry);
    return addresses.catch((error: unknown) => {
      if (known.get(host) === entry) known.delete(host);
      throw error;
    });
  };

  const sendTo = (address: string, { url, init }: { url: URL; init: DirectInit }) => {
    const { host, hostname } = url;
    const at = new URL(url);
    at.hostname = isIP(address) === 6 ? `[${address}]` : address;
    const name = isIP(unbracketed(hostname)) === 0 ? { serverName: hostname } : {};
    return fetch(at, {
      ...init,
      headers: { ...init.headers, host },
      // False also ignores the proxy that the environment names.
      proxy: false,
      tls: { ...init.tls, ...name },
    } as unknown as RequestInit);
  };

  return {
    addressesOf,

    async send(text, init) {
      const url = new URL(text);
      const addresses = await addressesOf(unbracketed(url.hostname));
      for (const [i, address] of [...addresses].entries()) {
        init.signal?.throwIfAborted();
        try {
          return await sendTo(address, { url, init });
        } catch (error) {
          // The next try, here or in another request, takes another address.
          addresses.push(...addresses.splice(addresses.indexOf(address), 1));
          const connected = !NOT_CONNECTED.test(codeOf(error));
          if (connected || i + 1 === addresses.length) throw error;
        }
      }
      throw new TypeError("no address");
    },
  };
}
