/** The context of every procedure call, on every surface. */

import type { ServiceError } from "../src/errors.ts";
import type { IdempotentRequest } from "../src/model/idempotency.ts";
import type { McpSession } from "../src/model/mcp-session.ts";
import type { CallContext } from "../src/rpc/context.ts";
import type { Services } from "../src/services/create.ts";

/** The options of a permission hook's call to `/mcp?tools=approve`, from its address and headers (§12.6). */
export interface HookCall {
  /** Seconds that a request waits; null: as is usual for the client. */
  readonly wait: number | null;
  /** The client's name for this server, whose tools are not asked about; undefined: the usual name. */
  readonly server: string | undefined;
  /** False: the client accepts no stream, so it must be answered soon. */
  readonly streams: boolean;
  /** The name that the MCP client gives itself. */
  readonly client_name: string | null;
  /** For the request log, which the text for the hook does not decide. */
  readonly outcome: { error: ServiceError | null; only_waited: boolean };
}

export interface Context extends CallContext {
  readonly services: Services;
  /** The `Idempotency-Key` and the body, as digests; null without the header. */
  readonly idempotent_request: IdempotentRequest | null;
  /** Its signal aborts when the client disconnects. The signal is made on first use: most calls need none. */
  readonly connection: { readonly signal: AbortSignal };
  /** True: a tool call that asks, whose agent does not know the question's id yet (§12.4.5). */
  readonly asking: boolean;
  /** True: a tool call whose client gets signs of life while it waits (§12.4.2). */
  readonly streams: boolean;
  /** The MCP session that the call belongs to, if any. */
  readonly session: McpSession | null;
  /** Null unless the call came to `/mcp?tools=approve`. */
  readonly hook: HookCall | null;
  /** A procedure that creates sets `existing` when it returns an earlier resource: `200` instead of `201`. */
  readonly outcome: { existing: boolean };
}
