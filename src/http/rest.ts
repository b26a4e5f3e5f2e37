/** REST: binds each procedure to its route, once at the start. */

import { getPathParameters } from "trpc-to-openapi";
import type { z } from "zod";
import type { Context } from "../../routers/context.ts";
import type { Clock } from "../clock.ts";
import { type FieldReasons, fail, ServiceError, toProblem, UNKNOWN_FIELD } from "../errors.ts";
import { describeError, type Log } from "../log.ts";
import { cutMembers, parseJson, TOO_DEEP, TOO_DEEP_REASON } from "../overload/json-bounds.ts";
import { isGone, toServiceError } from "../rpc/errors.ts";
import { execute } from "../rpc/execute.ts";
import type { Procedures } from "../rpc/trpc-internals.ts";
import type { Signer } from "../signer.ts";
import { acceptsStream, answerStream, frame, lasts } from "./answer-stream.ts";
import { type Bodies, checkDeclaredSize, openLimits } from "./body.ts";
import type { CreateContext } from "./context.ts";
import type { Cors } from "./cors.ts";
import { idempotentRequestOf, keyFault } from "./idempotency.ts";
import { decoderOf, readQuery } from "./query.ts";
import type { RequestScope } from "./request-scope.ts";
import { chargeResponse, json, noContent, problem, STREAM_HEADERS } from "./respond.ts";

/** One method of a path. */
export type Handler = (request: Bun.BunRequest, scope: RequestScope) => Promise<Response>;

/** Every method of one path. */
export type Route<R extends Request = Bun.BunRequest> = (
  request: R,
  scope: RequestScope,
) => Promise<Response>;

interface RestOptions {
  readonly procedures: Procedures<Context>;
  readonly createContext: CreateContext;
  readonly bodies: Bodies;
  readonly cors: Cors;
  readonly signer: Signer;
  readonly clock: Clock;
  /** Routes that are not procedures: path, then method, then handler. */
  readonly extra: Readonly<Record<string, Readonly<Record<string, Handler>>>>;
}

/** Makes the routes of `Bun.serve`, with path parameters as `:name`. */
export function createRestRoutes(options: RestOptions): Record<string, Route> {
  const { procedures, createContext, bodies, signer, clock, extra } = options;
  const paths = new Map<string, Map<string, Handler>>();
  /** Paths that accept a ticket with some method. */
  const ticket_paths = new Set<string>();
  const add = (path: string, method: string, handle: Handler) => {
    const methods = paths.get(path) ?? new Map<string, Handler>();
    if (methods.has(method)) throw new Error(`two procedures for ${method} ${path}`);
    paths.set(path, methods.set(method, handle));
  };

  for (const procedure of procedures.values()) {
    const {
      openapi,
      status,
      query,
      body_optional,
      accepts_idempotency_key,
      access,
      consumes,
      pages,
      reads_first,
      limit,
      accepts_ticket,
    } = procedure.meta;
    if (!openapi) continue;
    const { path, method } = openapi;
    if (accepts_ticket) ticket_paths.add(path);
    const { shape } = procedure.input as z.ZodObject;
    const in_path = getPathParameters(path) as string[];
    const rest = Object.keys(shape).filter((field) => !in_path.includes(field));
    // A DELETE has a body only if its path and query do not hold all its fields.
    const of_body = rest.filter((field) => !query?.includes(field));
    const has_body = method !== "GET" && (method !== "DELETE" || of_body.length > 0);
    const in_query = new Set(has_body ? (query ?? []) : rest);
    const decoders = new Map(
      [...in_query].map((field) => [field, decoderOf(shape[field] as z.ZodType)]),
    );
    const call = execute(procedure);
    const open = access === "none" ? openLimits(limit) : undefined;
    // A read that takes items out of an inbox must not lose them to a refused answer.
    const refusable = method === "GET" && consumes !== true;
    const may_recall =
      access !== "none" && (reads_first === true || (method === "GET" && pages !== true));

    const handle: Handler = async (request, scope) => {
      let data: unknown = Object.create(null);
      let body: unknown;
      const rejected: Record<string, string> = accepts_idempotency_key ? keyFault(request) : {};
      if (has_body) {
        const text = await bodies.read(scope, { open });
        body = text === null || (text === "" && body_optional) ? {} : parseBody(text);
        if (body === TOO_DEEP) {
          rejected.body = TOO_DEEP_REASON;
        } else if (isObject(body)) {
          const members = cutMembers(body) as typeof body;
          for (const field of Object.keys(members)) {
            if (in_query.has(field) || in_path.includes(field)) {
              rejected[field] = UNKNOWN_FIELD;
            } else {
              (data as Record<string, unknown>)[field] = members[field];
            }
          }
        } else {
          data = body;
        }
      } else {
        checkDeclaredSize(request);
      }
      if (isObject(data)) {
        if (in_query.size > 0) readQuery(request.url, decoders, data, rejected);
        for (const field of in_path)
          data[field] = (request.params as Record<string, string>)[field];
      }

      const faults: FieldReasons | null = Object.keys(rejected).length > 0 ? rejected : null;
      // A wait begins only with a credential that is known to be valid.
      const waits = Boolean((data as { readonly wait?: unknown } | null)?.wait);
      const recall = may_recall && !waits;
      const ctx = await createContext(scope, faults, access === "none", recall);
      ctx.accepts_tickets = true;
      ctx.by_rest = true;
      if (accepts_idempotency_key) {
        const { caller } = ctx;
        const sent = { caller, path, params: request.params, body: () => body };
        ctx.idempotent_request = idempotentRequestOf(request, sent, signer);
      }
      const given = scope.credential.confirm(call(ctx, data));
      if (waits && acceptsStream(request) && (await lasts(given, clock)))
        return streamed(given, scope, { clock, route: `${request.method} ${path}` });
      const result = await given;
      if (status === 204) return noContent(scope);
      const response = json(result, ctx.outcome.existing ? 200 : (status ?? 200), scope, {
        refusable,
      });
      if (ctx.idempotent_request?.replayed) response.headers.set("idempotency-replayed", "true");
      return response;
    };
    add(path, method, handle);
  }

  for (const [path, methods] of Object.entries(extra)) {
    for (const [method, handle] of Object.entries(methods)) add(path, method, handle);
  }

  return Object.fromEntries(
    [...paths].map(([path, methods]) => [
      path.replace(/\{(\w+)\}/g, ":$1"),
      dispatch(path, methods, { ...options, tickets: ticket_paths.has(path) }),
    ]),
  );
}

/** Makes the route of a path: finds the handler of the method, and renders what it throws. */
function dispatch(
  path: string,
  methods: ReadonlyMap<string, Handler>,
  { cors, tickets }: RestOptions & { readonly tickets: boolean },
): Route {
  const allowed = [...methods.keys()];
  if (methods.has("GET")) allowed.push("HEAD");
  const allow = allowed.join(", ");
  const route: Route = async (request, scope) => {
    const { method } = request;
    const handle = methods.get(method === "HEAD" ? "GET" : method);
    if (!handle)
      return refuse(new ServiceError("method_not_allowed"), scope, `${method} ${path}`, { allow });
    try {
      return await handle(request, scope);
    } catch (error) {
      return refuse(error, scope, `${method} ${path}`);
    }
  };
  return cors.wrap(path, allowed, route, { tickets });
}

/** Renders an error as a response. An unexpected one is logged without its message, which may hold content. */
export function renderError(
  thrown: unknown,
  log: () => Log,
  route: string,
  headers: Record<string, string> = {},
): Response {
  const error = toServiceError(thrown);
  if (isGone(error)) return new Response(null, { status: 499 });
  if (error.code === "internal") logInternal(error, log(), route);
  return problem(error, headers);
}

/** Renders what a request threw. A refusal without a valid credential is charged to its address. */
export async function refuse(
  thrown: unknown,
  scope: RequestScope,
  route: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const error = await scope.charges.settleError(toServiceError(thrown));
  // A success that was made before is not sent.
  scope.id_is_sent = false;
  const log = () => scope.log();
  return renderError(error, log, route, { ...scope.charges.quota()?.headers, ...headers });
}

/** Answers a wait by a stream: a `message` with the body of the answer, or a `problem` (§6.7). */
function streamed(
  given: Promise<unknown>,
  scope: RequestScope,
  { clock, route }: { readonly clock: Clock; readonly route: string },
): Promise<Response> {
  const answer = given.then(
    (result) => frame("message", result),
    (thrown) => {
      const error = toServiceError(thrown);
      if (isGone(error)) return "";
      if (error.code === "internal") logInternal(error, scope.log(), route);
      return frame("problem", toProblem(error));
    },
  );
  const headers = { ...STREAM_HEADERS, ...scope.charges.quota()?.headers };
  return chargeResponse(new Response(answerStream({ answer, clock }), { headers }), scope);
}

/** Logs an unexpected error, without its message. */
export function logInternal(error: ServiceError, log: Log, route: string): void {
  log.error("internal error", { route, ...describeError(rootCause(error)) });
}

/** The error within the wrappers that tRPC puts around it. */
function rootCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? rootCause(error.cause) : error;
}

/** Parses a JSON body; returns `TOO_DEEP` for one that nests too deep. Throws `400 invalid_json`. */
function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return fail("invalid_json");
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
