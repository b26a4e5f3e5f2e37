/** The typed client of the admin's procedures. */

import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import type { AdminRouter } from "../../../routers/admin.ts";
import { after, noteServerTime } from "../clock.ts";
import { here } from "../state/api.ts";

export type Outputs = inferRouterOutputs<AdminRouter>;
export type Minute = Outputs["series"]["minutes"][number];
export type Distribution = Outputs["store"]["commit_seconds"];

/** Seconds that the server has to answer: a store that hangs is told of after 4. */
const PATIENCE = 8;

export type AdminApi = ReturnType<typeof createAdminApi>;

/** Calls of one turn are one request. */
export function createAdminApi(token: string) {
  return createTRPCClient<AdminRouter>({
    links: [
      httpBatchLink({
        url: here("admin/trpc"),
        headers: { authorization: `Bearer ${token}` },
        async fetch(url, options) {
          const late = new AbortController();
          const cancel = after(PATIENCE, () => late.abort());
          try {
            const response = await fetch(url, { ...(options as RequestInit), signal: late.signal });
            noteServerTime(response.headers.get("date"));
            const { status, headers } = response;
            // Read here, so that the end of a body does not keep anybody waiting either.
            return new Response(await response.text(), { status, headers });
          } finally {
            cancel();
          }
        },
      }),
    ],
  });
}
