/** Shared by tests of the admin's interface: the token, a typed client, and a strict reader of `/metrics`. */

import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { AdminRouter } from "../../routers/admin.ts";
import { type Exposition, readExposition } from "./exposition.ts";
import { exchange } from "./wire.ts";

export const ADMIN_TOKEN = "an-admin-token-of-34-characters-ok";

/** The environment of a server with an admin. */
export const ADMIN = { ADMIN_TOKEN };

/** Every query of the administrator that needs no input; `question` needs one. */
export const PROCEDURES = [
  "overview",
  "accounts",
  "invitations",
  "health",
  "process",
  "series",
  "store",
  "outbox",
  "pushes",
  "jobs",
] as const;

export function adminClient(url: string, token = ADMIN_TOKEN) {
  return createTRPCClient<AdminRouter>({
    links: [
      httpBatchLink({
        url: `${url}/admin/trpc`,
        headers: { authorization: `Bearer ${token}` },
      }),
    ],
  });
}

/** The metrics of the server at `url`, as text and parsed. */
export async function metricsOf(url: string): Promise<{ text: string; all: Exposition }> {
  const { status, headers, text } = await exchange(url, "GET", "/metrics", {
    credential: ADMIN_TOKEN,
  });
  const type = headers.get("content-type");
  if (status !== 200 || type !== "text/plain; version=0.0.4; charset=utf-8") {
    throw new Error(`no metrics: ${status} ${type}`);
  }
  return { text, all: readExposition(text) };
}
