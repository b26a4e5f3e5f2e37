/** A notification before a channel renders it (§14.2). */

import type { Question } from "../../model/question.ts";
import type { Task } from "../../model/task.ts";

export type Notification = Alert | Silent | Widget | Activity | EndedAlert | Test;

/** The fields of every notification that is shown. */
interface VisibleFields {
  /** Id of the question, task or channel. A later notification with the same subject replaces this one. */
  readonly subject: string;
  readonly title: string;
  readonly body: string;
  /** Epoch seconds after which it need not arrive. */
  readonly expires_at: number;
}

/** A question, or news of a task. */
export interface Alert extends VisibleFields {
  readonly kind: "question" | "task";
  readonly event: "question.created" | "task.created" | "task.updated";
  /** Alerts of one key are grouped in a thread. */
  readonly key_id: string;
  readonly task_id: string | null;
  readonly subtitle: string;
  /** `passive` makes no sound; `urgent` gets through Do Not Disturb where the system permits it. */
  readonly urgency: "urgent" | "active" | "passive";
  /** Set in the channel's quiet hours: it is `passive` for that reason alone. */
  readonly quiet?: true;
  readonly priority: Task["priority"];
  /** True if it rings although an alert of its subject may be shown: a nudge or a reminder (§5.7.10). */
  readonly again: boolean;
  /** How a question can be answered; null for a task. */
  readonly actions: Actions | null;
}

interface Actions {
  readonly kind: Question["kind"];
  /** Labels of the answers to choose from; empty for a text, and for generic content. */
  readonly options: readonly string[];
  /** Epoch seconds. */
  readonly expires_at: number;
  /**
   * True if the body shows the whole of a request for permission. With `part`, the notification opens
   * the page, and options that permit the request are left out (§14.3.8).
   */
  readonly shows?: "whole" | "part";
  /**
   * The draft that a button may answer with, which the body ends with (offers.ts). Absent without one, and for generic
   * content.
   */
  readonly draft?: string;
  /** True if the person may also answer in other words, which every `text` is answered in. False for generic content. */
  readonly own_words: boolean;
}

/** Shows nothing. Says that something changed, or removes alerts. */
export interface Silent {
  readonly kind: "silent";
  readonly key_id: string | null;
  /** Subjects whose alerts are removed; at most `clear_ids`. */
  readonly clear: readonly string[];
  readonly expires_at: number;
}

/** Replaces, without a sound, an alert whose question or task has ended. Its body says how. */
export interface EndedAlert extends VisibleFields {
  readonly kind: "ended";
  readonly about: "question" | "task";
  /** What the alert of a question said, for channels that keep it; null for a task, and for generic content. */
  readonly asked: Asked | null;
}

interface Asked {
  readonly text: string;
  /** True for a request for permission, whose text is shown in a fixed-width font. */
  readonly is_request: boolean;
}

/** Shows that a channel works. */
export interface Test extends VisibleFields {
  readonly kind: "test";
  /** When it was asked for, epoch seconds. */
  readonly asked_at: number;
}

/** Says that the counts shown by a widget have changed. */
interface Widget {
  readonly kind: "widget";
  readonly key_id: string | null;
  readonly expires_at: number;
}

/** A live activity of a task starts, changes or ends. */
export interface Activity {
  readonly kind: "start" | "update" | "end";
  readonly task_id: string;
  readonly key_id: string | null;
  readonly key_label: string;
  readonly state: ActivityState;
  /** The last event of the task, as one word. */
  readonly body: string;
  readonly urgency: "active" | "passive";
  /** Whole seconds that grow with each notification of the same activity. */
  readonly timestamp: number;
  /** Epoch seconds; null while the activity goes on. */
  readonly dismiss_at: number | null;
  /** Epoch seconds; from then on, the shown state also counts as stale. */
  readonly expires_at: number;
}

/** For a deleted task, an empty title and the status `cancelled`. */
type ActivityState = Readonly<
  Pick<Task, "title" | "status" | "priority" | "progress" | "status_note" | "updated_at">
> & { readonly pending_questions: number };
