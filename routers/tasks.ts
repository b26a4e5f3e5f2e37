/** Procedures of tasks (§5.5). */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { keyIdRule } from "../src/model/key.ts";
import { Task, TaskInput, TaskPatch, TaskPriority, TaskStatus } from "../src/model/task.ts";
import { HistoryEntry } from "../src/model/task-history.ts";
import { Id } from "../src/model/text.ts";
import { nextPage, PAGING_NOTE, pageParameters } from "./paging.ts";
import { hints } from "./tool.ts";
import { anyone, router, routes } from "./trpc.ts";

const route = routes("Tasks");

export const tasks = router({
  list: anyone
    .meta({
      openapi: route("GET /v1/tasks", "listTasks", {
        summary: "List tasks, the last updated first",
        description: `${PAGING_NOTE} With \`priority\` it may hold none and still carry a \`next_cursor\`.`,
      }),
      pages: true,
      reads_first: true,
      rules: keyIdRule({ required: false }),
      errors: ["not_found"],
      mcp: {
        name: "list_tasks",
        title: "List tasks",
        description:
          'List your tasks, last updated first. When you start, `status` ["todo"] finds what the person left for you, ["in_progress"] what you left unfinished.',
        annotations: hints({ reads: true }),
        account_only: ["key_id"],
        defaults: { limit: 20 },
        next: nextPage("list_tasks"),
      },
    })
    .input(
      z.strictObject({
        key_id: Id.meta({ description: "Only this key's; for accounts only" }).optional(),
        status: z.array(TaskStatus).min(1).optional(),
        priority: z.array(TaskPriority).min(1).optional(),
        ...pageParameters(LIMITS.task_page, LIMITS.task_page_default),
      }),
    )
    .output(
      z
        .object({ tasks: z.array(Task), next_cursor: z.string().nullable() })
        .meta({ id: "TaskPage" }),
    )
    .query(({ ctx, input }) => ctx.services.tasks.list(ctx.caller, input, ctx)),

  create: anyone
    .meta({
      openapi: route("POST /v1/tasks", "createTask", {
        summary: "Create a task",
        description:
          "An account names the key that the task is for; a key creates a task of its own.",
      }),
      status: 201,
      accepts_idempotency_key: true,
      reads_first: true,
      rules: keyIdRule({ required: true }),
      errors: ["not_found", "too_many_tasks", "account_full"],
      mcp: {
        name: "create_task",
        title: "Create a task",
        description:
          "Create a task, which the person sees, when you begin work they would follow: `status` in_progress, the outcome as title. One per piece of work; steps go into update_task.",
        fields: {
          status: "Default todo",
          priority: "Default medium",
          notify: "Changes notify the person; default true",
        },
        annotations: hints({}),
        account_only: ["key_id"],
        unlisted: ["expect_update_within"],
      },
    })
    .input(
      TaskInput.extend({
        key_id: Id.exactOptional().meta({
          description:
            "The key that gets the task: required for an account, not permitted for a key",
        }),
      }).meta({ id: "TaskCreate" }),
    )
    .output(Task)
    .mutation(({ ctx, input }) => ctx.services.tasks.create(ctx.caller, input, ctx)),

  get: anyone
    .meta({
      openapi: route("GET /v1/tasks/{task_id}", "getTask", {
        summary: "Read a task",
        description: "A task that the account created counts as seen once its agent has read it.",
      }),
      errors: ["not_found"],
      mcp: {
        name: "get_task",
        title: "Read a task",
        description: "Read a task; again later, since the person may have changed it.",
        annotations: hints({ reads: true }),
      },
    })
    .input(z.strictObject({ task_id: Id }))
    .output(Task)
    .query(({ ctx, input }) => ctx.services.tasks.read(ctx.caller, input.task_id, ctx)),

  history: anyone
    .meta({
      openapi: route("GET /v1/tasks/{task_id}/history", "listTaskHistory", {
        summary: "List what became of a task, newest first",
        description:
          "One entry for its creation and for each change of `status`, `progress` or `status_note`, with their values from then on. The newest 200 are kept. A change of `progress` alone takes the place of one within the 10 seconds before it.",
      }),
      pages: true,
      errors: ["not_found"],
    })
    .input(
      z.strictObject({
        task_id: Id,
        ...pageParameters(LIMITS.history_page, LIMITS.history_page_default),
      }),
    )
    .output(
      z
        .object({ items: z.array(HistoryEntry), next_cursor: z.string().nullable() })
        .meta({ id: "TaskHistoryPage" }),
    )
    .query(({ ctx, input }) => ctx.services.taskHistory.list(ctx.caller, input)),

  update: anyone
    .meta({
      openapi: route("PATCH /v1/tasks/{task_id}", "updateTask", {
        summary: "Change a task",
        description: "Fields that are absent do not change.",
      }),
      reads_first: true,
      errors: ["not_found", "account_full"],
      mcp: {
        name: "update_task",
        title: "Change a task",
        description:
          "Change a task; fields you leave out stay. At each step send `progress` and a `status_note` of what you do now; at the end `status` done, or cancelled if you give up.",
        fields: { notify: "Changes notify the person", status_note: "One line" },
        unlisted: ["expect_update_within"],
        // Not destructive: a client would ask the person at every progress note.
        annotations: hints({ repeats_safely: true }),
      },
    })
    .input(TaskPatch.extend({ task_id: Id }).meta({ id: "TaskUpdate" }))
    .output(Task)
    .mutation(({ ctx, input: { task_id, ...patch } }) =>
      ctx.services.tasks.update(ctx.caller, task_id, patch, ctx.confirmed),
    ),

  delete: anyone
    .meta({
      openapi: route("DELETE /v1/tasks/{task_id}", "deleteTask", {
        summary: "Delete a task; its pending questions are cancelled",
        description: "A finished task is better kept with the status `done` or `cancelled`.",
      }),
      status: 204,
      errors: ["not_found"],
      mcp: {
        name: "delete_task",
        title: "Delete a task",
        description:
          "Delete a task made by mistake, and cancel its pending questions. Finished or abandoned work gets a `status` instead.",
        annotations: hints({ destroys: true, repeats_safely: true }),
      },
    })
    .input(z.strictObject({ task_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.tasks.remove(ctx.caller, input.task_id)),
});
