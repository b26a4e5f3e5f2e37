/** Tasks: create, read, list, change, delete (interface.md §4 Tasks). */

import { finishWithTask, pendingOfTask } from "../../db/questions.ts";
import type { Statement } from "../../db/store.ts";
import {
  deleteStampedTask,
  finishedTasks,
  insertTask,
  stampDoomedTask,
  type TaskRow,
  taskById,
  taskPage,
  taskPosition,
  updateTask,
} from "../../db/tasks.ts";
import { fail, failFields, ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type Caller, callerId } from "../model/caller.ts";
import type { ServiceEvent } from "../model/event.ts";
import type { Once } from "../model/once.ts";
import { isOverdue, type Question } from "../model/question.ts";
import {
  changeTask,
  markSeen,
  newTask,
  TASK_STATUSES,
  type Task,
  type TaskInput,
  type TaskPatch,
} from "../model/task.ts";
import type { TaskChange } from "../push/plan.ts";
import { untilDecided } from "./commit.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ServiceDeps } from "./deps.ts";
import type { Keys } from "./keys.ts";
import { createNotices } from "./notices.ts";
import { createOnce } from "./once.ts";

export type Tasks = ReturnType<typeof createTasks>;

interface ListQuery {
  readonly key_id?: string | undefined;
  readonly status?: readonly Task["status"][] | undefined;
  readonly priority?: readonly Task["priority"][] | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface CreateOptions {
  /** Host name of the request. */
  readonly host: string | null;
  readonly once: Once | null;
}

/** Whom a change is told to follows from who made it. */
type Told = Pick<TaskChange, "changes" | "by">;

interface ReadOptions {
  /** False for HEAD, which has no effect: the task is not marked as seen. */
  readonly effects: boolean;
}

export function createTasks(deps: ServiceDeps & { readonly keys: Keys }) {
  const { store, commit, clock, ids, assertLive, keys, pushPlans } = deps;
  const notices = createNotices(deps);
  const repeats = createOnce(deps);

  const find = async (caller: Caller, id: string): Promise<TaskRow> => {
    const [row] = await store.read(taskById(caller, id));
    if (row) return row;
    await assertLive(caller);
    return fail("not_found");
  };

  /**
   * Writes the new state if the row is as it was read; gives whether it was. `changes` are those
   * that the key finds in its inbox, or the devices of the person get to know; `seen_at` is none.
   */
  const replace = (row: TaskRow, task: Task, told: Told | null = null): Promise<boolean> => {
    const change_id = ids.stamp();
    const stamp = { table: "tasks", id: task.id, change_id } as const;
    const { account_id } = row;
    const { id: task_id, key_id } = task;
    const changes = told?.changes ?? [];
    const notice = { type: "task.updated", key_id, account_id, task_id, changes } as const;
    const { statements, inbox } = notices.tell(stamp, told?.by === "account" ? notice : null);
    return commit({
      statements: [updateTask({ ...task, change_id, old_change_id: row.change_id }), ...statements],
      events: [{ stamp, event: taskEvent("task.updated", account_id, task) }],
      inbox,
      pushes: told
        ? pushPlans.ofTask(account_id, { before: row.task, after: task, ...told }, stamp)
        : [],
    });
  };

  /** The task of the row as its agent has now got it; the first time, the store learns of it. */
  const see = async (caller: Caller, row: TaskRow): Promise<Task> =>
    untilDecided(async () => {
      if (row.task.seen_at !== null) return row.task;
      const task = markSeen(row.task, clock.now());
      if (await replace(row, task)) return task;
      row = await find(caller, row.task.id);
      return undefined;
    });

  /** As {@link see}, for a page; the write lane makes one commit of it. */
  const seeAll = async (caller: Caller, rows: readonly TaskRow[]): Promise<Task[]> => {
    const unseen = rows.filter((row) => row.task.seen_at === null);
    if (unseen.length === 0) return rows.map((row) => row.task);
    const seen = await Promise.all(
      unseen.map((row) =>
        see(caller, row).catch((error: unknown) => {
          if (error instanceof ServiceError && error.code === "not_found") return null;
          throw error;
        }),
      ),
    );
    const now = new Map(unseen.map((row, i) => [row.task.id, seen[i]!]));
    // One that was deleted meanwhile has left the list.
    return rows
      .map((row) => (now.has(row.task.id) ? now.get(row.task.id)! : row.task))
      .filter((task) => task !== null);
  };

  /**
   * Deletes the task of the row, and ends its pending questions, unless either changed since; gives
   * whether it did (§3 Question). The key finds in its inbox what the account did.
   */
  const end = async (row: TaskRow, by: TaskChange["by"]): Promise<boolean> => {
    const { account_id, change_id: old_change_id, task } = row;
    const { id, key_id } = task;
    const pending = await store.read(pendingOfTask({ task_id: id }));
    const change_id = ids.stamp();
    const stamp = { table: "tasks", id, change_id } as const;
    const now = clock.now();
    const ended = pending.map(({ question }) => {
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
    return commit({
      statements: [
        stampDoomedTask({ id, change_id, old_change_id, known }),
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
    });
  };

  return {
    /**
     * `key_id` is required of an account (`404` when it does not have it) and refused from a key.
     * `409 too_many_tasks`.
     */
    async create(
      caller: Caller,
      input: TaskInput & { readonly key_id?: string },
      { host, once }: CreateOptions,
    ): Promise<Task> {
      const { account_id } = caller;
      const task = newTask({
        ...input,
        id: ids.next("tsk"),
        key_id: ownKeyId(caller, input.key_id),
        source: caller.kind === "key" ? "agent" : "app",
        host: caller.kind === "key" ? host : null,
        now: clock.now(),
      });
      const replay = async () => {
        const id = await repeats.repeated(once);
        return id === undefined ? undefined : (await find(caller, id)).task;
      };
      const before = await replay();
      if (before) return before;
      const change_id = ids.stamp();
      const stamp = { table: "tasks", id: task.id, change_id } as const;
      const { id: task_id, key_id } = task;
      const notice = { type: "task.created", key_id, account_id, task_id } as const;
      const told = notices.tell(stamp, caller.kind === "account" ? notice : null);
      const happened = await commit({
        statements: [
          insertTask({ ...task, account_id, change_id, once_id: once?.id ?? null }),
          ...told.statements,
          ...repeats.done(once, caller, stamp),
        ],
        events: [{ stamp, event: taskEvent("task.created", account_id, task) }],
        inbox: told.inbox,
        pushes: pushPlans.ofTask(
          account_id,
          { before: null, after: task, changes: ["created"], by: caller.kind },
          stamp,
        ),
      });
      if (happened) return task;
      const meanwhile = await replay();
      if (meanwhile) return meanwhile;
      await assertLive(caller);
      if (caller.kind === "account") await keys.assertOwn(caller, task.key_id);
      return fail("too_many_tasks");
    },

    /** The tasks as the agent that gets them now finds them; deleted ones are left out. */
    seen: seeAll,

    async read(caller: Caller, id: string, { effects }: ReadOptions): Promise<Task> {
      const row = await find(caller, id);
      if (caller.kind !== "key" || !effects || row.task.seen_at !== null) return row.task;
      return see(caller, row);
    },

    /** Newest `updated_at` first (§4 Tasks, List). */
    async list(caller: Caller, query: ListQuery, { effects }: ReadOptions) {
      if (caller.kind === "key" && query.key_id !== undefined) {
        failFields({ key_id: "is permitted for an account only" });
      }
      const of_key = caller.kind === "key" ? caller.key_id : query.key_id;
      const owner = of_key ?? caller.account_id;
      const statuses = query.status ?? TASK_STATUSES;
      const priorities = query.priority ?? null;
      const limit = query.limit ?? LIMITS.task_page_default;
      const bound_to = [
        callerId(caller),
        owner,
        [...new Set(statuses)].sort(),
        priorities && [...new Set(priorities)].sort(),
      ];
      const cursor = query.cursor === undefined ? null : readCursor(query.cursor, bound_to);
      const after = cursor && { updated_at: cursor.at / 1000, id: cursor.id };
      if (caller.kind === "account" && of_key !== undefined) await keys.assertOwn(caller, of_key);

      const scope: "key" | "account" = of_key === undefined ? "account" : "key";
      const filter = { scope, owner, statuses, priorities, after, down_to: null };
      // A rare priority must not make one page look through every task: it stops after a stretch.
      const [stretch_end] = priorities
        ? await store.read(
            taskPosition({ ...filter, priorities: null, limit: 0 }, LIMITS.task_scan - 1),
          )
        : [];
      const down_to = stretch_end ?? null;
      const rows = await store.read(taskPage({ ...filter, down_to, limit: limit + 1 }));
      const page = rows.slice(0, limit);
      const next = rows.length > limit ? page.at(-1)!.task : down_to;
      return {
        tasks:
          caller.kind === "key" && effects
            ? await seeAll(caller, page)
            : page.map((row) => row.task),
        next_cursor:
          next && writeCursor({ at: Math.round(next.updated_at * 1000), id: next.id }, bound_to),
      };
    },

    /** An agent that changes a task has thereby got it. A PATCH without a change does nothing. */
    update: (caller: Caller, id: string, patch: TaskPatch): Promise<Task> =>
      untilDecided(async () => {
        const row = await find(caller, id);
        const now = clock.now();
        const { task, changed } = changeTask(row.task, patch, now);
        if (changed.length === 0) return row.task;
        const by_key = caller.kind === "key";
        const next = by_key ? markSeen(task, now) : task;
        return (await replace(row, next, { changes: changed, by: caller.kind })) ? next : undefined;
      }),

    /** Its pending questions end with it (§3 Question). */
    async remove(caller: Caller, id: string): Promise<void> {
      await untilDecided(async () => (await end(await find(caller, id), caller.kind)) || undefined);
    },

    /**
     * Deletes up to `limit` tasks that are done or cancelled and were not updated since `before`;
     * gives how many it found (decisions.md, Limits, task retention).
     */
    async expireFinished(before: number, limit: number): Promise<number> {
      const rows = await store.read(finishedTasks({ before, limit }));
      // One that changed meanwhile is looked at anew in a later pass.
      await Promise.all(rows.map((row) => end(row, "server")));
      return rows.length;
    },
  };
}

/** The key a new task is for (§4 Tasks, Create body). */
function ownKeyId(caller: Caller, key_id: string | undefined): string {
  if (caller.kind === "account") return key_id ?? failFields({ key_id: "is required" });
  if (key_id !== undefined) failFields({ key_id: "is permitted for an account only" });
  return caller.key_id;
}

function taskEvent(name: "task.created" | "task.updated", account_id: string, task: Task) {
  return { name, account_id, subject: task.id, data: { task } } satisfies ServiceEvent;
}
