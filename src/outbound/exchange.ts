/** One request over one connection: to an address that was checked, directly or through a proxy. */

import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { OUTBOUND } from "../limits.ts";
import { codeOf } from "../log.ts";
import { unbracketed } from "../loopback.ts";
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
}

interface Sending extends Way, Pick<OutboundRequest, "method" | "headers" | "body"> {
  /** True: the answer has no end. The abort of `signal` closes its connection. */
  readonly lasts?: boolean;
}

/** Takes the answer over from its head on. `fail` ends the request with an error. */
type Receive<T> = (response: http.IncomingMessage, fail: (error: unknown) => void) => Promise<T>;

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
      if (bytes > max_bytes) fail(new OutboundError("answer_too_large"));
    });
    response.on("error", fail);
    response.on("aborted", () => fail(new OutboundError("failed")));
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
 * Sends over `node:https`, since `fetch` takes a proxy from the environment. The connection is not kept, so that each
 * request checks the name in the certificate.
 */
export async function send<T>(sending: Sending, receive: Receive<T>): Promise<T> {
  const { url, address, via, ca, signal, resolve } = sending;
  if (!via) return exchange(sending, null, receive);
  const { host, port } = endOf(url);
  const addressesOfProxy = async () =>
    isIP(via.host) ? [via.host] : (await resolve(via.host, PROXY)).slice(0, OUTBOUND.addresses);
  const tunnel = await connectThrough({
    proxy: via,
    addressesOfProxy,
    address,
    port,
    host,
    ca,
    signal,
  }).catch((error: unknown) => {
    throw toOutboundError(error);
  });
  // Whoever reads an answer without an end aborts.
  if (sending.lasts) signal.addEventListener("abort", () => tunnel.destroy(), { once: true });
  const answer = exchange(sending, tunnel, receive);
  return sending.lasts ? answer : answer.finally(() => tunnel.destroy());
}

/** The host, as a name or an address without brackets, and the port. */
export function endOf({ hostname, port, protocol }: URL) {
  return {
    host: unbracketed(hostname),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}

/** Sends the request through a tunnel that includes TLS, or over a new connection. */
function exchange<T>(sending: Sending, tunnel: Duplex | null, receive: Receive<T>): Promise<T> {
  const { url, address, ca, method, headers, body, signal } = sending;
  const { host, port } = endOf(url);
  const secure = url.protocol === "https:" && !tunnel;
  return new Promise((resolve, reject) => {
    const give_up = (error: unknown) => reject(toOutboundError(error));
    const request = (secure ? https : http).request(
      {
        host: address,
        port,
        path: url.pathname + url.search,
        method,
        // An agent would make another connection.
        ...(tunnel ? { createConnection: () => tunnel } : { agent: false }),
        signal,
        headers: {
          ...headers,
          host: url.host,
          connection: "close",
          ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
        },
        ...(secure && { servername: isIP(host) ? "" : host, ...(ca !== undefined && { ca }) }),
      },
      (response) => {
        const fail = (error: unknown) => {
          give_up(error);
          request.destroy();
        };
        receive(response, fail).then(resolve, fail);
      },
    );
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
