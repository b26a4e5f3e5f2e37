/** `/trpc`: the same procedures for typed clients (decisions.md, Other routes). */

import type { AnyTRPCRouter } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { toServiceError } from "../../routers/trpc.ts";
import { LIMITS } from "../limits.ts";
import { describeError, type Log } from "../log.ts";
import { checkDeclaredSize, readText } from "./body.ts";
import type { CreateContext, RequestContext } from "./context.ts";
import { errorHeaders } from "./respond.ts";

interface TrpcOptions {
  readonly router: AnyTRPCRouter;
  readonly createContext: CreateContext;
  readonly log: Log;
}

/** Handles every request under `/trpc`, at most 20 calls in one batch. */
export function createTrpcHandler({ router, createContext, log }: TrpcOptions) {
  return async (request: Request): Promise<Response> => {
    let body: string | null = null;
    if (request.method === "POST") body = await readText(request);
    else checkDeclaredSize(request);

    let context: RequestContext | undefined;
    const response = await fetchRequestHandler({
      endpoint: "/trpc",
      router,
      maxBatchSize: LIMITS.trpc_batch,
      req: new Request(request.url, {
        method: request.method,
        headers: request.headers,
        signal: request.signal,
        ...(body !== null && { body }),
      }),
      createContext: async () => {
        context = await createContext(request, null, false);
        return context;
      },
      responseMeta({ errors }) {
        const headers: Record<string, string> = { "cache-control": "no-store" };
        for (const error of errors) Object.assign(headers, errorHeaders(toServiceError(error)));
        return { headers };
      },
      onError({ error, path }) {
        const { code, cause } = toServiceError(error);
        if (code === "internal") {
          log.error("internal error", { route: `/trpc/${path ?? ""}`, ...describeError(cause) });
        }
      },
    });
    await context?.recorded;
    return response;
  };
}
