/** `/trpc` and `/admin/trpc`: procedures for typed clients (docs/interface.md 13). */

import type { AnyTRPCRouter } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { AdminContext } from "../../routers/admin.ts";
import { invalidFields, ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import { createBatchBudget } from "../overload/batch-budget.ts";
import { nestingOf, TOO_DEEP_REASON } from "../overload/json-bounds.ts";
import { createTurns } from "../overload/turns.ts";
import { toServiceError, toTrpcError } from "../rpc/errors.ts";
import { proceduresOf } from "../rpc/trpc-internals.ts";
import type { Signer } from "../signer.ts";
import { type Bodies, checkDeclaredSize, openLimits } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { takeIdempotencyKey } from "./idempotency.ts";
import type { RequestScope } from "./request-scope.ts";
import { errorHeaders, measured } from "./respond.ts";
import { API_SECURITY } from "./security.ts";

interface TrpcOptions {
  /** The path that the names of procedures follow. */
  readonly endpoint: "/trpc" | "/admin/trpc";
  readonly router: AnyTRPCRouter;
  /** The context of the router's procedures. */
  readonly createContext: (scope: RequestScope) => Promise<RequestContext | AdminContext>;
  readonly bodies: Bodies;
  /** Signs digests of an `Idempotency-Key`; null where no procedure accepts one. */
  readonly signer: Signer | null;
  readonly log: Log;
}

/** Handles every request under the endpoint, at most 20 calls in one batch. */
export function createTrpcHandler(options: TrpcOptions) {
  const { endpoint, router, createContext, bodies, signer, log } = options;
  /** One batch begins in each turn of the event loop, since its calls take milliseconds. */
  const turn = createTurns(1);
  const procedures = proceduresOf(router);
  const metaOf = (name: string) => procedures.get(name)?.meta;

  /** The body of a mutation as text; null for a query, which has none. */
  const readBody = async (scope: RequestScope, path: string): Promise<string | null> => {
    if (scope.request.method !== "POST") {
      checkDeclaredSize(scope.request);
      return null;
    }
    const metas = namesOf(path, endpoint).map(metaOf);
    const is_open = metas.every((meta) => meta?.access === "none");
    const open = is_open ? metas.flatMap((meta) => openLimits(meta?.limit)) : undefined;
    return (await bodies.read(scope, { open })) ?? "{}";
  };

  const isKnown = (name: string) => procedures.has(name);

  return async (scope: RequestScope, sent_path: string): Promise<Response> => {
    const { request } = scope;
    const path = hideUnknown(sent_path, endpoint, isKnown);
    const sent = await readBody(scope, path).catch(toServiceError);
    const nesting = nestingOf(typeof sent === "string" ? sent : inputOf(path));
    const too_deep = nesting === "deep";
    // Input that nests too deep never reaches the parser: a short text gives the same refusal.
    const body = nesting === "shallow" ? sent : too_deep ? "{}" : "{";
    if (namesOf(path, endpoint).length > 1) await turn();
    const headers = new Headers(request.headers);
    headers.set("content-type", "application/json");
    // Before any call, so that the caller of a refused one is known.
    const context = await createContext(scope).catch(toServiceError);
    if (too_deep && "rejected" in context) context.rejected = { body: TOO_DEEP_REASON };
    const answer = await fetchRequestHandler({
      endpoint,
      router,
      maxBatchSize: LIMITS.trpc_batch,
      req: new Request(`http://localhost${path}`, {
        method: request.method,
        headers,
        signal: request.signal,
        ...(request.method === "POST" && { body: typeof body === "string" ? body : "{}" }),
      }),
      // A body that could not be read fails here, so that tRPC gives the error its own shape.
      async createContext({ info }) {
        if (body instanceof ServiceError) throw toTrpcError(body);
        if (context instanceof ServiceError) throw toTrpcError(context);
        if (signer && !too_deep && "idempotent_request" in context)
          await takeIdempotencyKey(request, info, context, { metaOf, signer });
        if ("batch" in context && info.calls.length > 1) context.batch = createBatchBudget();
        return context;
      },
      responseMeta({ errors, info }) {
        const headers: Record<string, string> = { "cache-control": "no-store", ...API_SECURITY };
        for (const error of errors) Object.assign(headers, errorHeaders(toServiceError(error)));
        // Without `info` the request itself was refused, and its calls have no status.
        const [refusal] = info ? [] : errors;
        if (refusal) headers["content-type"] = "application/json";
        return { headers, ...(refusal && { status: toServiceError(refusal).status }) };
      },
      onError({ error, path: name }) {
        const whole = name === undefined && toServiceError(error).code === "invalid_fields";
        const refused = whole ? refuseBatch(scope, context) : toServiceError(error);
        const shown = scope.charges.chargeRefusal(refused);
        // tRPC renders this object, so the only way to change the answer is to change it in place.
        if (error.cause !== shown) {
          Object.assign(error, toTrpcError(shown));
          error.message = shown.message;
        }
        const { code, cause } = refused;
        if (code === "internal") {
          log.error("internal error", {
            route: `${endpoint}/${name ?? ""}`,
            ...describeError(cause),
          });
        }
      },
    });
    if ("recorded" in context) await context.recorded;
    const response = await measured(answer, scope);
    if ("idempotent_request" in context && context.idempotent_request?.replayed) {
      response.headers.set("idempotency-replayed", "true");
    }
    for (const [name, value] of Object.entries(scope.charges.quota()?.headers ?? {})) {
      response.headers.set(name, value);
    }
    return response;
  };
}

/** A batch that is refused before any of its calls is one request (§15.1.1). */
function refuseBatch(
  scope: RequestScope,
  context: RequestContext | AdminContext | ServiceError,
): ServiceError {
  let error = invalidFields({
    batch: `must hold at most ${LIMITS.trpc_batch} calls, all queries or all mutations`,
  });
  if (!("host" in context)) return error;
  try {
    scope.charges.charge();
  } catch (limited) {
    error = toServiceError(limited);
  }
  scope.ended({ action: `${scope.request.method} /trpc`, host: context.host, error });
  return error;
}

/** The names of the procedures that a path calls. */
function namesOf(path: string, endpoint: string): string[] {
  const [names = ""] = path.slice(endpoint.length + 1).split("?", 1);
  return names.split(",");
}

/** Stands for a name that no procedure has. */
const UNKNOWN = "unknown";

/** The path with unknown names replaced: tRPC repeats names in its errors, however long. */
function hideUnknown(path: string, endpoint: string, isKnown: (name: string) => boolean): string {
  const start = endpoint.length + 1;
  const question = path.indexOf("?");
  const end = question < 0 ? path.length : question;
  const sent = path.slice(start, end);
  if (isKnown(sent)) return path;
  const query = path.slice(end);
  const called = decode(sent);
  // tRPC refuses it as a whole.
  if (called === undefined) return path;
  const batch = new URLSearchParams(query).get("batch") === "1";
  const names = (batch ? called.split(",") : [called]).map((name) =>
    isKnown(name) ? name : UNKNOWN,
  );
  return `${path.slice(0, start)}${names.join()}${query}`;
}

/** The text of a percent-encoded one, as tRPC reads it; undefined when it is malformed. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The input in the query of a path, as tRPC reads it; empty without one. */
function inputOf(path: string): string {
  const start = path.indexOf("?");
  // Each level takes two characters at least.
  if (start < 0 || path.length - start < LIMITS.json_depth * 2) return "";
  return new URLSearchParams(path.slice(start + 1)).get("input") ?? "";
}
