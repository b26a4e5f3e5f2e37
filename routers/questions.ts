/** interface.md §4 Questions. */

import { z } from "zod";
import type { FieldReasons } from "../src/errors.ts";
import { LIMITS } from "../src/limits.ts";
import { Question, QuestionInput, QuestionStatus } from "../src/model/question.ts";
import { Id, isStorable } from "../src/model/text.ts";
import { account, anyone, key, keyIdRule, router } from "./trpc.ts";

const tags = ["Questions"];

const Wait = z
  .int()
  .min(0)
  .max(LIMITS.wait_max)
  .meta({ description: "Seconds to wait for the question to leave `pending`; default 0" })
  .optional();

/** Whether there may be options at all; how many is no question before that. */
const optionsRule = (_caller: unknown, raw: unknown): FieldReasons => {
  if (typeof raw !== "object" || raw === null) return {};
  const { kind = "confirm", options = null } = raw as { kind?: unknown; options?: unknown };
  if (kind === "choice") return options === null ? { options: "is required for a choice" } : {};
  return options === null ? {} : { options: "is permitted for a choice only" };
};

export const questions = router({
  list: anyone
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/questions",
        tags,
        summary: "List questions, newest first, at most 100",
      },
      rules: keyIdRule({ required: false }),
      errors: ["not_found"],
    })
    .input(
      z.strictObject({
        status: z
          .array(QuestionStatus)
          .min(1)
          .meta({ description: "Default `pending`" })
          .optional(),
        key_id: Id.meta({ description: "Only this key; for an account only" }).optional(),
        task_id: Id.meta({ description: "Only questions about this task" }).optional(),
      }),
    )
    .output(z.object({ questions: z.array(Question) }))
    .query(async ({ ctx, input }) => ({
      questions: await ctx.services.questions.list(ctx.caller, input, ctx),
    })),

  ask: key
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/questions",
        tags,
        summary: "Ask the person a question, and wait for the answer if you like",
      },
      status: 201,
      repeatable: true,
      rules: optionsRule,
      query: ["wait"],
      errors: ["not_found", "too_many_pending_questions", "too_many_waits"],
    })
    .input(QuestionInput.extend({ wait: Wait }))
    .output(Question)
    .mutation(({ ctx, input: { wait = 0, ...question } }) =>
      ctx.services.questions.ask(ctx.caller, question, {
        wait,
        signal: ctx.signal,
        once: ctx.once,
      }),
    ),

  get: anyone
    .meta({
      openapi: {
        method: "GET",
        path: "/v1/questions/{question_id}",
        tags,
        summary: "Read a question, and wait for its answer if you like",
        description: "Read `status`; when it is still `pending`, send the request again.",
      },
      only_waited: ({ wait = 0 }, question) =>
        wait > 0 && (question === null || (question as Question).status === "pending"),
      errors: ["not_found", "too_many_waits"],
    })
    .input(z.strictObject({ question_id: Id, wait: Wait }))
    .output(Question)
    .query(({ ctx, input: { question_id, wait = 0 } }) => {
      const { signal, effects } = ctx;
      return ctx.services.questions.read(ctx.caller, question_id, { wait, signal, effects });
    }),

  answer: account
    .meta({
      openapi: {
        method: "POST",
        path: "/v1/questions/{question_id}/answer",
        tags,
        summary: "Answer a question",
      },
      repeatable: true,
      errors: ["not_found", "question_not_pending"],
    })
    .input(
      z.strictObject({
        question_id: Id,
        answer: z
          .string()
          .refine(isStorable, "must hold no NUL character and no lone surrogate")
          .meta({ description: "One of the options, or the typed text" }),
      }),
    )
    .output(Question)
    .mutation(({ ctx, input }) =>
      ctx.services.questions.answer(ctx.caller, input.question_id, input.answer, ctx),
    ),

  cancel: key
    .meta({
      openapi: {
        method: "DELETE",
        path: "/v1/questions/{question_id}",
        tags,
        summary: "Cancel a question",
      },
      status: 204,
      errors: ["not_found", "question_not_pending"],
    })
    .input(z.strictObject({ question_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.questions.cancel(ctx.caller, input.question_id)),
});
