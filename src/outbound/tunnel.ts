/** Connects through the operator's proxy (§11.6.4). */

import http from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import { unbracketed } from "../loopback.ts";
import { type Connection, openConnection, type PeerBytes } from "./connection.ts";

/** The parts of `OUTBOUND_PROXY`. */
export interface ProxyAddress {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; a secret. */
  readonly authorization: string | undefined;
}

/** Parses the http(s) URL of a proxy, which may have a user name and a password. */
export function proxyOf(url: string): ProxyAddress {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "https:";
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    secure,
    host: unbracketed(hostname),
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    authorization:
      username === "" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/** The proxy opened no tunnel. No byte was sent to the target, so another address may be tried. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
}

interface Tunnel {
  readonly proxy: ProxyAddress;
  /** Finds the addresses of its host, to try in this order. */
  readonly addressesOfProxy: () => Promise<readonly string[]>;
  /** IP address or name that the proxy connects to. */
  readonly address: string;
  readonly port: number;
  /** Name that the certificate must be valid for, or an IP address. */
  readonly host: string;
  /** PEM of the authorities that tests trust instead of the system's. */
  readonly ca: string | undefined;
  /** What the proxy and the target may send. */
  readonly expects: PeerBytes;
  readonly timers: Pick<Clock, "after" | "elapsed">;
  readonly signal: AbortSignal;
}

/**
 * Sets up TLS with the target through a tunnel that the proxy opens to `address` (RFC 9110, section 9.3.6). Throws
 * {@link TunnelError} if the proxy opens none, or the error of TLS.
 */
export async function connectThrough({ addressesOfProxy, ...tunnel }: Tunnel): Promise<Duplex> {
  const { host, ca, signal } = tunnel;
  const tries = await addressesOfProxy().catch((cause: unknown) => {
    throw new TunnelError("no address of the proxy", { cause });
  });
  const connection = await firstOf(tries, (at) => openTunnel(tunnel, at), signal);
  signal.throwIfAborted();
  const secure = connection.secure({ host, ca });
  signal.addEventListener("abort", () => secure.destroy(), { once: true });
  await new Promise<void>((resolve, reject) => {
    secure.once("secureConnect", resolve);
    secure.once("error", reject);
    secure.once("close", () => reject(new Error("closed before TLS was set up")));
  }).catch((error: unknown) => {
    secure.destroy();
    throw error;
  });
  return secure;
}

/** Returns the first tunnel that opens; throws the last error. */
async function firstOf(
  addresses: readonly string[],
  open: (address: string) => Promise<Connection>,
  signal: AbortSignal,
): Promise<Connection> {
  for (const [i, address] of addresses.entries()) {
    try {
      return await open(address);
    } catch (error) {
      if (i + 1 === addresses.length || signal.aborted) throw error;
    }
  }
  throw new TunnelError("no address of the proxy");
}

/** `at`: IP address of the proxy. */
function openTunnel(tunnel: Omit<Tunnel, "addressesOfProxy">, at: string): Promise<Connection> {
  const { proxy, address, port, ca, signal } = tunnel;
  const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const connection = openConnection({ ...tunnel, address: at, port: proxy.port });
  if (proxy.secure) connection.secure({ host: proxy.host, ca });
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown) => reject(new TunnelError("no tunnel", { cause }));
    const request = http.request({
      method: "CONNECT",
      path: authority,
      createConnection: () => connection.socket,
      signal,
      headers: {
        host: authority,
        ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
      },
    });
    request.once("connect", ({ statusCode = 0 }, socket, rest) => {
      // The target sends nothing before TLS, so a byte now comes from elsewhere.
      if (statusCode >= 200 && statusCode < 300 && rest.length === 0) return resolve(connection);
      socket.destroy();
      refuse(new Error(`the proxy answered with ${statusCode}`));
    });
    request.once("response", (response) => {
      response.resume();
      request.destroy();
      refuse(new Error(`the proxy answered with ${response.statusCode}`));
    });
    request.once("error", refuse);
    request.end();
  });
}
