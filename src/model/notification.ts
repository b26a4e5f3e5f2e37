/** Shared by all channels: kinds of notifications, purposes of targets, outcomes of deliveries (§14). */

/**
 * `question`, `task`: shown to the person. `silent`: something changed, or is to be cleared. `widget`: the counts
 * changed. `start`, `update`, `end`: of a live activity.
 */
export const NOTIFICATION_KINDS = [
  "question",
  "task",
  "silent",
  "widget",
  "start",
  "update",
  "end",
] as const;
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

/** The notifications that a target accepts. `activity`: one live activity, whose task is the subject of the target. */
export const PURPOSE_NAMES = ["alert", "widget", "activity_start", "activity"] as const;
export type Purpose = (typeof PURPOSE_NAMES)[number];

export const PURPOSES: Readonly<Record<NotificationKind, Purpose>> = {
  question: "alert",
  task: "alert",
  silent: "alert",
  widget: "widget",
  start: "activity_start",
  update: "activity",
  end: "activity",
};

const BLOCKED = "blocked ";

/**
 * The lane of a target while its account is blocked (§4.4.3). No worker serves it, so what is planned for it waits; the
 * triggers of `accounts.blocked_at` move targets and deliveries there and back.
 */
export const blockedLane = (lane: string): string => BLOCKED + lane;

/** The lane whose {@link blockedLane} this is; any other lane as it is. */
export const unblockedLane = (lane: string): string =>
  lane.startsWith(BLOCKED) ? lane.slice(BLOCKED.length) : lane;

/** Kinds of a {@link DeliveryRecord}. `clear`: a silent one that carried ids. */
export const RECORD_KINDS = [...NOTIFICATION_KINDS, "clear"] as const;

/** How a delivery can end: see {@link DeliveryRecord.outcome}. */
export const OUTCOMES = [
  "sent",
  "pointless",
  "expired",
  "invalid_token",
  "unclear",
  "refused",
] as const;

/** How a delivery ended. */
export interface DeliveryRecord {
  /** Id of the delivery, kept in all its attempts and sent to the push service. */
  readonly delivery_id: string;
  readonly lane: string;
  /** Id of the device. */
  readonly recipient_id: string;
  readonly kind: (typeof RECORD_KINDS)[number];
  /**
   * `sent`; `pointless`: obsolete by the time it was due; `expired`; `invalid_token`: the service
   * does not know the address; `unclear`: may have arrived and is not repeated; `refused`: for
   * another reason.
   */
  readonly outcome: (typeof OUTCOMES)[number];
  /** The last reason of the push service, the code of a connection fault, or why nothing was sent. */
  readonly reason: string | null;
  readonly attempts: number;
  readonly created_at: number;
  readonly tried_at: number | null;
  readonly done_at: number;
}

/** State of one lane in this process. */
export interface LaneHealth {
  readonly channel: string;
  /** Unique over all channels. */
  readonly lane: string;
  /** `paused` resumes by itself; `stopped` needs another configuration and a restart. */
  readonly state: "open" | "paused" | "stopped";
  /** Why it is not open. */
  readonly reason: string | null;
  /** When it entered this state. */
  readonly since: number;
  readonly in_flight: number;
  /** Answers and faults so far, by reason; `ok` for accepted ones. */
  readonly counts: Readonly<Record<string, number>>;
}

/** How this process listens for the answers of one channel (§19.8). */
export interface ReplyHealth {
  readonly channel: string;
  /** Connections, and those that work now. */
  readonly connections: number;
  readonly working: number;
  /** Channels of the person that they serve. */
  readonly served: number;
}
