/** Sends one request and reads its JSON response. */

import { errorOf, noResponse, RelayError } from "./error.ts";
import { abortWith } from "./signals.ts";
import { systemTimers, type Timers } from "./timers.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How to reach a server, and as whom. */
export interface ClientOptions {
  /** Base address, such as `https://relay.example`; it may have a path. */
  readonly url: string;
  /** Account token or API key (docs/interface.md §4.1.1); absent for routes that need none. */
  readonly credential?: string;
  /** Name of this machine, shown as the host of the agent (docs/interface.md §1.6). */
  readonly agent_host?: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch;
  /** Replaces the real timers, for tests. */
  readonly timers?: Timers;
}

export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of the calls that accept an `Idempotency-Key` (docs/interface.md §8.1). */
export interface IdempotentOptions extends CallOptions {
  /** 1 to 255 characters; see `createIdempotencyKey`. */
  readonly idempotency_key?: string;
}

type QueryValue = string | number | boolean | readonly string[] | undefined;

interface Sent {
  /** Parameters of the query; lists are joined by commas, undefined ones left out (§1.5.1). */
  readonly query?: { readonly [name: string]: QueryValue };
  readonly body?: object;
  /** Seconds that the request waits at the server (docs/interface.md §6). */
  readonly wait?: number | undefined;
  /** A further status whose body is a result. */
  readonly also?: number;
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * Sends a request and gives its body: parsed JSON, undefined for `204`. Throws {@link RelayError}, or the
 * reason of an aborted signal.
 */
export type Send = <Result>(
  method: Method,
  path: string,
  sent?: Sent,
  options?: IdempotentOptions,
) => Promise<Result>;

/** Seconds that the server has to answer: it takes at most 5 (docs/interface.md §11.4.1). */
const RESPONSE_WITHIN = 15;

/** {@link ClientOptions} with the defaults filled in. */
export interface Connection {
  readonly url: (path: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly timers: Timers;
}

/** A text as a header holds it: its bytes in UTF-8, without the control characters that `fetch` refuses. */
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
    // Called as a plain function: a browser's `fetch` refuses to be a method of something else.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timers,
  };
}

export function createSend(connection: Connection): Send {
  const { url, headers, timers } = connection;
  return async (method, path, { query = {}, body, wait, also } = {}, options = {}) => {
    const { signal, idempotency_key } = options;
    signal?.throwIfAborted();
    const late = new AbortController();
    const detach = abortWith(late, signal);
    const cancel = timers.after(RESPONSE_WITHIN + (wait ?? 0), () => late.abort());
    try {
      const response = await connection.fetch(url(path) + queryText({ ...query, wait }), {
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

/** A path with its parameters encoded. */
export function path(parts: TemplateStringsArray, ...parameters: readonly string[]): string {
  return String.raw({ raw: parts }, ...parameters.map(encodeURIComponent));
}
