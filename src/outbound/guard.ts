/**
 * Requests to addresses that users give (§11.6): every address of the host is checked, and the connection goes to one
 * that was checked.
 */

import { isIP } from "node:net";
import type { Clock } from "../clock.ts";
import { isHost } from "../host-names.ts";
import { OUTBOUND } from "../limits.ts";
import { codeOf } from "../log.ts";
import { networksOf, type Reach, reachOf } from "./addresses.ts";
import type { PeerBytes } from "./connection.ts";
import { endOf, isUnconnected, send, toOutboundError, type Way, wholeAnswer } from "./exchange.ts";
import { createLineReader, type LineBounds } from "./lines.ts";
import { createResolver, type Resolve } from "./resolver.ts";
import { proxyOf } from "./tunnel.ts";

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
  /** Id of the account that gave the URL, or another name if several did: each owner has a share of the look-ups. */
  readonly owner: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** Without `Host`, `Content-Length` and `Connection`, which are added. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
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

/** A request whose answer has no end. */
export interface LinesRequest extends Pick<OutboundRequest, "url" | "owner" | "headers"> {
  readonly bounds: LineBounds;
  /** Ends the answer. */
  readonly signal: AbortSignal;
}

export interface OutboundLines {
  /** Any status. Redirects are not followed. */
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: OutboundAnswer["headers"];
  /**
   * The lines of the body as they arrive, without their ends; an overlong one is left out. Throws {@link
   * OutboundError}: `timed_out` without a line for `idle` seconds, `answer_too_large` beyond the bounds, or as
   * {@link OutboundRequest.signal} says. Leaving the loop closes the connection.
   */
  readonly lines: AsyncIterable<string>;
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

/** Characters of the URL of an answer without an end, to which a channel has added what it listens for. */
const LINES_URL_CHARACTERS = 4_000;

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

  /** Calls `attempt` for each address of the host in turn, until one can be connected to. */
  const overAddresses = async <T>(
    url: URL,
    owner: string,
    signal: AbortSignal,
    attempt: (to: Way) => Promise<T>,
  ): Promise<T> => {
    const targets = await addressesOf(url, owner);
    for (const [index, { address, reach }] of targets.entries()) {
      const via = reach === "public" ? proxy : null;
      try {
        return await attempt({ url, address, via, ca, signal, resolve, timers });
      } catch (error) {
        const more = index + 1 < targets.length && !signal.aborted;
        if (!more || !isUnconnected((error as Error).cause)) throw error;
      }
    }
    throw new OutboundError("unreachable");
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
      const { owner, seconds, signal: outer, max_bytes = OUTBOUND.answer_bytes } = request;
      const expects = expecting(max_bytes);
      return within({ timers, seconds, outer }, async (signal) => {
        return overAddresses(url, owner, signal, (to) =>
          send({ ...request, ...to, expects }, (response, fail) =>
            wholeAnswer(response, max_bytes, fail),
          ),
        );
      });
    },

    /**
     * Makes a GET request whose answer has no end, and returns when its head has arrived, within
     * {@link OUTBOUND.seconds}; or throws {@link OutboundError}. The caller bounds how many are open.
     */
    async lines(request: LinesRequest): Promise<OutboundLines> {
      const url = parse(request.url, LINES_URL_CHARACTERS);
      const { owner, headers, signal: outer, bounds } = request;
      const ended = new AbortController();
      const leave = () => ended.abort(outer.reason);
      outer.addEventListener("abort", leave, { once: true });
      const over = () => {
        outer.removeEventListener("abort", leave);
        // Later: a short answer may end before its head was handed over.
        setImmediate(() => ended.abort());
      };
      try {
        outer.throwIfAborted();
        return await within({ timers, outer }, (head) => {
          head.addEventListener("abort", () => ended.abort(head.reason), { once: true });
          const expects = expecting(bounds.burst, bounds.per_second);
          const sending = { method: "GET", headers, lasts: true, expects } as const;
          return overAddresses(url, owner, ended.signal, (to) =>
            send({ ...sending, ...to }, async (response) => ({
              status: response.statusCode ?? 0,
              headers: response.headers,
              lines: createLineReader(response, { timers, bounds, signal: ended.signal, over }),
            })),
          );
        });
      } catch (error) {
        over();
        throw toOutboundError(error);
      }
    },
  };
}

/** Bytes of an answer before its body. */
const HEAD = 32_768;
/** What a peer may send for a body of this size: its chunks have headers of their own. */
const expecting = (body: number, per_second = 0): PeerBytes => ({
  at_once: HEAD + 2 * body,
  per_second: 2 * per_second,
});

/** Parses an absolute http(s) URL without credentials or fragment; throws {@link OutboundError}. */
function parse(text: string, most: number = OUTBOUND.url_characters): URL {
  const url = text.length <= most && URL.canParse(text) ? new URL(text) : null;
  const is_http = url?.protocol === "https:" || url?.protocol === "http:";
  const is_plain = url?.username === "" && url.password === "" && url.hash === "";
  if (!url || !is_http || !is_plain || !isHost(url)) {
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
