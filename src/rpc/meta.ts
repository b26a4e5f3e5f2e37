/** What a procedure declares beside its schemas; every surface is derived from it. */

import type { OpenApiMeta } from "trpc-to-openapi";
import type { ErrorCode, FieldReasons } from "../errors.ts";
import type { AccountCaller, Caller, KeyCaller } from "../model/caller.ts";
import type { CallContext } from "./context.ts";

/** Who may call (docs/interface.md 4.1.3). */
export type Access = "none" | "account" | "key" | "any";

/** The caller that a procedure of this access gets. */
export type CallerOf<A extends Access> = {
  readonly none: null;
  readonly account: AccountCaller;
  readonly key: KeyCaller;
  readonly any: Caller;
}[A];

/** Limits of the client's address that a route may have besides those of its caller. */
export type RouteLimit =
  | "accounts"
  | "challenges"
  | "pairings"
  | "approvals"
  | "approval_waits"
  | "registrations"
  | "address";

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
  /** True: a ticket may call it too, on REST, for its question and without a wait (§19.7). */
  readonly accepts_ticket?: boolean;
  /** True: a query that removes what it returns, so a response must not be refused once it has run. */
  readonly consumes?: boolean;
  /** True: an answer may be a page of up to `LIMITS.page_bytes`, for which calls take turns. */
  readonly pages?: boolean;
  /** True: it waits for another service, so it may take longer than other requests. */
  readonly may_be_slow?: boolean;
  /** A limit of the client's address, checked before anything else. */
  readonly limit?: RouteLimit;
  /**
   * True when a call only waited, so that the activity log has no entry of it (§15.1.2).
   * The result is null when the client went away before there was one.
   */
  readonly only_waited?: (input: { readonly wait?: number }, result: unknown) => boolean;
  /**
   * Reasons that a schema cannot give, since they depend on the caller or on several fields. They are
   * named together with those of the schema. `raw` is the input before the schema has checked it.
   */
  readonly rules?: (caller: Caller | null, raw: unknown) => FieldReasons;
  /** Codes this procedure can give beyond those of every route. */
  readonly errors?: readonly ErrorCode[];
  /** Present: the procedure is a tool of `/mcp` too. */
  readonly mcp?: ToolMeta;
}

/** A procedure's whole metadata: ours, and the route that trpc-to-openapi documents. */
export type ProcedureMeta = OpenApiMeta<RelayMeta>;

type Arguments = Readonly<Record<string, unknown>>;

/** The call of a tool that should follow another one. */
export interface NextCall {
  /** What an agent reads before it, as in `No answer yet. To wait on`. */
  readonly why: string;
  readonly name: string;
  readonly arguments: Arguments;
}

/** What a tool adds to the answer of its route. */
export interface AddedFields {
  /** Their names; each is an object, and may be missing. */
  readonly names: readonly string[];
  /** Null: this result gets none. Must not fail, as the call is done. */
  read(ctx: CallContext, result: object): Promise<object | null>;
}

/**
 * How a procedure becomes a tool of `/mcp`; src/mcp/tools.ts reads it once, at start. A tool whose output is a
 * text gives that text as it is, and lists no schema of it.
 */
export interface ToolMeta {
  /** Lower case with underscores, 64 characters at most; what the activity log shows. */
  readonly name: string;
  readonly title: string;
  /** When an agent should use it, in a few sentences: a model reads them at every turn. */
  readonly description: string;
  /** What a model reads of a field, where its name and type do not say it; other fields have no text. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Hints for the client, all four of them. */
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** True: listed and called at `/mcp?tools=approve` alone (§12.6.1). */
  readonly for_hooks?: boolean;
  /** Input fields that only an account may send: no arguments of the tool. */
  readonly account_only?: readonly string[];
  /** What a field is when the agent leaves it out. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The call that should follow the one with these arguments and this result, when one should. */
  next?(result: object, given: Arguments): NextCall | null;
  /**
   * What an agent should make of this result, in one sentence, where the result does not say it; `now`:
   * epoch seconds.
   */
  note?(result: object, now: number): string | null;
  /** Fields of the result that the route's answer does not have. */
  readonly adds?: AddedFields;
  /** True: a client that can repeat a call by itself goes on waiting with `next`. */
  readonly rounds?: boolean;
}
