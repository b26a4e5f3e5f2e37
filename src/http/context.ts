/** Makes the context of a request: who calls, from where, and until when. */

import type { Context, Services } from "../../routers/context.ts";
import type { Auth, KeyUsage } from "../auth/authenticate.ts";
import { type FieldReasons, fail } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Once } from "../model/once.ts";

interface ContextOptions {
  readonly services: Services;
  readonly auth: Auth;
  /** Records the use of a key; resolves once it is written, undefined when nothing is due. */
  readonly recordUse: (usage: KeyUsage, host: string | null) => Promise<void> | undefined;
}

export interface RequestContext extends Context {
  /** Awaited before the response, so that a client that got it sees the key as used. */
  readonly recorded: Promise<void> | undefined;
  once: Once | null;
}

export type CreateContext = ReturnType<typeof createContextFactory>;

export function createContextFactory({ services, auth, recordUse }: ContextOptions) {
  /** `open` leaves a credential that is sent unread. */
  return async (
    request: Request,
    rejected: FieldReasons | null,
    open: boolean,
  ): Promise<RequestContext> => {
    const { headers, signal } = request;
    const effects = request.method !== "HEAD";
    const found = open ? null : await auth.authenticate(headers.get("authorization"));
    const host = hostOf(headers.get("x-agent-host"));
    return {
      services,
      caller: found?.caller ?? null,
      host,
      signal,
      effects,
      rejected,
      once: null,
      recorded: found?.usage && effects ? recordUse(found.usage, host) : undefined,
    };
  };
}

/** Who sends the request; refuses one without a valid credential. */
export async function requireCaller(auth: Auth, request: Request) {
  const found = await auth.authenticate(request.headers.get("authorization"));
  return found?.caller ?? fail("unauthorized");
}

/** Control characters are dropped and a long name is cut (decisions.md, Limits, host name). */
function hostOf(header: string | null): string | null {
  if (header === null) return null;
  const clean = header.replace(/\p{Cc}/gu, "").trim();
  return [...clean.slice(0, LIMITS.host * 2)].slice(0, LIMITS.host).join("") || null;
}
