/** Procedures of questions (§5.7). */

import { z } from "zod";
import { LIMITS } from "../src/limits.ts";
import { describeReach, type Reach } from "../src/model/delivery.ts";
import { integer } from "../src/model/integer.ts";
import { keyIdRule } from "../src/model/key.ts";
import {
  askRule,
  Question,
  QuestionInput,
  QuestionStatus,
  searchRule,
} from "../src/model/question.ts";
import { Id, isStorable, text, UNSTORABLE } from "../src/model/text.ts";
import type { AddedFields, NextCall } from "../src/rpc/meta.ts";
import type { Context } from "./context.ts";
import { nextPage, PAGING_NOTE, pageParameters } from "./paging.ts";
import { hints } from "./tool.ts";
import { account, anyone, key, router, routes } from "./trpc.ts";

const route = routes("Questions");

/** The next call while a question is pending: keep waiting (§6.2). */
function waitOn({ id, status }: Question): NextCall | null {
  if (status !== "pending") return null;
  return {
    why: "No answer yet. To keep waiting",
    name: "get_question",
    arguments: { question_id: id, wait_seconds: LIMITS.wait_max },
  };
}

/** The note for an agent on a question, by status (§12.3.5). */
const OUTCOMES: Readonly<Record<Question["status"], string | null>> = {
  pending: null,
  answered: "Act on this answer once: read_inbox returns it again.",
  expired: "Nobody answered in time, which is not a yes. Take the safe course or ask again.",
  cancelled: "The question was withdrawn. Do not act on it.",
};

const OF_DRAFT = {
  approved: "The person approved your draft as it is.",
  edited:
    "The person edited your draft: use `answer`, not the draft. If it is not the text but tells you something, do that.",
} as const;

const GO_BY_FALLBACK = "Nobody answered in time. Follow your `fallback`, which the person knows.";

/** The note on a question for its agent: how it ended or, while it is pending, how far it got. */
function outcome(
  { status, fallback, edited, reach }: Question & { readonly reach?: Reach },
  now: number,
): string | null {
  if (status === "expired" && fallback !== undefined) return GO_BY_FALLBACK;
  if (edited !== undefined) {
    return `${edited ? OF_DRAFT.edited : OF_DRAFT.approved} ${OUTCOMES.answered}`;
  }
  return OUTCOMES[status] ?? (reach ? describeReach(reach, now) : null);
}

/** Adds how far a pending question got (§12.3.6). */
const REACH: AddedFields = {
  names: ["reach"],
  async read({ caller, services }: Context, question: Question) {
    if (question.status !== "pending" || !caller || caller.kind === "ticket") return null;
    const reach = await services.deliveries.reach(caller, question);
    return reach && { reach };
  },
};

const Wait = integer(0, LIMITS.wait_max)
  .meta({ description: "Seconds to wait for the question to leave `pending`; default 0" })
  .optional();

export const questions = router({
  list: anyone
    .meta({
      openapi: route("GET /v1/questions", "listQuestions", {
        summary: "List questions, newest first",
        description: PAGING_NOTE,
      }),
      pages: true,
      reads_first: true,
      rules: (caller, raw) => ({
        ...keyIdRule({ required: false })(caller, raw),
        ...searchRule(caller, raw),
      }),
      errors: ["not_found"],
      mcp: {
        name: "list_questions",
        title: "List questions",
        description:
          'List your questions, newest first: to find a lost id or, with `status` ["answered"], answers you missed.',
        fields: { status: "Default pending" },
        annotations: hints({ reads: true }),
        account_only: ["key_id", "search"],
        defaults: { limit: 20 },
        next: nextPage("list_questions"),
      },
    })
    .input(
      z.strictObject({
        status: z
          .array(QuestionStatus)
          .min(1)
          .meta({ description: "Default `pending`" })
          .optional(),
        key_id: Id.meta({ description: "Only this key's; for accounts only" }).optional(),
        task_id: Id.meta({ description: "Only questions about this task" }).optional(),
        search: text({ max: LIMITS.search })
          .meta({
            description:
              "Only questions with all of these words, in any case and order; for accounts only",
          })
          .optional(),
        ...pageParameters(LIMITS.question_list, LIMITS.question_list),
      }),
    )
    .output(
      z
        .object({ questions: z.array(Question), next_cursor: z.string().nullable() })
        .meta({ id: "QuestionPage" }),
    )
    .query(({ ctx, input }) => ctx.services.questions.list(ctx.caller, input, ctx)),

  ask: key
    .meta({
      openapi: route("POST /v1/questions", "askQuestion", {
        summary: "Ask the person a question, and wait for the answer if you like",
        description:
          "With `wait`, the response comes when the question leaves `pending` or the wait ends, with the question as it then is. Read `status`; while it is `pending`, keep waiting with `GET /v1/questions/{question_id}`.",
      }),
      status: 201,
      may_exist: true,
      accepts_idempotency_key: true,
      reads_first: true,
      rules: askRule,
      query: ["wait"],
      errors: [
        "not_found",
        "too_many_pending_questions",
        "account_full",
        "request_mismatch",
        "too_many_waits",
      ],
      mcp: {
        name: "ask_question",
        title: "Ask the person",
        description:
          "Ask the person, on their phone, when only they can decide or know: a permission, a choice that matters; not what you can find out or undo. They take seconds to hours. With `wait_seconds`, best 50, it returns once `status` changes. answered: act on `answer` once; the inbox repeats it. pending: do other work or wait with get_question; do not ask again. expired: not a yes: take the safe course or ask again. cancelled: do not act on it.",
        fields: {
          kind: "confirm (default): Yes or No; choice: `options`; text: free words",
          options: "All different",
          context: "Markdown: what they need to decide",
          allow_other: "Other words are fine",
          fallback: "Answer you follow if it expires",
          draft: "For text: your mail or plan, to approve or edit",
          request_id: "Repeat to retry safely",
          expires_in: "Seconds; default 3600",
        },
        annotations: hints({ person: true }),
        next: waitOn,
        adds: REACH,
        note: outcome,
        rounds: true,
      },
    })
    .input(QuestionInput.extend({ wait: Wait }).meta({ id: "QuestionCreate" }))
    .output(Question)
    .mutation(async ({ ctx, input: { wait = 0, ...input } }) => {
      const { idempotent_request, asking, session, streams, outcome, confirmed } = ctx;
      const { signal } = ctx.connection;
      const options = { wait, signal, idempotent_request, asking, session, streams, confirmed };
      const { question, existing } = await ctx.services.questions.ask(ctx.caller, input, options);
      outcome.existing = existing;
      return question;
    }),

  get: anyone
    .meta({
      openapi: route("GET /v1/questions/{question_id}", "getQuestion", {
        summary: "Read a question, and wait for its answer if you like",
        description: "Read `status`; when it is still `pending`, send the request again.",
      }),
      accepts_ticket: true,
      only_waited: ({ wait = 0 }, question) =>
        wait > 0 && (question === null || (question as Question).status === "pending"),
      errors: ["not_found", "too_many_waits"],
      mcp: {
        name: "get_question",
        title: "Read a question",
        description:
          "Read a question or, with `wait_seconds`, keep waiting for its answer; then do as ask_question says.",
        annotations: hints({ reads: true }),
        next: waitOn,
        adds: REACH,
        note: outcome,
      },
    })
    .input(z.strictObject({ question_id: Id, wait: Wait }))
    .output(Question)
    .query(({ ctx, input: { question_id, wait = 0 } }) => {
      const { connection, effects, asking, confirmed } = ctx;
      const { signal } = connection;
      return ctx.services.questions.read(ctx.caller, question_id, {
        wait,
        signal,
        effects,
        asking,
        confirmed,
      });
    }),

  answer: account
    .meta({
      openapi: route("POST /v1/questions/{question_id}/answer", "answerQuestion", {
        summary: "Answer a question",
        description:
          "One of the options of `confirm` and `choice`, or free text for `text` and where `allow_other` is true. Of two answers at the same time, one gets `200` and the other `409`.",
      }),
      accepts_idempotency_key: true,
      accepts_ticket: true,
      reads_first: true,
      errors: ["not_found", "question_not_pending"],
    })
    .input(
      z
        .strictObject({
          question_id: Id,
          answer: z
            .string()
            .refine(isStorable, UNSTORABLE)
            .meta({ description: "One of the options, or the typed text" }),
          note: text({ max: LIMITS.note })
            .exactOptional()
            .meta({ description: "What the person adds to the answer" }),
        })
        .meta({ id: "QuestionAnswer" }),
    )
    .output(Question)
    .mutation(({ ctx, input }) =>
      ctx.services.questions.answer(ctx.caller, input.question_id, input.answer, {
        idempotent_request: ctx.idempotent_request,
        note: input.note,
        by_api: ctx.by_rest,
        confirmed: ctx.confirmed,
      }),
    ),

  remind: account
    .meta({
      openapi: route("POST /v1/questions/{question_id}/reminder", "createReminder", {
        summary: "Be reminded of a question",
        description:
          "The question rings again on all channels, in place of an earlier reminder and of the nudge before it expires: after `minutes`, or 2 minutes before it expires if that is earlier.",
      }),
      errors: ["not_found", "question_not_pending"],
    })
    .input(
      z
        .strictObject({ question_id: Id, minutes: integer(1, LIMITS.remind_minutes) })
        .meta({ id: "QuestionReminder" }),
    )
    .output(Question)
    .mutation(({ ctx, input }) =>
      ctx.services.nudges.remind(ctx.caller, input.question_id, input.minutes),
    ),

  cancel: key
    .meta({
      openapi: route("DELETE /v1/questions/{question_id}", "cancelQuestion", {
        summary: "Cancel a question",
        description: "`204` also for a question that is already cancelled.",
      }),
      status: 204,
      errors: ["not_found", "question_not_pending"],
      mcp: {
        name: "cancel_question",
        title: "Cancel a question",
        description: "Withdraw a pending question when you no longer need its answer.",
        annotations: hints({ destroys: true, repeats_safely: true }),
      },
    })
    .input(z.strictObject({ question_id: Id }))
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.questions.cancel(ctx.caller, input.question_id)),
});
