/**
 * What all channels share: kinds of notifications, purposes of targets, and outcomes of deliveries
 * (docs/interface.md §14).
 */

/**
 * `question`, `task`: shown to the person. `silent`: something changed, or what to clear. `widget`:
 * the counts changed. `start`, `update`, `end`: of a live activity.
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

/** What a target takes. An `activity` is one live activity; its task is the subject of the target. */
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

/** What a {@link DeliveryRecord} may be of. */
export const RECORD_KINDS = [
  "question",
  "task",
  "silent",
  "clear",
  "widget",
  "start",
  "update",
  "end",
] as const;

/** How a delivery can end: see {@link DeliveryRecord.outcome}. */
export const OUTCOMES = [
  "sent",
  "pointless",
  "expired",
  "invalid_token",
  "unclear",
  "refused",
] as const;

/** The outcome of a delivery; `kind` is `clear` for a silent one that carried ids. */
export interface DeliveryRecord {
  /** The same in all attempts, and known to the service. */
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
  /** The service's last reason, the code of the connection's fault, or why nothing was sent. */
  readonly reason: string | null;
  readonly attempts: number;
  readonly created_at: number;
  readonly tried_at: number | null;
  readonly done_at: number;
}

/** State of one lane's delivery worker in this process. */
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
  /** Answers and faults so far by their reason; `ok` for what was accepted. */
  readonly counts: Readonly<Record<string, number>>;
}
