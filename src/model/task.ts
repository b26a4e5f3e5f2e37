/** The task and its transitions, pure (§2.4, §3.2, §5.5). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";
import { integer } from "./integer.ts";
import { Timestamp, text, textUnits } from "./text.ts";

export const TASK_STATUSES = ["todo", "in_progress", "done", "cancelled"] as const;

// Swift, C# and others have types of their own that are called Task, TaskStatus and TaskPriority.
export const TaskStatus = z.enum(TASK_STATUSES).meta({ id: "RelayTaskStatus" });
export const TaskPriority = z
  .enum(["low", "medium", "high", "urgent"])
  .meta({ id: "RelayTaskPriority" });
export const TaskSource = z.enum(["agent", "app"]).meta({ id: "TaskSource" });

const Title = text({ max: LIMITS.title });
const Description = text({ max: LIMITS.description, blank: true });
const StatusNote = text({ max: LIMITS.status_note, blank: true, min: 1, one_line: true });
const Progress = integer(0, 100);
const ExpectUpdateWithin = integer(LIMITS.expect_update_min, LIMITS.expect_update_max)
  .nullable()
  .exactOptional();

export const Task = z
  .object({
    id: z.string(),
    key_id: z.string().meta({ description: "The owning key" }),
    title: z.string(),
    description: z.string(),
    status: TaskStatus,
    priority: TaskPriority,
    notify: z.boolean().meta({ description: "Whether an agent's change notifies visibly" }),
    progress: z.int().nullable(),
    status_note: z.string().nullable(),
    source: TaskSource,
    created_at: Timestamp,
    updated_at: Timestamp,
    completed_at: Timestamp.nullable(),
    seen_at: Timestamp.nullable().meta({ description: "When the agent first got the task" }),
    host: z.string().nullable(),
    expect_update_within: z.int().nullable(),
    silent_since: Timestamp.nullable().meta({ description: "Since when its agent is silent" }),
  })
  .meta({ id: "RelayTask" });
export type Task = z.infer<typeof Task>;

/** A task stored as JSON, perhaps by an older version: missing fields become null (§17.3). */
export function storedTask(stored: Partial<Task>): Task {
  const blank = Object.fromEntries(Object.keys(Task.shape).map((field) => [field, null]));
  return { ...blank, ...stored } as Task;
}

const NOTIFY = "Whether the person's devices show an agent's changes as notifications";

/** The fields of a new task that keys and accounts may send. */
export const TaskInput = z.strictObject({
  title: Title,
  description: Description.exactOptional(),
  status: TaskStatus.exactOptional().meta({ description: "`todo` when absent" }),
  priority: TaskPriority.exactOptional().meta({ description: "`medium` when absent" }),
  notify: z
    .boolean()
    .exactOptional()
    .meta({ description: `${NOTIFY}; true when absent` }),
  expect_update_within: ExpectUpdateWithin.meta({
    description: "Seconds without a sign of the agent after which the person is told; null: never",
  }),
});
export type TaskInput = z.infer<typeof TaskInput>;

/** The fields of a PATCH. Only `progress`, `status_note` and `expect_update_within` accept null (§5.5.5(2)). */
export const TaskPatch = z.strictObject({
  title: Title.exactOptional(),
  description: Description.exactOptional(),
  status: TaskStatus.exactOptional(),
  priority: TaskPriority.exactOptional(),
  notify: z.boolean().exactOptional().meta({ description: NOTIFY }),
  progress: Progress.nullable().exactOptional(),
  status_note: StatusNote.nullable().exactOptional(),
  expect_update_within: ExpectUpdateWithin,
});
export type TaskPatch = z.infer<typeof TaskPatch>;

/** The fields of a PATCH: only they change `updated_at`. */
const PATCHABLE = Object.keys(TaskPatch.shape) as (keyof TaskPatch)[];

interface NewTask extends TaskInput {
  readonly id: string;
  readonly key_id: string;
  readonly source: Task["source"];
  readonly host: string | null;
  readonly now: number;
}

/** A new task with the defaults of §5.5.3. */
export function newTask({ now, ...input }: NewTask): Task {
  const done = input.status === "done";
  return {
    id: input.id,
    key_id: input.key_id,
    title: input.title,
    description: input.description ?? "",
    status: input.status ?? "todo",
    priority: input.priority ?? "medium",
    notify: input.notify ?? true,
    progress: done ? 100 : null,
    status_note: null,
    source: input.source,
    created_at: now,
    updated_at: now,
    completed_at: done ? now : null,
    seen_at: input.source === "agent" ? now : null,
    host: input.host,
    expect_update_within: input.expect_update_within ?? null,
    silent_since: null,
  };
}

/**
 * The task after a PATCH, and the names of the changed fields. The status `done` sets progress 100 and
 * `completed_at`; any other status clears `completed_at` (§3.2, §5.5.5).
 */
export function changeTask(task: Task, patch: TaskPatch, now: number) {
  const next: Task = { ...task, ...patch };
  const updated_at = laterThan(task.updated_at, now);
  if (next.status !== task.status) {
    if (next.status === "done") next.progress = 100;
    next.completed_at = next.status === "done" ? updated_at : null;
  }
  const changed = PATCHABLE.filter((field) => next[field] !== task[field]);
  if (changed.length === 0) return { task, changed };
  next.updated_at = updated_at;
  return { task: next, changed };
}

/** The task, seen by its agent (§2.4.2). */
export function markSeen(task: Task, now: number): Task {
  return task.seen_at === null ? { ...task, seen_at: now } : task;
}

/** The later of `now` and `previous` plus one millisecond, so that `updated_at` always grows. */
function laterThan(previous: number, now: number): number {
  return Math.max(Math.round(now * 1000), Math.round(previous * 1000) + 1) / 1000;
}

/** UTF-16 units of the texts in a task, to bound a list page. */
export const taskUnits = textUnits(Task, ["id", "key_id"]);
