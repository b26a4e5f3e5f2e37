/** Makes the context in which the calls of a request run. */

import { isUtf8 } from "node:buffer";
import type { Context } from "../../routers/context.ts";
import type { Usage } from "../auth/authenticate.ts";
import type { FieldReasons } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { BatchBudget } from "../overload/batch-budget.ts";
import type { RequestScope } from "./request-scope.ts";

interface ContextOptions {
  readonly services: Context["services"];
  readonly isForeign: (request: Request) => boolean;
  /** Records the use of a credential; resolves once it is written. Undefined when nothing is due. */
  readonly recordUse: (usage: Usage, host: string | null) => Promise<void> | undefined;
  /** Notes by which address a client with a valid credential came. */
  readonly noteAddress: (request: Request) => void;
}

/** A context whose mutable fields the surface may still set. */
export interface RequestContext extends Context {
  idempotent_request: IdempotentRequest | null;
  rejected: FieldReasons | null;
  batch: BatchBudget | null;
  accepts_tickets: boolean;
  by_rest: boolean;
}

export type CreateContext = ReturnType<typeof createContextFactory>;

export function createContextFactory(options: ContextOptions) {
  const { services, isForeign, recordUse, noteAddress } = options;
  /**
   * `open`: a public route, which ignores any credential. `recall`: use what this process remembers of the
   * credential; the outcome of the call must go through `scope.credential.confirm`.
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
    const { credential } = scope;
    const host = hostOf(request.headers.get("x-agent-host"));
    const use = (usage: Usage) => {
      noteAddress(request);
      return recordUse(usage, host);
    };
    const record = effects ? use : null;
    const recalled = recall && !open ? credential.recall(record) : null;
    const found = open ? null : (recalled ?? (await credential.authenticate()));
    return {
      services,
      caller: found?.caller ?? null,
      confirmed: () => credential.confirmed(),
      accepts_tickets: false,
      by_rest: false,
      host,
      connection: request,
      asking: false,
      streams: false,
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
      // Of a recalled credential, `confirm` records the use.
      recorded: !recalled && found?.usage ? record?.(found.usage) : undefined,
    };
  };
}

/** Reads a header as UTF-8 where its bytes are that; `fetch` and servers read them as Latin-1 (Fetch 2.2). */
function readUtf8(header: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of a byte that ASCII has not.
  if (!/[\x80-\xff]/.test(header) || /[^\x00-\xff]/.test(header)) return header;
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString() : header;
}

/** Reads the host name from its header (§1.6). Control characters are dropped, and a long name is cut. */
function hostOf(header: string | null): string | null {
  if (header === null) return null;
  const clean = readUtf8(header)
    .replace(/\p{Cc}/gu, "")
    .trim();
  return [...clean.slice(0, LIMITS.host * 2)].slice(0, LIMITS.host).join("") || null;
}
