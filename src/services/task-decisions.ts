/** What a change of a task, or its end, writes: row, events, inbox items and pushes in one batch. */

import { finishWithTask } from "../../db/questions.ts";
import type { Statement } from "../../db/store.ts";
import { deleteStampedTask, stampTaskToDelete, type TaskRow, updateTask } from "../../db/tasks.ts";
import type { ServiceEvent } from "../model/event.ts";
import { isOverdue, type Question } from "../model/question.ts";
import type { Task } from "../model/task.ts";
import type { TaskChange } from "../notify/plan.ts";
import type { ServiceDeps } from "./deps.ts";
import type { createInboxWriter } from "./inbox-writer.ts";
import type { Decision } from "./row-chain.ts";

/** Whom a change is told to follows from who made it. */
type Told = Pick<TaskChange, "changes" | "by">;

type TaskDecisionsDeps = Pick<ServiceDeps, "clock" | "ids" | "pushPlans"> & {
  readonly notices: ReturnType<typeof createInboxWriter>;
};

/** Decisions for a row chain, each guarded by the `change_id` of the row that it is given. */
export function createTaskDecisions({ clock, ids, pushPlans, notices }: TaskDecisionsDeps) {
  return {
    /**
     * Replaces the row by the new state of its task. `changes` are those that the key finds in its
     * inbox, or the devices of the person get to know; `seen_at` is none.
     */
    replace(row: TaskRow, task: Task, told: Told | null = null): Decision<TaskRow, Task> {
      const change_id = ids.stamp();
      const stamp = { table: "tasks", id: task.id, change_id } as const;
      const { account_id } = row;
      const { id: task_id, key_id } = task;
      const changes = told?.changes ?? [];
      const notice = { type: "task.updated", key_id, account_id, task_id, changes } as const;
      const { statements, inbox } = notices.tell(stamp, told?.by === "account" ? notice : null);
      const change = {
        statements: [
          updateTask({ ...task, change_id, old_change_id: row.change_id }),
          ...statements,
        ],
        events: [{ stamp, event: taskEvent("task.updated", account_id, task) }],
        inbox,
        pushes: told
          ? pushPlans.ofTask(account_id, { before: row.task, after: task, ...told }, stamp)
          : [],
      } as const;
      return { result: task, write: { change, after: { task, account_id, change_id } } };
    },

    /**
     * Deletes the row of the task, and ends the pending questions of it, unless it has others by then
     * (§5.5.6).
     */
    remove(
      row: TaskRow,
      pending: readonly Question[],
      by: TaskChange["by"],
    ): Decision<TaskRow, void> {
      const { account_id, change_id: old_change_id, task } = row;
      const { id, key_id } = task;
      const change_id = ids.stamp();
      const stamp = { table: "tasks", id, change_id } as const;
      const now = clock.now();
      const ended = pending.map((question) => {
        const status = isOverdue(question, now) ? "expired" : "cancelled";
        return { stamp: ids.stamp(), question: { ...question, status } satisfies Question };
      });
      const known = JSON.stringify(ended.map(({ question }) => question.id));
      const follow_ups: Statement[] = ended.map((end) =>
        finishWithTask({ ...end.question, change_id: end.stamp, stamp_id: id, stamp: change_id }),
      );
      const notice = {
        type: "task.deleted",
        key_id,
        account_id,
        task_id: id,
        last_task: task,
      } as const;
      const { statements, inbox } = notices.tell(stamp, by === "account" ? notice : null);
      const change = {
        statements: [
          stampTaskToDelete({ id, change_id, old_change_id, known }),
          ...follow_ups,
          ...statements,
        ],
        inbox,
        pushes: pushPlans.ofTask(
          account_id,
          { before: task, after: null, changes: [], by },
          stamp,
          ended.map(({ question }) => question.id),
        ),
        events: [
          {
            stamp,
            event: {
              name: "task.deleted",
              account_id,
              subject: id,
              data: { task_id: id, key_id },
            },
          },
          ...ended.map((end) => ({
            stamp: { table: "questions", id: end.question.id, change_id: end.stamp } as const,
            event: {
              name: "question.updated",
              account_id,
              subject: end.question.id,
              data: { question: end.question },
            } as const,
          })),
        ],
        removals: [deleteStampedTask({ stamp_id: id, stamp: change_id })],
      } as const;
      return { result: undefined, write: { change, after: null } };
    },
  };
}

export function taskEvent(name: "task.created" | "task.updated", account_id: string, task: Task) {
  return { name, account_id, subject: task.id, data: { task } } satisfies ServiceEvent;
}
