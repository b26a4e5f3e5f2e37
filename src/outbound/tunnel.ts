/** Connections through the proxy that the operator names (docs/interface.md §11.6.4). */

import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";

/** `OUTBOUND_PROXY`, taken apart. */
export interface ProxyAddress {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; a secret. */
  readonly authorization: string | undefined;
}

/** The proxy of an http(s) URL, which may have a user name and a password. */
export function proxyOf(url: string): ProxyAddress {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "https:";
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    secure,
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    authorization:
      username === "" ? undefined : `Basic ${Buffer.from(credentials).toString("base64")}`,
  };
}

/** The proxy opened no tunnel, so no byte was sent to the target: another address may be tried. */
export class TunnelError extends Error {
  override readonly name = "TunnelError";
}

interface Tunnel {
  readonly proxy: ProxyAddress;
  /** The addresses of its host, to try in this order. */
  readonly addressesOfProxy: () => Promise<readonly string[]>;
  /** IP address that the proxy connects to. */
  readonly address: string;
  readonly port: number;
  /** Name that the certificate must be valid for, or an IP address. */
  readonly host: string;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * TLS with the target, through a tunnel that the proxy opens to `address` (RFC 9110, section 9.3.6).
 * Throws a {@link TunnelError} when the proxy opens none, and the error of TLS.
 */
export async function connectThrough({
  host,
  ca,
  signal,
  addressesOfProxy,
  ...to
}: Tunnel): Promise<Duplex> {
  const tries = await addressesOfProxy().catch((cause: unknown) => {
    throw new TunnelError("no address of the proxy", { cause });
  });
  const socket = await firstOf(tries, (at) => openTunnel({ ...to, at, ca, signal }), signal);
  socket.on("error", ignore);
  signal.throwIfAborted();
  const secure = tls.connect({
    socket,
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  });
  secure.on("error", ignore);
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

/** For a connection that somebody else follows as well: a fault of it must not end the process. */
const ignore = () => {};

/** The first tunnel that comes about; throws the last error. */
async function firstOf(
  addresses: readonly string[],
  open: (address: string) => Promise<Duplex>,
  signal: AbortSignal,
): Promise<Duplex> {
  for (const [i, address] of addresses.entries()) {
    try {
      return await open(address);
    } catch (error) {
      if (i + 1 === addresses.length || signal.aborted) throw error;
    }
  }
  throw new TunnelError("no address of the proxy");
}

interface Opening extends Omit<Tunnel, "host" | "addressesOfProxy"> {
  /** IP address of the proxy. */
  readonly at: string;
}

function openTunnel({ proxy, at, address, port, ca, signal }: Opening): Promise<Duplex> {
  const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown) => reject(new TunnelError("no tunnel", { cause }));
    const request = (proxy.secure ? https : http).request({
      host: at,
      port: proxy.port,
      method: "CONNECT",
      path: authority,
      agent: false,
      signal,
      headers: {
        host: authority,
        ...(proxy.authorization !== undefined && { "proxy-authorization": proxy.authorization }),
      },
      ...(proxy.secure && {
        servername: isIP(proxy.host) ? "" : proxy.host,
        ...(ca !== undefined && { ca }),
      }),
    });
    request.once("connect", ({ statusCode = 0 }, socket, rest) => {
      // The target sends nothing before TLS, so a byte now does not come from it.
      if (statusCode >= 200 && statusCode < 300 && rest.length === 0) return resolve(socket);
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
