/** Compares the model of a run of chaos with the store: tasks, questions, messages, inboxes and streams. */

import { isStreamed } from "../../src/model/event.ts";
import type { Question } from "../../src/model/question.ts";
import type { Task } from "../../src/model/task.ts";
import type { Model, Patch, QuestionRecord, StreamRecord, TaskRecord } from "./model.ts";
import type { Event, Observer } from "./observer.ts";
import { BY_TOKEN } from "./people.ts";

interface Checked {
  readonly model: Model;
  readonly observer: Observer;
}

const groupBy = <T>(list: readonly T[], key: (one: T) => string) => Map.groupBy(list, key);

/** The data of an event of a task or a question, which has one of both. */
interface EventData {
  readonly task: Task;
  readonly question: Question;
}

/** Events of a name with their data parsed, by what `key` finds in it. */
function eventsBy(events: readonly Event[], name: string, key: (data: EventData) => string) {
  const found = events
    .filter((one) => one.name === name)
    .map((one) => JSON.parse(one.data) as EventData);
  return groupBy(found, key);
}

/** True if what was sent may have been carried out although a later change was acknowledged: a copy was under way. */
const mayComeLate = ({ fate, tries }: Patch) => fate === "unknown" || tries > 1;

/** Checks that a resource exists as often as its client was told, and returns its row. */
function oneOf<Row>(
  model: Model,
  entity: string,
  { fate }: { fate: string },
  rows: readonly Row[],
): Row | undefined {
  if (rows.length > 1) model.contradict(entity, `exists ${rows.length} times`);
  if (fate === "acknowledged" && rows.length === 0) model.contradict(entity, "is lost");
  if (fate === "refused" && rows.length > 0) model.contradict(entity, "was refused and exists");
  return rows[0];
}

/** Checks that the events of a resource's creation are as many as its rows: both are written, or neither. */
function announced(model: Model, entity: string, events: number, exists: boolean): void {
  if (events !== (exists ? 1 : 0)) {
    model.contradict(entity, `${exists ? "exists" : "does not exist"} and has ${events} events`);
  }
}

export async function checkTasks({ model, observer }: Checked): Promise<void> {
  const rows = (await observer.rows(
    "select id, title, status, status_note, progress from tasks",
  )) as [string, string, string, string | null, number | null][];
  const stored = groupBy(rows, ([, title]) => title);
  const created = eventsBy(observer.events, "task.created", ({ task }) => task.title);
  const updated = eventsBy(observer.events, "task.updated", ({ task }) => task.title);
  for (const record of model.tasks.values()) {
    const { title, made, removed } = record;
    const found = stored.get(title) ?? [];
    const announcements = created.get(title)?.length ?? 0;
    if (removed) {
      if (removed.fate === "acknowledged" && found.length > 0) {
        model.contradict(title, "was deleted and exists");
      }
      announced(model, title, announcements, true);
      continue;
    }
    const row = oneOf(model, title, made, found);
    announced(model, title, announcements, row !== undefined);
    if (!row) continue;
    if (record.id !== null && record.id !== row[0]) model.contradict(title, `has the id ${row[0]}`);
    checkPatches(model, record, row, updated.get(title) ?? []);
  }
  for (const title of stored.keys()) {
    if (!model.tasks.has(title)) model.contradict(title, "a task that nobody made");
  }
}

function checkPatches(
  model: Model,
  { title, patches }: TaskRecord,
  [, , status, note, progress]: [string, string, string, string | null, number | null],
  events: readonly EventData[],
): void {
  const last = patches.findLastIndex(({ fate }) => fate === "acknowledged");
  const possible = patches.filter((one, i) => i === last || mayComeLate(one));
  const untouched = last < 0 && note === null && progress === null && status === "todo";
  const same = possible.some((one) => one.note === note && one.progress === progress);
  if (!same && !untouched) model.contradict(title, `has ${JSON.stringify([note, progress])}`);
  for (const patch of patches) {
    const { length } = events.filter(({ task }) => task.status_note === patch.note);
    const most = patch.fate === "refused" ? 0 : patch.tries;
    const least = patch.fate === "acknowledged" ? 1 : 0;
    if (length < least || length > most) {
      model.contradict(title, `the change ${patch.note} has ${length} events`);
    }
  }
  const shown = events.at(-1)?.task;
  if (shown && (shown.status_note !== note || shown.progress !== progress)) {
    model.contradict(title, `its last event has ${shown.status_note}, ${shown.progress}`);
  }
}

export async function checkQuestions({ model, observer }: Checked): Promise<void> {
  const rows = (await observer.rows(
    "select id, prompt, status, answer, note from questions",
  )) as QuestionRow[];
  const stored = groupBy(rows, ([, prompt]) => prompt);
  const created = eventsBy(observer.events, "question.created", ({ question }) => question.prompt);
  const updated = eventsBy(observer.events, "question.updated", ({ question }) => question.prompt);
  const items = groupBy(
    (await observer.rows("select question_id from items where type = 'question.answered'")).flat(),
    String,
  );
  for (const record of model.questions.values()) {
    const { prompt, made } = record;
    const row = oneOf(model, prompt, made, stored.get(prompt) ?? []);
    announced(model, prompt, created.get(prompt)?.length ?? 0, row !== undefined);
    if (!row) continue;
    const [id, , status] = row;
    const ends = updated.get(prompt) ?? [];
    if (ends.length !== (status === "pending" ? 0 : 1)) {
      model.contradict(prompt, `is ${status} and has ${ends.length} events of its end`);
    }
    const in_inbox = items.get(id)?.length ?? 0;
    if (in_inbox !== (status === "answered" ? 1 : 0)) {
      model.contradict(prompt, `is ${status} and has ${in_inbox} items in the inbox`);
    }
    checkAnswer(model, record, row);
  }
  for (const prompt of stored.keys()) {
    if (!model.questions.has(prompt)) model.contradict(prompt, "a question that nobody asked");
  }
}

type QuestionRow = [string, string, string, string | null, string | null];

function checkAnswer(
  model: Model,
  record: QuestionRecord,
  [, , status, answer, note]: QuestionRow,
) {
  const { prompt, answers, cancelled, told, task } = record;
  const contradict = (text: string) => model.contradict(prompt, text);
  const given = answers.filter(({ fate }) => fate === "acknowledged");
  const winner = given.find(({ way }) => BY_TOKEN.has(way));
  const same = (one: { answer: string; note: string | null }) =>
    one.answer === answer && one.note === note;
  if (winner && !(status === "answered" && same(winner))) {
    contradict(`was answered ${winner.answer}, and is ${status}, ${answer}`);
  }
  if (status === "pending" && given.length > 0) contradict("its answer is lost");
  if (status === "expired") contradict("has expired");
  const by_agent = cancelled !== null && cancelled.fate !== "refused";
  if (status === "cancelled" && !by_agent && !task?.removed) {
    contradict("is cancelled by nobody");
  }
  if (cancelled?.fate === "acknowledged" && status !== "cancelled") {
    contradict(`was cancelled and is ${status}`);
  }
  if (status === "answered" && !answers.some((one) => one.fate !== "refused" && same(one))) {
    contradict(`has an answer that nobody gave: ${answer}`);
  }
  if (told && (told.status !== status || told.answer !== answer)) {
    contradict(`its agent was told ${told.answer}, and it has ${answer}`);
  }
  if (!told && record.made.fate === "acknowledged") contradict("its agent was never told");
}

export async function checkInboxes({ model, observer }: Checked): Promise<void> {
  const rows = (await observer.rows("select id, key_id, type, text from items order by seq")) as [
    string,
    string,
    string,
    string | null,
  ][];
  const messages = groupBy(
    rows.filter(([, , type]) => type === "message"),
    ([, , , text]) => text ?? "",
  );
  for (const { text, made } of model.messages.values()) {
    oneOf(model, text, made, messages.get(text) ?? []);
  }
  for (const { key, items } of model.inboxes) {
    const stored = rows.filter(([, of]) => of === key).map(([id]) => id);
    const missing = stored.filter((id) => !items.includes(id));
    const entity = `inbox of ${key}`;
    if (missing.length > 0) model.contradict(entity, `never returned ${missing.join(", ")}`);
    else if (!Bun.deepEquals(stored, items))
      model.contradict(entity, "returned items out of order");
  }
}

/** Each connection got a run of the account's events without a gap, and its list has what came before it. */
export function checkStreams({ model, observer }: Checked): void {
  if (observer.gaps.length > 0) {
    model.contradict("events", `numbers are missing: ${observer.gaps.join(", ")}`);
  }
  const streamed = observer.events.filter(({ name }) => isStreamed(name));
  const by_account = groupBy(streamed, ({ account }) => account);
  for (const record of model.streams) {
    const events = by_account.get(record.account) ?? [];
    const frames = events.map(({ name, data }) => `${name} ${data}`);
    const fault = faultOf(record, events, frames);
    if (fault) model.contradict(`stream of ${record.account}`, fault);
  }
}

function faultOf(record: StreamRecord, events: readonly Event[], frames: readonly string[]) {
  const got = record.frames;
  const faults: string[] = [];
  const end = frames.length - got.length;
  for (let from = 0; from <= end; from++) {
    if (got.length > 0 && frames[from] !== got[0]) continue;
    if (got.length === 0 && from !== end) continue;
    const wrong = got.findIndex((frame, i) => frames[from + i] !== frame);
    if (wrong >= 0) {
      faults.push(`after ${wrong} of ${got.length} events: ${got[wrong]?.slice(0, 300)} came
        in place of ${frames[from + wrong]?.slice(0, 300)}`);
    } else if (record.open && from !== end) {
      faults.push(`the last ${end - from} events never came`);
    } else {
      const missed = missedBefore(record, events.slice(0, from));
      if (missed === undefined) return undefined;
      if (got.length > 0) faults.push(`neither the list nor the stream had ${missed}`);
      else return undefined;
    }
  }
  return faults[0] ?? `its first event was never written: ${got[0]?.slice(0, 300)}`;
}

/** A task that changed before the stream's first event and is older in the list that was read after `ready`. */
function missedBefore({ list }: StreamRecord, before: readonly Event[]): string | undefined {
  if (!list) return undefined;
  const latest = new Map<string, number>();
  for (const { name, subject, data } of before) {
    if (name === "task.deleted") latest.delete(subject);
    if (name !== "task.created" && name !== "task.updated") continue;
    latest.set(subject, JSON.parse(data).task.updated_at);
  }
  for (const [id, at] of latest) {
    const listed = list.get(id);
    // One that is not listed was deleted meanwhile.
    if (listed !== undefined && listed < at) return `${id} of ${at}`;
  }
  return undefined;
}
