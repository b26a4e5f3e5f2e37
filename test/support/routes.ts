/** Every procedure's REST route, read from the router, so that a new one is tested too. */

import { getPathParameters } from "trpc-to-openapi";
import type { z } from "zod";
import { procedures } from "../../routers/index.ts";
import type { Access } from "../../src/rpc/meta.ts";

export interface Route {
  /** The procedure's name, such as `tasks.update`. */
  readonly procedure: string;
  readonly type: "query" | "mutation";
  readonly method: string;
  /** With `{parameter}`s. */
  readonly path: string;
  readonly access: Access;
  readonly in_path: readonly string[];
  readonly in_query: readonly string[];
  /** Null if the route takes no body. */
  readonly in_body: readonly string[] | null;
  /** Required fields of the body. */
  readonly required: readonly string[];
}

export const ROUTES: readonly Route[] = readRoutes();

/** Routes that take a body. */
export const BODY_ROUTES = ROUTES.filter((route) => route.in_body !== null);

/** Method and path, as the interface writes a route. */
export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

function readRoutes(): Route[] {
  const routes: Route[] = [];
  for (const [name, { type, meta, input }] of procedures) {
    const { openapi, access, query = [] } = meta;
    const { shape } = input as z.ZodObject;
    const in_path = getPathParameters(openapi!.path) as string[];
    const rest = Object.keys(shape).filter((field) => !in_path.includes(field));
    const { method } = openapi!;
    const takes_body =
      ["POST", "PUT", "PATCH"].includes(method) ||
      (method === "DELETE" && rest.some((field) => !query.includes(field)));
    const in_body = takes_body ? rest.filter((field) => !query.includes(field)) : null;
    routes.push({
      procedure: name,
      type,
      method,
      path: openapi!.path,
      access: access!,
      in_path,
      in_query: takes_body ? query : rest,
      in_body,
      required: (in_body ?? []).filter((field) => shape[field]!._zod.optin === undefined),
    });
  }
  return routes;
}
