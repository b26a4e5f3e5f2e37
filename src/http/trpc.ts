/** `/trpc` and `/admin/trpc`: procedures for typed clients (§13). */

import type { AnyTRPCRouter } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import type { AdminContext } from "../../routers/admin.ts";
import { invalidFields, ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { createBatchBudget } from "../overload/batch-budget.ts";
import { nestingOf, TOO_DEEP_REASON } from "../overload/json-bounds.ts";
import { createTurns } from "../overload/turns.ts";
import { toServiceError, toTrpcError } from "../rpc/errors.ts";
import { proceduresOf } from "../rpc/trpc-internals.ts";
import type { Signer } from "../signer.ts";
import { type Bodies, checkDeclaredSize, openLimits } from "./body.ts";
import type { RequestContext } from "./context.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_HEADERS, chargeResponse, errorHeaders } from "./respond.ts";
import { logInternal } from "./rest.ts";

interface TrpcOptions {
  /** The path before the names of procedures. */
  readonly endpoint: "/trpc" | "/admin/trpc";
  readonly router: AnyTRPCRouter;
  readonly createContext: (scope: RequestScope) => Promise<RequestContext | AdminContext>;
  readonly bodies: Bodies;
  /** Signs the digests of an `Idempotency-Key`; null where no procedure accepts one. */
  readonly signer: Signer | null;
}

/** Handles every request under the endpoint. */
export function createTrpcHandler(options: TrpcOptions) {
  const { endpoint, router, createContext, bodies, signer } = options;
  /** One batch begins in each turn of the event loop, since its calls take milliseconds. */
  const turn = createTurns(1).begin;
  const procedures = proceduresOf(router);
  const metaOf = (name: string) => procedures.get(name)?.meta;

  /** Reads the body of a mutation; null for a query. */
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

  return async (scope: RequestScope, sent_path: string): Promise<Response> => {
    const { request } = scope;
    const path = hideUnknown(sent_path, endpoint, (name) => procedures.has(name));
    const sent = await readBody(scope, path).catch(toServiceError);
    const nesting = nestingOf(typeof sent === "string" ? sent : inputOf(path));
    const too_deep = nesting === "deep";
    // Input that nests too deep never reaches the parser: short text gives the same refusal.
    const body = nesting === "shallow" ? sent : too_deep ? "{}" : "{";
    if (namesOf(path, endpoint).length > 1) await turn();
    const headers = new Headers(request.headers);
    headers.set("content-type", "application/json");
    // Before any call, so that the caller of a refused call is known.
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
      // A body that could not be read fails here, so that the error gets tRPC's own shape.
      async createContext({ info }) {
        if (body instanceof ServiceError) throw toTrpcError(body);
        if (context instanceof ServiceError) throw toTrpcError(context);
        if (signer && !too_deep && "idempotent_request" in context)
          await readIdempotencyKey(request, info, context, metaOf, signer);
        if ("batch" in context && info.calls.length > 1) context.batch = createBatchBudget();
        return context;
      },
      responseMeta({ errors, info }) {
        const headers: Record<string, string> = { ...API_HEADERS };
        for (const error of errors) Object.assign(headers, errorHeaders(toServiceError(error)));
        // Without `info`, the request was refused as a whole, and its calls have no status.
        const [refusal] = info ? [] : errors;
        if (refusal) headers["content-type"] = "application/json";
        return { headers, ...(refusal && { status: toServiceError(refusal).status }) };
      },
      onError({ error, path: name }) {
        const whole = name === undefined && toServiceError(error).code === "invalid_fields";
        const refused = whole ? refuseBatch(scope, context) : toServiceError(error);
        const shown = scope.charges.chargeRefusal(refused);
        // tRPC renders this object, so it must be changed in place.
        if (error.cause !== shown) {
          Object.assign(error, toTrpcError(shown));
          error.message = shown.message;
        }
        if (refused.code === "internal")
          logInternal(refused, scope.log(), `${endpoint}/${name ?? ""}`);
      },
    });
    if ("recorded" in context) await context.recorded;
    const response = await chargeResponse(answer, scope);
    if ("idempotent_request" in context && context.idempotent_request?.replayed) {
      response.headers.set("idempotency-replayed", "true");
    }
    for (const [name, value] of Object.entries(scope.charges.quota()?.headers ?? {})) {
      response.headers.set(name, value);
    }
    return response;
  };
}

/** Charges and logs a batch that is refused before any of its calls, as one request (§15.1.1). */
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

/** Replaces unknown names in a path, since tRPC repeats names in its errors, however long they are. */
function hideUnknown(path: string, endpoint: string, isKnown: (name: string) => boolean): string {
  const start = endpoint.length + 1;
  const end = path.search(/\?|$/);
  const sent = path.slice(start, end);
  if (isKnown(sent)) return path;
  const query = path.slice(end);
  let called: string;
  try {
    called = decodeURIComponent(sent);
  } catch {
    // tRPC refuses the whole request.
    return path;
  }
  const batch = new URLSearchParams(query).get("batch") === "1";
  const names = (batch ? called.split(",") : [called]).map((name) =>
    isKnown(name) ? name : "unknown",
  );
  return `${path.slice(0, start)}${names.join()}${query}`;
}

/** The input in the query of a path; empty without one, or when it is too short to nest too deep. */
function inputOf(path: string): string {
  const start = path.indexOf("?");
  // Each level takes at least two characters.
  if (start < 0 || path.length - start < LIMITS.json_depth * 2) return "";
  return new URLSearchParams(path.slice(start + 1)).get("input") ?? "";
}
