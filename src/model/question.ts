/** The question and its transitions, pure (docs/interface.md 2.5, 3.1, 5.7). */

import { z } from "zod";
import { type FieldReasons, failFields } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { integer } from "./integer.ts";
import { fits, Id, isBlank, NOT_BLANK, Timestamp, text, textUnits } from "./text.ts";

export const QUESTION_STATUSES = ["pending", "answered", "expired", "cancelled"] as const;

export const QuestionStatus = z.enum(QUESTION_STATUSES).meta({ id: "QuestionStatus" });
const QuestionKind = z.enum(["confirm", "choice", "text"]).meta({ id: "QuestionKind" });

export const Question = z
  .object({
    id: z.string(),
    key_id: z.string(),
    task_id: z.string().nullable(),
    prompt: z.string(),
    kind: QuestionKind,
    options: z.array(z.string()),
    status: QuestionStatus,
    answer: z.string().nullable(),
    created_at: Timestamp,
    answered_at: Timestamp.nullable(),
    expires_at: Timestamp,
    request_id: z.string().exactOptional(),
  })
  .meta({ id: "Question" });
export type Question = z.infer<typeof Question>;

function allDiffer(labels: readonly string[]): boolean {
  return new Set(labels.map((label) => label.trim())).size === labels.length;
}

/** Ask body. `options: null` and `task_id: null` mean absent (docs/interface.md 5.7.2). */
export const QuestionInput = z.strictObject({
  prompt: text({ max: LIMITS.prompt }),
  kind: QuestionKind.exactOptional().meta({ description: "`confirm` when absent" }),
  options: z
    .array(text({ max: LIMITS.option_label }))
    .min(LIMITS.options_min)
    .max(LIMITS.options_max)
    .refine(allDiffer, "must all be different")
    .nullable()
    .exactOptional()
    .meta({ description: "For `choice` alone: 2 to 4 different labels" }),
  task_id: Id.nullable().exactOptional(),
  expires_in: integer(LIMITS.expires_in_min, LIMITS.expires_in_max)
    .exactOptional()
    .meta({ description: `Seconds; ${LIMITS.expires_in_default} when absent` }),
  request_id: text({ max: LIMITS.request_id, blank: true, min: 1 }).exactOptional().meta({
    description:
      "A name of this request: sent again with the same content within 24 hours, it gives the question that it made",
  }),
});
export type QuestionInput = z.infer<typeof QuestionInput>;

/** A choice has options, and no other kind has (docs/interface.md 5.7.2). */
export function optionsRule(_caller: unknown, raw: unknown): FieldReasons {
  if (typeof raw !== "object" || raw === null) return {};
  const { kind = "confirm", options = null } = raw as { kind?: unknown; options?: unknown };
  if (kind === "choice") return options === null ? { options: "is required for a choice" } : {};
  return options === null ? {} : { options: "is permitted for a choice only" };
}

interface NewQuestion {
  readonly id: string;
  readonly key_id: string;
  readonly now: number;
}

/** A new pending question, of an input that {@link optionsRule} has accepted. */
export function newQuestion(input: QuestionInput, { id, key_id, now }: NewQuestion): Question {
  const kind = input.kind ?? "confirm";
  return {
    id,
    key_id,
    task_id: input.task_id ?? null,
    prompt: input.prompt,
    kind,
    options: kind === "confirm" ? ["Yes", "No"] : (input.options ?? []),
    status: "pending",
    answer: null,
    created_at: now,
    answered_at: null,
    expires_at:
      (Math.round(now * 1000) + (input.expires_in ?? LIMITS.expires_in_default) * 1000) / 1000,
    ...(input.request_id !== undefined && { request_id: input.request_id }),
  };
}

/** Milliseconds from the ask to the expiry, which timestamps in seconds would give inexactly. */
const lifeOf = ({ created_at, expires_at }: Question): number =>
  Math.round(expires_at * 1000) - Math.round(created_at * 1000);

/** Whether two questions were asked with the same fields, defaults filled in (§5.7.2(6)). */
export function isSameAsk(one: Question, other: Question): boolean {
  return (
    one.prompt === other.prompt &&
    one.kind === other.kind &&
    JSON.stringify(one.options) === JSON.stringify(other.options) &&
    one.task_id === other.task_id &&
    lifeOf(one) === lifeOf(other)
  );
}

/** Whether time has ended the question, swept or not (docs/interface.md 3.1.3). */
export function isOverdue(question: Question, now: number): boolean {
  return question.status === "pending" && question.expires_at <= now;
}

/** `422 fields.answer` when the answer does not fit the question (§5.7.4). */
export function checkAnswer(question: Question, answer: string): void {
  if (question.kind !== "text") {
    if (!question.options.includes(answer)) failFields({ answer: "is not one of the options" });
  } else if (isBlank(answer)) {
    failFields({ answer: NOT_BLANK });
  } else if (!fits(answer, LIMITS.text_answer)) {
    failFields({ answer: `must be at most ${LIMITS.text_answer} characters` });
  }
}

/** UTF-16 units of the texts in a question, for the bound of a page. */
export const questionUnits = textUnits(Question, ["id", "key_id", "task_id"]);
