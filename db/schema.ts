/**
 * The tables, except those of notifications (notify/schema.ts), OAuth (oauth/schema.ts), credentials
 * (credentials-schema.ts) and the administrator (admin-schema.ts). Column names are the names in the JSON, so rows need no mapper. Counts, digests and
 * queues in them are kept by triggers, which docs/triggers.md lists.
 *
 * There are no foreign keys. Rows of a deleted key or account are removed in small steps; until then, every
 * query leaves them out by `deleted_at` of their key. `revision` gets a new value with
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
import { TASK_STATUSES, Task, TaskPriority, TaskSource } from "../src/model/task.ts";
import { sql } from "./store/sql.ts";

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

/** Text that is one of these values. Rows with values of a newer version are not read (statement.ts), nor changed. */
export const oneOf = <T extends string>(values: readonly T[]) =>
  text({ enum: values as unknown as readonly [T, ...T[]] });

// Only the fields with a list of values: records of an older version may lack others.
const KnownTask = Task.pick({ status: true, priority: true, source: true });
const KnownAction = QuestionAction.pick({ client: true, form: true });

/** A task as JSON text; null if it has values of a newer version. */
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
    /** Whether questions ring once more before they expire. */
    nudges: integer({ mode: "boolean" }).notNull().default(true),
    revision: text().notNull(),
    deleted_at: timestamp(),
    /** When the account recently made Relay send something to an address of its choice: JSON, milliseconds. */
    address_uses: text().notNull().default("[]"),
    /** What the administrator calls the person; the account does not see it. */
    admin_name: text().default(sql`null`),
    /** Set while the administrator blocks the account. Triggers make it take effect. */
    blocked_at: timestamp().default(sql`null`),
    /** Bytes of what belongs to none of its keys (storage.ts). */
    stored_bytes: integer().notNull().default(0),
  },
  (t) => [index("accounts_deleted").on(t.deleted_at).where(sql`deleted_at is not null`)],
);

export const keys = sqliteTable(
  "keys",
  {
    id: text().primaryKey(),
    account_id: text().notNull(),
    label: text().notNull(),
    prefix: text().notNull(),
    last4: text().notNull(),
    created_at: timestamp().notNull(),
    last_used_at: timestamp(),
    last_client: text({ mode: "json" }).$type<{ name: string; version: string }>(),
    last_host: text(),
    /** Triggers on `tasks` keep the counts. */
    tasks_todo: integer().notNull(),
    tasks_in_progress: integer().notNull(),
    tasks_done: integer().notNull(),
    tasks_cancelled: integer().notNull(),
    /** The number of unread items; triggers on `items` keep it. */
    unread: integer().notNull().default(0),
    /** The number of unread items that are received; triggers on `items` keep it. */
    received: integer().notNull().default(0),
    /** When its webhook was set within the last hour: JSON, milliseconds. */
    webhook_sets: text().notNull().default("[]"),
    revision: text().notNull(),
    /** Set when the key or its account is deleted. */
    deleted_at: timestamp(),
    /** Bytes that it stores (storage.ts); null until a job has counted them. */
    stored_bytes: integer(),
  },
  (t) => [
    index("keys_uncounted").on(t.id).where(sql`stored_bytes is null`),
    index("keys_account").on(t.account_id, t.created_at, t.id),
    index("keys_deleted").on(t.deleted_at).where(sql`deleted_at is not null`),
  ],
);

/** The tasks that retention removes. An index has exactly this condition. */
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
    revision: text().notNull(),
    expect_update_within: integer(),
    /**
     * When a job looks next whether the agent is silent; null while nothing is expected or silence is known. The trigger
     * `keys_silence` sets it when the key of a silent task is used.
     */
    silent_due_at: timestamp(),
    silent_since: timestamp(),
    /** The newest entries of the history as JSON (task-history.ts); null for a task of an older version. */
    history: text(),
  },
  (t) => [
    // A list merges one range for each status, so this and tasks_account serve every filter.
    index("tasks_key").on(t.key_id, t.status, t.updated_at, t.id),
    index("tasks_finished").on(t.updated_at).where(FINISHED),
    index("tasks_account").on(t.account_id, t.status, t.updated_at, t.id, t.key_id),
    index("tasks_silent_due").on(t.silent_due_at).where(sql`silent_due_at is not null`),
    index("tasks_silent").on(t.key_id).where(sql`silent_since is not null`),
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
    /** The agent's own name for its request (§5.7.2(6)). */
    request_id: text(),
    /** True until the agent gets the id, when the tool call that asks ends (§12.4.5). */
    hidden: integer({ mode: "boolean" }),
    /** When the client left that call; null while it waits, and once another ask has joined. */
    left_at: timestamp(),
    revision: text().notNull(),
    // Null unless they were used (§2.5.2).
    url: text(),
    allow_other: integer({ mode: "boolean" }),
    fallback: text(),
    /** The person's note on the answer. */
    note: text(),
    /** True if there is a context, which lists do not read. */
    context_omitted: integer({ mode: "boolean" }),
    /** Near the end, so that the columns before it are read without a long one. */
    context: text(),
    // Null unless it is a request for permission (§2.5.5).
    action: text({ mode: "json" }).$type<Omit<QuestionAction, "text">>(),
    /**
     * What the question was asked in: the client's prompt or turn for a request for permission, the MCP session for a
     * tool call.
     */
    asked_in: text(),
    /** Equal for equal tools and inputs. */
    action_digest: text(),
    /** The calls that asked: 1 for a hook, 2 for a permission tool; plus 4 once the permitted use was reported. */
    action_calls: integer(),
    /** The calls that are gone, in the same way, plus 8 times the tag of the MCP session that asked (0: none). */
    action_left: integer(),
    /** The whole text of what the agent wants to do. */
    action_text: text(),
    /** Also null if a version without this column cancelled it. */
    cancelled_at: timestamp(),
    /** Id of the channel that the answer came by; null for the account itself. */
    answering_channel: text(),
    /** The sign-in that the answer came from, and true if over REST; null unless an account token gave the answer. */
    answering_session: text(),
    answered_by_api: integer({ mode: "boolean" }),
    /** When it rings again: before it expires, or at `remind_at`; null if it does not, or already has. */
    nudge_at: timestamp(),
    /** When the person wants to be reminded. */
    remind_at: timestamp(),
    /** What the person approves or changes (§2.5.8). */
    draft: text(),
    /** Until when a tool call that asked, and that an identical ask may join, waits; null if there is none (§12.4.5). */
    asking_until: timestamp(),
  },
  (t) => [
    index("questions_key").on(t.key_id, t.status, t.created_at, t.id),
    index("questions_account").on(t.account_id, t.status, t.created_at, t.id, t.key_id),
    index("questions_task").on(t.task_id, t.status).where(sql`task_id is not null`),
    index("questions_due").on(t.expires_at).where(sql`status = 'pending'`),
    index("questions_request").on(t.key_id, t.request_id).where(sql`request_id is not null`),
    index("questions_nudge").on(t.nudge_at).where(sql`nudge_at is not null and status = 'pending'`),
    // Questions that an identical ask may join.
    index("questions_hidden").on(t.key_id).where(sql`hidden = 1 and status = 'pending'`),
    index("questions_action").on(t.key_id).where(sql`action is not null and status = 'pending'`),
  ],
);

/** Whether the answer differs from the draft; null without one of them. Not stored: older versions store answers too. */
export const edited = sql`${questions.answer} <> ${questions.draft}`.mapWith(Boolean).as("edited");

/**
 * Functions that tell for a JSON column if this version knows a value. If not, the row is treated as for {@link oneOf}.
 */
export const KNOWN_JSON: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  [questions.action, (value: unknown) => KnownAction.safeParse(value).success],
]);

/** Columns whose field a row lacks when they are null. */
export const LEFT_OUT: ReadonlySet<unknown> = new Set([
  questions.request_id,
  questions.url,
  questions.allow_other,
  questions.fallback,
  questions.draft,
  edited,
  questions.note,
  questions.context_omitted,
  questions.context,
  questions.action,
  questions.remind_at,
]);

export const devices = sqliteTable(
  "devices",
  {
    account_id: text().notNull(),
    /** Made by the client, so it is unique only within the account (§2.2.1). */
    id: text().notNull(),
    platform: oneOf(Platform.options).notNull(),
    model: text().notNull(),
    os_version: text().notNull(),
    app_version: text().notNull(),
    apns_environment: oneOf(PushEnvironment.options).notNull(),
    updated_at: timestamp().notNull(),
    /** The sign-in that registered it last, with which a trigger removes it. Null from a version without this column. */
    session_id: text(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.id] }),
    index("devices_session").on(t.session_id).where(sql`session_id is not null`),
  ],
);

/** Live activities: devices that show a task in progress. */
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
    /** Set once it is to end. The row goes when its `end` notification was sent or has expired. */
    ended_at: timestamp(),
    /** The `timestamp` of its last notification: whole seconds that always grow. */
    push_timestamp: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.device_id, t.task_id] }),
    index("live_activities_task").on(t.task_id),
    index("live_activities_key").on(t.key_id),
  ],
);

/** The items of all inboxes. AUTOINCREMENT orders them by commit, and reading and `ack` go by it (§5.9.2(3)). */
export const items = sqliteTable(
  "items",
  {
    seq: integer().primaryKey({ autoIncrement: true }),
    id: text().notNull(),
    /** The key whose inbox it is in. */
    key_id: text().notNull(),
    account_id: text().notNull(),
    type: oneOf(ItemType.options).notNull(),
    /** The key that sent it, and its label at that time; null if the account did. */
    from_key_id: text(),
    from_label: text(),
    task_id: text(),
    question_id: text(),
    changes: strings().notNull(),
    /** The last state, for `task.deleted`. */
    last_task: knownTask(),
    text: text(),
    created_at: timestamp().notNull(),
    read_at: timestamp(),
    /** When a read of the question first returned its answer to the agent (§5.9.6). */
    received_at: timestamp(),
    revision: text().notNull(),
  },
  (t) => [
    uniqueIndex("items_id").on(t.id),
    index("items_key").on(t.key_id, t.seq),
    index("items_unread").on(t.key_id, t.seq).where(sql`read_at is null`),
    // For merging items, and for counting the unread messages from one key to another.
    index("items_mergeable").on(t.task_id).where(sql`type = 'task.updated' and read_at is null`),
    index("items_sent")
      .on(t.from_key_id, t.key_id)
      .where(sql`from_key_id is not null and read_at is null`),
    index("items_unreceived")
      .on(t.question_id)
      .where(sql`question_id is not null and read_at is null and received_at is null`),
    index("items_old").on(t.read_at).where(sql`read_at is not null`),
    index("items_old_unread").on(t.created_at).where(sql`read_at is null`),
  ],
);

/** The outbox: every event, written in the batch of its change. AUTOINCREMENT makes `seq` gapless and in commit order. */
export const events = sqliteTable("events", {
  seq: integer().primaryKey({ autoIncrement: true }),
  account_id: text().notNull(),
  subject: text().notNull(),
  name: oneOf(STORED_EVENTS).notNull(),
  data: text().notNull(),
  created_at: timestamp().notNull(),
});

/** Secrets of the service, shared by all processes on this store. */
export const secrets = sqliteTable("secrets", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** Facts about the store, such as the oldest version that may use it (compatibility.ts). */
export const storeFacts = sqliteTable("store_facts", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** What each `Idempotency-Key` did (§8): digests and an id, without content. */
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
