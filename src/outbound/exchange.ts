/** One request over one connection: to an address that was checked, directly or through a proxy. */

import http from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import { OUTBOUND } from "../limits.ts";
import { codeOf } from "../log.ts";
import { unbracketed } from "../loopback.ts";
import { openConnection, type PeerBytes } from "./connection.ts";
import { type OutboundAnswer, OutboundError, type OutboundRequest } from "./guard.ts";
import type { Resolve } from "./resolver.ts";
import { connectThrough, type ProxyAddress, TunnelError } from "./tunnel.ts";

/** Codes of errors before a byte was sent. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ETIMEDOUT",
]);

/** The owner of look-ups of the proxy. */
const PROXY = "proxy";

/** Where a request goes, and how. */
export interface Way {
  readonly url: URL;
  readonly address: string;
  /** Null connects directly. */
  readonly via: ProxyAddress | null;
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
  readonly resolve: Resolve;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
}

interface Sending extends Way, Pick<OutboundRequest, "method" | "headers" | "body"> {
  /** What the answer may have, its headers and the responses before it (1xx) included. */
  readonly expects: PeerBytes;
  /** True: the answer has no end. The abort of `signal` closes its connection. */
  readonly lasts?: boolean;
}

/** Takes the answer over from its head on. `fail` ends the request with an error. */
type Receive<T> = (response: http.IncomingMessage, fail: (error: unknown) => void) => Promise<T>;

/** Parts in which a body may arrive: each costs work, however short it is. */
const PARTS = 32_768;

/** Reads the whole body. */
export function wholeAnswer(
  response: http.IncomingMessage,
  max_bytes: number,
  fail: (error: unknown) => void,
): Promise<OutboundAnswer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on("data", (part: Buffer) => {
      bytes += part.length;
      parts.push(part);
      if (bytes > max_bytes || parts.length > PARTS) fail(new OutboundError("answer_too_large"));
    });
    response.on("error", fail);
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(parts),
      }),
    );
  });
}

/**
 * Sends over `node:http`, since `fetch` takes a proxy from the environment and counts no bytes. The connection is not
 * kept, so that each request checks the name in the certificate.
 */
export async function send<T>(sending: Sending, receive: Receive<T>): Promise<T> {
  const { url, via, signal } = sending;
  if (!via) {
    const { host, port } = endOf(url);
    const connection = openConnection({ ...sending, port });
    const secure = url.protocol === "https:";
    const socket = secure ? connection.secure({ ...sending, host }) : connection.socket;
    return exchange(sending, socket, receive);
  }
  const tunnel = await openTunnel(sending, via);
  // Whoever reads an answer without an end aborts.
  if (sending.lasts) signal.addEventListener("abort", () => tunnel.destroy(), { once: true });
  const answer = exchange(sending, tunnel, receive);
  return sending.lasts ? answer : answer.finally(() => tunnel.destroy());
}

/** Sets up TLS with the target through the proxy. */
function openTunnel(sending: Sending, proxy: ProxyAddress): Promise<Duplex> {
  const { url, resolve } = sending;
  const addressesOfProxy = async () =>
    isIP(proxy.host)
      ? [proxy.host]
      : (await resolve(proxy.host, PROXY)).slice(0, OUTBOUND.addresses);
  return connectThrough({ ...sending, ...endOf(url), proxy, addressesOfProxy }).catch(
    (error: unknown) => {
      throw toOutboundError(error);
    },
  );
}

/** The host, as a name or an address without brackets, and the port. */
export function endOf({ hostname, port, protocol }: URL) {
  return {
    host: unbracketed(hostname),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}

/** Responses before the final one (1xx) that are read: a peer sends one or two, such as hints. */
const EARLY_RESPONSES = 16;

/** Sends the request over a connection to the target, which includes TLS. */
function exchange<T>(sending: Sending, socket: Duplex, receive: Receive<T>): Promise<T> {
  const { url, method, headers, body, signal } = sending;
  return new Promise((resolve, reject) => {
    const give_up = (error: unknown) => reject(toOutboundError(error));
    const request = http.request(
      {
        path: url.pathname + url.search,
        method,
        // An agent would make another connection.
        createConnection: () => socket,
        signal,
        headers: {
          ...headers,
          host: url.host,
          connection: "close",
          ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        },
      },
      (response) => {
        const fail = (error: unknown) => {
          give_up(error);
          response.destroy(error as Error);
        };
        // The connection says why it ended, where the response says only that it did.
        socket.once("error", fail);
        receive(response, fail).then(resolve, fail);
      },
    );
    let early = 0;
    request.on("information", () => {
      if (++early > EARLY_RESPONSES) request.destroy(new OutboundError("answer_too_large"));
    });
    request.on("error", give_up);
    request.end(body);
  });
}

/** True if no byte was sent to the target. */
export const isUnconnected = (error: unknown): boolean =>
  error instanceof TunnelError || NOT_CONNECTED.has(codeOf(error));

export function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const name = codeOf(error);
  if (isUnconnected(error)) return new OutboundError("unreachable", { cause: error });
  const is_tls = /^ERR_(TLS|SSL)|CERT|UNABLE_TO_|SELF_SIGNED|HOSTNAME_MISMATCH/.test(name);
  return new OutboundError(is_tls ? "tls_failed" : "failed", { cause: error });
}
