/** The set-up of tRPC: one procedure base for each kind of credential, on the call pipeline of src/rpc. */

import { initTRPC } from "@trpc/server";
import { formatError } from "../src/rpc/errors.ts";
import type { Access, CallerOf, ProcedureMeta } from "../src/rpc/meta.ts";
import { pipelineOnly, throughPipeline } from "../src/rpc/trpc-internals.ts";
import type { Context } from "./context.ts";

type OpenApi = NonNullable<ProcedureMeta["openapi"]>;
type Method = OpenApi["method"];

const t = initTRPC.context<Context>().meta<ProcedureMeta>().create({
  isDev: false,
  errorFormatter: formatError,
});

/** A router of procedures, or of routers. */
export const router: typeof t.router = (record) =>
  t.router(throughPipeline<Context, typeof record>(record));

interface RouteTexts {
  readonly summary: string;
  readonly description: string;
}

/** For the procedures of one tag of the OpenAPI document: the meta of a route such as `GET /v1/tasks`. */
export const routes =
  (tag: string) =>
  (route: `${Method} /v1/${string}`, operationId: string, texts: RouteTexts): OpenApi => {
    const [method, path] = route.split(" ") as [Method, OpenApi["path"]];
    return { method, path, operationId, tags: [tag], ...texts };
  };

const base = <A extends Access>(access: A) =>
  t.procedure.meta({ access }).use<{ readonly caller: CallerOf<A> }>(pipelineOnly);

/** Public: a credential is ignored. */
export const open = base("none");

/** An account token or an API key. */
export const anyone = base("any");

/** An account token; `403 forbidden` for a key. */
export const account = base("account");

/** An API key; `403 forbidden` for an account. */
export const key = base("key");
