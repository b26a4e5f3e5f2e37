/** The call pipeline: REST, tRPC and MCP run every procedure call through {@link execute}. */

import { type FieldReasons, fail, failFields, invalidFields } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller, CredentialHolder, TicketCaller } from "../model/caller.ts";
import type { BatchBudget } from "../overload/batch-budget.ts";
import type { CallContext } from "./context.ts";
import { isGone, reasonsOf, toServiceError } from "./errors.ts";
import { createOutputCheck } from "./fast-validate.ts";
import type { Access } from "./meta.ts";
import type { Procedure } from "./trpc-internals.ts";

/** The caller that each kind of procedure accepts: throws `401 unauthorized` or `403 forbidden`. */
const ADMIT: Readonly<Record<Access, (caller: CredentialHolder | null) => Caller | null>> = {
  none: () => null,
  any: (caller) => (caller?.kind === "key" ? caller : admitKind(caller, "account")),
  account: (caller) => admitKind(caller, "account"),
  key: (caller) => admitKind(caller, "key"),
};

const KIND_NAMES = { account: "an account token", key: "an API key", ticket: "a ticket" } as const;

/** Throws `403 forbidden` for a valid credential of a kind that the route does not accept. */
export function failWrongKind({ kind }: CredentialHolder, wanted: Caller["kind"]): never {
  return fail("forbidden", {
    detail: `This needs ${KIND_NAMES[wanted]}. The credential that was sent is ${KIND_NAMES[kind]}.`,
  });
}

function admitKind(caller: CredentialHolder | null, kind: Caller["kind"]): Caller {
  if (!caller) fail("unauthorized");
  return caller.kind === kind ? caller : failWrongKind(caller, kind);
}

/** A ticket acts for its account, on its own question only. */
function admitTicket(ticket: TicketCaller, raw: unknown): AccountCaller {
  const { question_id } = (raw ?? {}) as { readonly question_id?: unknown };
  if (question_id !== ticket.question_id) {
    fail("forbidden", { detail: "The ticket is for another question." });
  }
  const { account_id, credential } = ticket;
  return { kind: "account", account_id, credential, session_id: "", ticket };
}

/**
 * Turns a procedure into a function of its context and its unchecked input, which throws ServiceErrors. A surface that
 * could not read the input passes null and the error as `unreadable`.
 *
 * The order of the checks is that of §9.4: the route's own limit, the turn of a page, the caller's rate limit, the kind
 * of credential, fields that the surface rejected, schema and rules. Then come the work and the output schema, and last
 * the request log, also after a failure.
 *
 * tRPC's own middleware chain is not run: it copies its options and the context at each step, which takes longer than
 * everything else in a read.
 */
export function execute<Ctx extends CallContext>(procedure: Procedure<Ctx>) {
  const { type, meta, input: schema, output, resolver } = procedure;
  const { access = "none", openapi, limit, pages, query, rules, only_waited, may_be_slow } = meta;
  const admit = ADMIT[access];
  const checked = createOutputCheck(output);
  const may_wait = only_waited !== undefined || query?.includes("wait") === true;
  /** The name of the call in the request log (§15.2); null for a call that is not logged. */
  const action = access === "none" || !openapi ? null : `${openapi.method} ${openapi.path}`;
  const head_action = `HEAD ${openapi?.path}`;

  const parse = (caller: Caller | null, raw: unknown): unknown => {
    const parsed = schema.safeParse(raw);
    const broken = rules?.(caller, raw);
    if (parsed.success && isEmpty(broken)) return parsed.data;
    throw invalidFields({ ...(parsed.error && reasonsOf(parsed.error.issues)), ...broken });
  };

  /** Throws at once for an invalid input. */
  const work = (ctx: Ctx, caller: Caller | null, raw: unknown, waits: boolean) => {
    const result = resolver({ ctx, input: parse(caller, raw) });
    return waits || may_be_slow ? result : ctx.scope.turns.within(result);
  };

  const log = (ctx: Ctx, raw: unknown, answer: unknown, thrown: unknown): void => {
    if (action === null) return;
    const error = thrown === null || isGone(thrown) ? null : toServiceError(thrown);
    // REST refuses a body that is not JSON before it looks at the credential, and logs nothing.
    if (error?.code === "invalid_json") return;
    if (error === null && ctx.effects && only_waited?.(raw ?? {}, answer)) return;
    ctx.scope.ended({ action: ctx.head ? head_action : action, host: ctx.host, error });
  };

  return async (ctx: Ctx, raw: unknown, unreadable?: unknown): Promise<unknown> => {
    const waits = may_wait && Boolean((raw as { readonly wait?: unknown } | null)?.wait);
    let answer: unknown = null;
    let failure: unknown = null;
    let leavePageTurn: (() => void) | undefined;
    try {
      if (limit) await ctx.scope.charges.limit(limit, raw);
      if (pages && !waits) leavePageTurn = await ctx.scope.turns.page();
      if (ctx.caller && access !== "none") ctx.scope.charges.charge();
      const { caller: holder } = ctx;
      const by_ticket = holder?.kind === "ticket" && meta.accepts_ticket && ctx.accepts_tickets;
      const caller = by_ticket ? admitTicket(holder, raw) : admit(holder);
      if (ctx.rejected) failFields(ctx.rejected);
      if (unreadable) throw unreadable;
      if (waits && by_ticket) fail("forbidden", { detail: "A request with a ticket cannot wait." });
      const own = caller === ctx.caller ? ctx : { ...ctx, caller };
      answer = ctx.batch
        ? await inBatch(ctx.batch, { is_query: type === "query", waits }, async (page_bytes) =>
            checked(await work({ ...own, page_bytes }, caller, raw, waits)),
          )
        : checked(await work(own, caller, raw, waits));
      ctx.scope.answered(answer, type === "mutation");
      return answer;
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    } finally {
      leavePageTurn?.();
      if (ctx.recorded) await ctx.recorded;
      if (waits) ctx.scope.waits();
      log(ctx, raw, answer, failure);
    }
  };
}

/**
 * Runs one call of a batch within what is left of the batch's budget. A mutation is never refused for the
 * budget, since it would be done and then answered as if it were not. A query that waits holds up no others.
 */
async function inBatch(
  batch: BatchBudget,
  { is_query, waits }: { readonly is_query: boolean; readonly waits: boolean },
  call: (page_bytes: number) => Promise<unknown>,
): Promise<unknown> {
  const reserved = is_query && !waits ? await batch.reserve() : 0;
  let bytes = 0;
  try {
    const answer = await call(reserved || (is_query ? batch.share() : LIMITS.page_bytes));
    bytes = answer === undefined ? 0 : Buffer.byteLength(JSON.stringify(answer));
    return answer;
  } finally {
    batch.settle(reserved, bytes);
  }
}

function isEmpty(reasons: FieldReasons | undefined): boolean {
  for (const _ in reasons) return false;
  return true;
}
