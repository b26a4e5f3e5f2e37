/** What is known of a push besides its content, which is made when it is sent (docs/interface.md 14). */

import type { Device } from "./device.ts";

export type Environment = Device["apns_environment"];

/**
 * `question`, `task`: visible. `silent` tells that something changed, or what to clear. `start`,
 * `update`, `end`: of a live activity.
 */
export type PushKind = "question" | "task" | "silent" | "widget" | "start" | "update" | "end";

/** What became of a push; `kind` is `clear` for a silent one that carried ids. */
export interface PushRecord {
  readonly apns_id: string;
  readonly environment: Environment;
  readonly device_id: string;
  readonly kind: PushKind | "clear";
  /**
   * `sent`; `pointless`: its reason had passed; `expired`; `invalid_token`; `unclear`: may have
   * arrived and is not repeated; `refused`: for another reason.
   */
  readonly outcome: "sent" | "pointless" | "expired" | "invalid_token" | "unclear" | "refused";
  /** The push service's last reason, or the code of the connection's fault. */
  readonly reason: string | null;
  readonly attempts: number;
  readonly created_at: number;
  readonly tried_at: number | null;
  readonly done_at: number;
}

/** How the sender of one environment does in this process. */
export interface LaneHealth {
  readonly environment: Environment;
  /** `paused` goes on by itself; `stopped` needs another configuration and a restart. */
  readonly state: "open" | "paused" | "stopped";
  /** Why it is not open. */
  readonly reason: string | null;
  /** When it came to this state. */
  readonly since: number;
  readonly in_flight: number;
  /** Answers and faults so far by their reason; `ok` for what was accepted. */
  readonly counts: Readonly<Record<string, number>>;
}
