/**
 * Requests to addresses that users give (§11.6): every address of the host is checked, and the connection goes to one
 * that was checked.
 */

import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import { OUTBOUND } from "../limits.ts";
import { codeOf } from "../log.ts";
import { unbracketed } from "../loopback.ts";
import { networksOf, type Reach, reachOf } from "./addresses.ts";
import { createResolver, type Resolve } from "./resolver.ts";
import { connectThrough, type ProxyAddress, proxyOf, TunnelError } from "./tunnel.ts";

/**
 * Why a request got no answer. `invalid_url` and `forbidden_address` are final; after the others, another attempt may
 * succeed.
 */
export type OutboundFault =
  | "invalid_url"
  | "forbidden_address"
  | "unknown_host"
  | "unreachable"
  | "tls_failed"
  | "timed_out"
  | "answer_too_large"
  | "failed";

/** The message is only the fault, without URL or address, so it can be shown. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  constructor(
    readonly fault: OutboundFault,
    options?: ErrorOptions,
  ) {
    super(fault, options);
  }
}

export interface OutboundRequest {
  readonly url: string;
  /** Id of the account that gave the URL: each account has a share of the look-ups. */
  readonly owner: string;
  readonly method: "GET" | "POST";
  /** Without `Host`, `Content-Length` and `Connection`, which are added. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Most bytes of the answer's body; {@link OUTBOUND.answer_bytes} by default. */
  readonly max_bytes?: number;
  /** Seconds until the request is given up; {@link OUTBOUND.seconds} by default. */
  readonly seconds?: number;
  /** Ends the request as `failed`, or with the reason of the abort if that is an {@link OutboundError}. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  /** Any status. Redirects are not followed. */
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As sent, and so still compressed if the server compressed it unasked. */
  readonly body: Buffer;
}

export interface OutboundOptions {
  /** Private networks that are allowed (`OUTBOUND_PRIVATE`), in CIDR notation. */
  readonly private_networks: readonly string[];
  /** URL of the proxy for public addresses (`OUTBOUND_PROXY`). */
  readonly proxy?: string | undefined;
  /** PEM of the authorities that tests trust instead of the system's. */
  readonly ca?: string;
  /** Finds the addresses of a host; a new resolver by default. */
  readonly resolve?: Resolve;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
}

export type Outbound = ReturnType<typeof createOutbound>;

/** An address of the host of a URL. */
interface Target {
  readonly address: string;
  readonly reach: Reach;
}

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

/** True if no name server answered, so that nothing is known of the name. */
const isUnanswered = (error: unknown): boolean => codeOf(error) === "DNS_ETIMEOUT";

export function createOutbound(options: OutboundOptions) {
  const { ca, timers, resolve = createResolver({ timers }) } = options;
  const allowed = networksOf(options.private_networks);
  const proxy = options.proxy === undefined ? null : proxyOf(options.proxy);

  /** Returns the addresses to try. Throws {@link OutboundError} unless all addresses of the host are allowed. */
  const addressesOf = async (url: URL, owner: string): Promise<readonly Target[]> => {
    const { host } = endOf(url);
    const found = isIP(host)
      ? [host]
      : await resolve(host, owner).catch((cause: unknown) => {
          throw new OutboundError(isUnanswered(cause) ? "timed_out" : "unknown_host", { cause });
        });
    if (found.length === 0) throw new OutboundError("unknown_host");
    const targets = found.map((address) => ({ address, reach: reachOf(address, allowed) }));
    for (const { reach } of targets) {
      if (reach === "refused") throw new OutboundError("forbidden_address");
      // Others on the way could read and change what is sent over plain http.
      if (reach === "public" && url.protocol === "http:") throw new OutboundError("invalid_url");
    }
    return targets.slice(0, OUTBOUND.addresses);
  };

  return {
    /**
     * Throws {@link OutboundError} if the URL cannot be called, for the `422` of its giver. {@link request} checks again,
     * since that may change. `owner`: id of the account that the URL is from.
     */
    async check(url: string, owner: string): Promise<void> {
      const parsed = parse(url);
      await within({ timers }, () => addressesOf(parsed, owner));
    },

    /**
     * Returns the answer, or throws {@link OutboundError} within `seconds`, whatever name server and host do. The caller
     * bounds how many requests are under way.
     */
    async request(request: OutboundRequest): Promise<OutboundAnswer> {
      const url = parse(request.url);
      const { owner, seconds, signal: outer } = request;
      return within({ timers, seconds, outer }, async (signal) => {
        const targets = await addressesOf(url, owner);
        for (const [index, { address, reach }] of targets.entries()) {
          const via = reach === "public" ? proxy : null;
          try {
            return await send({ ...request, url, address, via, ca, signal, resolve });
          } catch (error) {
            const more = index + 1 < targets.length && !signal.aborted;
            if (!more || !isUnconnected((error as Error).cause)) throw error;
          }
        }
        throw new OutboundError("unreachable");
      });
    },
  };
}

/** Parses an absolute http(s) URL without credentials or fragment; throws {@link OutboundError}. */
function parse(text: string): URL {
  const url = text.length <= OUTBOUND.url_characters && URL.canParse(text) ? new URL(text) : null;
  const is_http = url?.protocol === "https:" || url?.protocol === "http:";
  if (!url || !is_http || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new OutboundError("invalid_url");
  }
  return url;
}

interface Deadline {
  readonly timers: Pick<Clock, "after">;
  readonly seconds?: number | undefined;
  readonly outer?: AbortSignal | undefined;
}

/** Resolves with the work, or throws at the deadline or when the caller aborts. The work itself may go on. */
async function within<T>(
  { timers, seconds = OUTBOUND.seconds, outer }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const end = (error: unknown) => own.abort(error);
  const leave = () => {
    const reason: unknown = outer?.reason;
    end(reason instanceof OutboundError ? reason : new OutboundError("failed", { cause: reason }));
  };
  if (outer?.aborted) leave();
  outer?.addEventListener("abort", leave, { once: true });
  const cancel = timers.after(seconds, () => end(new OutboundError("timed_out")));
  const ended = Promise.withResolvers<never>();
  own.signal.addEventListener("abort", () => ended.reject(own.signal.reason), { once: true });
  ended.promise.catch(() => {});
  try {
    own.signal.throwIfAborted();
    return await Promise.race([work(own.signal), ended.promise]);
  } finally {
    cancel();
    outer?.removeEventListener("abort", leave);
  }
}

interface Sending extends Omit<OutboundRequest, "url" | "owner"> {
  readonly url: URL;
  readonly address: string;
  /** Null connects directly. */
  readonly via: ProxyAddress | null;
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
  readonly resolve: Resolve;
}

/**
 * Sends over `node:https`, since `fetch` takes a proxy from the environment. The connection is not kept, so that each
 * request checks the name in the certificate.
 */
async function send(sending: Sending): Promise<OutboundAnswer> {
  const { url, address, via, ca, signal, resolve } = sending;
  if (!via) return exchange(sending, null);
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
  return exchange(sending, tunnel).finally(() => tunnel.destroy());
}

/** The host, as a name or an address without brackets, and the port. */
function endOf({ hostname, port, protocol }: URL) {
  return {
    host: unbracketed(hostname),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}

/** Sends the request through a tunnel that includes TLS, or over a new connection. */
function exchange(sending: Sending, tunnel: Duplex | null): Promise<OutboundAnswer> {
  const { url, address, ca, method, headers, body, signal } = sending;
  const { max_bytes = OUTBOUND.answer_bytes } = sending;
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
        const parts: Buffer[] = [];
        let bytes = 0;
        response.on("data", (part: Buffer) => {
          bytes += part.length;
          parts.push(part);
          if (bytes <= max_bytes) return;
          give_up(new OutboundError("answer_too_large"));
          request.destroy();
        });
        response.on("error", give_up);
        response.on("aborted", () => give_up(new OutboundError("failed")));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts),
          }),
        );
      },
    );
    request.on("error", give_up);
    request.end(body);
  });
}

/** True if no byte was sent to the target. */
const isUnconnected = (error: unknown): boolean =>
  error instanceof TunnelError || NOT_CONNECTED.has(codeOf(error));

function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const name = codeOf(error);
  if (isUnconnected(error)) return new OutboundError("unreachable", { cause: error });
  const is_tls = /^ERR_(TLS|SSL)|CERT|UNABLE_TO_|SELF_SIGNED|HOSTNAME_MISMATCH/.test(name);
  return new OutboundError(is_tls ? "tls_failed" : "failed", { cause: error });
}
