/** Sends one request and reads its JSON response. */

import { errorOf, noResponse, RelayError } from "./error.ts";
import { abortWith } from "./signals.ts";
import { systemTimers, type Timers } from "./timers.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ClientOptions {
  /** Base address, such as `https://relay.example`; it may have a path. */
  readonly url: string;
  /** Account token or API key (§4.1.1); not needed for some routes. */
  readonly credential?: string;
  /** Name of this machine, shown as the agent's host (§1.6). */
  readonly agent_host?: string;
  /** Used instead of the global `fetch`. */
  readonly fetch?: Fetch;
  /** Used instead of the real timers, in tests. */
  readonly timers?: Timers;
}

export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of calls that accept an `Idempotency-Key` (§8.1). */
export interface IdempotentOptions extends CallOptions {
  /** 1 to 255 characters; see `createIdempotencyKey`. */
  readonly idempotency_key?: string;
}

export type QueryValue = string | number | boolean | readonly string[] | undefined;

interface RequestParts {
  /**
   * Lists are joined by commas, and undefined parameters are left out (§1.5.1). `wait`: the seconds that the
   * request waits at the server (§6).
   */
  readonly query?: { readonly [name: string]: QueryValue };
  readonly body?: object;
  /** A further status whose body is a result. */
  readonly also?: number;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * Sends a request and returns the body of its response: parsed JSON, undefined for `204`. Throws
 * {@link RelayError}, or the reason of an aborted signal.
 */
export type Send = <Result>(
  method: Method,
  path: string,
  parts?: RequestParts,
  options?: IdempotentOptions,
) => Promise<Result>;

/** Seconds that the server has to respond; it takes at most 5 (§11.4.1). */
const RESPONSE_WITHIN = 15;

/** {@link ClientOptions} with defaults. */
export interface Connection {
  readonly url: (path: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly timers: Timers;
}

/** Encodes a text for a header: UTF-8, without the control characters that `fetch` refuses. */
const headerText = (text: string): string =>
  String.fromCharCode(...new TextEncoder().encode(text.replace(/\p{Cc}/gu, "")));

export function connectionOf(options: ClientOptions): Connection {
  const { credential, agent_host, timers = systemTimers } = options;
  const base = options.url.replace(/\/+$/, "");
  return {
    url: (path) => base + path,
    headers: {
      ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      ...(agent_host !== undefined && { "x-agent-host": headerText(agent_host) }),
    },
    // A browser's `fetch` cannot be called as a method of another object.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timers,
  };
}

export function createSend(connection: Connection): Send {
  const { url, headers, timers } = connection;
  return async (method, path, { query = {}, body, also } = {}, options = {}) => {
    const { signal, idempotency_key } = options;
    signal?.throwIfAborted();
    const late = new AbortController();
    const detach = abortWith(late, signal);
    const cancel = timers.after(RESPONSE_WITHIN + Number(query.wait ?? 0), () => late.abort());
    try {
      const response = await connection.fetch(url(path) + queryText(query), {
        method,
        headers: {
          ...headers,
          ...(body && { "content-type": "application/json" }),
          ...(idempotency_key !== undefined && { "idempotency-key": idempotency_key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: late.signal,
      });
      if (!response.ok && response.status !== also) throw await errorOf(response);
      if (response.status === 204) return undefined;
      const text = await response.text();
      return parse(text, response.status);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof RelayError ? error : noResponse(error);
    } finally {
      cancel();
      detach();
    }
  };
}

function parse(text: string, status: number) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RelayError("unexpected_response", "The response is not JSON", { status, cause });
  }
}

function queryText(query: { readonly [name: string]: QueryValue }): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size > 0 ? `?${parameters}` : "";
}
