/**
 * The tables of notifications: targets, deliveries that wait, what became of others, how far each
 * question got, and the pages that are open; channels, and the messages of webhooks that wait.
 */

import {
  customType,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import {
  ChannelState,
  ChannelSubject,
  ChannelType,
  type QuietHours,
  type Sends,
} from "../../src/model/channel.ts";
import { DeliveryStatus } from "../../src/model/delivery.ts";
import { STORED_EVENTS } from "../../src/model/event.ts";
import { ItemType } from "../../src/model/item.ts";
import {
  NOTIFICATION_KINDS,
  OUTCOMES,
  PURPOSE_NAMES,
  RECORD_KINDS,
} from "../../src/model/notification.ts";
import { TaskPriority } from "../../src/model/task.ts";
import { oneOf, strings, timestamp } from "../schema.ts";
import { sql } from "../sql.ts";

/** A version 4 UUID made by the store, since one statement makes the rows of many devices. */
export const UUID = sql`(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))`;

/**
 * Where notifications can be sent: an address of a device for one purpose. Triggers keep it equal to
 * the token columns of `devices` and to the live activities that have not ended, in both directions,
 * since versions before 0.2.0 know only those: removing a target takes the token back there.
 */
export const pushTargets = sqliteTable(
  "push_targets",
  {
    account_id: text().notNull(),
    purpose: oneOf(PURPOSE_NAMES).notNull(),
    /** Id of the device. */
    recipient_id: text().notNull(),
    /** Id of the task, for `activity`; otherwise empty. */
    subject: text().notNull(),
    /** Names the channel too (src/notify/channels/registry.ts). */
    lane: text().notNull(),
    /** In a form of the channel's own, such as a token. A secret. */
    address: text().notNull(),
    /** When it was last registered, also with the same address. */
    updated_at: timestamp().notNull(),
    /** How the person knows it; null for a device, which has no name. */
    label: text(),
  },
  (t) => [
    // Planning reads all targets of an account that are for one purpose.
    primaryKey({ columns: [t.account_id, t.purpose, t.recipient_id, t.subject] }),
  ],
);

/**
 * Notifications that wait to be sent: at most one for each recipient, kind and subject, into which
 * later changes merge. A row holds ids, and no content: it is rendered from what the tables say
 * then. db/notify/queue.ts has the states of a row. Columns are named as in 0.1.0.
 */
export const deliveries = sqliteTable(
  "pushes",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    /** The same in all attempts. */
    delivery_id: text("apns_id").notNull().default(UUID),
    account_id: text().notNull(),
    recipient_id: text("device_id").notNull(),
    kind: oneOf(NOTIFICATION_KINDS).notNull(),
    /** What it is about, and what later changes merge by; empty when it is about the account. */
    subject: text().notNull(),
    key_id: text(),
    task_id: text(),
    question_id: text(),
    lane: text("environment").notNull(),
    /** A copy of the address where the target goes, else null: the target is looked up. */
    address: text("token"),
    /** For `silent` the ids to clear, otherwise the names of what changed. */
    parts: strings().notNull(),
    /** Parts that came while it was under way; null when none did. */
    more: strings(),
    /** What is claimed first: 0 questions, 1 what shows, 2 what does not. */
    urgency: integer().notNull(),
    /** When it may be sent; while it is leased, an estimate of when the lease ends (leases.ts). */
    due_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    created_at: timestamp().notNull(),
    /** Who sends it now. */
    lease: text(),
    /** 1: a lease on it ran out, so it may have been sent. */
    unclear: integer().notNull().default(0),
    attempts: integer().notNull().default(0),
    tried_at: timestamp(),
  },
  (t) => [
    uniqueIndex("pushes_subject").on(t.account_id, t.recipient_id, t.kind, t.subject),
    index("pushes_due").on(t.lane, t.urgency, t.due_at),
    // What waits, account by account.
    index("pushes_waiting").on(t.lane, t.account_id, t.urgency, t.due_at).where(sql`lease is null`),
    index("pushes_expiry").on(t.expires_at),
    index("pushes_leased").on(t.lane, t.lease).where(sql`lease is not null`),
    index("pushes_token").on(t.address).where(sql`token is not null`),
  ],
);

/** What became of each delivery: no content and no address. The pace of later ones follows from it. */
export const deliveryRecords = sqliteTable(
  "push_records",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    delivery_id: text("apns_id").notNull(),
    account_id: text().notNull(),
    recipient_id: text("device_id").notNull(),
    key_id: text(),
    kind: oneOf(RECORD_KINDS).notNull(),
    /** Id of the question or task; empty when it is about the account. */
    about: text().notNull(),
    lane: text("environment").notNull(),
    outcome: oneOf(OUTCOMES).notNull(),
    reason: text(),
    attempts: integer().notNull(),
    created_at: timestamp().notNull(),
    tried_at: timestamp(),
    done_at: timestamp().notNull(),
  },
  (t) => [
    index("push_records_pace").on(t.account_id, t.recipient_id, t.kind, t.about, t.tried_at),
    index("push_records_key").on(t.key_id).where(sql`key_id is not null`),
    index("push_records_old").on(t.done_at),
  ],
);

/**
 * How far each question got (docs/interface.md §2.11): one row for each question and target, WITHOUT
 * ROWID. Triggers of migration 0024 write the rows of targets, whichever version plans and settles: a
 * row of `pushes` for a question adds one, `queued`; its row of `push_records` says how it ended; a row
 * of `pushes` that goes without a record leaves it `suppressed`. The rows go with their question.
 */
export const questionDeliveries = sqliteTable(
  "question_deliveries",
  {
    question_id: text().notNull(),
    /** Id of the device or channel; {@link PAGE} for open pages. */
    target_id: text().notNull(),
    id: text().notNull(),
    /** Names the channel too, as in {@link pushTargets}; {@link PAGE} for open pages. */
    lane: text().notNull(),
    /** The target's label when the row was made. */
    label: text().notNull(),
    status: oneOf(DeliveryStatus.options).notNull(),
    reason: text(),
    queued_at: timestamp().notNull(),
    sent_at: timestamp(),
    shown_at: timestamp(),
    opened_at: timestamp(),
  },
  (t) => [primaryKey({ columns: [t.question_id, t.target_id] })],
);

/** Target and lane of what was written to open pages. */
export const PAGE = "page";

/** Processes that have pages open, each with a lease by the store's clock (docs/interface.md §5.7.9). */
export const pageProcesses = sqliteTable("page_processes", {
  id: text().primaryKey(),
  /** The end of the lease. */
  until: timestamp().notNull(),
});

/** Accounts with an open page, by process; a row counts while the lease of its process lasts. */
export const openPages = sqliteTable(
  "open_pages",
  {
    account_id: text().notNull(),
    process_id: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.process_id] }),
    index("open_pages_process").on(t.process_id),
  ],
);

/** Milliseconds of moments, as JSON. */
const moments = () => text().notNull().default("[]");

/** What must be sent again, so that it is kept as it is (docs/interface.md 19.1.4). Never logged. */
export interface ChannelSecret {
  readonly url: string;
  /** Of a webhook: `whsec_…`. */
  readonly secret?: string;
  /** Of a channel that has a lane: as in `push_targets`. */
  readonly address?: string;
}

/** What is no channel of the person's has a type of its own, so that no query takes it for one. */
const STORED_TYPES = [...ChannelType.options, "key_webhook"] as const;

/** What a channel sends, of what this version knows. */
const knownSubjects = customType<{ data: Sends; driverData: string }>({
  dataType: () => "text",
  toDriver: (sends) => JSON.stringify(sends),
  fromDriver: (text) =>
    (JSON.parse(text) as string[]).filter((one) => ChannelSubject.safeParse(one).success) as Sends,
});

/**
 * Ways to reach a person besides devices (docs/interface.md 19), and the webhooks of keys (§5.9.5), which
 * are rows of the type `key_webhook` with a `key_id`. Triggers of migration 0023 count the messages of a
 * webhook; {@link webhookMessages} has the rest of what they do. By triggers of migration 0026 a channel
 * takes its target and its queue along, and goes with its sign-in or the token of that; by those of
 * migration 0028 the webhook of a key goes with the row of its key, and with the grant that set it.
 */
export const channels = sqliteTable(
  "channels",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    /** The sign-in that the channel belongs to and goes with; null for one of the account itself. */
    session_id: text(),
    type: oneOf(STORED_TYPES).notNull(),
    label: text().notNull(),
    sends: knownSubjects().notNull(),
    min_priority: oneOf(TaskPriority.options).notNull(),
    quiet_hours: text({ mode: "json" }).$type<QuietHours>(),
    state: oneOf(ChannelState.options).notNull(),
    secret: text({ mode: "json" }).$type<ChannelSecret>().notNull(),
    /** Of an endpoint that may be there once in the whole server; null for other channels. */
    endpoint_digest: text(),
    origin: text().notNull(),
    /** Host name of the URL, which connections are counted by. */
    host: text().notNull(),
    hint: text().notNull(),
    last_sent_at: timestamp(),
    error_code: text(),
    error_at: timestamp(),
    /** Failed attempts since the last one that succeeded. */
    failures: integer().notNull().default(0),
    /** Events that were never delivered: the queue was full, or their time had run out. */
    missed: integer().notNull().default(0),
    created_at: timestamp().notNull(),
    revision: text("change_id").notNull(),
    /** The service replaces an alert by the next one of its subject. */
    replaces: integer({ mode: "boolean" }).notNull().default(false),
    /** When a test first succeeded: nothing but tests is sent to a webhook before. */
    confirmed_at: timestamp(),
    /** Tests of the last hour that a client asked for. */
    tests: moments(),
    /** Rows of {@link webhookMessages}. */
    queued: integer().notNull().default(0),
    /** Attempts of the last minute. */
    attempts: moments(),
    /** Nothing is sent until then: the receiver asked for it. */
    held_until: timestamp(),
    /** When messages of it were last claimed: the channel that waits longest is next. */
    claimed_at: timestamp(),
    /** The key whose inbox it is for; null for a channel of the person. */
    key_id: text(),
    /** Id of the grant, or {@link SECRET}: what a key set its webhook with. Null: an account did. */
    set_by: text(),
    /** When the next of its messages may be sent; null when none waits. Triggers of migration 0028 keep it. */
    due_at: timestamp(),
  },
  (t) => [
    index("channels_account").on(t.account_id, t.created_at, t.id),
    index("channels_session").on(t.session_id).where(sql`session_id is not null`),
    uniqueIndex("channels_endpoint").on(t.endpoint_digest).where(sql`endpoint_digest is not null`),
    index("channels_busy").on(t.claimed_at).where(sql`queued > 0`),
    // What the trigger on events looks for.
    index("channels_webhooks").on(t.account_id).where(sql`type = 'webhook' and state <> 'gone'`),
    uniqueIndex("channels_key").on(t.key_id).where(sql`key_id is not null`),
    index("channels_due").on(t.due_at).where(sql`due_at is not null`),
  ],
);

/** Tests of a channel and of the webhook of a key: all that is sent before one has succeeded. */
export const TEST_TYPES = ["channel.test", "webhook.test"] as const;

/** `set_by` of a webhook that a key set with its secret. */
export const SECRET = "secret";

/**
 * Events that wait for webhooks, one row for each channel: a trigger on `events` writes them with the
 * event itself, whichever version does. Inbox items that wait for the webhook of their key are rows too,
 * by triggers on `items` (migration 0028): their subject is the key, and their `id` that of the item. Of the messages about one subject only the oldest, the head,
 * may be sent; when it goes, a trigger makes the next one the head.
 * db/notify/webhook-queue.ts has the states of a row.
 */
export const webhookMessages = sqliteTable(
  "webhook_messages",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    /** `webhook-id`: the same in all attempts. */
    id: text().notNull(),
    account_id: text().notNull(),
    channel_id: text().notNull(),
    /** Id of the resource that changed. */
    subject: text().notNull(),
    /** Name of the event, type of the item, or one of {@link TEST_TYPES}. */
    type: oneOf([...TEST_TYPES, ...STORED_EVENTS, ...ItemType.options]).notNull(),
    /** JSON text of the event's data; `{}` for an item, which is read when it is sent. */
    data: text().notNull(),
    created_at: timestamp().notNull(),
    /** When it may be sent; while it is leased, an estimate of when the lease ends. */
    due_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    head: integer().notNull(),
    attempts: integer().notNull().default(0),
    /** Who sends it now. */
    lease: text(),
    /** Position of the item; null for anything else. */
    item_seq: integer(),
  },
  (t) => [
    index("webhook_messages_subject").on(t.channel_id, t.subject, t.seq),
    index("webhook_messages_due").on(t.channel_id, t.due_at).where(sql`head = 1 and lease is null`),
    index("webhook_messages_expiry").on(t.expires_at),
    index("webhook_messages_leased").on(t.lease).where(sql`lease is not null`),
    index("webhook_messages_account").on(t.account_id),
    index("webhook_messages_item").on(t.item_seq).where(sql`item_seq is not null`),
  ],
);
