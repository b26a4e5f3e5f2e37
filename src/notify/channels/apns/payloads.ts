/** Renders a push from the state of the moment, pure (docs/interface.md 14.3). */

import { PUSH } from "../../../limits.ts";
import type { Question } from "../../../model/question.ts";
import type { Task } from "../../../model/task.ts";
import { isAlerting } from "../../plan.ts";

/** What the push service gets, but for token and identity. */
export interface Rendered {
  readonly type: "alert" | "background" | "widgets" | "liveactivity";
  /** Follows the bundle id. */
  readonly topic: string;
  readonly priority: 5 | 10;
  /** Epoch seconds after which it need not arrive. */
  readonly expiration: number;
  readonly collapse_id: string | null;
  readonly payload: Payload;
}

interface Payload {
  readonly aps: Record<string, unknown>;
  readonly relay: Record<string, unknown>;
}

interface Sender {
  readonly label: string;
  readonly last_host: string | null;
}

export interface RenderOptions {
  /** False: no title, prompt or note (`PUSH_CONTENT=generic`). */
  readonly full: boolean;
}

const TOPIC = { widgets: ".push-type.widgets", liveactivity: ".push-type.liveactivity" };
const RELEVANCE = { low: 0.25, medium: 0.5, high: 0.75, urgent: 1 };
const CATEGORY = {
  confirm: "QUESTION_CONFIRM",
  choice: "QUESTION_CHOICE",
  text: "QUESTION_TEXT",
};
const HAPPENED = {
  todo: "Back to do",
  in_progress: "Started",
  done: "Done",
  cancelled: "Cancelled",
};

type Texts = readonly (readonly [holder: Record<string, unknown>, name: string])[];

export function renderQuestion(question: Question, key: Sender, { full }: RenderOptions): Rendered {
  const { id, key_id, task_id, kind, options, expires_at } = question;
  const alert = {
    title: `Question from ${key.label}`,
    subtitle: signature(key.label, key.last_host),
    body: full ? question.prompt : "A question is waiting",
  };
  const payload = {
    aps: {
      alert,
      sound: "default",
      category: CATEGORY[kind],
      "interruption-level": "time-sensitive",
      "relevance-score": 1,
      "thread-id": key_id,
      ...(kind === "choice" && { "mutable-content": 1 }),
    },
    relay: {
      v: 1,
      event: "question.created",
      key_id,
      ...(task_id !== null && { task_id }),
      question_id: id,
      kind,
      ...(full && options.length > 0 && { options }),
      expires_at,
    },
  };
  return {
    type: "alert",
    topic: "",
    priority: 10,
    expiration: Math.floor(expires_at),
    collapse_id: id,
    payload: fit(payload, alertTexts(alert)),
  };
}

interface TaskAlert {
  readonly task: Task;
  readonly key: Sender;
  /** Names of what changed since it was last told. */
  readonly changes: readonly string[];
  readonly expires_at: number;
}

export function renderTask(
  { task, key, changes, expires_at }: TaskAlert,
  { full }: RenderOptions,
): Rendered {
  const active = isAlerting(changes);
  const urgent = active && task.priority === "urgent";
  const alert = {
    title: full ? task.title : "A task",
    subtitle: signature(key.label, task.host ?? key.last_host),
    body: newsOf(task, changes, full),
  };
  const payload = {
    aps: {
      alert,
      ...(active && { sound: "default" }),
      "interruption-level": urgent ? "time-sensitive" : active ? "active" : "passive",
      "relevance-score": RELEVANCE[task.priority],
      "thread-id": task.key_id,
    },
    relay: {
      v: 1,
      event: changes.includes("created") ? "task.created" : "task.updated",
      key_id: task.key_id,
      task_id: task.id,
    },
  };
  return {
    type: "alert",
    topic: "",
    priority: active ? 10 : 5,
    expiration: Math.floor(expires_at),
    collapse_id: task.id,
    payload: fit(payload, alertTexts(alert)),
  };
}

/** The note where it is what changed or says more, else what happened. */
function newsOf(task: Task, changes: readonly string[], full: boolean): string {
  const { status, status_note, progress } = task;
  if (full && status_note !== null && changes.includes("status_note")) return status_note;
  if (changes.includes("created") && status === "todo") return "New task";
  if (isAlerting(changes)) return HAPPENED[status];
  if (progress !== null && changes.includes("progress")) return `${progress} %`;
  return full && status_note !== null ? status_note : "Changed";
}

const signature = (label: string, host: string | null): string =>
  host === null ? label : `${label} · ${host}`;

interface Silent {
  readonly key_id: string | null;
  /** Ids whose notifications go; at most 50. */
  readonly clear: readonly string[];
  readonly expires_at: number;
  readonly now: number;
}

export function renderSilent({ key_id, clear, expires_at, now }: Silent): Rendered {
  const event = clear.length > 0 ? "cleared" : "changed";
  return {
    type: "background",
    topic: "",
    priority: 5,
    expiration: Math.floor(Math.min(expires_at, now + PUSH.silent_life)),
    collapse_id: null,
    payload: {
      aps: { "content-available": 1 },
      relay: { v: 1, event, key_id, ...(clear.length > 0 && { clear }) },
    },
  };
}

export function renderWidget(key_id: string | null, expires_at: number): Rendered {
  return {
    type: "widgets",
    topic: TOPIC.widgets,
    priority: 5,
    expiration: Math.floor(expires_at),
    collapse_id: null,
    payload: { aps: { "content-changed": true }, relay: { v: 1, event: "changed", key_id } },
  };
}

interface Activity {
  readonly event: "start" | "update" | "end";
  /** Null: it is gone, and what is shown of it goes at once. */
  readonly task: Task | null;
  readonly ids: { readonly task_id: string; readonly key_id: string | null };
  readonly key: Sender | null;
  readonly pending_questions: number;
  readonly changes: readonly string[];
  /** Whole seconds that grow with each push of an activity. */
  readonly timestamp: number;
  readonly now: number;
}

export function renderActivity(activity: Activity, { full }: RenderOptions): Rendered {
  const { event, task, ids, key, changes, timestamp, now } = activity;
  const stale = Math.floor(now) + PUSH.activity_life;
  const state: Record<string, unknown> = {
    title: task ? (full ? task.title : "A task") : "",
    status: task?.status ?? "cancelled",
    priority: task?.priority ?? "low",
    progress: task?.progress ?? null,
    status_note: full ? (task?.status_note ?? null) : null,
    pending_questions: activity.pending_questions,
    updated_at: task?.updated_at ?? now,
  };
  const attributes: Record<string, unknown> = { ...ids, key_label: key?.label ?? "" };
  const alert = { title: state.title, body: HAPPENED.in_progress };
  const finished = task?.status === "done" || task?.status === "cancelled";
  const loud = event !== "update" || changes.includes("status") || changes.includes("question");
  const payload = {
    aps: {
      event,
      timestamp,
      "content-state": state,
      ...(event === "start" && { "attributes-type": "TaskActivity", attributes, alert }),
      ...(event === "end"
        ? { "dismissal-date": Math.floor(now) + (finished ? PUSH.dismissal : -1) }
        : { "stale-date": stale }),
    },
    relay: { v: 1, event: `activity.${event}`, ...ids },
  };
  const texts: Texts = [
    [alert, "title"],
    [state, "status_note"],
    [state, "title"],
    [attributes, "key_label"],
  ];
  return {
    type: "liveactivity",
    topic: TOPIC.liveactivity,
    priority: loud ? 10 : 5,
    expiration: stale,
    collapse_id: null,
    payload: fit(payload, texts),
  };
}

const alertTexts = (alert: Record<string, unknown>): Texts => [
  [alert, "body"],
  [alert, "title"],
  [alert, "subtitle"],
];

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Between what a person sees as characters, so that none is torn. */
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Cuts the texts, the first ones first, until the whole has its size; nothing else is touched. */
function fit(payload: Payload, texts: Texts): Payload {
  for (const [holder, name] of texts) {
    const over = bytesOf(payload) - PUSH.payload_bytes;
    if (over <= 0) break;
    const text = holder[name];
    if (typeof text === "string") holder[name] = cut(text, bytesOf(text) - over);
  }
  return payload;
}

const MARK = "…";

/** The beginning of the text and a mark, in at most so many bytes as a JSON string. */
function cut(text: string, bytes: number): string {
  let room = bytes - bytesOf(MARK);
  let end = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    room -= bytesOf(segment) - 2;
    if (room < 0) break;
    end = index + segment.length;
  }
  return text.slice(0, end) + MARK;
}
