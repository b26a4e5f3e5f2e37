/** When the agent of a task counts as silent (§3.3); pure. */

import { NOTIFICATION_LIMITS } from "../notification-limits.ts";
import type { Task } from "./task.ts";

/** A task with the time at which a job looks whether its agent is silent. */
export interface Expected {
  readonly task: Task;
  /** Epoch seconds; null while nothing is expected, and once the agent is known to be silent. */
  readonly silent_due_at: number | null;
}

/** When an agent that was last active at `active` counts as silent. Epoch seconds; `within`: seconds. */
export const silentAt = (active: number, within: number): number =>
  active + within + NOTIFICATION_LIMITS.silent_margin;

/** The inverse of {@link silentAt}: when an agent was last active that counts as silent at `due`. */
export const activeBefore = (due: number, within: number): number =>
  due - within - NOTIFICATION_LIMITS.silent_margin;

/** True if an update of the task is expected: it is in progress and has `expect_update_within`. */
export const isExpected = ({ status, expect_update_within }: Task): boolean =>
  status === "in_progress" && expect_update_within !== null;

/**
 * The expectation after a change. A change by the agent (`by`: key) begins it anew and ends a silence. Another change
 * does so only if it begins the work or sets another `expect_update_within`. Null for `before`: a new task; for `by`:
 * the agent has read the task.
 */
export function expectNext(
  before: Expected | null,
  next: Task,
  by: "account" | "key" | "server" | null,
  now: number,
): Pick<Task, "silent_since"> & Pick<Expected, "silent_due_at"> {
  if (!isExpected(next)) return { silent_since: null, silent_due_at: null };
  const begins =
    before === null ||
    !isExpected(before.task) ||
    before.task.expect_update_within !== next.expect_update_within;
  if (!begins && by !== "key") {
    return { silent_since: next.silent_since, silent_due_at: before.silent_due_at };
  }
  return { silent_since: null, silent_due_at: silentAt(now, next.expect_update_within!) };
}
