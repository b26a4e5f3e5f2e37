/** Connects through the operator's proxy (§11.6.4). */

import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { unbracketed } from "../loopback.ts";

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
  /** IP address that the proxy connects to. */
  readonly address: string;
  readonly port: number;
  /** Name that the certificate must be valid for, or an IP address. */
  readonly host: string;
  /** PEM of the authorities that tests trust instead of the system's. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sets up TLS with the target through a tunnel that the proxy opens to `address` (RFC 9110, section 9.3.6). Throws
 * {@link TunnelError} if the proxy opens none, or the error of TLS.
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

/** Listens to errors that are handled elsewhere, which would otherwise end the process. */
const ignore = () => {};

/** Returns the first tunnel that opens; throws the last error. */
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

interface TunnelAttempt extends Omit<Tunnel, "host" | "addressesOfProxy"> {
  /** IP address of the proxy. */
  readonly at: string;
}

function openTunnel({ proxy, at, address, port, ca, signal }: TunnelAttempt): Promise<Duplex> {
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
      // The target sends nothing before TLS, so a byte now comes from elsewhere.
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
