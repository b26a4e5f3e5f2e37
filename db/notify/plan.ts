/** Plans deliveries in the batch of a change: a row for each target that is to get one (docs/interface.md §14.2). */

import { type NotificationKind, PURPOSES } from "../../src/model/notification.ts";
import { PUSH } from "../../src/notification-limits.ts";
import { atRevision, type RowRevision } from "../outbox.ts";
import { p, type Sql, sql } from "../sql.ts";
import { statement } from "../statement.ts";
import type { Statement } from "../store.ts";
import { MERGED } from "./merge.ts";
import { deliveries } from "./schema.ts";
import { hasTargetFor, joinActivityTarget, targetsFor } from "./targets.ts";

const ms = (seconds: number) => sql.raw(seconds * 1000);
const now = p("now", deliveries.due_at);

/** What a change plans for the targets of an account. `visible` and `passive` are of kind `task`. */
type PlannedKind = "visible" | "passive" | "silent" | "widget" | "start";

interface Shape {
  readonly kind: NotificationKind;
  readonly urgency: number;
  readonly life: number;
}

const SHAPES: Record<PlannedKind, Shape> = {
  visible: { kind: "task", urgency: 1, life: PUSH.alert_life },
  passive: { kind: "task", urgency: 2, life: PUSH.alert_life },
  silent: { kind: "silent", urgency: 2, life: PUSH.silent_life },
  widget: { kind: "widget", urgency: 2, life: PUSH.widget_life },
  start: { kind: "start", urgency: 1, life: PUSH.activity_life },
};

const tried = <P>(kind: string, about: Sql<P>) =>
  sql`from push_records where account_id = d.account_id and device_id = d.device_id and kind = ${sql.raw(`'${kind}'`)} and about = ${about} and tried_at is not null`;
/** A last one in the future was written by a clock that was set back: it delays no longer than one that is now. */
const sinceLast = <P>(kind: string, about: Sql<P>, every: number) =>
  sql`max(${now}, min(${now}, coalesce((select max(tried_at) ${tried(kind, about)}), 0)) + ${ms(every)})`;

/**
 * When the next delivery to a recipient `d` (`account_id`, `device_id`) may go, in SQL, by the kinds
 * that are held back (docs/interface.md §14.4).
 */
export const PACE = {
  passive: <P>(about: Sql<P>) => sinceLast("task", about, PUSH.passive_every),
  update: <P>(about: Sql<P>) => sinceLast("update", about, PUSH.update_every),
  widget: () => sinceLast("widget", sql`''`, PUSH.widget_every),
  clear: () => sql`${now} + ${ms(PUSH.clear_wait)}`,
  silent: () =>
    sql`max(${now}, coalesce((select min(tried_at, ${now}) + ${ms(3600)} ${tried("silent", sql`''`)} and tried_at > ${now} - ${ms(3600)}
      order by tried_at desc limit 1 offset ${sql.raw(PUSH.silent_per_hour - 1)}), 0))`,
};

const COLUMNS = sql`account_id, device_id, kind, subject, key_id, task_id, question_id, environment, token, parts, urgency, due_at, expires_at, created_at`;

const wasTried = (kind: "task" | "question", about: Sql) => {
  const same = sql`account_id = d.account_id and device_id = d.device_id and kind = ${sql.raw(`'${kind}'`)} and attempts > 0`;
  return sql`(exists (select 1 from push_records where ${same} and about = ${about})
    or exists (select 1 from pushes where ${same} and subject = ${about}))`;
};

const ofKey = sql`key_id = ${p("changed_id")}`;
const ofAccount = sql`account_id = ${p("changed_id")}`;

/**
 * Ids of the notifications of a key that the device `d` was shown and that nothing took back, as a
 * JSON list. What has no record any more is not known. A key has a bounded number of tasks, but its
 * account may have many more records than that, so this goes through the tasks.
 */
const shownOfKey = sql`(select json_group_array(id) from (
    select id from tasks where ${ofKey} and ${wasTried("task", sql`tasks.id`)}
    union all select id from questions where ${ofKey} and status = 'pending' and ${wasTried("question", sql`questions.id`)}))`;

/**
 * Selects what was sent to a device of an account in the days that records are kept. An account may have a million
 * tasks, so its tasks are not searched.
 */
const triedOn = sql`account_id = d.account_id and device_id = d.device_id and kind in ('task', 'question') and attempts > 0`;
const shownOfAccount = sql`(select json_group_array(id) from (
    select about as id from push_records where ${triedOn} union select subject from pushes where ${triedOn}) shown
  where exists (select 1 from tasks where tasks.id = shown.id and ${ofAccount})
    or exists (select 1 from questions where questions.id = shown.id and ${ofAccount} and status = 'pending'))`;

/** With the setting off none is planned; what else stands against it is looked at when it is sent. */
const mayStart = sql`exists (select 1 from accounts where id = ${p("account_id")} and live_activities)`;

/** What the time of a delivery follows from. */
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

/** A row for each target for notifications of `kind`, with the parameters of its guard. */
const insertFor = <Due, Expires, Guard>(
  { kind, urgency }: Pick<Shape, "kind" | "urgency">,
  times: { readonly due: Sql<Due>; readonly expires: Sql<Expires> },
  guard: Sql<Guard>,
) =>
  statement(
    sql`insert into pushes (${COLUMNS})
      select d.account_id, d.device_id, ${sql.raw(`'${kind}'`)}, ${p("subject")}, ${p("key_id")}, ${p("task_id")}, ${p("question_id")},
        d.lane, null, ${p("parts")}, ${sql.raw(urgency)}, ${times.due}, ${times.expires}, ${now}
      ${targetsFor(PURPOSES[kind])} and ${guard} ${MERGED}`,
    { only_if: hasTargetFor(PURPOSES[kind]) },
  );

const ofTarget = sql`account_id = d.account_id and device_id = d.device_id`;
/** Few enough wait for the target `d`. */
const isShort = sql`not exists (select 1 from pushes where ${ofTarget} limit 1 offset ${sql.raw(PUSH.queued_most - 1)})`;
/** As {@link isShort}, or one about the same task waits, which this joins. */
const hasRoom = sql`(${isShort} or exists (select 1 from pushes where ${ofTarget} and kind = 'task' and subject = ${p("subject")}))`;

const insert = <Guard>(kind: PlannedKind, guard: Sql<Guard>) => {
  const shape = SHAPES[kind];
  const due = paceOf(kind);
  const times = { due, expires: sql`${due} + ${ms(shape.life)}` };
  if (shape.kind === "task") return insertFor(shape, times, sql`${guard} and ${hasRoom}`);
  return insertFor(shape, times, kind === "start" ? sql`${guard} and ${mayStart}` : guard);
};

/** A guard of a change that makes no revision: true while the setting is another one than the new. */
const settingDiffers = sql`exists (select 1 from accounts where id = ${p("account_id")} and deleted_at is null
  and live_activities <> ${p("live_activities")})`;

/** What a change of a row of each table may plan, besides {@link planQuestion} and ends. */
const KINDS = {
  tasks: ["visible", "passive", "silent", "widget", "start"],
  questions: ["silent"],
  keys: ["silent"],
  items: ["silent"],
} as const;
type PushTable = keyof typeof KINDS;

const insertAt = (kind: PlannedKind, table: PushTable) => insert(kind, atRevision(table));
const planned = Object.fromEntries(
  Object.entries(KINDS).map(([table, kinds]) => [
    table,
    Object.fromEntries(kinds.map((kind) => [kind, insertAt(kind, table as PushTable)])),
  ]),
) as Record<PushTable, Partial<Record<PlannedKind, ReturnType<typeof insertAt>>>>;

/**
 * A row for each target for the notification of a new task or question, which no earlier one can be about: it
 * merges with none, so this is a tenth of the text of {@link insertFor}.
 */
const insertNew = <Guard>({ kind, urgency }: Pick<Shape, "kind" | "urgency">, guard: Sql<Guard>) =>
  statement(
    sql`insert into pushes (${COLUMNS})
      select d.account_id, d.device_id, ${sql.raw(`'${kind}'`)}, ${p("subject")}, ${p("key_id")}, ${p("task_id")}, ${p("question_id")},
        d.lane, null, ${p("parts")}, ${sql.raw(urgency)}, ${now}, ${p("expires_at", deliveries.expires_at)}, ${now}
      ${targetsFor(PURPOSES[kind])} and ${guard} on conflict do nothing`,
    { only_if: hasTargetFor(PURPOSES[kind]) },
  );
const plannedTask = insertNew(SHAPES.visible, sql`${atRevision("tasks")} and ${isShort}`);
const plannedQuestion = insertNew({ kind: "question", urgency: 0 }, atRevision("questions"));

const plannedBySetting = insert("silent", settingDiffers);

/**
 * By the kind of a notification, the lanes that are configured and take it, as a JSON list; `ended`:
 * those whose channels replace an alert by how its subject ended.
 */
export type LanesByKind = Readonly<Record<NotificationKind | "ended", string>>;

/** What a row says besides its target. */
export interface Planned {
  readonly account_id: string;
  readonly lanes: LanesByKind;
  readonly now: number;
  readonly subject?: string;
  readonly key_id?: string;
  readonly task_id?: string | null;
  readonly question_id?: string;
  /** Names of what changed, or for `silent` ids to clear. */
  readonly parts?: readonly string[];
}

const NOTHING = {
  subject: "",
  key_id: null,
  task_id: null,
  question_id: null,
};

/** Plans a delivery to each target of the account, if the row is at the revision `changed`. */
export function planDelivery<Table extends PushTable>(
  kind: (typeof KINDS)[Table][number],
  { parts = [], lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: Table },
): Statement {
  const guard = { changed_id: changed.id, changed_revision: changed.revision };
  return planned[changed.table][kind]!({
    ...NOTHING,
    ...row,
    ...guard,
    lanes: lanes[SHAPES[kind].kind],
    parts: JSON.stringify(parts),
  });
}

/** Plans the visible alert of a new task, as {@link planDelivery}. */
export function planNewTask(
  { parts = [], lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: "tasks" },
): Statement {
  return plannedTask({
    ...NOTHING,
    ...row,
    changed_id: changed.id,
    changed_revision: changed.revision,
    lanes: lanes[SHAPES.visible.kind],
    parts: JSON.stringify(parts),
    expires_at: row.now + SHAPES.visible.life,
  });
}

/** Plans the alert of a new question, as {@link planDelivery}; it is sent until `expires_at`. */
export function planQuestion(
  { lanes, ...row }: Planned & { readonly expires_at: number },
  changed: RowRevision & { readonly table: "questions" },
): Statement {
  const guard = { changed_id: changed.id, changed_revision: changed.revision };
  return plannedQuestion({ ...NOTHING, ...row, ...guard, lanes: lanes.question, parts: "[]" });
}

/** Tells the other devices of a setting; stands before the statement that changes it. */
export function planSetting({ lanes, ...row }: Planned, live_activities: boolean): Statement {
  return plannedBySetting({
    ...NOTHING,
    ...row,
    lanes: lanes.silent,
    parts: "[]",
    live_activities: live_activities ? 1 : 0,
  });
}

/** What ends, as rows of `value`: ids of questions and tasks (`ended`, JSON list). */
const endedIn = sql`json_each(${p("ended")})`;
const isQuestion = sql`e.value like 'qst!_%' escape '!'`;
const kindOfEnded = sql`case when ${isQuestion} then 'question' else 'task' end`;
const wasShown = sql`case when ${isQuestion} then ${wasTried("question", sql`e.value`)} else ${wasTried("task", sql`e.value`)} end`;

/** Not known before it has taken something. */
const mayReplace = sql`exists (select 1 from channels where id = d.device_id and (replaces = 1 or last_sent_at is null))`;

/** Rows of the kinds of their alerts, which they merge with, of ids `e` on targets `d`. */
const insertEnded = <P>(address: Sql, from: Sql<P>) =>
  statement(
    sql`insert into pushes (${COLUMNS})
      select d.account_id, d.device_id, ${kindOfEnded}, e.value, ${p("key_id")}, case when not ${isQuestion} then e.value end,
        case when ${isQuestion} then e.value end, d.lane, ${address}, '["ended"]', 2, ${now}, ${now} + ${ms(PUSH.clear_life)}, ${now}
      ${from} ${MERGED}`,
  );
const endedAt = (table: "tasks" | "questions") =>
  insertEnded(
    sql`null`,
    sql`from (select d.* ${targetsFor("alert")} and ${mayReplace} and d.device_id is not ${p("answered_by")} limit -1) d, ${endedIn} e
      where ${wasShown} and ${atRevision(table)}`,
  );
const ended = { tasks: endedAt("tasks"), questions: endedAt("questions") };

/**
 * Plans that alerts are replaced by how their questions and tasks ended, on the targets of `lanes` that
 * may show them, if the row is at the revision `changed`. The channel that the answer came by shows it
 * itself.
 */
export function planEnded(
  ids: readonly string[],
  { lanes, answered_by = null, ...row }: Planned & { readonly answered_by?: string | null },
  changed: RowRevision & { readonly table: "tasks" | "questions" },
): Statement {
  const guard = { changed_id: changed.id, changed_revision: changed.revision };
  const values = { ...NOTHING, ...row, ...guard, answered_by, lanes: lanes.ended };
  return ended[changed.table]({ ...values, ended: JSON.stringify(ids) });
}

const update = (table: "tasks" | "questions") =>
  statement(
    sql`insert into pushes (${COLUMNS})
      select d.account_id, d.device_id, 'update', d.task_id, d.key_id, d.task_id, null, t.lane, null, ${p("parts")}, 1,
        ${PACE.update(sql`d.task_id`)}, ${PACE.update(sql`d.task_id`)} + ${ms(PUSH.activity_life)}, ${now}
      from live_activities d ${joinActivityTarget(sql`d`)}
      where d.task_id = ${p("task_id")} and d.ended_at is null
        and t.lane in (select value from json_each(${p("lanes")})) and ${atRevision(table)} ${MERGED}`,
  );
const planUpdates = { tasks: update("tasks"), questions: update("questions") };

/** Plans an update of each live activity of the task, as {@link planDelivery}. */
export function planUpdate(
  { parts = [], lanes, ...row }: Planned,
  changed: RowRevision & { readonly table: keyof typeof planUpdates },
): Statement {
  const guard = { changed_id: changed.id, changed_revision: changed.revision };
  return planUpdates[changed.table]({
    ...NOTHING,
    ...row,
    ...guard,
    lanes: lanes.update,
    parts: JSON.stringify(parts),
  });
}

/** Targets with what each was shown; the limit keeps that from being looked up more than once. */
const shownTo = <P>(table: "keys" | "accounts", shown: Sql<P>, which: Sql = sql`true`) =>
  sql`from (select d.*, ${shown} as shown ${targetsFor("alert")} and ${which} and ${atRevision(table)} limit -1) d`;

// Without the key on it, the record that the pace follows from does not go with the key.
const clear_or_silent = sql`case when d.shown = '[]' then ${PACE.silent()} else ${PACE.clear()} end`;
const clearOfKey = statement(
  sql`insert into pushes (${COLUMNS})
    select d.account_id, d.device_id, 'silent', '', case when d.shown <> '[]' then ${p("changed_id")} end, null, null, d.lane, null, d.shown, 2,
      ${clear_or_silent}, ${clear_or_silent} + ${ms(PUSH.silent_life)}, ${now}
    ${shownTo("keys", shownOfKey)} where true ${MERGED}`,
);
const widgetOfKey = statement(
  sql`insert into pushes (${COLUMNS})
    select d.account_id, d.device_id, 'widget', '', ${p("changed_id")}, null, null, d.lane, null, '[]', 2,
      ${PACE.widget()}, ${PACE.widget()} + ${ms(PUSH.widget_life)}, ${now}
    ${targetsFor("widget")} and ${atRevision("keys")}
      and exists (select 1 from keys where id = ${p("changed_id")} and tasks_todo + tasks_in_progress + tasks_done + tasks_cancelled > 0) ${MERGED}`,
);
/** Only where there is something to clear: by now, or in a row that waits. */
const clearOfAccount = statement(
  sql`insert into pushes (${COLUMNS})
    select d.account_id, d.device_id, 'silent', '', null, null, null, d.lane, d.address, d.shown, 2,
      ${PACE.clear()}, ${PACE.clear()} + ${ms(PUSH.silent_life)}, ${now}
    ${shownTo("accounts", shownOfAccount)} where d.shown <> '[]' or exists (select 1 from pushes
      where account_id = d.account_id and device_id = d.device_id and kind = 'silent' and subject = '' and (parts <> '[]' or more <> '[]')) ${MERGED}`,
);
/** On channels that replace what they have shown. */
const endedOfKey = insertEnded(
  sql`null`,
  sql`${shownTo("keys", shownOfKey, mayReplace)}, json_each(d.shown) e where true`,
);
/** With copies of the addresses: the targets go too. */
const endedOfAccount = insertEnded(
  sql`d.address`,
  sql`${shownTo("accounts", shownOfAccount, mayReplace)}, json_each(d.shown) e where true`,
);
/** It does not tell of an end. */
const noEnd = sql`instr(parts || coalesce(more, ''), '"ended"') = 0`;
const dropOfKey = statement(
  sql`delete from pushes where account_id = ${p("account_id")} and key_id = ${p("changed_id")} and kind not in ('silent', 'widget', 'end') and ${noEnd} and ${atRevision("keys")}`,
);
const dropOfAccount = statement(
  sql`delete from pushes where account_id = ${p("changed_id")} and kind not in ('silent', 'end') and ${noEnd} and ${atRevision("accounts")}`,
);

/**
 * Plans the notifications of a key or account that the batch deleted: clears what was shown, with copies of the
 * addresses where the targets go too, and drops what is queued. Comes after the ends of its activities.
 */
export function planDeletion({ lanes, ...row }: Planned, changed: RowRevision): Statement[] {
  const base = { ...NOTHING, ...row, changed_id: changed.id, changed_revision: changed.revision };
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
