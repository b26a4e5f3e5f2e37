/** The methods of the client: one for each procedure, with its name, its input and its output. */

import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { AppRouter } from "../../routers/index.ts";
import { ROUTES } from "./routes.ts";
import type { CallOptions, IdempotentOptions, Method, QueryValue, Send } from "./send.ts";

type Inputs = inferRouterInputs<AppRouter>;
/** Output of each procedure, by router and name. */
export type Outputs = inferRouterOutputs<AppRouter>;

/** How a method sends its arguments. */
interface Route {
  readonly method: Method;
  /** With `{parameter}`s. */
  readonly path: string;
  /** True if fields are sent in the body. */
  readonly body?: true;
  /** The fields that are sent in the query; true: all. */
  readonly query?: true | readonly string[];
  /** True if the route accepts an `Idempotency-Key` (§8.1). */
  readonly idempotent?: true;
}

export type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>;

/** The ids in a path, in its order. */
type Ids<Path> = Path extends `${string}{${string}}${infer Rest}` ? [id: string, ...Ids<Rest>] : [];
type IdNames<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | IdNames<Rest>
  : never;

type DeepReadonly<T> = T extends object ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> } : T;

/** The fields of the input that are not in the path. */
type Fields<R extends Route, Input> = DeepReadonly<Omit<Input, IdNames<R["path"]>>>;

type MethodOf<R, Input, Output> = R extends Route
  ? (
      ...given: [
        ...Ids<R["path"]>,
        ...(R extends { readonly body: true } | { readonly query: unknown }
          ? object extends Fields<R, Input>
            ? [fields?: Fields<R, Input>]
            : [fields: Fields<R, Input>]
          : []),
        options?: R extends { readonly idempotent: true } ? IdempotentOptions : CallOptions,
      ]
    ) => Promise<Output>
  : never;

type RouterMethods<Router, Input, Output> = {
  readonly [Name in keyof Router & keyof Input & keyof Output]: MethodOf<
    Router[Name],
    Input[Name],
    Output[Name]
  >;
};

/**
 * Each method takes the ids in the path of its route, then the other fields of the input in one object if there are
 * any, then options. It resolves to the output of the procedure.
 */
export type Methods = {
  readonly [Name in keyof typeof ROUTES]: RouterMethods<
    (typeof ROUTES)[Name],
    Inputs[Name],
    Outputs[Name]
  >;
};

export function methodsOf(send: Send): Methods {
  const methodOf =
    ({ method, path, body, query = [] }: Route) =>
    (...given: unknown[]) => {
      const at = path.replace(/\{\w+\}/g, () => encodeURIComponent(given.shift() as string));
      const has_fields = body || query === true;
      const fields = Object.entries((has_fields && (given.shift() as object)) || {});
      const isInQuery = ([name]: [string, unknown]) => query === true || query.includes(name);
      const rest = Object.fromEntries(fields.filter((field) => !isInQuery(field)));
      const parts = {
        query: Object.fromEntries(fields.filter(isInQuery)) as Record<string, QueryValue>,
        // A POST without fields has an empty body.
        ...((body || method === "POST") && { body: rest }),
      };
      return send(method, at, parts, given.shift() as IdempotentOptions);
    };
  const routers = Object.entries(ROUTES as Routes).map(([router, routes]) => [
    router,
    Object.fromEntries(Object.entries(routes).map(([name, route]) => [name, methodOf(route)])),
  ]);
  return Object.fromEntries(routers);
}
