/** Decides which notifications a change of a task causes (§14.2); pure. */

import type { Task } from "../../model/task.ts";

/** A change of a task, with both states. */
export interface TaskChange {
  /** Null: the task is new. */
  readonly before: Task | null;
  /** Null: the task is deleted. */
  readonly after: Task | null;
  /** Names of the changed fields; `created` for a new task, and `silent` when its agent falls silent. */
  readonly changes: readonly string[];
  /** `server`: the retention period of the task ended, or its agent fell silent. */
  readonly by: "account" | "key" | "server";
}

/** Changes that alert at once. All others are passive. */
const ALERTING = ["created", "status", "silent"];

/** True if these changes of a task alert with a sound. */
export function isAlerting(changes: readonly string[]): boolean {
  return changes.some((name) => ALERTING.includes(name));
}

/**
 * The notifications that a change of a task causes. An alert is `visible` (shown with a sound), `passive`
 * (shown without one, when convenient) or `silent` (not shown).
 */
export function planTask({ before, after, changes, by }: TaskChange) {
  const was = before?.status === "in_progress";
  const is = after?.status === "in_progress";
  const told = by === "key" || changes.includes("silent");
  const visible = after !== null && told && after.notify;
  return {
    alert: visible ? (isAlerting(changes) ? "visible" : "passive") : "silent",
    // A widget shows the number of tasks by status.
    widget: before?.status !== after?.status,
    activity: is ? (was ? "update" : "start") : was ? "end" : null,
  } as const;
}
