/** docs/interface.md 5.5. */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { Task, TaskInput, TaskPatch, TaskPriority, TaskStatus } from "../src/model/task.ts";
import { Id } from "../src/model/text.ts";
import { PAGES } from "./page.ts";
import { hints, type NextCall } from "./tool.ts";
import { anyone, keyIdRule, router } from "./trpc.ts";

const tags = ["Tasks"];

/** A list that goes on. */
function nextPage(
  { next_cursor: cursor }: { readonly next_cursor: string | null },
  given: Readonly<Record<string, unknown>>,
): NextCall | null {
  if (cursor === null) return null;
  return { why: "There are more. To read on", name: "list_tasks", arguments: { ...given, cursor } };
}

export const tasks = router({
  list: anyone
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/tasks",
        operationId: "listTasks",
        tags,
        summary: "List tasks, the last updated first",
        description: `${PAGES} With \`priority\` it may hold none and still carry a \`next_cursor\`.`,
      },
      pages: true,
      rules: keyIdRule({ required: false }),
      errors: ["not_found"],
      mcp: {
        name: "list_tasks",
        title: "List tasks",
        description:
          'List your tasks, the last updated first, 20 at a time. Call it when you start, to find what the person left for you (`status`: ["todo"]) and what you left unfinished (["in_progress"]).',
        annotations: hints({ reads: true }),
        account_only: ["key_id"],
        defaults: { limit: 20 },
        next: nextPage,
      },
    })
    .input(
      z.strictObject({
        key_id: Id.meta({ description: "Only this key; for an account only" }).optional(),
        status: z.array(TaskStatus).min(1).optional(),
        priority: z.array(TaskPriority).min(1).optional(),
        limit: z
          .int()
          .min(1)
          .max(LIMITS.task_page)
          .meta({ description: `Default ${LIMITS.task_page_default}` })
          .optional(),
        cursor: z
          .string()
          .meta({ description: "The `next_cursor` of the previous page" })
          .optional(),
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
      openapi: {
        method: "POST",
        path: "/v1/tasks",
        operationId: "createTask",
        tags,
        summary: "Create a task",
        description:
          "An account names the key that the task is for; a key creates a task of its own.",
      },
      status: 201,
      accepts_idempotency_key: true,
      rules: keyIdRule({ required: true }),
      errors: ["not_found", "too_many_tasks"],
      mcp: {
        name: "create_task",
        title: "Create a task",
        description:
          "Open a task that the person sees at once. Call it when you begin a piece of work that they would want to follow, with `status` in_progress and a title that says what it will achieve. One task per piece of work, not per step: steps go into update_task.",
        annotations: hints({}),
        account_only: ["key_id"],
      },
    })
    .input(
      TaskInput.extend({
        key_id: Id.exactOptional().meta({
          description: "The key to create it for: required of an account, refused from a key",
        }),
      }).meta({ id: "TaskCreate" }),
    )
    .output(Task)
    .mutation(({ ctx, input }) => ctx.services.tasks.create(ctx.caller, input, ctx)),

  get: anyone
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/tasks/{task_id}",
        operationId: "getTask",
        tags,
        summary: "Read a task",
        description: "A task that the account created counts as seen once its agent has read it.",
      },
      errors: ["not_found"],
      mcp: {
        name: "get_task",
        title: "Read a task",
        description:
          "Read one task as it is now. Call it before you go on with a task after a pause: the person may have changed it.",
        annotations: hints({ reads: true }),
      },
    })
    .input(z.strictObject({ task_id: Id }))
    .output(Task)
    .query(({ ctx, input }) => ctx.services.tasks.read(ctx.caller, input.task_id, ctx)),

  update: anyone
    .meta({
      openapi: {
        method: "PATCH",
        path: "/v1/tasks/{task_id}",
        operationId: "updateTask",
        tags,
        summary: "Change a task",
        description: "Fields that are absent do not change.",
      },
      errors: ["not_found"],
      mcp: {
        name: "update_task",
        title: "Change a task",
        description:
          "Change a task; fields you leave out stay as they are. Call it at each step with `progress` (0 to 100) and `status_note` (one short line on what you do now), and at the end with `status` done, or cancelled when you give up.",
        // Not destructive: a client would ask the person at every progress note.
        annotations: hints({ accepts_idempotency_key: true }),
      },
    })
    .input(TaskPatch.extend({ task_id: Id }).meta({ id: "TaskUpdate" }))
    .output(Task)
    .mutation(({ ctx, input: { task_id, ...patch } }) =>
      ctx.services.tasks.update(ctx.caller, task_id, patch),
    ),

  delete: anyone
    .meta({
      openapi: {
        method: "DELETE",
        path: "/v1/tasks/{task_id}",
        operationId: "deleteTask",
        tags,
        summary: "Delete a task; its pending questions are cancelled",
        description: "A finished task is better kept with the status `done` or `cancelled`.",
      },
      status: 204,
      errors: ["not_found"],
      mcp: {
        name: "delete_task",
        title: "Delete a task",
        description:
          "Delete a task for good; its pending questions are cancelled. Only for one made by mistake: finished or abandoned work gets `status` done or cancelled by update_task, so that the person keeps it.",
        annotations: hints({ destroys: true, accepts_idempotency_key: true }),
      },
    })
    .input(z.strictObject({ task_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.tasks.remove(ctx.caller, input.task_id)),
});
