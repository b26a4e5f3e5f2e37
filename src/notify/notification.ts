/** A notification before a channel gives it a form (docs/interface.md §14.2). */

import type { Question } from "../model/question.ts";
import type { Task } from "../model/task.ts";

export type Notification = Alert | Silent | Widget | Activity | Ended | Test;

/** Shown to the person. */
export interface Alert {
  readonly kind: "question" | "task";
  readonly event: "question.created" | "task.created" | "task.updated";
  /** Id of the question or task. A later alert of the same subject replaces this one. */
  readonly subject: string;
  /** Alerts of one key are grouped in a thread. */
  readonly key_id: string;
  readonly task_id: string | null;
  readonly title: string;
  readonly subtitle: string;
  readonly body: string;
  /** `passive` makes no sound; `urgent` gets through where the person wants to be left alone. */
  readonly urgency: "urgent" | "active" | "passive";
  readonly priority: Task["priority"];
  /** How a question can be answered; null for a task. */
  readonly actions: Actions | null;
  /** Epoch seconds after which it need not arrive. */
  readonly expires_at: number;
}

interface Actions {
  readonly kind: Question["kind"];
  /** Labels of what can be chosen; empty for a text, and where the content is generic. */
  readonly options: readonly string[];
  /** Epoch seconds. */
  readonly expires_at: number;
  /**
   * Of a request for permission: whether the body shows it whole. A part leads to the page, and options
   * that permit it are left out (docs/interface.md §14.3.8).
   */
  readonly shows?: "whole" | "part";
}

/** Not shown: something changed, or alerts are to be removed. */
export interface Silent {
  readonly kind: "silent";
  readonly key_id: string | null;
  /** Subjects whose alerts are removed; at most `PUSH.clear_ids`. */
  readonly clear: readonly string[];
  readonly expires_at: number;
}

/** Takes the place of an alert whose question or task has ended, without a sound. */
export interface Ended {
  readonly kind: "ended";
  readonly about: "question" | "task";
  /** Id of the question or task, as of the alert. */
  readonly subject: string;
  readonly title: string;
  /** How it ended. */
  readonly body: string;
  /** Epoch seconds after which it need not arrive. */
  readonly expires_at: number;
}

/** Shows that a channel works. */
export interface Test {
  readonly kind: "test";
  /** Id of the channel. */
  readonly subject: string;
  readonly title: string;
  readonly body: string;
  /** Epoch seconds after which it need not arrive. */
  readonly expires_at: number;
}

/** The counts that a widget shows changed. */
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
  /** What happened, in a word. */
  readonly body: string;
  readonly urgency: "active" | "passive";
  /** Whole seconds that grow with each notification of the same activity. */
  readonly timestamp: number;
  /** Epoch seconds; null while the activity goes on. */
  readonly dismiss_at: number | null;
  /** Also when the shown state counts as stale. */
  readonly expires_at: number;
}

/** Of a task that is gone, with an empty title and `cancelled`. */
interface ActivityState {
  readonly title: string;
  readonly status: Task["status"];
  readonly priority: Task["priority"];
  readonly progress: number | null;
  readonly status_note: string | null;
  readonly pending_questions: number;
  readonly updated_at: number;
}
