/** What the OpenAPI document must say about each route: from the table of §5.1.1, and its fields from the router. */

import { procedures } from "../../routers/index.ts";
import { ERRORS, type ErrorCode } from "../../src/errors.ts";
import { namesIn, readDocument, rowsWith } from "../guards/document.ts";
import { nameOf, ROUTES } from "./routes.ts";

interface Operation {
  readonly success: 200 | 201 | 204;
  /** Status if the resource existed already. */
  readonly existing?: 200;
  readonly access: "none" | "account" | "key" | "any";
  /** Whether a body is required; absent if the route takes none. */
  readonly body?: "required" | "optional";
  readonly query: readonly string[];
  /** True: accepts an `Idempotency-Key` (§8). */
  readonly accepts_idempotency_key: boolean;
  /** Statuses beyond those of every route. */
  readonly errors: readonly number[];
}

const ACCESS = { none: "none", account: "account", key: "key", "account or key": "any" } as const;

const routes = new Map(ROUTES.map((route) => [nameOf(route), route]));

/** Every route of `/v1` except that of the document itself. */
export const OPERATIONS: Readonly<Record<string, Operation>> = Object.fromEntries(
  rowsWith(await readDocument(), "Method")
    .filter(({ clause, row }) => clause === "5.1.1" && /^.v1.(?!openapi)/.test(row.Path!))
    .map(({ row }) => {
      const name = `${row.Method} ${row.Path}`;
      const [success, existing] = row.Success!.split(" or ").map(Number);
      const route = routes.get(name);
      const { body_optional, accepts_idempotency_key = false } =
        procedures.get(route?.procedure ?? "")?.meta ?? {};
      const codes = row.Codes === "" ? [] : (namesIn(row.Codes!) as ErrorCode[]);
      return [
        name,
        {
          success,
          ...(existing && { existing }),
          access: ACCESS[row.Credential as keyof typeof ACCESS],
          ...(route?.in_body && { body: body_optional ? "optional" : "required" }),
          query: route?.in_query ?? [],
          accepts_idempotency_key,
          errors: codes.map((code) => ERRORS[code].status),
        } as Operation,
      ];
    }),
);
