/**
 * The one call pipeline: REST, tRPC and MCP run every call of a procedure through {@link execute}. A
 * surface only makes the context and the input of a call, and renders what comes of it.
 */

import { type FieldReasons, fail, failFields, invalidFields } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { AccountCaller, Caller, CredentialHolder, TicketCaller } from "../model/caller.ts";
import type { BatchBudget, CallContext } from "./context.ts";
import { isGone, reasonsOf, toServiceError } from "./errors.ts";
import { createOutputCheck } from "./fast-validate.ts";
import type { Access, ProcedureMeta } from "./meta.ts";
import type { Procedure } from "./trpc-internals.ts";

/** The input of a call before its schema has checked it; reading it again gives the same. */
export type ReadInput = () => unknown;

/** Who each kind of procedure lets in: throws `401 unauthorized` or `403 forbidden`. */
const ADMIT: Readonly<Record<Access, (caller: CredentialHolder | null) => Caller | null>> = {
  none: () => null,
  any: (caller) => (caller?.kind === "key" ? caller : admitKind(caller, "account")),
  account: (caller) => admitKind(caller, "account"),
  key: (caller) => admitKind(caller, "key"),
};

const KIND_NAMES = { account: "an account token", key: "an API key", ticket: "a ticket" } as const;

/** Throws `403 forbidden` for a valid credential of another kind than the route takes. */
export function failWrongKind({ kind }: CredentialHolder, wanted: Caller["kind"]): never {
  return fail("forbidden", {
    detail: `This needs ${KIND_NAMES[wanted]}. The credential that was sent is ${KIND_NAMES[kind]}.`,
  });
}

function admitKind(caller: CredentialHolder | null, kind: Caller["kind"]): Caller {
  if (!caller) fail("unauthorized");
  return caller.kind === kind ? caller : failWrongKind(caller, kind);
}

/** A ticket acts for its account, on its own question. */
function admitTicket(ticket: TicketCaller, raw: unknown): AccountCaller {
  const { question_id } = (raw ?? {}) as { readonly question_id?: unknown };
  if (question_id !== ticket.question_id) {
    fail("forbidden", { detail: "The ticket is for another question." });
  }
  const { account_id, credential } = ticket;
  return { kind: "account", account_id, credential, session_id: "", ticket };
}

/**
 * A procedure as a plain function, which throws ServiceErrors. The steps, in the order of
 * docs/interface.md 9.4: the route's own limit, the turn of a page, the caller's rate limit, the kind of credential,
 * fields that the surface refused, schema and rules, the work, the answer's schema; last, and also
 * after a failure, the entry in the activity log.
 *
 * It does not run tRPC's own chain of middlewares, which copies its options and the context at each
 * step and takes longer than all the rest of a read.
 */
export function execute<Ctx extends CallContext>(procedure: Procedure<Ctx>) {
  const { type, meta, input: schema, output, resolver } = procedure;
  const { access = "none", limit, pages, rules, may_be_slow = false } = meta;
  const admit = ADMIT[access];
  const log = createCallLog(meta);
  const answerOf = createOutputCheck(output);

  const parse = (caller: Caller | null, raw: unknown): unknown => {
    const parsed = schema.safeParse(raw);
    const broken = rules?.(caller, raw);
    if (parsed.success && isEmpty(broken)) return parsed.data;
    throw invalidFields({ ...(parsed.error && reasonsOf(parsed.error.issues)), ...broken });
  };

  const work = async (ctx: Ctx, caller: Caller | null, raw: unknown, waits: boolean) => {
    const result = resolver({ ctx, input: parse(caller, raw) });
    return answerOf(await (waits || may_be_slow ? result : ctx.scope.within(result)));
  };

  return async (ctx: Ctx, readInput: ReadInput): Promise<unknown> => {
    let ended: Ended = { answer: null, thrown: null };
    let leavePageTurn: (() => void) | undefined;
    try {
      if (limit) await ctx.scope.limit(limit, () => orNull(readInput));
      if (pages && !(log.may_wait && log.asksToWait(await orNull(readInput)))) {
        leavePageTurn = await ctx.scope.pageTurn();
      }
      if (ctx.caller && access !== "none") ctx.scope.charge();
      const { caller: holder } = ctx;
      const by_ticket = holder?.kind === "ticket" && meta.accepts_ticket && ctx.accepts_tickets;
      const caller = by_ticket ? admitTicket(holder, await readInput()) : admit(holder);
      if (ctx.rejected) failFields(ctx.rejected);
      const raw = await readInput();
      const waits = log.asksToWait(raw);
      if (waits && by_ticket) fail("forbidden", { detail: "A request with a ticket cannot wait." });
      const own = caller === ctx.caller ? ctx : { ...ctx, caller };
      const answer = ctx.batch
        ? await inBatch(ctx.batch, { is_query: type === "query", waits }, (page_bytes) =>
            work({ ...own, page_bytes }, caller, raw, waits),
          )
        : await work(own, caller, raw, waits);
      ended = { answer, thrown: null };
      return answer;
    } catch (thrown) {
      ended = { answer: null, thrown };
      throw thrown;
    } finally {
      leavePageTurn?.();
      if (ctx.recorded) await ctx.recorded;
      log.enter(ctx, ended, log.may_wait ? await orNull(readInput) : null);
    }
  };
}

/** How a call ended: with an answer, or with what was thrown. */
interface Ended {
  readonly answer: unknown;
  readonly thrown: unknown;
}

/** Enters the calls of one procedure into the activity log, and marks those that wait. */
function createCallLog({ access, openapi, only_waited, query }: ProcedureMeta) {
  const may_wait = only_waited !== undefined || query?.includes("wait") === true;
  /** The name of its route on every surface (§15.2); null: its calls are in no log. */
  const action = access === "none" || !openapi ? null : `${openapi.method} ${openapi.path}`;
  const head_action = `HEAD ${openapi?.path}`;

  const asksToWait = (raw: unknown): boolean =>
    may_wait && Boolean((raw as { readonly wait?: unknown } | null)?.wait);

  return {
    may_wait,
    asksToWait,

    enter(ctx: CallContext, { answer, thrown }: Ended, raw: unknown): void {
      if (asksToWait(raw)) ctx.scope.waits();
      if (action === null) return;
      const fault = thrown === null || isGone(thrown) ? null : toServiceError(thrown);
      // A body that is not JSON is refused before the credential on REST, and has no entry.
      if (fault?.code === "invalid_json") return;
      if (fault === null && ctx.effects && only_waited?.(raw ?? {}, answer)) return;
      ctx.scope.ended({ action: ctx.head ? head_action : action, host: ctx.host, error: fault });
    },
  };
}

/**
 * Makes one call of a batch within what is left of their budget. A mutation is never refused for it,
 * as it would be done and answered like one that is not; nor does a query that waits hold up others.
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

/** The input; null when it cannot be read. */
async function orNull(readInput: ReadInput): Promise<unknown> {
  try {
    return await readInput();
  } catch {
    return null;
  }
}
