/** Sorted lists of tasks, one for each status, updated in place. */

import type { Priority, Status, Task } from "./api.ts";

/** Both in the order of the page. */
export const STATUSES = ["in_progress", "todo", "done", "cancelled"] as const satisfies Status[];
export const PRIORITIES = ["urgent", "high", "medium", "low"] as const satisfies Priority[];

export const isOpen = (status: Status): boolean => status === "todo" || status === "in_progress";

const RANK: Readonly<Record<Priority, number>> = { urgent: 0, high: 1, medium: 2, low: 3 };

/**
 * Open tasks are sorted by priority and age, so that rows do not move while agents report progress;
 * finished tasks by their last change.
 */
function compare(a: Task, b: Task): number {
  const by = isOpen(a.status)
    ? RANK[a.priority] - RANK[b.priority] || b.created_at - a.created_at
    : b.updated_at - a.updated_at;
  return by || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

/** True if both states of a task have the same position in the same list. */
function hasSamePosition(a: Task, b: Task): boolean {
  return a.status === b.status && compare(a, b) === 0;
}

/** The sorted lists of all tasks in the store, for each status. */
export function createTaskOrder() {
  const lists: Record<Status, Task[]> = { todo: [], in_progress: [], done: [], cancelled: [] };
  let version = 0;

  /** Index of the task, or where it would be inserted. */
  const find = (list: readonly Task[], task: Task): number => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(list[middle]!, task) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const remove = (task: Task) => {
    const list = lists[task.status];
    const at = find(list, task);
    if (list[at]?.id === task.id) list.splice(at, 1);
  };

  return {
    /** Changes when the order of any list changes, not when only a task's contents do. */
    version: (): number => version,

    /** Inserts or moves the task; `before` is its previous state. */
    put(task: Task, before: Task | undefined): void {
      if (before && hasSamePosition(before, task)) {
        const list = lists[task.status];
        list[find(list, task)] = task;
        return;
      }
      version++;
      if (before) remove(before);
      const list = lists[task.status];
      list.splice(find(list, task), 0, task);
    },

    remove(task: Task): void {
      version++;
      remove(task);
    },

    /** The tasks of a status, sorted. Do not keep the list: it is changed in place. */
    list: (status: Status): readonly Task[] => lists[status],
  };
}
