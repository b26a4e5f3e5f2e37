/**
 * Requests to addresses that users give: every address of the name is checked, and the connection
 * goes to one that was checked (docs/interface.md §11.6).
 */

import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import { OUTBOUND } from "../limits.ts";
import { networksOf, type Reach, reachOf } from "./addresses.ts";
import { createResolver, type Resolve } from "./resolver.ts";
import { connectThrough, type ProxyAddress, proxyOf, TunnelError } from "./tunnel.ts";

/**
 * Why a request had no answer. `invalid_url`, `forbidden_address`: it will never have one.
 * `unknown_host`, `unreachable`, `tls_failed`, `timed_out`, `answer_too_large`, `failed`: another
 * attempt may.
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

/** The message is the fault alone: it names neither the URL nor an address, so it can be shown. */
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
  /** Id of the account whose address it is: its look-ups have a share of their own. */
  readonly owner: string;
  readonly method: "GET" | "POST";
  /** `Host`, `Content-Length` and `Connection` are set here. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Bytes of the answer's body at most; {@link OUTBOUND.answer_bytes} when it is left out. */
  readonly max_bytes?: number;
  /** Seconds until it is given up; {@link OUTBOUND.seconds} when it is left out. */
  readonly seconds?: number;
  /** Ends it as `failed`, or with the reason of the abort if that is an {@link OutboundError}. */
  readonly signal?: AbortSignal;
}

export interface OutboundAnswer {
  /** Any status; a redirect is not followed. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it was sent: still compressed, if the server did that unasked. */
  readonly body: Buffer;
}

export interface OutboundOptions {
  /** Networks beside the public ones (`OUTBOUND_PRIVATE`), in CIDR notation. */
  readonly private_networks: readonly string[];
  /** URL of the proxy through which public addresses are reached (`OUTBOUND_PROXY`). */
  readonly proxy?: string | undefined;
  /** PEM of the authorities to trust instead of the system's, for tests. */
  readonly ca?: string;
  /** Every address of a name; a resolver of its own when it is left out. */
  readonly resolve?: Resolve;
  /** Time outside the process, which a test does not move. */
  readonly timers: Pick<Clock, "after" | "elapsed">;
}

export type Outbound = ReturnType<typeof createOutbound>;

/** Where a URL leads. */
interface Target {
  readonly address: string;
  readonly reach: Reach;
}

/** Errors of `connect`, before a byte was sent. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "ETIMEDOUT",
]);

/** Whose share of the look-ups the name of the proxy counts against. */
const PROXY = "proxy";

/** Whether a name server did not answer, so that nothing is known of the name. */
const isUnanswered = (error: unknown): boolean => codeOf(error) === "DNS_ETIMEOUT";

export function createOutbound(options: OutboundOptions) {
  const { ca, timers, resolve = createResolver({ timers }) } = options;
  const allowed = networksOf(options.private_networks);
  const proxy = options.proxy === undefined ? null : proxyOf(options.proxy);

  /** The addresses to try, all of them allowed; throws {@link OutboundError}. */
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
      // What is sent over plain http can be read and changed on its way.
      if (reach === "public" && url.protocol === "http:") throw new OutboundError("invalid_url");
    }
    return targets.slice(0, OUTBOUND.addresses);
  };

  return {
    /**
     * Throws {@link OutboundError} for a URL that can never be called, or not now: for the `422` of
     * whoever gives it. The answer holds for now alone, so {@link request} checks again. `owner`: id
     * of the account that gives it.
     */
    async check(url: string, owner: string): Promise<void> {
      const parsed = parse(url);
      await within({ timers }, () => addressesOf(parsed, owner));
    },

    /**
     * The answer, within `seconds` from now, whatever the name server and the other side do; throws
     * {@link OutboundError}. The caller bounds how many there are at once.
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

/** An absolute http(s) URL without credentials or a fragment. */
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

/** Resolves with the work, or throws at the deadline or the caller's abort; the work itself may go on. */
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
  /** Null: directly. */
  readonly via: ProxyAddress | null;
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
  readonly resolve: Resolve;
}

/**
 * Over `node:https`, which goes where it is told: `fetch` takes a proxy from the environment, and a
 * connection is not kept, so that the name in the certificate is checked each time.
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

/** Host as a name or an address, and port. */
function endOf({ hostname, port, protocol }: URL): {
  readonly host: string;
  readonly port: number;
} {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  return { host, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** Through a tunnel that TLS is part of, or over a connection of its own. */
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
        // With an agent of its own it would make another connection.
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

/** No byte was sent to the target. */
const isUnconnected = (error: unknown): boolean =>
  error instanceof TunnelError || NOT_CONNECTED.has(codeOf(error));

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const name = codeOf(error);
  if (isUnconnected(error)) return new OutboundError("unreachable", { cause: error });
  const is_tls = /^ERR_(TLS|SSL)|CERT|UNABLE_TO_|SELF_SIGNED|HOSTNAME_MISMATCH/.test(name);
  return new OutboundError(is_tls ? "tls_failed" : "failed", { cause: error });
}
