/** Tasks: create, read, list, change, delete (§5.5). */

import { pendingOfTask } from "../../db/questions.ts";
import { claimTask, finishedTasks, insertTask, type TaskRow, taskById } from "../../db/tasks.ts";
import { fail, ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { Caller } from "../model/caller.ts";
import type { IdempotentRequest } from "../model/idempotency.ts";
import type { Question } from "../model/question.ts";
import { expectNext } from "../model/silence.ts";
import {
  changeTask,
  markSeen,
  newTask,
  type Task,
  type TaskInput,
  type TaskPatch,
  taskUnits,
} from "../model/task.ts";
import { newHistory } from "../model/task-history.ts";
import type { TaskChange } from "../notify/core/plan.ts";
import type { Keys } from "./keys.ts";
import { eventOf } from "./shared/commit.ts";
import { CHECKED, type Confirm, readOwn, type ServiceDeps } from "./shared/deps.ts";
import { createIdempotency } from "./shared/idempotency.ts";
import { createInboxWriter } from "./shared/inbox-writer.ts";
import { createRowChain, type RowChange } from "./shared/row-chain.ts";
import { SPARE } from "./storage.ts";
import { createTaskDecisions } from "./task-decisions.ts";
import { createTaskList } from "./task-list.ts";

/** Tasks of one list page that are marked as seen at once, so that other writes get their turn. */
const SEEN_STRETCH = 50;

export type Tasks = ReturnType<typeof createTasks>;

interface CreateOptions {
  /** Host name of the request. */
  readonly host: string | null;
  readonly idempotent_request: IdempotentRequest | null;
  readonly confirmed?: Confirm;
}

interface ReadOptions {
  /** False for HEAD: the task is not marked as seen. */
  readonly effects: boolean;
  readonly confirmed?: Confirm;
}

export function createTasks(deps: ServiceDeps & { readonly keys: Keys }) {
  const {
    store,
    storage,
    commit,
    clock,
    ids,
    assertLive,
    assertPastTrial,
    keys,
    notificationPlans,
  } = deps;
  const inboxWriter = createInboxWriter(deps);
  const { replace, remove: end } = createTaskDecisions({ ...deps, inboxWriter });
  const idempotency = createIdempotency(deps);
  const chain = createRowChain<TaskRow>({ commit, clock });

  const find = (caller: Caller, id: string): Promise<TaskRow> =>
    readOwn(deps, caller, taskById(caller, id), "task_id");

  /** How a change of the caller finds the row of a task. */
  const access = (caller: Caller, id: string) => ({
    id,
    owns: ({ task, account_id }: TaskRow) =>
      caller.kind === "key" ? task.key_id === caller.key_id : account_id === caller.account_id,
    read: () => find(caller, id),
    async claim() {
      const [changed, read] = claimTask(caller, { id, revision: ids.unique() });
      const results = await store.write([changed, read]);
      return read.read(results[1]!.rows)[0];
    },
  });

  /** The task of the row, marked as seen by its agent. */
  const see = (caller: Caller, first: TaskRow): Promise<Task> =>
    chain.change({
      ...access(caller, first.task.id),
      first,
      decide: (row) =>
        row.task.seen_at === null
          ? replace(row, markSeen(row.task, clock.now()))
          : { result: row.task },
    });

  /** The tasks of a list page, marked as seen by their agent, in few commits; deleted ones are left out. */
  const seeAll = async (
    caller: Caller,
    rows: readonly TaskRow[],
    confirmed = CHECKED,
  ): Promise<Task[]> => {
    const unseen = rows.filter((row) => row.task.seen_at === null);
    if (unseen.length === 0) return rows.map((row) => row.task);
    await confirmed();
    const seen: (Task | null)[] = [];
    // In stretches, so that one list page does not fill a whole commit.
    for (let from = 0; from < unseen.length; from += SEEN_STRETCH) {
      const stretch = unseen.slice(from, from + SEEN_STRETCH);
      seen.push(...(await Promise.all(stretch.map((row) => see(caller, row).catch(unlessGone)))));
    }
    const now = new Map(unseen.map((row, i) => [row.task.id, seen[i]!]));
    return rows
      .map((row) => (now.has(row.task.id) ? now.get(row.task.id)! : row.task))
      .filter((task) => task !== null);
  };

  /** Deletes the task, if the row as it is now passes `is_due`. */
  const remove = (
    change: Omit<RowChange<TaskRow, void>, "prepare" | "decide">,
    by: TaskChange["by"],
    is_due: (row: TaskRow) => boolean = () => true,
  ): Promise<void> => {
    let pending: readonly Question[];
    return chain.change({
      ...change,
      async prepare() {
        const rows = await store.read(pendingOfTask({ task_id: change.id }));
        pending = rows.map(({ question }) => question);
      },
      decide: (row) => (is_due(row) ? end(row, pending, by) : { result: undefined }),
    });
  };

  return {
    /** Creates a task. `404 not_found` for a key that the account does not have, `409 too_many_tasks`. */
    async create(
      caller: Caller,
      input: TaskInput & { readonly key_id?: string },
      { host, idempotent_request, confirmed = CHECKED }: CreateOptions,
    ): Promise<Task> {
      const { account_id } = caller;
      const task = newTask({
        ...input,
        id: ids.next("tsk"),
        key_id: caller.kind === "key" ? caller.key_id : (input.key_id ?? fail("not_found")),
        source: caller.kind === "key" ? "agent" : "app",
        host: caller.kind === "key" ? host : null,
        now: clock.now(),
      });
      const { silent_due_at } = expectNext(null, task, caller.kind, task.created_at);
      const replay = async () => {
        const id = await idempotency.findResult(idempotent_request);
        return id === undefined ? undefined : (await find(caller, id)).task;
      };
      const before = await replay();
      if (before) return before;
      await confirmed();
      storage.assertRoom(account_id);
      const revision = ids.unique();
      const changed = { table: "tasks", id: task.id, revision } as const;
      const { id: task_id, key_id } = task;
      const item = { type: "task.created", key_id, account_id, task_id } as const;
      const inbox_write = inboxWriter.write(changed, caller.kind === "account" ? item : null);
      const happened = await commit({
        statements: [
          insertTask({
            ...task,
            account_id,
            silent_due_at,
            history: newHistory(task),
            revision,
            idempotency_id: idempotent_request?.id ?? null,
          }),
          ...inbox_write.statements,
          ...idempotency.record(idempotent_request, caller, changed),
        ],
        events: [eventOf(changed, "task.created", account_id, { task })],
        inbox: inbox_write.inbox,
        is_independent: caller.kind === "key",
        deliveries: notificationPlans.ofTask(
          account_id,
          { before: null, after: task, changes: ["created"], by: caller.kind },
          changed,
        ),
      });
      if (happened) return task;
      const meanwhile = await replay();
      if (meanwhile) return meanwhile;
      await assertLive(caller);
      if (caller.kind === "account") await keys.find(caller, task.key_id);
      return fail("too_many_tasks");
    },

    seen: seeAll,

    async read(
      caller: Caller,
      id: string,
      { effects, confirmed = CHECKED }: ReadOptions,
    ): Promise<Task> {
      const row = await find(caller, id);
      if (caller.kind !== "key" || !effects || row.task.seen_at !== null) return row.task;
      await confirmed();
      return see(caller, row);
    },

    list: createTaskList({ store, keys, seen: seeAll }),

    /** Changes a task; by its agent, this also marks it as seen. A PATCH without a change does nothing. */
    update: (caller: Caller, id: string, patch: TaskPatch, confirmed = CHECKED): Promise<Task> =>
      chain.change({
        ...access(caller, id),
        prepare: confirmed,
        decide(row) {
          const now = clock.now();
          const { task, changed } = changeTask(row.task, patch, now);
          if (changed.length === 0) return { result: row.task };
          const next = caller.kind === "key" ? markSeen(task, now) : task;
          const grows = taskUnits(next) > taskUnits(row.task) + LIMITS.status_note;
          storage.assertRoom(row.account_id, grows ? 0 : SPARE);
          return replace(row, next, { changes: changed, by: caller.kind });
        },
      }),

    /** Deletes a task; its pending questions end with it (§5.5.6). `403 forbidden` in the caller's trial. */
    async remove(caller: Caller, id: string): Promise<void> {
      if (caller.kind === "account") await assertPastTrial(caller);
      return remove(access(caller, id), caller.kind);
    },

    /** Deletes up to `limit` finished tasks not updated since `before`, and returns how many it found (§3.2.4). */
    async expireFinished(before: number, limit: number): Promise<number> {
      const rows = await store.read(finishedTasks({ before, limit }));
      // A task that changes meanwhile is left to a later pass.
      const leave = async () => fail("not_found");
      await Promise.all(
        rows.map((first) => {
          const access = { id: first.task.id, first, owns: () => true, read: leave, claim: leave };
          const is_due = ({ revision }: TaskRow) => revision === first.revision;
          return remove(access, "server", is_due).catch(unlessGone);
        }),
      );
      return rows.length;
    },
  };
}

/** Null for a task that is gone; throws any other error. */
function unlessGone(error: unknown): null {
  if (error instanceof ServiceError && error.code === "not_found") return null;
  throw error;
}
