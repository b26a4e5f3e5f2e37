/** Makes the context of a request's calls: the caller, the host name, and what effects they have. */

import type { Context, Services } from "../../routers/context.ts";
import type { Usage } from "../auth/authenticate.ts";
import type { FieldReasons } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { BatchBudget } from "../overload/batch-budget.ts";
import type { RequestScope } from "./request-scope.ts";

interface ContextOptions {
  readonly services: Services;
  /** Whether a web page of another origin sent the request. */
  readonly isForeign: (request: Request) => boolean;
  /** Records the use of a credential; resolves once it is written, undefined when nothing is due. */
  readonly recordUse: (usage: Usage, host: string | null) => Promise<void> | undefined;
}

/** A context in which the surface may still set `idempotent_request`, `batch` and `rejected`. */
export interface RequestContext extends Context {
  idempotent_request: IdempotentRequest | null;
  rejected: FieldReasons | null;
  batch: BatchBudget | null;
  accepts_tickets: boolean;
  /** What is known of the credential's use before this request; null without a caller. */
  readonly usage: Usage | null;
}

export type CreateContext = ReturnType<typeof createContextFactory>;

export function createContextFactory({ services, isForeign, recordUse }: ContextOptions) {
  /**
   * `open`: a public route, on which any credential is ignored. `recall`: what this process remembers
   * of the credential will do, as the outcome of the call is confirmed (`scope.credential.confirm`).
   */
  return async (
    scope: RequestScope,
    rejected: FieldReasons | null,
    open: boolean,
    recall = false,
  ): Promise<RequestContext> => {
    const { request } = scope;
    const { method } = request;
    const head = method === "HEAD";
    const effects = !head && !(method === "GET" && isForeign(request));
    const found = open
      ? null
      : ((recall ? scope.credential.recall() : null) ?? (await scope.credential.authenticate()));
    const host = hostOf(request.headers.get("x-agent-host"));
    return {
      services,
      caller: found?.caller ?? null,
      accepts_tickets: false,
      host,
      connection: request,
      asking: false,
      session: null,
      hook: null,
      outcome: { existing: false },
      effects,
      head,
      rejected,
      idempotent_request: null,
      scope,
      page_bytes: LIMITS.page_bytes,
      batch: null,
      usage: found?.usage ?? null,
      recorded: found?.usage && effects ? recordUse(found.usage, host) : undefined,
    };
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of a header whose bytes are UTF-8; `fetch` and servers take them for Latin-1 (Fetch 2.2). */
function readUtf8(header: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of a byte that ASCII has not.
  if (!/[\x80-\xff]/.test(header) || /[^\x00-\xff]/.test(header)) return header;
  try {
    return utf8.decode(Buffer.from(header, "latin1"));
  } catch {
    return header;
  }
}

/**
 * The name that a header sends, in UTF-8 or else in Latin-1. Control characters are dropped and a long name is cut
 * (docs/interface.md 1.6).
 */
function hostOf(header: string | null): string | null {
  if (header === null) return null;
  const clean = readUtf8(header)
    .replace(/\p{Cc}/gu, "")
    .trim();
  return [...clean.slice(0, LIMITS.host * 2)].slice(0, LIMITS.host).join("") || null;
}
