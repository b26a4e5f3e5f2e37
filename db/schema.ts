/**
 * The tables, except those of notifications (notify/schema.ts), OAuth (oauth/schema.ts) and credentials
 * (credentials-schema.ts). Column names are the names in the JSON, so rows need no mapper. Counts, digests and
 * queues in them are kept by triggers, which triggers.md lists.
 *
 * There are no foreign keys. Rows of a deleted key or account are removed in small steps; until then, every
 * query leaves them out by `deleted_at` of their key. `revision` (the column `change_id`) gets a new value with
 * each change of its row and guards the follow-ups in the same batch (outbox.ts).
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
import { Platform, PushEnvironment } from "../src/model/device.ts";
import { STORED_EVENTS } from "../src/model/event.ts";
import { ItemType } from "../src/model/item.ts";
import { QUESTION_STATUSES, QuestionAction, QuestionKind } from "../src/model/question.ts";
import type { PackedEntry } from "../src/model/request-log.ts";
import { TASK_STATUSES, Task, TaskPriority, TaskSource } from "../src/model/task.ts";
import { sql } from "./sql.ts";

/** Seconds in the code, whole milliseconds in the store, so that equality and order are exact. */
export const timestamp = customType<{ data: number; driverData: number }>({
  dataType: () => "integer",
  toDriver: (seconds) => Math.round(seconds * 1000),
  fromDriver: (ms) => ms / 1000,
});

/** A list of strings as JSON text. */
export const strings = customType<{ data: string[]; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (value) => JSON.parse(value) as string[],
});

/**
 * Text that is one of these values. What a newer version adds to them is left out of what this one reads
 * (statement.ts), and nothing of it is changed.
 */
export const oneOf = <T extends string>(values: readonly T[]) =>
  text({ enum: values as unknown as readonly [T, ...T[]] });

/** Records of an older version may lack what has no list of values. */
const KnownTask = Task.pick({ status: true, priority: true, source: true });
const KnownAction = QuestionAction.pick({ client: true, form: true });

/** A task as JSON text; null if a newer version wrote something that this one does not know. */
const knownTask = customType<{ data: Task; driverData: string }>({
  dataType: () => "text",
  toDriver: (task) => JSON.stringify(task),
  fromDriver(text) {
    const task = JSON.parse(text) as Task;
    return (KnownTask.safeParse(task).success ? task : null) as Task;
  },
});

export const accounts = sqliteTable(
  "accounts",
  {
    id: text().primaryKey(),
    created_at: timestamp().notNull(),
    live_activities: integer({ mode: "boolean" }).notNull(),
    token_digest: text().notNull(),
    revision: text("change_id").notNull(),
    deleted_at: timestamp(),
    /** When the account lately made Relay send something to an address of its choice, in milliseconds, as JSON. */
    address_uses: text().notNull().default("[]"),
  },
  (t) => [
    uniqueIndex("accounts_token").on(t.token_digest),
    index("accounts_deleted").on(t.deleted_at).where(sql`deleted_at is not null`),
  ],
);

export const keys = sqliteTable(
  "keys",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    label: text().notNull(),
    prefix: text().notNull(),
    last4: text().notNull(),
    secret_digest: text().notNull(),
    created_at: timestamp().notNull(),
    last_used_at: timestamp(),
    last_client: text({ mode: "json" }).$type<{ name: string; version: string }>(),
    last_host: text(),
    /** The counts are kept by triggers on `tasks`, so no statement can forget them. */
    tasks_todo: integer().notNull(),
    tasks_in_progress: integer().notNull(),
    tasks_done: integer().notNull(),
    tasks_cancelled: integer().notNull(),
    /** Unread items of the inbox, kept by triggers on `items`. */
    unread: integer().notNull().default(0),
    /** When its webhook was set within the last hour: milliseconds, as JSON. */
    webhook_sets: text().notNull().default("[]"),
    revision: text("change_id").notNull(),
    /** Set by the deletion of the key, and of its account. */
    deleted_at: timestamp(),
  },
  (t) => [
    uniqueIndex("keys_secret").on(t.secret_digest),
    index("keys_account").on(t.account_id, t.created_at, t.id),
    index("keys_deleted").on(t.deleted_at).where(sql`deleted_at is not null`),
  ],
);

/** Tasks that retention removes; an index serves exactly this condition. */
export const FINISHED = sql`status in ('done', 'cancelled')`;

export const tasks = sqliteTable(
  "tasks",
  {
    id: text().primaryKey(),
    key_id: text().notNull(),
    account_id: text().notNull(),
    title: text().notNull(),
    description: text().notNull(),
    status: oneOf(TASK_STATUSES).notNull(),
    priority: oneOf(TaskPriority.options).notNull(),
    notify: integer({ mode: "boolean" }).notNull(),
    progress: integer(),
    status_note: text(),
    source: oneOf(TaskSource.options).notNull(),
    created_at: timestamp().notNull(),
    updated_at: timestamp().notNull(),
    completed_at: timestamp(),
    seen_at: timestamp(),
    host: text(),
    revision: text("change_id").notNull(),
  },
  (t) => [
    // A list is a merge of one range per status, so these two serve every filter.
    index("tasks_key").on(t.key_id, t.status, t.updated_at, t.id),
    index("tasks_finished").on(t.updated_at).where(FINISHED),
    index("tasks_account").on(t.account_id, t.status, t.updated_at, t.id, t.key_id),
  ],
);

export const questions = sqliteTable(
  "questions",
  {
    id: text().primaryKey(),
    key_id: text().notNull(),
    account_id: text().notNull(),
    task_id: text(),
    prompt: text().notNull(),
    kind: oneOf(QuestionKind.options).notNull(),
    options: strings().notNull(),
    status: oneOf(QUESTION_STATUSES).notNull(),
    answer: text(),
    created_at: timestamp().notNull(),
    answered_at: timestamp(),
    expires_at: timestamp().notNull(),
    /** What the agent calls its request (docs/interface.md 5.7.2(6)); see {@link LEFT_OUT}. */
    request_id: text(),
    /** True: the agent has not got the id, as the tool call that asks has not ended (§12.4.5). */
    hidden: integer({ mode: "boolean" }),
    /** When the client left that call; null while it holds, and once another ask has joined. */
    left_at: timestamp(),
    revision: text("change_id").notNull(),
    // Null where they were not used (docs/interface.md 2.5.2).
    url: text(),
    allow_other: integer({ mode: "boolean" }),
    fallback: text(),
    /** What the person added to the answer. */
    note: text(),
    /** True beside a context: what reads lists does not read that. */
    context_omitted: integer("has_context", { mode: "boolean" }),
    /** Near the end, so that a long one stands in no other's way: nulls behind it are read without it. */
    context: text(),
    // Null but for a request for permission (docs/interface.md 2.5.5).
    action: text({ mode: "json" }).$type<Omit<QuestionAction, "text">>(),
    /**
     * What of its client has asked: for a request for permission the prompt or turn, for a tool call that
     * asks the session of MCP.
     */
    asked_in: text("action_turn"),
    /** The same for the same tool and input. */
    action_digest: text(),
    /**
     * The calls that asked it, and those that are gone: 1 for a hook, 2 for a permission tool, 3 for both.
     * In `action_calls`, 4 more once the client has reported the use that was permitted. In `action_left`,
     * the tag of the session of MCP that asked, in eights; 0: it asked in none.
     */
    action_calls: integer(),
    action_left: integer(),
    /** All that the agent wants to do. */
    action_text: text(),
    /** Null also if a version before this column cancelled it. */
    cancelled_at: timestamp(),
  },
  (t) => [
    index("questions_key").on(t.key_id, t.status, t.created_at, t.id),
    index("questions_account").on(t.account_id, t.status, t.created_at, t.id, t.key_id),
    index("questions_task").on(t.task_id, t.status).where(sql`task_id is not null`),
    index("questions_due").on(t.expires_at).where(sql`status = 'pending'`),
    index("questions_request").on(t.key_id, t.request_id).where(sql`request_id is not null`),
    // Those that an identical ask may join.
    index("questions_left").on(t.key_id).where(sql`left_at is not null and status = 'pending'`),
    index("questions_action").on(t.key_id).where(sql`action is not null and status = 'pending'`),
  ],
);

/**
 * What a column of JSON must hold to be understood: a row with anything else is of a newer version, as one with
 * a value that {@link oneOf} does not name.
 */
export const KNOWN_JSON: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  [questions.action, (value: unknown) => KnownAction.safeParse(value).success],
]);

/** Columns that a row leaves out when they are null: fields that are there only where they were used. */
export const LEFT_OUT: ReadonlySet<unknown> = new Set([
  questions.request_id,
  questions.url,
  questions.allow_other,
  questions.fallback,
  questions.note,
  questions.context_omitted,
  questions.context,
  questions.action,
]);

export const devices = sqliteTable(
  "devices",
  {
    account_id: text().notNull(),
    /** Made by the client: known by account and id together (docs/interface.md 2.2.1). */
    id: text().notNull(),
    platform: oneOf(Platform.options).notNull(),
    model: text().notNull(),
    os_version: text().notNull(),
    app_version: text().notNull(),
    apns_environment: oneOf(PushEnvironment.options).notNull(),
    apns_token: text(),
    push_to_start_token: text(),
    widget_push_token: text(),
    updated_at: timestamp().notNull(),
    /**
     * The sign-in that registered it last; a trigger (migration sign-in-devices) removes the device with it. Null
     * for a registration by a version before this column.
     */
    session_id: text(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.id] }),
    index("devices_session").on(t.session_id).where(sql`session_id is not null`),
    // One push token belongs to one registration, whatever two processes do at once (§5.3.2(3)).
    uniqueIndex("devices_apns").on(t.apns_token).where(sql`apns_token is not null`),
  ],
);

/** Where a device shows a task that is in progress. */
export const live_activities = sqliteTable(
  "live_activities",
  {
    account_id: text().notNull(),
    device_id: text().notNull(),
    task_id: text().notNull(),
    key_id: text().notNull(),
    push_token: text().notNull(),
    created_at: timestamp().notNull(),
    updated_at: timestamp().notNull(),
    /** Set once it is to end: the row goes when its `end` push was sent or has expired. */
    ended_at: timestamp(),
    /** The last `timestamp` that a notification of it carried: whole seconds that always grow. */
    push_timestamp: integer("stamp").notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.device_id, t.task_id] }),
    index("live_activities_task").on(t.task_id),
    index("live_activities_key").on(t.key_id),
  ],
);

/**
 * The items of all inboxes. AUTOINCREMENT gives them the order of the commits, which reading and
 * `ack` go by (docs/interface.md 5.9.2(3)).
 */
export const items = sqliteTable(
  "items",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull(),
    /** Whose inbox. */
    key_id: text().notNull(),
    account_id: text().notNull(),
    type: oneOf(ItemType.options).notNull(),
    /** The key that sent it and its label then; null for the account. */
    from_key_id: text(),
    from_label: text(),
    task_id: text(),
    question_id: text(),
    changes: strings().notNull(),
    /** JSON of the last state, for `task.deleted`. */
    last_task: knownTask(),
    text: text(),
    created_at: timestamp().notNull(),
    read_at: timestamp(),
    revision: text("change_id").notNull(),
  },
  (t) => [
    uniqueIndex("items_id").on(t.id),
    index("items_key").on(t.key_id, t.seq),
    index("items_unread").on(t.key_id, t.seq).where(sql`read_at is null`),
    // What a merge looks for, and what the limit of messages between two keys counts.
    index("items_mergeable").on(t.task_id).where(sql`type = 'task.updated' and read_at is null`),
    index("items_sent")
      .on(t.from_key_id, t.key_id)
      .where(sql`from_key_id is not null and read_at is null`),
    index("items_old").on(t.read_at).where(sql`read_at is not null`),
    index("items_old_unread").on(t.created_at).where(sql`read_at is null`),
  ],
);

/**
 * The newest requests of each key (docs/interface.md 15), those of one write in one row:
 * every request of a key pays for its part. `at` and `id` are the newest entry's.
 */
export const activity_blocks = sqliteTable(
  "activity_blocks",
  {
    id: text().notNull(),
    key_id: text().notNull(),
    at: timestamp().notNull(),
    /** How many entries. */
    size: integer().notNull(),
    entries: text({ mode: "json" }).$type<readonly PackedEntry[]>().notNull(),
  },
  // Unique, so that a write whose outcome is unknown can be repeated.
  (t) => [uniqueIndex("activity_blocks_key").on(t.key_id, t.at, t.id)],
);

/**
 * The outbox: every event, written in the batch of its change. AUTOINCREMENT makes `seq` gapless
 * and its order the order of the commits, in every process.
 */
export const events = sqliteTable("events", {
  seq: integer().primaryKey({ autoIncrement: true }),
  account_id: text().notNull(),
  subject: text().notNull(),
  name: oneOf(STORED_EVENTS).notNull(),
  data: text().notNull(),
  created_at: timestamp().notNull(),
});

/** Challenges of app attestation that are not used yet. */
export const challenges = sqliteTable(
  "challenges",
  { challenge: text().primaryKey(), expires_at: timestamp().notNull() },
  (t) => [index("challenges_expiry").on(t.expires_at)],
);

/** Secrets of the service itself, the same in every process on this store. */
export const secrets = sqliteTable("secrets", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** Facts about the store itself, such as the oldest version that may use it (compatibility.ts). */
export const storeFacts = sqliteTable("store_facts", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** What each `Idempotency-Key` did: digests and an id, no content (docs/interface.md 8). */
export const idempotency = sqliteTable(
  "idempotency",
  {
    /** Keyed digest of credential, method, path and key. */
    id: text().primaryKey(),
    /** Keyed digest of the body. */
    body: text().notNull(),
    resource_id: text().notNull(),
    account_id: text().notNull(),
    /** Null when the account sent it. */
    key_id: text(),
    created_at: timestamp().notNull(),
  },
  (t) => [
    index("idempotency_account").on(t.account_id),
    index("idempotency_key").on(t.key_id),
    index("idempotency_old").on(t.created_at),
  ],
);
