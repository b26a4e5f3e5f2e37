/** tRPC's set-up: metadata, one procedure base per credential kind, and the shape of errors. */

import {
  type AnyTRPCProcedure,
  initTRPC,
  type TRPCDefaultErrorShape,
  TRPCError,
} from "@trpc/server";
import type { OpenApiMeta } from "trpc-to-openapi";
import { type core, ZodError, type ZodType } from "zod";
import {
  ClientGone,
  ERRORS,
  type ErrorCode,
  type FieldReasons,
  fail,
  failFields,
  invalidFields,
  ServiceError,
  UNKNOWN_FIELD,
} from "../src/errors.ts";
import { cutMembers } from "../src/json-bounds.ts";
import { LIMITS } from "../src/limits.ts";
import type { AccountCaller, Caller, KeyCaller } from "../src/model/caller.ts";
import { createOutputCheck } from "../src/rpc/fast-validate.ts";
import type { BatchBudget, Context, RequestScope } from "./context.ts";
import type { ToolMeta } from "./tool.ts";

/** Who may call: docs/interface.md 4.1.3. */
export type Access = "none" | "account" | "key" | "any";

export interface RelayMeta extends Record<string, unknown> {
  /** Set by the procedure base. */
  readonly access?: Access;
  /** Status of success. Default 200; 204 has no body. */
  readonly status?: 201 | 204;
  /** True: with status 201, it may give what was there already, with 200. */
  readonly may_exist?: boolean;
  /** Input fields that a POST takes from the query instead of the body. */
  readonly query?: readonly string[];
  /** True: no body is the same as `{}`. */
  readonly body_optional?: boolean;
  /** True: REST and tRPC take an `Idempotency-Key` (docs/interface.md 8). */
  readonly accepts_idempotency_key?: boolean;
  /** True: a query that takes what it gives, so that its answer must not be refused any more. */
  readonly takes?: boolean;
  /** True: an answer may be a page of up to `LIMITS.page_bytes`, for which calls take turns. */
  readonly pages?: boolean;
  /** A limit of the client's address, looked at before its fields. */
  readonly limit?: Parameters<RequestScope["limit"]>[0];
  /**
   * True when a call only waited, so that the activity log has no entry of it (§15.1.2).
   * The result is null when the client went away before there was one.
   */
  readonly only_waited?: (input: { readonly wait?: number }, result: unknown) => boolean;
  /** What of the fields depends on the caller; named beside what the schema finds. */
  readonly rules?: (caller: Caller | null, raw: unknown) => FieldReasons;
  /** Codes this procedure can give beyond those of every route. */
  readonly errors?: readonly ErrorCode[];
  /** Present: the procedure is a tool of `/mcp` too. */
  readonly mcp?: ToolMeta;
}

const t = initTRPC.context<Context>().meta<OpenApiMeta<RelayMeta>>().create({
  isDev: false,
  errorFormatter: formatError,
});

export const router = t.router;

/** What a typed client gets of an error: tRPC's own shape, and the code and fields of ours. */
export function formatError({ shape, error }: { shape: TRPCDefaultErrorShape; error: TRPCError }) {
  const { code, fields } = toServiceError(error);
  return { ...shape, data: { ...shape.data, code_name: code, ...(fields && { fields }) } };
}

/** The one conversion from whatever a procedure call threw to the error that surfaces render. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof TRPCError)) return new ServiceError("internal", { cause: error });
  const { cause } = error;
  if (cause instanceof ServiceError) return cause;
  if (cause instanceof ZodError) return invalidFields(reasonsOf(cause.issues));
  switch (error.code) {
    case "PARSE_ERROR":
      return new ServiceError("invalid_json");
    case "NOT_FOUND":
      return new ServiceError("unknown_path");
    case "METHOD_NOT_SUPPORTED":
      return new ServiceError("method_not_allowed");
    case "UNSUPPORTED_MEDIA_TYPE":
      return new ServiceError("unsupported_media_type");
    case "BAD_REQUEST":
      return cause instanceof SyntaxError
        ? new ServiceError("invalid_json")
        : invalidFields({ input: "cannot be read" });
    default:
      return new ServiceError("internal", { cause: error });
  }
}

/** Why each field is invalid, by its top-level name; a wrong kind of body is `body`. */
function reasonsOf(issues: readonly core.$ZodIssue[]) {
  // Without a prototype, so that a field named `constructor` is like any other.
  const reasons: Record<string, string> = Object.create(null);
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
      for (const name of issue.keys) reasons[fieldName(name)] ??= UNKNOWN_FIELD;
    } else {
      reasons[fieldName(issue.path[0] ?? "body")] ??= describe(issue);
    }
  }
  return reasons;
}

/** A name that does not look like a field could be content (docs/interface.md 1.3.4). */
function fieldName(name: PropertyKey): string {
  return typeof name === "string" && /^[a-z][a-z0-9_]{0,39}$/.test(name) ? name : "unknown";
}

/** A reason made of the schema alone, never of what was sent; a field within the field is named. */
function describe(issue: core.$ZodIssue): string {
  const [, name] = issue.path;
  return typeof name === "string" ? `${fieldName(name)} ${reasonOf(issue)}` : reasonOf(issue);
}

function reasonOf(issue: core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.message.startsWith("must be ")) return issue.message;
      return issue.message.endsWith("received undefined")
        ? "is required"
        : `must be of type ${issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue)}`;
    case "unrecognized_keys":
      return "must have no other fields";
    case "custom":
      return issue.message;
    default:
      return "is not valid";
  }
}

function unitOf(issue: core.$ZodIssueTooSmall | core.$ZodIssueTooBig): string {
  if (issue.origin !== "array") return "";
  return (issue.code === "too_small" ? issue.minimum : issue.maximum) === 1 ? " item" : " items";
}

/** The parts of a built procedure: a base's middleware, the input's, the output's, the resolver's. */
interface Built {
  readonly meta: OpenApiMeta<RelayMeta>;
  readonly inputs: readonly [ZodType];
  readonly output: ZodType;
  readonly resolver: (options: { ctx: Context; input: unknown }) => Promise<unknown>;
  readonly middlewares: readonly unknown[];
}

/**
 * A procedure as a plain function of the same steps, throwing ServiceErrors. tRPC copies its options
 * and the context at each step, which takes longer than all the rest of a read.
 */
export function execute(procedure: AnyTRPCProcedure) {
  const { meta, inputs, output, resolver, middlewares } = procedure._def as unknown as Built;
  const access = meta.access ?? "none";
  const admit = admits.get(access);
  if (!admit || inputs.length !== 1 || middlewares.length !== 4) {
    throw new Error("a procedure has a base, one input, an output, and no other middleware");
  }
  const told = toldOf(meta);
  const answerOf = createOutputCheck(output);
  return async (ctx: Context, raw: unknown): Promise<unknown> => {
    let ended: Ended = { result: null, thrown: null };
    let leave: (() => void) | undefined;
    try {
      if (meta.limit) await ctx.scope.limit(meta.limit);
      if (meta.pages && !isWait(told, raw)) leave = await ctx.scope.pageTurn();
      admitted(access, admit, ctx);
      const input = inputs[0].safeParse(raw);
      if (!input.success) throw inputError(input.error, meta, ctx.caller, raw);
      const work = resolver({ ctx, input: input.data });
      const result = await (isWait(told, raw) ? work : ctx.scope.within(work));
      const answer = answerOf(result);
      ended = { result, thrown: null };
      return answer;
    } catch (thrown) {
      ended = { result: null, thrown };
      throw thrown;
    } finally {
      leave?.();
      if (ctx.recorded) await ctx.recorded;
      tell(ctx, told, ended, raw);
    }
  };
}

/** How a call ended: with a result, or with what was thrown. */
interface Ended {
  readonly result: unknown;
  readonly thrown: unknown;
}

/** What is told of the calls of a procedure: the same for each of them. */
const toldOf = ({ access, openapi, only_waited, query }: OpenApiMeta<RelayMeta>) => ({
  may_wait: only_waited !== undefined || query?.includes("wait") === true,
  /** The name of its route on every surface (§15.2); null: its calls are in no log. */
  action: access === "none" || !openapi ? null : `${openapi.method} ${openapi.path}`,
  head: `HEAD ${openapi?.path}`,
  only_waited,
});
type Told = ReturnType<typeof toldOf>;

const isWait = ({ may_wait }: Told, input: unknown): boolean =>
  may_wait && Boolean((input as { readonly wait?: unknown } | null)?.wait);

/** Tells the activity log of a call. */
function tell(ctx: Context, told: Told, { result, thrown }: Ended, input: unknown): void {
  const { action, head, only_waited } = told;
  if (isWait(told, input)) ctx.scope.waits();
  if (action === null) return;
  const fault = thrown === null ? null : toServiceError(thrown);
  const error = fault && isGone(fault) ? null : fault;
  // A body that is not JSON is refused before the credential on REST, and has no entry.
  if (error?.code === "invalid_json") return;
  if (error === null && ctx.effects && only_waited?.(input as object, result)) return;
  ctx.scope.ended({ action: ctx.head ? head : action, host: ctx.host, error });
}

/** Whether a wait ended because its client went away: nobody is left to answer. */
export const isGone = (error: unknown): boolean =>
  error instanceof ClientGone || (error instanceof Error && isGone(error.cause));

function inputError(error: ZodError, meta: RelayMeta, caller: Caller | null, raw: unknown) {
  return invalidFields({ ...reasonsOf(error.issues), ...meta.rules?.(caller, raw) });
}

/** `key_id` of a task to create, or of a list's filter (docs/interface.md 5.5). */
export const keyIdRule =
  ({ required }: { required: boolean }) =>
  (caller: Caller | null, raw: unknown): FieldReasons => {
    // A body of another kind has no fields to classify.
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return {};
    const given = "key_id" in raw;
    if (caller?.kind === "key" && given) return { key_id: "is permitted for an account only" };
    return caller?.kind === "account" && required && !given ? { key_id: "is required" } : {};
  };

/** A thrown ServiceError keeps its code and gets the HTTP status tRPC derives from its own key. */
export function toTrpcError(error: unknown): TRPCError {
  const cause = toServiceError(error);
  return new TRPCError({ code: ERRORS[cause.code].trpc, message: cause.message, cause });
}

type Admit<C extends Caller | null> = (caller: Caller | null) => C;

/** Order of the checks: credential, rate limit, kind, fields (docs/interface.md 9.4). */
function admitted<C extends Caller | null>(access: Access, admit: Admit<C>, ctx: Context): C {
  if (ctx.caller && access !== "none") ctx.scope.charge();
  const caller = admit(ctx.caller);
  if (ctx.rejected) failFields(ctx.rejected);
  return caller;
}

/** How {@link base} admits a caller, for {@link execute}. */
const admits = new Map<Access, Admit<Caller | null>>();

function base<C extends Caller | null>(access: Access, admit: Admit<C>) {
  admits.set(access, admit);
  return t.procedure.meta({ access }).use(async (options) => {
    const { ctx, next, meta, type } = options;
    // A query without any input is one without fields, as it is on REST.
    const getRawInput = async () => {
      const raw = cutMembers(await options.getRawInput());
      return raw === undefined && type === "query" ? {} : raw;
    };
    let ended: Ended = { result: null, thrown: null };
    let leave: (() => void) | undefined;
    try {
      if (meta?.limit) await ctx.scope.limit(meta.limit);
      const told = meta && toldOf(meta);
      const sent = ctx.batch || told?.may_wait ? await getRawInput().catch(() => null) : null;
      const waits = told !== undefined && isWait(told, sent);
      if (meta?.pages && !waits) leave = await ctx.scope.pageTurn();
      const caller = admitted(access, admit, ctx);
      const call = (page_bytes: number) => {
        // All are taken, which the types do not say.
        const given = { ctx: { caller, page_bytes }, getRawInput };
        const work = next(given as { readonly ctx: { readonly caller: C } });
        return waits ? work : ctx.scope.within(work);
      };
      const result = ctx.batch
        ? await inBatch(ctx.batch, { type, waits }, call)
        : await call(ctx.page_bytes);
      if (result.ok) {
        ended = { result: result.data, thrown: null };
        return result;
      }
      const { cause } = result.error;
      if (!(cause instanceof ZodError) || !meta) throw result.error;
      throw inputError(cause, meta, caller, await getRawInput());
    } catch (thrown) {
      ended = { result: null, thrown };
      throw toTrpcError(thrown);
    } finally {
      leave?.();
      const told = meta && toldOf(meta);
      const input = told?.may_wait && (await getRawInput().catch(() => null));
      if (told) tell(ctx, told, ended, input || {});
    }
  });
}

/**
 * Makes one call of a batch within what is left of their budget. A mutation is never refused for it,
 * as it would be done and answered like one that is not; nor does a query that waits hold up others.
 */
async function inBatch<Result extends { readonly ok: boolean }>(
  batch: BatchBudget,
  { type, waits }: { readonly type: string; readonly waits: boolean },
  call: (page_bytes: number) => Promise<Result>,
): Promise<Result> {
  const is_query = type === "query";
  const reserved = is_query && !waits ? await batch.reserve() : 0;
  let bytes = 0;
  try {
    const result = await call(reserved || (is_query ? batch.share() : LIMITS.page_bytes));
    const { data } = result as { readonly data?: unknown };
    bytes = data === undefined ? 0 : Buffer.byteLength(JSON.stringify(data));
    return result;
  } finally {
    batch.settle(reserved, bytes);
  }
}

/** No credential; one that is sent is not looked at. */
export const open = base("none", () => null);

/** An account token or an API key. */
export const anyone = base("any", (caller) => caller ?? fail("unauthorized"));

export const account = base("account", (caller): AccountCaller => {
  if (!caller) fail("unauthorized");
  return caller.kind === "account" ? caller : fail("forbidden");
});

export const key = base("key", (caller): KeyCaller => {
  if (!caller) fail("unauthorized");
  return caller.kind === "key" ? caller : fail("forbidden");
});
