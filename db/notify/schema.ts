/**
 * The tables of notifications: targets, queued deliveries, outcome records, how far each question got,
 * open pages, channels, and queued messages of webhooks.
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
import { sql } from "../store/sql.ts";

/** A version 4 UUID made in SQL, since one statement makes the rows of many devices. */
export const UUID = sql`(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))`;

/**
 * The addresses of devices and channels that notifications are sent to, each for one purpose. Triggers on
 * `live_activities` write the rows for `activity`.
 */
export const deliveryTargets = sqliteTable(
  "delivery_targets",
  {
    account_id: text().notNull(),
    purpose: oneOf(PURPOSE_NAMES).notNull(),
    /** Id of the device or channel. */
    recipient_id: text().notNull(),
    /** Id of the task for `activity`; otherwise empty. */
    subject: text().notNull(),
    /**
     * Identifies the channel too (src/notify/registry.ts). While the account is blocked (§4.4), it begins with
     * `blocked `: no worker has such a lane, so nothing is planned, and what is queued waits.
     */
    lane: text().notNull(),
    /** In a form that the channel defines, such as a token. A secret: encrypted for a channel if there is a key. */
    address: text().notNull(),
    /** The time of its last registration, also with the same address. */
    updated_at: timestamp().notNull(),
    /** The name that the person knows it by; null for a device. */
    label: text(),
  },
  (t) => [
    // Planning reads all targets of an account that are for one purpose.
    primaryKey({ columns: [t.account_id, t.purpose, t.recipient_id, t.subject] }),
    // A push token belongs to one device, also if two processes register it at once (§5.3.2(3)).
    uniqueIndex("delivery_targets_device")
      .on(t.address)
      .where(sql`purpose = 'alert' and label is null`),
  ],
);

/**
 * Deliveries that wait: at most one for each recipient, kind and subject, into which later changes merge. A row holds
 * ids and no content: it is rendered from the state of the tables when it is sent. queue.ts has the states of a row.
 */
export const deliveries = sqliteTable(
  "deliveries",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    /** Stays the same in all attempts. */
    delivery_id: text().notNull().default(UUID),
    account_id: text().notNull(),
    recipient_id: text().notNull(),
    kind: oneOf(NOTIFICATION_KINDS).notNull(),
    /**
     * Id of the question or task that it is about; empty if it is about the account. Later changes with the same
     * subject merge into the row.
     */
    subject: text().notNull(),
    key_id: text(),
    task_id: text(),
    question_id: text(),
    lane: text().notNull(),
    /** A copy of the address, as it is stored there, if the target is about to go; null if the target is looked up. */
    address: text(),
    /** Ids to clear, for the kind `silent`; otherwise the names of what changed. */
    parts: strings().notNull(),
    /** Parts that came while it was under way; null if none did. */
    more: strings(),
    /** The order of claims: 0 for questions, 1 for other alerts, 2 for what shows nothing. */
    urgency: integer().notNull(),
    /** When it may be sent; while it is leased, an estimate of the end of the lease. */
    due_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    created_at: timestamp().notNull(),
    /** The name under which a worker sends it now. */
    lease: text(),
    /** 1 if a lease on it ran out: it may have been sent. */
    unclear: integer().notNull().default(0),
    attempts: integer().notNull().default(0),
    tried_at: timestamp(),
  },
  (t) => [
    uniqueIndex("deliveries_subject").on(t.account_id, t.recipient_id, t.kind, t.subject),
    index("deliveries_due").on(t.lane, t.urgency, t.due_at),
    index("deliveries_waiting")
      .on(t.lane, t.account_id, t.urgency, t.due_at)
      .where(sql`lease is null`),
    index("deliveries_expiry").on(t.expires_at),
    index("deliveries_leased").on(t.lane, t.lease).where(sql`lease is not null`),
    index("deliveries_address").on(t.address).where(sql`address is not null`),
  ],
);

/** How each delivery ended, without content or address. The pace of later ones follows from it. */
export const deliveryRecords = sqliteTable(
  "delivery_records",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    delivery_id: text().notNull(),
    account_id: text().notNull(),
    recipient_id: text().notNull(),
    key_id: text(),
    kind: oneOf(RECORD_KINDS).notNull(),
    /** Id of the question or task; empty if it is about the account. */
    about: text().notNull(),
    lane: text().notNull(),
    outcome: oneOf(OUTCOMES).notNull(),
    reason: text(),
    attempts: integer().notNull(),
    created_at: timestamp().notNull(),
    tried_at: timestamp(),
    done_at: timestamp().notNull(),
  },
  (t) => [
    index("delivery_records_pace").on(t.account_id, t.recipient_id, t.kind, t.about, t.tried_at),
    index("delivery_records_key").on(t.key_id).where(sql`key_id is not null`),
    index("delivery_records_old").on(t.done_at),
  ],
);

/**
 * How far each question got (§2.11): one row for each question and target, WITHOUT ROWID. Triggers
 * write the rows of targets, whatever plans and settles: a row of `deliveries` for a
 * question adds a `queued` one, its row of `delivery_records` settles it, and the end of a row of `deliveries`
 * without a record makes it `suppressed`. The rows are deleted with their question.
 */
export const questionDeliveries = sqliteTable(
  "question_deliveries",
  {
    question_id: text().notNull(),
    /** Id of the device or channel; {@link PAGE} for open pages. */
    target_id: text().notNull(),
    id: text().notNull(),
    /** As in {@link deliveryTargets}; {@link PAGE} for open pages. */
    lane: text().notNull(),
    /** The target's label when the row was made. */
    label: text().notNull(),
    status: oneOf(DeliveryStatus.options).notNull(),
    reason: text(),
    queued_at: timestamp().notNull(),
    sent_at: timestamp(),
    shown_at: timestamp(),
    opened_at: timestamp(),
    /** The first and the newest attempts that failed, as JSON pairs of milliseconds and reason; null if none did. */
    failed_attempts: text().default(sql`null`),
  },
  (t) => [primaryKey({ columns: [t.question_id, t.target_id] })],
);

/** The target and lane of open pages. */
export const PAGE = "page";

/** Processes that have open pages, each with a lease by the store's clock (§5.7.9). */
export const pageProcesses = sqliteTable("page_processes", {
  id: text().primaryKey(),
  /** The end of the lease. */
  until: timestamp().notNull(),
});

/** Accounts with an open page, by process. A row counts until the lease of its process ends. */
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

/** A JSON list of times in milliseconds. */
const moments = () => text().notNull().default("[]");

/**
 * Secrets that requests contain, so they are stored whole (§19.1.4): each encrypted if there is a key, by
 * `sealSecret` of channel-secrets.ts. Never logged.
 */
export interface ChannelSecret {
  readonly url: string;
  /** `whsec_…`, of a webhook. */
  readonly secret?: string;
  /** As in {@link deliveryTargets}, of a channel that has a lane. */
  readonly address?: string;
}

/** The webhook of a key has a type of its own, so that no query takes it for a channel of the person. */
const STORED_TYPES = [...ChannelType.options, "key_webhook"] as const;

/** The subjects that a channel sends, as far as this version knows them. */
const knownSubjects = customType<{ data: Sends; driverData: string }>({
  dataType: () => "text",
  toDriver: (sends) => JSON.stringify(sends),
  fromDriver: (text) =>
    (JSON.parse(text) as string[]).filter((one) => ChannelSubject.safeParse(one).success) as Sends,
});

/**
 * Channels of the person (§19), and the webhooks of keys (§5.9.5), which have the type `key_webhook` and a
 * `key_id`. Triggers count the messages of a webhook, delete the target and the queue of a channel with it, a
 * channel with its sign-in or the token of that, and the webhook of a key with the row of the key and with the grant
 * that set it.
 */
export const channels = sqliteTable(
  "channels",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    /** The sign-in that the channel belongs to and ends with; null if it belongs to the account. */
    session_id: text(),
    type: oneOf(STORED_TYPES).notNull(),
    label: text().notNull(),
    sends: knownSubjects().notNull(),
    min_priority: oneOf(TaskPriority.options).notNull(),
    quiet_hours: text({ mode: "json" }).$type<QuietHours>(),
    state: oneOf(ChannelState.options).notNull(),
    secret: text({ mode: "json" }).$type<ChannelSecret>().notNull(),
    /** The digest of an endpoint that may exist once on the whole server; null for other channels. */
    endpoint_digest: text(),
    origin: text().notNull(),
    /** Host name of the URL. Connections are counted by host. */
    host: text().notNull(),
    hint: text().notNull(),
    last_sent_at: timestamp(),
    error_code: text(),
    error_at: timestamp(),
    /** Failed attempts since the last one that succeeded. */
    failures: integer().notNull().default(0),
    /** Events that were never delivered: the queue was full, or they expired. */
    missed: integer().notNull().default(0),
    created_at: timestamp().notNull(),
    revision: text().notNull(),
    /** True if the service replaces an alert by the next one about its subject. */
    replaces: integer({ mode: "boolean" }).notNull().default(false),
    /** When a test first succeeded. Before, a webhook is sent nothing but tests. */
    confirmed_at: timestamp(),
    /** Tests that clients asked for in the last hour. */
    tests: moments(),
    /** Number of its rows in {@link webhookMessages}, and bytes of their data. */
    queued: integer().notNull().default(0),
    queued_bytes: integer().notNull().default(0),
    /** Attempts in the last minute. */
    attempts: moments(),
    /** The end of a pause that the receiver asked for. */
    held_until: timestamp(),
    /** When its messages were last claimed: the channel that waits longest is next. */
    claimed_at: timestamp(),
    /** The key whose inbox it is for; null for a channel of the person. */
    key_id: text(),
    /**
     * The credential that a key set its webhook with: the id of a grant, or {@link SECRET}. Null if an account set it.
     */
    set_by: text(),
    /** When the next of its messages may be sent; null if none waits. Triggers keep it. */
    due_at: timestamp(),
    /** The key of `listeners` (reply-schema.ts) over which its answers come; null if it takes none. It never changes. */
    listener: text(),
    /** Why its answers do not arrive, and since when; null while they do. */
    listen_error: text(),
    listen_error_at: timestamp(),
    /** When a test of it was last answered. */
    reached_at: timestamp(),
  },
  (t) => [
    index("channels_account").on(t.account_id, t.created_at, t.id),
    index("channels_session").on(t.session_id).where(sql`session_id is not null`),
    uniqueIndex("channels_endpoint").on(t.endpoint_digest).where(sql`endpoint_digest is not null`),
    index("channels_busy").on(t.claimed_at).where(sql`queued > 0`),
    // For the trigger on events.
    index("channels_webhooks").on(t.account_id).where(sql`type = 'webhook' and state <> 'gone'`),
    uniqueIndex("channels_key").on(t.key_id).where(sql`key_id is not null`),
    index("channels_due").on(t.due_at).where(sql`due_at is not null`),
    index("channels_listener").on(t.listener).where(sql`listener is not null`),
  ],
);

/** Types of test messages, of a channel and of the webhook of a key. */
export const TEST_TYPES = ["channel.test", "webhook.test"] as const;

/** `set_by` of a webhook that a key set with its secret. */
export const SECRET = "secret";

/**
 * Messages that wait for webhooks: one row for each event and channel, which a trigger on `events` writes
 * with the event; and one for each inbox item of a key with a webhook, by triggers on `items`. The subject of an item is its key, and `id` is that of the item. Only
 * the head, the oldest message about a subject, may be sent. webhook-queue.ts has the states of a row.
 */
export const webhookMessages = sqliteTable(
  "webhook_messages",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    /** `webhook-id`, which stays the same in all attempts. */
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
    /** When it may be sent; while it is leased, an estimate of the end of the lease. */
    due_at: timestamp().notNull(),
    expires_at: timestamp().notNull(),
    head: integer().notNull(),
    attempts: integer().notNull().default(0),
    /** The name under which a worker sends it now. */
    lease: text(),
    /** Position of the inbox item; null for an event or test. */
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
