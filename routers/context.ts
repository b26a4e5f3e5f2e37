/** The context of every procedure call, on every surface. */

import type { ServiceError } from "../src/errors.ts";
import type { IdempotentRequest } from "../src/model/idempotency.ts";
import type { McpSession } from "../src/model/mcp-session.ts";
import type { CallContext } from "../src/rpc/context.ts";
import type { Accounts } from "../src/services/accounts.ts";
import type { Attestations } from "../src/services/attestations.ts";
import type { ChannelLinksService } from "../src/services/channel-links.ts";
import type { Channels } from "../src/services/channels.ts";
import type { Consents } from "../src/services/consents.ts";
import type { Deliveries } from "../src/services/deliveries.ts";
import type { Devices } from "../src/services/devices.ts";
import type { Grants } from "../src/services/grants.ts";
import type { Inbox } from "../src/services/inbox.ts";
import type { KeyWebhooks } from "../src/services/key-webhooks.ts";
import type { Keys } from "../src/services/keys.ts";
import type { LiveActivities } from "../src/services/live-activities.ts";
import type { Nudges } from "../src/services/nudges.ts";
import type { Pairings } from "../src/services/pairings.ts";
import type { Permissions } from "../src/services/permissions.ts";
import type { Questions } from "../src/services/questions.ts";
import type { Recovery } from "../src/services/recovery.ts";
import type { RequestLog } from "../src/services/request-log.ts";
import type { Sessions } from "../src/services/sessions.ts";
import type { TaskHistory } from "../src/services/task-history.ts";
import type { Tasks } from "../src/services/tasks.ts";

export interface Services {
  readonly accounts: Accounts;
  readonly attestations: Attestations;
  readonly sessions: Sessions;
  readonly pairings: Pairings;
  readonly recovery: Recovery;
  readonly devices: Devices;
  readonly channels: Channels;
  readonly channelLinks: ChannelLinksService;
  readonly keys: Keys;
  readonly keyWebhooks: KeyWebhooks;
  readonly grants: Grants;
  readonly consents: Consents;
  readonly tasks: Tasks;
  readonly taskHistory: TaskHistory;
  readonly questions: Questions;
  readonly permissions: Permissions;
  readonly nudges: Nudges;
  readonly deliveries: Deliveries;
  readonly inbox: Inbox;
  readonly liveActivities: LiveActivities;
  readonly requestLog: RequestLog;
}

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
