/** The metadata that a procedure declares beside its schemas. Every surface is derived from it. */

import type { OpenApiMeta } from "trpc-to-openapi";
import type { ErrorCode, FieldReasons } from "../errors.ts";
import type { AccountCaller, Caller, KeyCaller } from "../model/caller.ts";
import type { AddressLimit } from "../overload/limiter.ts";
import type { CallContext } from "./context.ts";

/** Who may call (§4.1.3). */
export type Access = "none" | "account" | "key" | "any";

/** The caller that a procedure with this access gets. */
export type CallerOf<A extends Access> = {
  readonly none: null;
  readonly account: AccountCaller;
  readonly key: KeyCaller;
  readonly any: Caller;
}[A];

/** A limit of the client's address that a route has besides that of its caller. */
export type RouteLimit = "accounts" | AddressLimit;

export interface RelayMeta extends Record<string, unknown> {
  /** Set by the procedure base. */
  readonly access?: Access;
  /** Status of success, 200 by default. 204 has no body. */
  readonly status?: 201 | 204;
  /** True: instead of creating, it may return what exists, with 200 in place of 201. */
  readonly may_exist?: boolean;
  /** Input fields that a POST reads from the query instead of the body. */
  readonly query?: readonly string[];
  /** True: a missing body counts as `{}`. */
  readonly body_optional?: boolean;
  /** True: REST and tRPC accept an `Idempotency-Key` (§8). */
  readonly accepts_idempotency_key?: boolean;
  /** True: REST accepts a ticket too, for the question in the field `question_id` and without a wait (§19.7). */
  readonly accepts_ticket?: boolean;
  /** True: a query that removes what it returns, so that its answer must not be refused afterwards. */
  readonly consumes?: boolean;
  /** True: an answer may be a page of up to `LIMITS.page_bytes`, so that calls take turns. */
  readonly pages?: boolean;
  /**
   * True: it reads before its first effect, and awaits `ctx.confirmed` in between. So a surface may begin it while the
   * credential is looked up, which saves a round trip to a libSQL server.
   */
  readonly reads_first?: boolean;
  /** True: it waits for another service, so it may take longer than other requests. */
  readonly may_be_slow?: boolean;
  /** A limit of the client's address, checked before anything else. */
  readonly limit?: RouteLimit;
  /**
   * True for a call that only waited and is therefore not logged (§15.1.2). The result is null when the client
   * went away before there was one.
   */
  readonly only_waited?: (input: { readonly wait?: number }, result: unknown) => boolean;
  /**
   * Reasons that a schema cannot give, because they depend on the caller or on several fields. They are reported
   * together with those of the schema. `raw` is the unchecked input.
   */
  readonly rules?: (caller: Caller | null, raw: unknown) => FieldReasons;
  /** Error codes beyond those of every route. */
  readonly errors?: readonly ErrorCode[];
  /** Present: the procedure is a tool of `/mcp` too. */
  readonly mcp?: ToolMeta;
}

/** All metadata of a procedure: Relay's, and the route that trpc-to-openapi documents. */
export type ProcedureMeta = OpenApiMeta<RelayMeta>;

/** Unchecked arguments of a tool call, by name. */
export type Arguments = Readonly<Record<string, unknown>>;

/** A tool call that should follow another one. */
export interface NextCall {
  /** The sentence for the agent before the call, such as `No answer yet. To keep waiting`. */
  readonly why: string;
  readonly name: string;
  readonly arguments: Arguments;
}

/** Fields that a tool adds to the answer of its route. */
export interface AddedFields {
  /** Their names. Each is an object and may be missing. */
  readonly names: readonly string[];
  /** Reads the fields; null for a result that has none. Must not throw, because the call is done. */
  read(ctx: CallContext, result: object): Promise<object | null>;
}

/**
 * How a procedure becomes a tool of `/mcp`; src/mcp/tools.ts reads it once, at start. A tool whose output is a text
 * returns that text as it is, and lists no schema for it.
 */
export interface ToolMeta {
  /** Lower case with underscores, 64 characters at most; what the request log shows. */
  readonly name: string;
  readonly title: string;
  /** When an agent should use it. A model reads this at every turn, so keep it to a few sentences. */
  readonly description: string;
  /** Texts for the fields whose name and type do not explain them. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Hints for the client. All four are required. */
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
  /** Input fields that the tool accepts but `tools/list` leaves out, for its length. */
  readonly unlisted?: readonly string[];
  /** Values of fields that the agent leaves out. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** The call that should follow the call with these arguments and this result; null when none should. */
  next?(result: object, given: Arguments): NextCall | null;
  /** One sentence on what the result means, where the result does not say it. `now`: epoch seconds. */
  note?(result: object, now: number): string | null;
  readonly adds?: AddedFields;
  /** True: a client that can repeat a call by itself continues to wait with `next`. */
  readonly rounds?: boolean;
}
