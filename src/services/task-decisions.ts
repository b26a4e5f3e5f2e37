/** Builds the batch for the change or deletion of a task: row, events, inbox items and notifications. */

import { finishWithTask } from "../../db/questions.ts";
import type { Statement } from "../../db/store/store.ts";
import { deleteHistory, moveHistory } from "../../db/task-history.ts";
import { claimTaskDeletion, deleteClaimedTask, type TaskRow, updateTask } from "../../db/tasks.ts";
import { isOverdue, type Question } from "../model/question.ts";
import { expectNext } from "../model/silence.ts";
import type { Task } from "../model/task.ts";
import { changeHistory } from "../model/task-history.ts";
import type { TaskChange } from "../notify/core/plan.ts";
import { eventOf } from "./shared/commit.ts";
import type { ServiceDeps } from "./shared/deps.ts";
import type { createInboxWriter } from "./shared/inbox-writer.ts";
import type { Decision } from "./shared/row-chain.ts";

/** Who made a change decides who is told about it. */
type Cause = Pick<TaskChange, "changes" | "by">;

type TaskDecisionsDeps = Pick<ServiceDeps, "storage" | "clock" | "ids" | "notificationPlans"> & {
  readonly inboxWriter: ReturnType<typeof createInboxWriter>;
};

/** Decisions for a row chain, each guarded by the `revision` of the row it gets. */
export function createTaskDecisions({
  storage,
  clock,
  ids,
  notificationPlans,
  inboxWriter,
}: TaskDecisionsDeps) {
  return {
    /**
     * Replaces the row by the new state of its task. `cause.changes`: the fields to report to the agent's inbox
     * and the person's devices; `seen_at` is never reported.
     */
    replace(row: TaskRow, task: Task, cause: Cause | null = null): Decision<TaskRow, Task> {
      const revision = ids.unique();
      const changed = { table: "tasks", id: task.id, revision } as const;
      const { account_id } = row;
      const { id: task_id, key_id } = task;
      const expected = expectNext(row, task, cause?.by ?? null, clock.now());
      const { silent_due_at } = expected;
      const next = { ...task, silent_since: expected.silent_since };
      const history = cause && changeHistory(row.history, row.task, next, cause.by);
      const after = {
        task: next,
        account_id,
        silent_due_at,
        revision,
        history: history?.recent ?? row.history,
      };
      const changes = cause?.changes ?? [];
      const item = { type: "task.updated", key_id, account_id, task_id, changes } as const;
      const { statements, inbox } = inboxWriter.write(
        changed,
        cause?.by === "account" ? item : null,
      );
      const change = {
        statements: [
          updateTask(row, after),
          ...(history?.moved ? moveHistory({ key_id, account_id }, history.moved, changed) : []),
          ...statements,
        ],
        events: [eventOf(changed, "task.updated", account_id, { task: next })],
        inbox,
        deliveries: cause
          ? notificationPlans.ofTask(
              account_id,
              { before: row.task, after: next, ...cause },
              changed,
            )
          : [],
      } as const;
      return { result: next, write: { change, after } };
    },

    /** Deletes the task and ends its questions `pending`, unless it has other pending questions by then (§5.5.6). */
    remove(
      row: TaskRow,
      pending: readonly Question[],
      by: TaskChange["by"],
    ): Decision<TaskRow, void> {
      const { account_id, revision: old_revision, task } = row;
      const { id, key_id } = task;
      const revision = ids.unique();
      const changed = { table: "tasks", id, revision } as const;
      const now = clock.now();
      const ended = pending.map((question) => {
        const status = isOverdue(question, now) ? "expired" : "cancelled";
        return { revision: ids.unique(), question: { ...question, status } satisfies Question };
      });
      const known = JSON.stringify(ended.map(({ question }) => question.id));
      const follow_ups: Statement[] = ended.map((end) =>
        finishWithTask({
          ...end.question,
          cancelled_at: end.question.status === "cancelled" ? now : null,
          revision: end.revision,
          changed_id: id,
          changed_revision: revision,
        }),
      );
      const item = {
        type: "task.deleted",
        key_id,
        account_id,
        task_id: id,
        // A deletion frees something, also before the agent has read of it.
        last_task: storage.isFull(account_id) ? { ...task, description: "" } : task,
      } as const;
      const { statements, inbox } = inboxWriter.write(changed, by === "account" ? item : null);
      const change = {
        statements: [
          claimTaskDeletion({ id, revision, old_revision, known }),
          ...follow_ups,
          ...statements,
        ],
        inbox,
        deliveries: notificationPlans.ofTask(
          account_id,
          { before: task, after: null, changes: [], by },
          changed,
          ended.map(({ question }) => question.id),
        ),
        events: [
          eventOf(changed, "task.deleted", account_id, { task_id: id, key_id }),
          ...ended.map(({ question, revision }) =>
            eventOf(
              { table: "questions", id: question.id, revision },
              "question.updated",
              account_id,
              {
                question,
              },
            ),
          ),
        ],
        removals: [
          ...deleteHistory({ key_id, account_id }, row.history, changed),
          deleteClaimedTask(row, changed),
        ],
      } as const;
      return { result: undefined, write: { change, after: null } };
    },
  };
}
