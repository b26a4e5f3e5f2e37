/** Makes notifications from the current state (§14.3); pure. */

import type { Question } from "../../model/question.ts";
import type { Task } from "../../model/task.ts";
import { isBlank } from "../../model/text.ts";
import { NOTIFICATION_LIMITS } from "../../notification-limits.ts";
import { bytesOf, cut } from "./cut.ts";
import { fitsRoom } from "./glyphs.ts";
import type { Activity, Alert, EndedAlert, Silent, Test } from "./notification.ts";
import { isAlerting } from "./plan.ts";

interface Agent {
  readonly label: string;
  readonly last_host: string | null;
}

export interface ContentOptions {
  /** False: no title, prompt, option or note (`PUSH_CONTENT=generic`). */
  readonly full: boolean;
}

const HAPPENED = {
  todo: "To do again",
  in_progress: "Started",
  done: "Done",
  cancelled: "Cancelled",
};

/** The alert of a pending question. */
export function composeQuestion(
  question: Question,
  key: Agent,
  { full, again = false }: ContentOptions & Partial<Pick<Alert, "again">>,
): Alert {
  const { id, key_id, task_id, kind, draft, expires_at } = question;
  return {
    kind: "question",
    event: "question.created",
    subject: id,
    key_id,
    task_id,
    title: `Question from ${key.label}`,
    subtitle: signature(key.label, key.last_host),
    body: full ? askedIn(question) : "A question is waiting",
    urgency: "urgent",
    priority: "urgent",
    again,
    actions: full
      ? {
          kind,
          ...answersTo(question),
          ...(draft !== undefined && { draft }),
          own_words: takesOwnWords(question),
          expires_at,
        }
      : { kind, options: [], own_words: false, expires_at },
    expires_at,
  };
}

const takesOwnWords = ({ kind, allow_other = false }: Question): boolean =>
  kind === "text" || allow_other;

/**
 * The answers to a request for permission that a ticket may send: those that its notification offers. With generic
 * content (`full`: false), only the answer that permits nothing.
 */
export function answersByTicket(question: Question, full: boolean): readonly string[] {
  const deny = question.options.slice(1, 2);
  return full ? answersTo(question).options : deny;
}

/**
 * Characters that may hide or reorder a part of a prompt, depending on the system that shows it: runs of
 * white space, tabs, combining marks, the mark that stands for longer runs, and right-to-left letters
 * (the blocks that UAX #9 reserves for them).
 */
const UNSURE =
  /\s{9}|\t|\p{M}{4}|\u27e8|[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The answers that a notification offers. A request can be permitted only where all of it is shown. */
function answersTo({
  action,
  options,
  prompt,
}: Question): Pick<NonNullable<Alert["actions"]>, "options" | "shows"> {
  if (action === undefined) return { options };
  const [allow = "", deny = ""] = options;
  // Without a record that the prompt is whole, it counts as cut.
  const fits =
    action.prompt_is_whole === true &&
    fitsRoom(prompt, NOTIFICATION_LIMITS.action_characters) &&
    prompt.split("\n").length <= NOTIFICATION_LIMITS.action_lines &&
    !UNSURE.test(prompt);
  const shows = fits ? "whole" : "part";
  return { options: shows === "whole" ? [allow, deny] : [deny], shows };
}

/**
 * The body of a question: prompt, fallback and the first lines of the context, in this order, so that
 * shortening drops the context first. A draft takes the place of the context: below it, nothing could pass for a part of
 * it. For a request for permission, the prompt alone: the agent's words below it could pass for a part of it.
 */
function askedIn({ prompt, fallback, draft, context, action, status }: Question): string {
  if (action !== undefined) return prompt;
  const title = status === "pending" ? "If you don't answer" : "Without an answer";
  const otherwise =
    fallback === undefined
      ? []
      : [`${title}: ${shorten(fallback, NOTIFICATION_LIMITS.fallback_bytes)}`];
  const more = draft === undefined ? firstLines(context ?? "") : ["Draft:", draft];
  return [prompt, ...otherwise, ...more].join("\n");
}

/** The first lines that are neither blank nor a code fence, and `…` if there are more. */
function firstLines(context: string): string[] {
  const lines = context.split("\n").filter((line) => !isBlank(line) && !/^\s*(```|~~~)/.test(line));
  const first = lines.slice(0, NOTIFICATION_LIMITS.context_lines).join("\n");
  if (first === "") return [];
  const more = lines.length > NOTIFICATION_LIMITS.context_lines ? "\n…" : "";
  return [shorten(first + more, NOTIFICATION_LIMITS.context_bytes)];
}

const shorten = (text: string, bytes: number): string =>
  bytesOf(text) <= bytes ? text : cut(text, bytes);

/** How a question was answered, for the person; an approved draft is not repeated. */
export const describeAnswer = ({ answer, edited }: Question): string =>
  edited === false ? "Approved" : `Answered: ${answer}`;

const ENDED = { answered: "Answered", expired: "Expired", cancelled: "Cancelled", pending: "" };

/** Says how a question ended. `subject`: its id; `question` is null if it was deleted with its key. */
export function composeEndedQuestion(
  subject: string,
  question: Question | null,
  key: Agent | null,
  { full, expires_at }: ContentOptions & Pick<EndedAlert, "expires_at">,
): EndedAlert {
  const title = key ? `Question from ${key.label}` : "Question";
  const status = question?.status ?? "cancelled";
  const body = full && question?.answer != null ? describeAnswer(question) : ENDED[status];
  const asked =
    full && question !== null
      ? { text: askedIn(question), is_request: question.action !== undefined }
      : null;
  return { kind: "ended", about: "question", subject, title, body, asked, expires_at };
}

/** Says that a task was deleted or has expired. Its title is gone by then. */
export function composeEndedTask(
  subject: string,
  key: Agent | null,
  { expires_at }: Pick<EndedAlert, "expires_at">,
): EndedAlert {
  const title = key ? `Task of ${key.label}` : "Task";
  return { kind: "ended", about: "task", subject, title, body: "Deleted", asked: null, expires_at };
}

/** The test of a channel, without any data of the account. `subject`: id of the channel. */
export function composeTest(subject: string, times: Pick<Test, "asked_at" | "expires_at">): Test {
  const body = "This is a test. Questions and tasks will arrive here.";
  return { kind: "test", subject, title: "Relay", body, ...times };
}

interface TaskNews {
  readonly task: Task;
  readonly key: Agent;
  /** Names of the fields that changed since the last notification. */
  readonly changes: readonly string[];
  readonly expires_at: number;
}

/** The alert of a task that was created or changed. */
export function composeTask(
  { task, key, changes, expires_at }: TaskNews,
  { full }: ContentOptions,
): Alert {
  const active = isAlerting(changes);
  return {
    kind: "task",
    event: changes.includes("created") ? "task.created" : "task.updated",
    subject: task.id,
    key_id: task.key_id,
    task_id: task.id,
    title: full ? task.title : "A task",
    subtitle: signature(key.label, task.host ?? key.last_host),
    body: changes.includes("silent") ? silenceOf(task, key) : newsOf(task, changes, full),
    urgency: active ? (task.priority === "urgent" ? "urgent" : "active") : "passive",
    priority: task.priority,
    again: false,
    actions: null,
    expires_at,
  };
}

/** Says for how long the agent has been silent: for the time within which an update was expected. */
function silenceOf({ expect_update_within }: Task, { label }: Agent): string {
  const minutes = Math.floor((expect_update_within ?? 0) / 60);
  const hours = Math.floor(minutes / 60);
  const length = hours < 2 ? `${minutes} minutes` : `${hours} hours`;
  return `${label} has been silent for ${length}`;
}

/** The status note if it changed or if there is nothing else to say; otherwise what happened. */
function newsOf(task: Task, changes: readonly string[], full: boolean): string {
  const { status, status_note, progress } = task;
  if (full && status_note !== null && changes.includes("status_note")) return status_note;
  if (changes.includes("created") && status === "todo") return "New task";
  if (isAlerting(changes)) return HAPPENED[status];
  if (progress !== null && changes.includes("progress")) return `${progress}%`;
  return full && status_note !== null ? status_note : "Changed";
}

const signature = (label: string, host: string | null): string =>
  host === null ? label : `${label} · ${host}`;

/** One attempt expires after `silent_life`, although a `clear` is retried for longer. */
export function composeSilent({
  now,
  ...silent
}: Omit<Silent, "kind"> & { readonly now: number }): Silent {
  const expires_at = Math.min(silent.expires_at, now + NOTIFICATION_LIMITS.silent_life);
  return { kind: "silent", ...silent, expires_at };
}

interface ActivityNews
  extends Pick<Activity, "kind" | "task_id" | "key_id" | "timestamp">,
    Pick<Activity["state"], "pending_questions"> {
  /** Null if the task is gone: its live activity is then removed at once. */
  readonly task: Task | null;
  readonly key: Agent | null;
  readonly changes: readonly string[];
  readonly now: number;
}

/** The start, update or end of a task's live activity. */
export function composeActivity(news: ActivityNews, { full }: ContentOptions): Activity {
  const { kind, task, task_id, key_id, key, changes, timestamp, now } = news;
  const finished = task?.status === "done" || task?.status === "cancelled";
  const active = kind !== "update" || changes.includes("status") || changes.includes("question");
  return {
    kind,
    task_id,
    key_id,
    key_label: key?.label ?? "",
    state: {
      title: task ? (full ? task.title : "A task") : "",
      status: task?.status ?? "cancelled",
      priority: task?.priority ?? "low",
      progress: task?.progress ?? null,
      status_note: full ? (task?.status_note ?? null) : null,
      pending_questions: news.pending_questions,
      updated_at: task?.updated_at ?? now,
    },
    body: HAPPENED[task?.status ?? "cancelled"],
    urgency: active ? "active" : "passive",
    timestamp,
    dismiss_at:
      kind === "end" ? Math.floor(now) + (finished ? NOTIFICATION_LIMITS.dismissal : -1) : null,
    expires_at: Math.floor(now) + NOTIFICATION_LIMITS.activity_life,
  };
}
