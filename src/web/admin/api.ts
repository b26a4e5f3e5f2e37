/** Typed client of the admin procedures. */

import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import type { AdminRouter } from "../../../routers/admin.ts";
import { after, noteServerTime } from "../clock.ts";
import { reach, tunnelled } from "../state/outside.ts";
import { serverUrl } from "../state/server-url.ts";

export type Outputs = inferRouterOutputs<AdminRouter>;
export type Minute = Outputs["series"]["minutes"][number];
export type Distribution = Outputs["store"]["commit_seconds"];

/** Seconds to wait for a response; the server reports an unresponsive store after 4. */
const TIMEOUT = 8;

export type AdminApi = ReturnType<typeof createAdminApi>;

/**
 * Makes a client with the admin token. Calls made in one turn of the event loop share a request.
 */
export function createAdminApi(token: string) {
  return createTRPCClient<AdminRouter>({
    links: [
      httpBatchLink({
        url: serverUrl("admin/trpc"),
        headers: { authorization: `Bearer ${token}` },
        async fetch(url, options) {
          const late = new AbortController();
          const cancel = after(TIMEOUT, () => late.abort());
          try {
            const init = { ...(options as RequestInit), signal: late.signal };
            const response = await reach(String(url), init);
            noteServerTime(response.headers.get("date"));
            // Read within the time limit, so that a stalled body cannot block either.
            return await tunnelled(response);
          } finally {
            cancel();
          }
        },
      }),
    ],
  });
}
