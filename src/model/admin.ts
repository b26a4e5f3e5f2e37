/**
 * Operator figures: ids, counts and times. There is no text of a person or
 * an agent in it, and a schema drops what it does not name.
 */

import { z } from "zod";
import { Furthest } from "./delivery.ts";
import { integer } from "./integer.ts";
import { OUTCOMES, RECORD_KINDS } from "./notification.ts";
import { Id, Timestamp } from "./text.ts";

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
  /** Of all keys. */
  tasks,
  questions,
  unread_items: count,
  /** When they were counted, and how many seconds it took: a large store is counted in steps. */
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

export const AccountPage = z.strictObject({
  limit: integer(1, 100).optional(),
  /** The `next_cursor` of the previous page. */
  cursor: Id.optional(),
});
export type AccountPage = z.infer<typeof AccountPage>;

const AccountFigures = z.object({
  id: z.string(),
  created_at: Timestamp,
  keys: count,
  devices: count,
  tasks,
  pending_questions: count,
  /** When one of its keys was last used; a use by the person is not recorded. */
  last_used_at: Timestamp.nullable(),
});
export type AccountFigures = z.infer<typeof AccountFigures>;

/** Newest first. */
export const AccountList = z.object({
  accounts: z.array(AccountFigures),
  next_cursor: z.string().nullable(),
});
export type AccountList = z.infer<typeof AccountList>;

/** The process that answers; other processes report themselves. */
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
  /** `owners`: keys and accounts that have a request asleep. */
  waits: z.object({ open: count, owners: count }),
  /** Refusals since the start, by the name of the rate limit. */
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
  /** Seconds, of the requests that did not ask to wait; null when there was none. */
  p50: seconds.nullable(),
  p99: seconds.nullable(),
  /** Values at the beginning of the minute; for the last minute, current values. */
  streams: count,
  waits: count,
  resident_bytes: bytes,
  /** Seconds of processor time, and answers of the push service in this minute. */
  cpu: seconds,
  pushes_accepted: count,
  pushes_failed: count,
  /** Of the store when the minute began: seconds of one small read, events, pushes that wait. */
  store_read: seconds.nullable(),
  outbox_events: count.nullable(),
  pushes_queued: count.nullable(),
});

/** The last 180 minutes of the process that answers, oldest first; the last one is not over. */
export const SeriesFigures = z.object({ minutes: z.array(Minute) });
export type SeriesFigures = z.infer<typeof SeriesFigures>;

const Distribution = z.object({
  /** Upper bound of each bucket; the last bucket, beyond all of them, has none. */
  bounds: z.array(z.number()),
  counts: z.array(count),
  sum: z.number(),
});

export const StoreFigures = z.object({
  kind: z.enum(["embedded", "server"]),
  reachable: z.boolean(),
  /** Seconds of one small read; null while it cannot be reached. */
  latency: seconds.nullable(),
  /** Of the whole store, and of the log beside a file; null while they cannot be told. */
  bytes: bytes.nullable(),
  wal_bytes: bytes.nullable(),
  /** Commits of this process: their seconds, and how many batches shared each. */
  commit_seconds: Distribution,
  commit_batches: Distribution,
  /** Batches of this process that failed, and that wait now. */
  failed_batches: count,
  queued_batches: count,
});
export type StoreFigures = z.infer<typeof StoreFigures>;

export const OutboxFigures = z.object({
  /** Events that are kept, of all processes; null while the store cannot be reached. */
  events: z
    .object({
      rows: count,
      oldest_at: Timestamp.nullable(),
      /** How many this process has yet to deliver. */
      behind: count,
    })
    .nullable(),
});
export type OutboxFigures = z.infer<typeof OutboxFigures>;

/** The lane of a channel. */
const LaneName = {
  /** Null for a lane of another version. */
  channel: z.string().nullable(),
  lane: z.string(),
  /** The lane, as it was named before there were other channels. */
  environment: z.string(),
};
const Outcome = z.enum(OUTCOMES);
export type Outcome = z.infer<typeof Outcome>;

export const PushFigures = z.object({
  /** Of the process that answers: of each channel that is configured, and of webhooks. */
  lanes: z.array(
    z.object({
      ...LaneName,
      state: z.enum(["open", "paused", "stopped"]),
      /** Why it is not open. */
      reason: z.string().nullable(),
      since: Timestamp,
      in_flight: count,
      /** Answers and faults since the start by their reason; `ok` for what was accepted. */
      counts: z.record(z.string(), count),
    }),
  ),
  /** Channels that are off, as they are not configured. */
  off: z.array(z.string()),
  /** Queued deliveries of all processes, counted up to 10,000. Null while the store is away. */
  queues: z.array(z.object({ ...LaneName, rows: count, oldest_at: Timestamp })).nullable(),
  /** Outcomes of the last pushes of all processes, at most 500. */
  outcomes: z.record(Outcome, count).nullable(),
  /** The same by channel, without webhooks. */
  outcomes_by_channel: z
    .array(z.object({ channel: z.string(), outcomes: z.record(Outcome, count) }))
    .nullable(),
  /**
   * How far the last deliveries of questions got, at most 500, by the type of the target: webhooks
   * and open pages too. Each is counted once, by the furthest it got.
   */
  deliveries_by_type: z
    .array(z.object({ type: z.string(), furthest: z.partialRecord(Furthest, count) }))
    .nullable(),
  /** The newest pushes that should have reached somebody and did not, at most 20. */
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
  /** Of the last pass; null when it was done. */
  last_error: z.string().nullable(),
});

/** The jobs of the process that answers; each process has them all. */
export const JobList = z.object({ jobs: z.array(JobFigures) });
export type JobList = z.infer<typeof JobList>;
