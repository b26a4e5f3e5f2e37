/** The typed client of the admin's procedures. */

import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import type { AdminRouter } from "../../../routers/admin.ts";
import { noteServerTime } from "../clock.ts";
import { here } from "../state/api.ts";

export type Outputs = inferRouterOutputs<AdminRouter>;
export type Minute = Outputs["series"]["minutes"][number];
export type Distribution = Outputs["store"]["commit_seconds"];

export type AdminApi = ReturnType<typeof createAdminApi>;

/** Calls of one turn are one request. */
export function createAdminApi(token: string) {
  return createTRPCClient<AdminRouter>({
    links: [
      httpBatchLink({
        url: here("admin/trpc"),
        headers: { authorization: `Bearer ${token}` },
        async fetch(url, options) {
          const response = await fetch(url, options as RequestInit);
          noteServerTime(response.headers.get("date"));
          return response;
        },
      }),
    ],
  });
}
