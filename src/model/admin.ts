/** Figures for the operator: ids, counts and times, without a text of a person or an agent. */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { Furthest } from "./delivery.ts";
import { integer } from "./integer.ts";
import { OUTCOMES, RECORD_KINDS } from "./notification.ts";
import { Id, Timestamp, text } from "./text.ts";

const count = z.int().min(0);
const seconds = z.number().min(0);
const bytes = count;
const tasks = z.object({ todo: count, in_progress: count, done: count, cancelled: count });
const questions = z.object({ pending: count, answered: count, expired: count, cancelled: count });

/** Rows of the store, over all processes. */
export const Counts = z.object({
  accounts: count,
  keys: count,
  devices: count,
  tasks,
  questions,
  unread_items: count,
  /** When they were counted, and the seconds that it took: a large store is counted in steps. */
  counted_at: Timestamp,
  took: seconds,
});
export type Counts = z.infer<typeof Counts>;

export const Overview = z.object({
  version: z.string(),
  /** Null while a large store is counted for the first time. */
  counts: Counts.nullable(),
});
export type Overview = z.infer<typeof Overview>;

/** What a list page of accounts is asked for (§4.3.4). */
export const AccountPage = z.strictObject({
  limit: integer(1, 100).optional(),
  cursor: Id.optional(),
  /** Only accounts whose name contains this, in any case. */
  name: text({ max: LIMITS.account_search }).optional(),
});
export type AccountPage = z.infer<typeof AccountPage>;

const AccountFigures = z.object({
  id: z.string(),
  created_at: Timestamp,
  keys: count,
  devices: count,
  tasks,
  pending_questions: count,
  /** When one of its keys was last used. */
  last_used_at: Timestamp.nullable(),
  /** What the administrator calls the person; null without a name. */
  name: z.string().nullable(),
  /** Since when the administrator blocks it; null if it is not blocked. */
  blocked_at: Timestamp.nullable(),
  sign_ins: count,
  /** When the person last used one of the sign-ins; null if none is left, or none was used yet. */
  last_here_at: Timestamp.nullable(),
  /** Bytes that it stores, within a tenth. */
  stored_bytes: count,
});
export type AccountFigures = z.infer<typeof AccountFigures>;

export const AccountList = z.object({
  accounts: z.array(AccountFigures),
  next_cursor: z.string().nullable(),
});
export type AccountList = z.infer<typeof AccountList>;

/** The name that the administrator gives a person: 1 to 80 characters in one line. */
export const PersonName = text({ max: LIMITS.label, one_line: true });

const invitation = {
  id: z.string(),
  name: z.string().nullable(),
  created_at: Timestamp,
  expires_at: Timestamp,
};

/** An invitation that waits to be used, without its code. */
export const Invitation = z.object(invitation);
export type Invitation = z.infer<typeof Invitation>;

/** An invitation that was just made: its code is shown this once. */
export const NewInvitation = z.object({
  ...invitation,
  /** The start code (§5.2.1(6)), which is in the link too. */
  code: z.string(),
  /** Null if other devices cannot reach this server; `no_url_reason` then says why. */
  url: z.string().nullable(),
  no_url_reason: z.string().nullable(),
});
export type NewInvitation = z.infer<typeof NewInvitation>;

export const InvitationList = z.object({ invitations: z.array(Invitation) });

/** Figures of the process that answers. */
export const ProcessFigures = z.object({
  version: z.string(),
  bun: z.string(),
  pid: count,
  started_at: Timestamp,
  uptime: seconds,
  /** Seconds of processor time so far. */
  cpu: seconds,
  resident_bytes: bytes,
  heap_bytes: bytes,
  open_fds: count.nullable(),
  max_fds: count.nullable(),
  /** Seconds by which timers of the last minute came late. */
  event_loop_lag: z.object({ p50: seconds, p99: seconds, max: seconds }),
  requests_in_flight: count,
  streams: z.object({ open: count, accounts: count }),
  /** `owners`: keys and accounts that have waiting requests. */
  waits: z.object({ open: count, owners: count }),
  /** Refusals since the start, by rate limit. */
  rate_limited: z.record(z.string(), count),
  /** Entries of the request log that wait for their write, and that were dropped since the start. */
  activity: z.object({ queued: count, dropped: count }),
});
export type ProcessFigures = z.infer<typeof ProcessFigures>;

const Minute = z.object({
  at: Timestamp,
  requests: count,
  client_errors: count,
  server_errors: count,
  /** Seconds, of requests without a wait; null if there was none. */
  p50: seconds.nullable(),
  p99: seconds.nullable(),
  /** Values at the start of the minute; for the last minute, current values. */
  streams: count,
  waits: count,
  resident_bytes: bytes,
  /** Seconds of processor time, and answers of push services, in this minute. */
  cpu: seconds,
  pushes_accepted: count,
  pushes_failed: count,
  /** Of the store at the start of the minute: seconds of one small read, events, queued deliveries. */
  store_read: seconds.nullable(),
  outbox_events: count.nullable(),
  pushes_queued: count.nullable(),
});

/** The last 180 minutes of all processes together, oldest first, the current one included. */
export const SeriesFigures = z.object({ minutes: z.array(Minute) });
export type SeriesFigures = z.infer<typeof SeriesFigures>;

const Distribution = z.object({
  /** Upper bounds of the buckets; the last bucket has none. */
  bounds: z.array(z.number()),
  counts: z.array(count),
  sum: z.number(),
});

export const StoreFigures = z.object({
  kind: z.enum(["embedded", "server"]),
  reachable: z.boolean(),
  /** Seconds of one small read; null while the store cannot be reached. */
  latency: seconds.nullable(),
  /** Bytes of the store, and of the write-ahead log beside a file; null if unknown. */
  bytes: bytes.nullable(),
  wal_bytes: bytes.nullable(),
  /** Commits of this process: their seconds, and the batches in each. */
  commit_seconds: Distribution,
  commit_batches: Distribution,
  /** Batches of this process that failed, and batches that wait. */
  failed_batches: count,
  queued_batches: count,
});
export type StoreFigures = z.infer<typeof StoreFigures>;

export const OutboxFigures = z.object({
  /** Events in the store; null while it cannot be reached. */
  events: z
    .object({
      rows: count,
      oldest_at: Timestamp.nullable(),
      /** Events that this process has yet to deliver. */
      behind: count,
    })
    .nullable(),
});
export type OutboxFigures = z.infer<typeof OutboxFigures>;

/** The lane of a channel. */
const LaneName = {
  /** Null for a lane that this version does not know. */
  channel: z.string().nullable(),
  lane: z.string(),
  /** The lane, by its older name. */
  environment: z.string(),
};
const Outcome = z.enum(OUTCOMES);
export type Outcome = z.infer<typeof Outcome>;

export const PushFigures = z.object({
  /** The lanes of the process that answers: of each configured channel, and of webhooks. */
  lanes: z.array(
    z.object({
      ...LaneName,
      state: z.enum(["open", "paused", "stopped"]),
      /** Why the lane is not open. */
      reason: z.string().nullable(),
      since: Timestamp,
      in_flight: count,
      /** Answers and faults since the start, by reason; `ok` for accepted ones. */
      counts: z.record(z.string(), count),
    }),
  ),
  /** The connections of that process that take answers, by channel; channels without one are absent. */
  listening: z.array(
    z.object({ channel: z.string(), connections: count, working: count, served: count }),
  ),
  /** Answers that came by them since its start, by what became of them. */
  answers: z.record(z.string(), count),
  /** Channels that are not configured. */
  off: z.array(z.string()),
  /** Queued deliveries of all processes, counted up to 10,000; null while the store cannot be reached. */
  queues: z
    .array(
      z.object({
        ...LaneName,
        rows: count,
        oldest_at: Timestamp,
        /** When the first of them is due; null while all are held for a blocked account. */
        due_at: Timestamp.nullable(),
      }),
    )
    .nullable(),
  /** Outcomes of the last 500 deliveries of all processes, without webhooks. */
  outcomes: z.record(Outcome, count).nullable(),
  /** Outcomes of those deliveries by channel. */
  outcomes_by_channel: z
    .array(z.object({ channel: z.string(), outcomes: z.record(Outcome, count) }))
    .nullable(),
  /** How far the last 500 deliveries of questions got, by the type of the target: webhooks and open pages too. */
  deliveries_by_type: z
    .array(z.object({ type: z.string(), furthest: z.partialRecord(Furthest, count) }))
    .nullable(),
  /** The newest 20 deliveries that failed. */
  failures: z
    .array(
      z.object({
        ...LaneName,
        kind: z.enum(RECORD_KINDS),
        outcome: Outcome,
        reason: z.string().nullable(),
        attempts: count,
        created_at: Timestamp,
        done_at: Timestamp,
      }),
    )
    .nullable(),
});
export type PushFigures = z.infer<typeof PushFigures>;

const JobFigures = z.object({
  name: z.string(),
  /** Seconds between passes. */
  every: seconds,
  running: z.boolean(),
  done: count,
  failed: count,
  last_at: Timestamp.nullable(),
  /** Seconds of the last pass. */
  last_took: seconds.nullable(),
  last_done_at: Timestamp.nullable(),
  /** Error of the last pass; null if it succeeded. */
  last_error: z.string().nullable(),
});

/** The jobs of the process that answers. */
export const JobList = z.object({ jobs: z.array(JobFigures) });
export type JobList = z.infer<typeof JobList>;

/** `warning`: worth a look; `fault`: something does not work. */
const HealthState = z.enum(["ok", "warning", "fault"]);

const HealthCheck = z.object({
  name: z.enum([
    ...["store", "disk", "clock", "address", "certificate"],
    ...["backups", "notifications", "errors"],
  ] as const),
  state: HealthState,
  /** A sentence for a person. */
  text: z.string(),
  /** When that happened; null for what holds now. */
  at: Timestamp.nullable(),
  /** True for what is neither good nor bad, such as what is not configured; `state` is then `ok`. */
  neutral: z.boolean(),
});
export type HealthCheck = z.infer<typeof HealthCheck>;

/** Whether everything is well, as this process sees it. */
export const AdminHealth = z.object({
  /** The worst state of the checks. */
  state: HealthState,
  /** What could not be found out is left out; `notifications` may be there once for each channel. */
  checks: z.array(HealthCheck),
  /** What this process logged as a warning or an error, the latest first: at most 20, each with its number since the start. */
  errors: z.array(
    z.object({
      text: z.string(),
      level: z.enum(["warn", "error"]),
      times: count,
      last_at: Timestamp,
    }),
  ),
});
export type AdminHealth = z.infer<typeof AdminHealth>;
