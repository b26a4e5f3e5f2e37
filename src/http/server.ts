/** Binds every surface to one port of `Bun.serve`. */

import { ClientGone, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type Log, withFields } from "../log.ts";
import type { RequestMetrics } from "../observability/request-metrics.ts";
import type { Traces } from "../observability/traces.ts";
import type { createTurns } from "../overload/turns.ts";
import type { Cors } from "./cors.ts";
import { REQUEST_ID, type RequestIds } from "./request-id.ts";
import type { OpenRequestScope, RequestScope } from "./request-scope.ts";
import { type Route, refuse, renderError } from "./rest.ts";
import { HSTS } from "./security.ts";
import type { SourceCheck } from "./source-check.ts";
import type { Tls } from "./tls.ts";

/** Requests that one turn of the event loop handles; the rest wait for the next one. */
export const PER_TURN = 128;

interface ServerOptions {
  readonly hostname: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly routes: Readonly<Record<string, Route>>;
  /** Gets the path with its query, since the host of `request.url` may be invalid. */
  readonly trpc: (scope: RequestScope, path: string) => Promise<Response>;
  /** Names of the procedures at `/trpc`, each of which is a route of its own in the metrics. */
  readonly procedures: readonly string[];
  /** Handles `/admin/trpc`; null without an admin. */
  readonly adminTrpc: ServerOptions["trpc"] | null;
  readonly meter: RequestMetrics;
  readonly openScope: OpenRequestScope;
  readonly requestIds: RequestIds;
  /**
   * Bun handles every request of a packet in one turn of the event loop while each is answered at once, and one
   * packet can hold thousands. A pipelining connection is closed when one of them must wait (§1.2.9).
   */
  readonly turns: ReturnType<typeof createTurns>;
  readonly cors: Cors;
  readonly checkForm: SourceCheck["formFault"];
  /** Null serves http. */
  readonly tls: Tls | null;
  /** Tells by its headers if a request gets HSTS in its response; null if none does. */
  /** The `Date` of an answer; null: that of this machine's clock. */
  readonly date: () => string | null;
  readonly sendsHsts: ((headers: Headers) => boolean) | null;
  /** True from the signal that stops the process on: every response then closes its connection. */
  readonly stopping: () => boolean;
  /** Null without a collector of traces. */
  readonly traces: Traces | null;
  readonly log: Log;
}

/**
 * Seconds without a byte until a connection is closed: longer than the longest wait and the silence between two
 * pings, and short enough to get rid of a reader that stalls.
 */
const IDLE_TIMEOUT = LIMITS.wait_max + 10;

/** The label of unknown paths in the metrics. */
const NO_ROUTE = "unknown";

/** The handlers of every request to these surfaces, as `Bun.serve` takes them. */
function createHandlers(options: ServerOptions) {
  const { routes, trpc, adminTrpc, openScope, turns, cors, meter, log } = options;
  const { sendsHsts, stopping, requestIds, traces } = options;
  /**
   * Wraps a route in the checks that come before everything else, adds the headers that every response has, and measures
   * it. `label`: the path in metrics and log lines, without content.
   */
  const secure = <R extends Request>(path: string, route: Route<R>, label = path) => {
    const begin = meter.of(label);
    const traced = traces?.covers(label) ? traces : null;
    const respond = async (request: R, done: (status: number) => void): Promise<Response> => {
      const scope = openScope(request);
      // If it throws, `error` answers.
      let status = 500;
      try {
        const fault = options.checkForm(request, path);
        const response = await (fault ? refuse(fault, scope, label) : route(request, scope));
        status = response.status;
        if (!scope.id_is_sent) response.headers.set(REQUEST_ID, scope.id);
        if (sendsHsts?.(request.headers)) response.headers.set(...HSTS);
        const date = options.date();
        if (date !== null) response.headers.set("date", date);
        if (stopping()) response.headers.set("connection", "close");
        if (log.debug) {
          scope.log().debug?.("request", {
            route: `${request.method} ${label}`,
            status,
            ms: scope.durationMs(),
            about: scope.about,
          });
        }
        return response;
      } finally {
        done(status);
        traced?.answered(scope, label, status);
      }
    };
    const respondLater = (request: R, done: (status: number) => void) => {
      if (!request.signal.aborted) return respond(request, done);
      const response = renderError(new ClientGone(), () => log, label);
      done(response.status);
      return response;
    };
    return (request: R): Promise<Response> => {
      const done = begin(request);
      const later = turns.begin();
      return later ? later.then(() => respondLater(request, done)) : respond(request, done);
    };
  };
  const answer = (
    path: string,
    methods: readonly string[],
    handle: typeof trpc,
    label: string = path,
  ) =>
    secure(
      path,
      cors.wrap(path, methods, async (request: Request, scope) => {
        try {
          return await handle(scope, pathOf(request.url));
        } catch (error) {
          return refuse(error, scope, label);
        }
      }),
      label,
    );
  const call = (label: string) => answer("/trpc", ["GET", "POST"], trpc, label);
  const calls = new Map(options.procedures.map((name) => [name, call(`/trpc/${name}`)]));
  // Batches and unknown names.
  const other_calls = call("/trpc");
  const unknown = async () => fail("unknown_path");
  const elsewhere = answer("/", [], unknown, NO_ROUTE);
  const unknown_v1 = answer("/v1", [], unknown, NO_ROUTE);
  const admin = adminTrpc && answer("/admin/trpc", ["GET", "POST"], adminTrpc);
  /** Renders what no route caught. */
  const renderUncaught = (error: unknown): Response => {
    const request_id = requestIds.next();
    const response = renderError(error, () => withFields(log, { request_id }), "http");
    response.headers.set(REQUEST_ID, request_id);
    return response;
  };

  return {
    routes: Object.fromEntries(
      Object.entries(routes).map(([path, route]) => [
        path,
        secure(path, route, path.replace(/:(\w+)/g, "{$1}")),
      ]),
    ),
    fetch(request: Request) {
      const path = pathOf(request.url);
      const [, name] = /^\/trpc\/([^?]*)/.exec(path) ?? [];
      if (name !== undefined) return (calls.get(name) ?? other_calls)(request);
      if (admin && path.startsWith("/admin/trpc/")) return admin(request);
      return path.startsWith("/v1/") ? unknown_v1(request) : elsewhere(request);
    },
    error: renderUncaught,
  };
}

/** Starts to listen. Throws when the address is already in use. */
export function startServer(options: ServerOptions) {
  const { hostname, port, tls } = options;
  return Bun.serve({
    hostname,
    port,
    ...(tls && { tls: { cert: tls.cert, key: tls.key } }),
    idleTimeout: IDLE_TIMEOUT,
    // Bun's own 413 has no body, so Relay checks its limit before it reads a body.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    development: false,
    // Otherwise Bun lets a second server listen on the same port and share its requests.
    reusePort: false,
    ...createHandlers(options),
  });
}

/** The path and query of a URL, whose host may be invalid. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return start < 0 ? "/" : url.slice(start);
}
