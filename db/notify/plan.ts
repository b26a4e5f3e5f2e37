/** Plans deliveries in the batch of a change: a row for each target that is to get one (§14.2). */

import { type NotificationKind, PURPOSES } from "../../src/model/notification.ts";
import { NOTIFICATION_LIMITS as LIMITS } from "../../src/notification-limits.ts";
import { atRevision, type RowRevision } from "../outbox.ts";
import { p, type Sql, sql } from "../store/sql.ts";
import { statement } from "../store/statement.ts";
import type { Cell, Statement } from "../store/store.ts";
import { MERGED } from "./merge.ts";
import { deliveries } from "./schema.ts";
import { hasTargetFor, joinActivityTarget, targetsFor } from "./targets.ts";

/** Seconds that a `clear` waits for others to share a notification with; at most 2 (§14.4). */
const CLEAR_WAIT = 1.5;

const ms = (seconds: number) => sql.raw(seconds * 1000);
const now = p("now", deliveries.due_at);

/**
 * The kinds that a change may plan for the targets of an account. `visible` and `passive` are stored as the kind
 * `task`.
 */
type PlannedKind = "visible" | "passive" | "silent" | "widget" | "start";

interface Shape {
  readonly kind: NotificationKind;
  readonly urgency: number;
  readonly life: number;
}

const SHAPES: Record<PlannedKind, Shape> = {
  visible: { kind: "task", urgency: 1, life: LIMITS.alert_life },
  passive: { kind: "task", urgency: 2, life: LIMITS.alert_life },
  silent: { kind: "silent", urgency: 2, life: LIMITS.silent_life },
  widget: { kind: "widget", urgency: 2, life: LIMITS.widget_life },
  start: { kind: "start", urgency: 1, life: LIMITS.activity_life },
};

const tried = <P>(kind: string, about: Sql<P>) =>
  sql`from delivery_records where account_id = d.account_id and recipient_id = d.recipient_id and kind = ${sql.raw(`'${kind}'`)} and about = ${about} and tried_at is not null`;
/** A time in the future was written by a clock that was set back: it counts as now. */
const sinceLast = <P>(kind: string, about: Sql<P>, every: number) =>
  sql`max(${now}, min(${now}, coalesce((select max(tried_at) ${tried(kind, about)}), 0)) + ${ms(every)})`;

/** When the next delivery of a kind to a recipient `d` (`account_id`, `recipient_id`) may be sent, in SQL (§14.4). */
export const PACE = {
  passive: <P>(about: Sql<P>) => sinceLast("task", about, LIMITS.passive_every),
  update: <P>(about: Sql<P>) => sinceLast("update", about, LIMITS.update_every),
  widget: () => sinceLast("widget", sql`''`, LIMITS.widget_every),
  clear: () => sql`${now} + ${ms(CLEAR_WAIT)}`,
  silent: () =>
    sql`max(${now}, coalesce((select min(tried_at, ${now}) + ${ms(3600)} ${tried("silent", sql`''`)} and tried_at > ${now} - ${ms(3600)}
      order by tried_at desc limit 1 offset ${sql.raw(LIMITS.silent_per_hour - 1)}), 0))`,
};

/** The columns of `deliveries` that a plan writes, in this order. */
export const DELIVERY_COLUMNS = sql`account_id, recipient_id, kind, subject, key_id, task_id, question_id, lane, address, parts, urgency, due_at, expires_at, created_at`;

const wasTried = (kind: "task" | "question", about: Sql) => {
  const same = sql`account_id = d.account_id and recipient_id = d.recipient_id and kind = ${sql.raw(`'${kind}'`)} and attempts > 0`;
  return sql`(exists (select 1 from delivery_records where ${same} and about = ${about})
    or exists (select 1 from deliveries where ${same} and subject = ${about}))`;
};

const ofKey = sql`key_id = ${p("changed_id")}`;
const ofAccount = sql`account_id = ${p("changed_id")}`;

/**
 * Ids of a key's questions and tasks that a device `d` still shows, as far as records are kept; a JSON list. A key has
 * a bounded number of tasks, but its account may have many more records, so this goes through the tasks.
 */
const shownOfKey = sql`(select json_group_array(id) from (
    select id from tasks where ${ofKey} and ${wasTried("task", sql`tasks.id`)}
    union all select id from questions where ${ofKey} and status = 'pending' and ${wasTried("question", sql`questions.id`)}))`;

/** The records of what was sent to a device. An account may have a million tasks, so this goes through the records. */
const triedOn = sql`account_id = d.account_id and recipient_id = d.recipient_id and kind in ('task', 'question') and attempts > 0`;
const shownOfAccount = sql`(select json_group_array(id) from (
    select about as id from delivery_records where ${triedOn} union select subject from deliveries where ${triedOn}) shown
  where exists (select 1 from tasks where tasks.id = shown.id and ${ofAccount})
    or exists (select 1 from questions where questions.id = shown.id and ${ofAccount} and status = 'pending'))`;

/** False if the setting is off. All other conditions are checked when the start is sent. */
const mayStart = sql`exists (select 1 from accounts where id = ${p("account_id")} and live_activities)`;

interface PaceValues {
  readonly now: number;
  readonly subject: string;
  readonly parts: string;
}

function paceOf(kind: PlannedKind): Sql<PaceValues> {
  if (kind === "passive") return PACE.passive(sql`${p("subject")}`);
  if (kind === "widget") return PACE.widget();
  if (kind === "silent") {
    return sql`case when ${p("parts")} = '[]' then ${PACE.silent()} else ${PACE.clear()} end`;
  }
  return sql`${now}`;
}

/** Inserts a row for each target that takes `kind`, if `guard` holds. */
const insertFor = <Due, Expires, Guard>(
  { kind, urgency }: Pick<Shape, "kind" | "urgency">,
  times: { readonly due: Sql<Due>; readonly expires: Sql<Expires> },
  guard: Sql<Guard>,
) =>
  statement(
    sql`insert into deliveries (${DELIVERY_COLUMNS})
      select d.account_id, d.recipient_id, ${sql.raw(`'${kind}'`)}, ${p("subject")}, ${p("key_id")}, ${p("task_id")}, ${p("question_id")},
        d.lane, null, ${p("parts")}, ${sql.raw(urgency)}, ${times.due}, ${times.expires}, ${now}
      ${targetsFor(PURPOSES[kind])} and ${guard} ${MERGED}`,
    { only_if: hasTargetFor(PURPOSES[kind]) },
  );

const ofTarget = sql`account_id = d.account_id and recipient_id = d.recipient_id`;
/** Few enough wait for the target `d`. */
const isShort = sql`not exists (select 1 from deliveries where ${ofTarget} limit 1 offset ${sql.raw(LIMITS.queued_most - 1)})`;
/** The target's queue has room, or holds a delivery about the same task that this one is merged into. */
const hasRoom = sql`(${isShort} or exists (select 1 from deliveries where ${ofTarget} and kind = 'task' and subject = ${p("subject")}))`;

const insert = <Guard>(kind: PlannedKind, guard: Sql<Guard>) => {
  const shape = SHAPES[kind];
  const due = paceOf(kind);
  const times = { due, expires: sql`${due} + ${ms(shape.life)}` };
  if (shape.kind === "task") return insertFor(shape, times, sql`${guard} and ${hasRoom}`);
  return insertFor(shape, times, kind === "start" ? sql`${guard} and ${mayStart}` : guard);
};

/** The guard of a change without a revision: true while the setting differs from the new one. */
const settingDiffers = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null
  and live_activities <> ${p("live_activities")})`;

/** The kinds that a change of a row may plan, by table, besides {@link planQuestion} and ends. */
const KINDS = {
  tasks: ["visible", "passive", "silent", "widget", "start"],
  questions: ["silent"],
  keys: ["silent"],
  items: ["silent"],
} as const;
type PlanningTable = keyof typeof KINDS;

const insertAt = (kind: PlannedKind, table: PlanningTable) => insert(kind, atRevision(table));
const planned = Object.fromEntries(
  Object.entries(KINDS).map(([table, kinds]) => [
    table,
    Object.fromEntries(kinds.map((kind) => [kind, insertAt(kind, table as PlanningTable)])),
  ]),
) as Record<PlanningTable, Partial<Record<PlannedKind, ReturnType<typeof insertAt>>>>;

/**
 * A row for each target for the notification of a new task or question, which no earlier one can be about: it
 * merges with none, so this is a tenth of the text of {@link insertFor}.
 */
const insertNew = <Guard>({ kind, urgency }: Pick<Shape, "kind" | "urgency">, guard: Sql<Guard>) =>
  statement(
    sql`insert into deliveries (${DELIVERY_COLUMNS})
      select d.account_id, d.recipient_id, ${sql.raw(`'${kind}'`)}, ${p("subject")}, ${p("key_id")}, ${p("task_id")}, ${p("question_id")},
        d.lane, null, ${p("parts")}, ${sql.raw(urgency)}, ${now}, ${p("expires_at", deliveries.expires_at)}, ${now}
      ${targetsFor(PURPOSES[kind])} and ${guard} on conflict do nothing`,
    { only_if: hasTargetFor(PURPOSES[kind]) },
  );
const plannedTask = insertNew(SHAPES.visible, sql`${atRevision("tasks")} and ${isShort}`);
const plannedQuestion = insertNew({ kind: "question", urgency: 0 }, atRevision("questions"));

const plannedBySetting = insert("silent", settingDiffers);

/**
 * The configured lanes that send a kind of notification, as a JSON list. `ended`: lanes of channels that replace an
 * alert when its subject ends.
 */
export type LanesByKind = Readonly<Record<NotificationKind | "ended", string>>;

/** A row without its target. */
interface Planned {
  readonly account_id: string;
  readonly lanes: LanesByKind;
  readonly now: number;
  readonly subject?: string;
  readonly key_id?: string;
  readonly task_id?: string | null;
  readonly question_id?: string;
  /** Names of what changed; for `silent`, ids to clear. */
  readonly parts?: readonly string[];
}

const NO_SUBJECT = { subject: "", key_id: null, task_id: null, question_id: null };

/** The parameters of a statement that is guarded by the revision of `changed`. */
const valuesOf = (
  { parts = [], ...row }: Omit<Planned, "lanes">,
  { id, revision }: RowRevision,
) => ({
  ...NO_SUBJECT,
  ...row,
  parts: JSON.stringify(parts),
  changed_id: id,
  changed_revision: revision,
});

/** Plans a delivery to each target of the account, if the row is at the revision `changed`. */
export function planDelivery<Table extends PlanningTable>(
  kind: (typeof KINDS)[Table][number],
  { lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: Table },
): Statement {
  const values = { ...valuesOf(row, changed), lanes: lanes[SHAPES[kind].kind] };
  return planned[changed.table][kind]!(values);
}

/** Plans the visible alert of a new task, as {@link planDelivery} does. */
export function planNewTask(
  { lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: "tasks" },
): Statement {
  const { kind, life } = SHAPES.visible;
  const values = { ...valuesOf(row, changed), lanes: lanes[kind] };
  return plannedTask({ ...values, expires_at: row.now + life });
}

/** Plans the alert of a new question, as {@link planDelivery}; it is sent until `expires_at`. */
export function planQuestion(
  { lanes, expires_at, ...row }: Planned & { readonly expires_at: number },
  changed: RowRevision & { readonly table: "questions" },
): Statement {
  return plannedQuestion({ ...valuesOf(row, changed), expires_at, lanes: lanes.question });
}

/** Tells the other devices of a setting. Placed before the statement that changes it. */
export function planSetting({ lanes, ...row }: Planned, live_activities: boolean): Statement {
  const values = { ...NO_SUBJECT, ...row, lanes: lanes.silent, parts: "[]" };
  return plannedBySetting({ ...values, live_activities: live_activities ? 1 : 0 });
}

/** The ids of questions and tasks that end (`ended`, JSON list), as rows of `value`. */
const endedIn = sql`json_each(${p("ended")})`;
const isQuestion = sql`e.value like 'qst!_%' escape '!'`;
const kindOfEnded = sql`case when ${isQuestion} then 'question' else 'task' end`;
const wasShown = sql`case when ${isQuestion} then ${wasTried("question", sql`e.value`)} else ${wasTried("task", sql`e.value`)} end`;

/** True in SQL if a channel replaces alerts, which is assumed until it has accepted something. */
const mayReplace = sql`exists (select 1 from channels where id = d.recipient_id and (replaces = 1 or last_sent_at is null))`;

/** True in SQL for a channel that takes answers over connections of Relay: nothing on it shows an answer by itself. */
const listens = sql`exists (select 1 from channels where id = d.recipient_id and listener is not null)`;

/** Inserts a row for each id `e` and alert target `d`. It has the kind of the alert, with which it merges. */
const insertEnded = <P extends Readonly<Record<"account_id", Cell>>>(address: Sql, from: Sql<P>) =>
  statement(
    sql`insert into deliveries (${DELIVERY_COLUMNS})
      select d.account_id, d.recipient_id, ${kindOfEnded}, e.value, ${p("key_id")}, case when not ${isQuestion} then e.value end,
        case when ${isQuestion} then e.value end, d.lane, ${address}, '["ended"]', 2, ${now}, ${now} + ${ms(LIMITS.clear_life)}, ${now}
      ${from} ${MERGED}`,
    { only_if: hasTargetFor("alert") },
  );
const endedAt = (table: "tasks" | "questions") =>
  insertEnded(
    sql`null`,
    sql`from (select d.* ${targetsFor("alert")} and ${mayReplace} and (d.recipient_id is not ${p("answered_by")} or ${listens}) limit -1) d, ${endedIn} e
      where ${wasShown} and ${atRevision(table)}`,
  );
const ended = { tasks: endedAt("tasks"), questions: endedAt("questions") };

/**
 * Plans to replace the alerts of questions and tasks that ended, on all targets that may show them, if the row is at
 * the revision `changed`. The channel `answered_by` shows the answer by itself, unless it listens.
 */
export function planEnded(
  ids: readonly string[],
  { lanes, answered_by = null, ...row }: Planned & { readonly answered_by?: string | null },
  changed: RowRevision & { readonly table: "tasks" | "questions" },
): Statement {
  const values = { ...valuesOf(row, changed), answered_by, lanes: lanes.ended };
  return ended[changed.table]({ ...values, ended: JSON.stringify(ids) });
}

const update = (table: "tasks" | "questions") =>
  statement(
    sql`insert into deliveries (${DELIVERY_COLUMNS})
      select d.account_id, d.recipient_id, 'update', d.task_id, d.key_id, d.task_id, null, t.lane, null, ${p("parts")}, 1,
        ${PACE.update(sql`d.task_id`)}, ${PACE.update(sql`d.task_id`)} + ${ms(LIMITS.activity_life)}, ${now}
      from (select *, device_id as recipient_id from live_activities where task_id = ${p("task_id")} and ended_at is null) d
        ${joinActivityTarget(sql`d`)}
      where t.lane in (select value from json_each(${p("lanes")})) and ${atRevision(table)} ${MERGED}`,
  );
const planUpdates = { tasks: update("tasks"), questions: update("questions") };

/** Plans an update of each live activity of the task, as {@link planDelivery} does. */
export function planUpdate(
  { lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: keyof typeof planUpdates },
): Statement {
  return planUpdates[changed.table]({ ...valuesOf(row, changed), lanes: lanes.update });
}

/** Targets, each with the ids that it shows. The limit keeps SQLite from looking those up more than once. */
const shownTo = <P>(table: "keys" | "accounts", shown: Sql<P>, which: Sql = sql`true`) =>
  sql`from (select d.*, ${shown} as shown ${targetsFor("alert")} and ${which} and ${atRevision(table)} limit -1) d`;

// A row that clears nothing has no key: the pace follows from its record, which must outlive the key.
const clear_or_silent = sql`case when d.shown = '[]' then ${PACE.silent()} else ${PACE.clear()} end`;
const clearOfKey = statement(
  sql`insert into deliveries (${DELIVERY_COLUMNS})
    select d.account_id, d.recipient_id, 'silent', '', case when d.shown <> '[]' then ${p("changed_id")} end, null, null, d.lane, null, d.shown, 2,
      ${clear_or_silent}, ${clear_or_silent} + ${ms(LIMITS.silent_life)}, ${now}
    ${shownTo("keys", shownOfKey)} where true ${MERGED}`,
);
const widgetOfKey = statement(
  sql`insert into deliveries (${DELIVERY_COLUMNS})
    select d.account_id, d.recipient_id, 'widget', '', ${p("changed_id")}, null, null, d.lane, null, '[]', 2,
      ${PACE.widget()}, ${PACE.widget()} + ${ms(LIMITS.widget_life)}, ${now}
    ${targetsFor("widget")} and ${atRevision("keys")}
      and exists (select 1 from keys where id = ${p("changed_id")} and tasks_todo + tasks_in_progress + tasks_done + tasks_cancelled > 0) ${MERGED}`,
);
/** Planned only if there is something to clear, now or in a row that waits. */
const clearOfAccount = statement(
  sql`insert into deliveries (${DELIVERY_COLUMNS})
    select d.account_id, d.recipient_id, 'silent', '', null, null, null, d.lane, d.address, d.shown, 2,
      ${PACE.clear()}, ${PACE.clear()} + ${ms(LIMITS.silent_life)}, ${now}
    ${shownTo("accounts", shownOfAccount)} where d.shown <> '[]' or exists (select 1 from deliveries
      where account_id = d.account_id and recipient_id = d.recipient_id and kind = 'silent' and subject = '' and (parts <> '[]' or more <> '[]')) ${MERGED}`,
);
const endedOfKey = insertEnded(
  sql`null`,
  sql`${shownTo("keys", shownOfKey, mayReplace)}, json_each(d.shown) e where true`,
);
/** Has copies of the addresses, since the targets are deleted too. */
const endedOfAccount = insertEnded(
  sql`d.address`,
  sql`${shownTo("accounts", shownOfAccount, mayReplace)}, json_each(d.shown) e where true`,
);
/** True of a row that does not say how something ended. */
const noEnd = sql`instr(parts || coalesce(more, ''), '"ended"') = 0`;
const dropOfKey = statement(
  sql`delete from deliveries where account_id = ${p("account_id")} and key_id = ${p("changed_id")} and kind not in ('silent', 'widget', 'end') and ${noEnd} and ${atRevision("keys")}`,
);
const dropOfAccount = statement(
  sql`delete from deliveries where account_id = ${p("changed_id")} and kind not in ('silent', 'end') and ${noEnd} and ${atRevision("accounts")}`,
);

/**
 * Plans the notifications of a key or account that the batch deleted: clears what was shown, and drops what
 * is queued. Placed after the ends of its live activities.
 */
export function planDeletion({ lanes, ...row }: Planned, changed: RowRevision): Statement[] {
  const base = valuesOf(row, changed);
  const values = { ...base, lanes: lanes.silent };
  const replacing = { ...base, lanes: lanes.ended };
  return changed.table === "accounts"
    ? [clearOfAccount(values), endedOfAccount(replacing), dropOfAccount(values)]
    : [
        clearOfKey(values),
        endedOfKey(replacing),
        widgetOfKey({ ...base, lanes: lanes.widget }),
        dropOfKey(values),
      ];
}
