/** The order of tasks: each status by itself, kept sorted while single tasks change. */

import type { Priority, Status, Task } from "./api.ts";

/** In the order of the page: what goes on first, what is over last. */
export const STATUSES = ["in_progress", "todo", "done", "cancelled"] as const satisfies Status[];
export const PRIORITIES = ["urgent", "high", "medium", "low"] as const satisfies Priority[];

const RANK: Readonly<Record<Priority, number>> = { urgent: 0, high: 1, medium: 2, low: 3 };

/**
 * Open tasks go by priority and age, so that no row moves while its agent reports progress; tasks
 * that are over go by their end.
 */
function compare(a: Task, b: Task): number {
  const open = a.status === "todo" || a.status === "in_progress";
  const by = open
    ? RANK[a.priority] - RANK[b.priority] || b.created_at - a.created_at
    : b.updated_at - a.updated_at;
  return by || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

/** Whether both have the same place. */
function samePlace(a: Task, b: Task): boolean {
  return a.status === b.status && compare(a, b) === 0;
}

export function createTaskOrder() {
  const lists: Record<Status, Task[]> = { todo: [], in_progress: [], done: [], cancelled: [] };
  let version = 0;

  /** Where the task is, or would be. */
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
    /** Changes whenever any list does, other than in the contents of its tasks. */
    version: (): number => version,

    /** Puts the task in its place; `before` is what it was. */
    put(task: Task, before: Task | undefined): void {
      if (before && samePlace(before, task)) {
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

    /** In order. Not to be kept: it changes. */
    list: (status: Status): readonly Task[] => lists[status],
  };
}
