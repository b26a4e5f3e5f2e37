/** The question and its transitions, pure (§2.5, §3.1, §5.7). */

import { z } from "zod";
import { type FieldReasons, failFields } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { NOTIFICATION_LIMITS } from "../notification-limits.ts";
import type { Caller } from "./caller.ts";
import { integer } from "./integer.ts";
import {
  fits,
  Id,
  isBlank,
  isStorable,
  NOT_BLANK,
  Timestamp,
  text,
  textUnits,
  UNSTORABLE,
} from "./text.ts";

export const QUESTION_STATUSES = ["pending", "answered", "expired", "cancelled"] as const;

export const QuestionStatus = z.enum(QUESTION_STATUSES).meta({ id: "QuestionStatus" });
export const QuestionKind = z.enum(["confirm", "choice", "text"]).meta({ id: "QuestionKind" });

/** What a coding agent wants permission for (§2.5.5). Only the read of one question has `text`, its whole text. */
export const QuestionAction = z
  .object({
    client: z.enum(["claude_code", "codex", "other"]).meta({ id: "ActionClient" }),
    tool: z.string(),
    form: z.enum(["command", "diff", "arguments"]).meta({ id: "ActionForm" }),
    folder: z.string().nullable(),
    session: z.string().nullable(),
    host: z.string().nullable(),
    prompt_is_whole: z.boolean().exactOptional(),
    other_arguments: z.array(z.string()).exactOptional(),
    agent: z.string().exactOptional(),
    grants: z.array(z.string()).exactOptional(),
    text: z.string().exactOptional(),
  })
  .meta({ id: "QuestionAction" });
export type QuestionAction = z.infer<typeof QuestionAction>;

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
    url: z.string().exactOptional(),
    allow_other: z.boolean().exactOptional(),
    fallback: z.string().exactOptional(),
    draft: z.string().exactOptional(),
    edited: z.boolean().exactOptional().meta({
      description: "Whether `answer` differs from the `draft`",
    }),
    action: QuestionAction.exactOptional(),
    context: z.string().exactOptional(),
    context_omitted: z.boolean().exactOptional(),
    note: z.string().exactOptional(),
    answered_by: z
      .object({
        id: z.string(),
        type: z.string().nullable(),
        label: z.string().nullable(),
      })
      .meta({ id: "AnsweredBy" })
      .exactOptional(),
    answered_from: z
      .object({
        id: z.string(),
        label: z.string().nullable().meta({ description: "Null once the sign-in has ended" }),
        current: z.boolean().meta({ description: "True for the sign-in that sent the request" }),
        api: z.boolean().meta({ description: "True if the answer came over REST" }),
      })
      .meta({ id: "AnsweredFrom" })
      .exactOptional(),
    remind_at: Timestamp.exactOptional().meta({
      description: "When the person wants to be reminded",
    }),
  })
  .meta({ id: "Question" });
/** Unused fields are absent. At most one of `context` and `context_omitted` is present (§2.5.2). */
export type Question = z.infer<typeof Question>;

/** The question without its long texts, for lists and events (§2.5.2). */
export function asListed(question: Question): Question {
  const { context, note, action, ...rest } = question;
  if (context === undefined && action?.text === undefined) return question;
  const { text: _, ...shown } = action ?? {};
  return {
    ...rest,
    ...(action !== undefined && { action: shown as QuestionAction }),
    ...(context !== undefined && { context_omitted: true }),
    ...(note !== undefined && { note }),
  };
}

/** The question with the text of its action, which has a column of its own. */
export const withActionText = (question: Question, text: string | null | undefined): Question =>
  question.action === undefined || typeof text !== "string"
    ? question
    : { ...question, action: { ...question.action, text } };

/** The question with the channel that its answer came by, which only the account is told (§2.5.7). */
export const withAnsweredBy = (
  question: Question,
  by: { [Name in "id" | "type" | "label"]: string | null } | undefined,
): Question => (by?.id == null ? question : { ...question, answered_by: { ...by, id: by.id } });

/** The question with the sign-in that its answer came from, which only the account is told (§2.5.9). */
export const withAnsweredFrom = (
  question: Question,
  from:
    | { readonly id: string | null; readonly label: string | null; readonly api: boolean | null }
    | undefined,
  session_id: string,
): Question =>
  from?.id == null
    ? question
    : {
        ...question,
        answered_from: {
          id: from.id,
          label: from.label,
          current: from.id === session_id,
          api: from.api === true,
        },
      };

function allDiffer(labels: readonly string[]): boolean {
  return new Set(labels.map((label) => label.trim())).size === labels.length;
}

/** A link for a person: `http` or `https`, with a host, and without a user name, which could disguise the host. */
const isLink = (value: string): boolean =>
  /^https?:\/\/[^\s\p{Cc}/?#@\\]+([/?#][^\s\p{Cc}]*)?$/iu.test(value) && URL.canParse(value);

const Link = z
  .string()
  .refine(isStorable, UNSTORABLE)
  .refine((value) => fits(value, LIMITS.question_url), {
    message: `must be at most ${LIMITS.question_url} characters`,
    abort: true,
  })
  .refine(
    isLink,
    "must be an http or https URL with a host, without white space, user name and password",
  )
  .meta({ maxLength: LIMITS.question_url });

/** Body of `POST /v1/questions`. Null for `options` and `task_id` means absent (§5.7.2). */
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
    .meta({ description: "For `choice` only: 2 to 4 different labels" }),
  task_id: Id.nullable().exactOptional(),
  expires_in: integer(LIMITS.expires_in_min, LIMITS.expires_in_max)
    .exactOptional()
    .meta({ description: `Seconds; ${LIMITS.expires_in_default} when absent` }),
  context: text({ max: LIMITS.context })
    .exactOptional()
    .meta({ description: "Markdown: what the person needs to decide, such as a diff or a plan" }),
  url: Link.exactOptional().meta({ description: "A link for the person, `https` or `http`" }),
  allow_other: z.boolean().exactOptional().meta({
    description: "For `confirm` and `choice`: true lets the person answer in their own words too",
  }),
  fallback: text({ max: LIMITS.text_answer }).exactOptional().meta({
    description: "The answer that the agent will follow if nobody answers; the person sees it",
  }),
  draft: text({ max: LIMITS.text_answer }).exactOptional().meta({
    description:
      "For `text` only: a text that the person approves as it is, or changes first. `answer` is the final text",
  }),
  request_id: text({ max: LIMITS.request_id, blank: true, min: 1 }).exactOptional().meta({
    description:
      "Identifies this request: sent again with the same content within 24 hours, it returns the same question",
  }),
});
export type QuestionInput = z.infer<typeof QuestionInput>;

const CONFIRM_OPTIONS = ["Yes", "No"];

/**
 * Only a choice has options, and it needs them; a text question cannot have `allow_other`, since it accepts any
 * answer, and only it can have a draft; the fallback is an answer that the question accepts (§5.7.2).
 */
export function askRule(_caller: unknown, raw: unknown): FieldReasons {
  if (typeof raw !== "object" || raw === null) return {};
  const given = raw as Readonly<Record<string, unknown>>;
  const { kind = "confirm", options = null, allow_other = false, fallback } = given;
  const reasons: Record<string, string> = {};
  if (kind === "choice") {
    if (options === null) reasons.options = "is required for a choice";
  } else if (options !== null) {
    reasons.options = "is permitted for a choice only";
  }
  if (kind === "text" && allow_other === true) {
    reasons.allow_other = "is permitted for confirm and choice only";
  }
  if (kind !== "text" && given.draft !== undefined) reasons.draft = "is permitted for text only";
  const accepted = kind === "confirm" ? CONFIRM_OPTIONS : kind === "choice" ? options : null;
  // Without valid options the fallback cannot be checked.
  if (allow_other !== true && typeof fallback === "string" && Array.isArray(accepted)) {
    if (!accepted.includes(fallback)) reasons.fallback = NO_OPTION;
  }
  return reasons;
}

interface NewQuestion {
  readonly id: string;
  readonly key_id: string;
  readonly now: number;
}

/** A new pending question from an input that {@link askRule} accepts. */
export function newQuestion(input: QuestionInput, { id, key_id, now }: NewQuestion): Question {
  const kind = input.kind ?? "confirm";
  return {
    id,
    key_id,
    task_id: input.task_id ?? null,
    prompt: input.prompt,
    kind,
    options: kind === "confirm" ? [...CONFIRM_OPTIONS] : (input.options ?? []),
    status: "pending",
    answer: null,
    created_at: now,
    answered_at: null,
    expires_at:
      (Math.round(now * 1000) + (input.expires_in ?? LIMITS.expires_in_default) * 1000) / 1000,
    ...(input.request_id !== undefined && { request_id: input.request_id }),
    ...(input.url !== undefined && { url: input.url }),
    ...(input.allow_other === true && { allow_other: true }),
    ...(input.fallback !== undefined && { fallback: input.fallback }),
    ...(input.draft !== undefined && { draft: input.draft }),
    ...(input.context !== undefined && { context: input.context }),
  };
}

/** Whole milliseconds: a difference of timestamps in seconds would be inexact. */
const lifeOf = ({ created_at, expires_at }: Question): number =>
  Math.round(expires_at * 1000) - Math.round(created_at * 1000);

/** A question rings once more when this part of its time is left: a fifth. */
const NUDGE_PART = 5;

/** When a new question rings once more (§5.7.10), in epoch seconds; null if its time is too short. */
export function nudgeAt(question: Question): number | null {
  const left = lifeOf(question) / NUDGE_PART / 1000;
  return left < NOTIFICATION_LIMITS.nudge_left ? null : question.expires_at - left;
}

/**
 * True if an answer also goes to the inbox. The answer to a permission request goes to the client that waits for it,
 * which would lose only the note of a person who permits (§12.6.5).
 */
export function goesToInbox({ status, action, answer, note }: Question): boolean {
  if (status !== "answered") return false;
  return action === undefined || (answer !== DENY && note !== undefined);
}

/** The option of a permission request that permits nothing (§2.5.5). */
export const DENY = "Deny";

/** True if two questions were asked with the same fields, after defaults (§5.7.2(6)). */
export function isSameAsk(one: Question, other: Question): boolean {
  return (
    one.prompt === other.prompt &&
    one.kind === other.kind &&
    JSON.stringify(one.options) === JSON.stringify(other.options) &&
    one.task_id === other.task_id &&
    one.url === other.url &&
    one.allow_other === other.allow_other &&
    one.fallback === other.fallback &&
    one.draft === other.draft &&
    one.context === other.context &&
    lifeOf(one) === lifeOf(other)
  );
}

/** True if a pending question has expired, whether or not the job has ended it (§3.1.3). */
export function isOverdue(question: Question, now: number): boolean {
  return question.status === "pending" && question.expires_at <= now;
}

const NO_OPTION = "is not one of the options";

/** Throws `422 fields.answer` for an answer that the question does not accept (§5.7.4). */
export function checkAnswer(question: Question, answer: string): void {
  if (question.options.includes(answer)) return;
  if (question.kind !== "text" && question.allow_other !== true) {
    failFields({ answer: NO_OPTION });
  } else if (isBlank(answer)) {
    failFields({ answer: NOT_BLANK });
  } else if (!fits(answer, LIMITS.text_answer)) {
    failFields({ answer: `must be at most ${LIMITS.text_answer} characters` });
  }
}

/** A text as the comparison with a draft sees it: line breaks are equal, and white space at the ends does not count. */
const essence = (text: string): string => text.replace(/\r\n?/g, "\n").trim();

/**
 * The answer to store: the draft itself for an answer that differs from it only in kinds of line breaks and in white
 * space at the ends, which text fields and messengers change (§5.7.4(5)).
 */
export const finalAnswer = ({ draft }: Question, answer: string): string =>
  draft !== undefined && essence(draft) === essence(answer) ? draft : answer;

interface GivenAnswer {
  readonly answer: string;
  readonly note: string | undefined;
  readonly now: number;
}

/** The question with an answer that it accepts. */
export const answeredQuestion = (
  question: Question,
  { answer, note, now }: GivenAnswer,
): Question => ({
  ...question,
  status: "answered",
  answer,
  answered_at: now,
  ...(question.draft !== undefined && { edited: answer !== question.draft }),
  ...(note !== undefined && { note }),
});

const ENDS = {
  pending: "The question is pending.",
  answered: "The question is answered.",
  expired: "The question has expired.",
  cancelled: "The question was cancelled.",
};

/** How a question ended, in a sentence. */
export const describeEnd = ({ status }: Pick<Question, "status">): string => ENDS[status];

/** The rule for `search` in a list: only an account may send it. */
export function searchRule(caller: Caller | null, raw: unknown): FieldReasons {
  const is_sent = typeof raw === "object" && raw !== null && "search" in raw;
  return caller?.kind === "key" && is_sent ? { search: "is permitted for an account only" } : {};
}

/** The text with the letters of ASCII in small: as `lower` of SQLite, which leaves all others as they are. */
export const smallAscii = (text: string): string =>
  text.replace(/[A-Z]+/g, (part) => part.toLowerCase());

/** The words of a search, with the letters of ASCII in small, each once, at most `LIMITS.search_words`. */
export const wordsOf = (search: string): string[] =>
  [...new Set(smallAscii(search).split(/\s+/).filter(Boolean))].slice(0, LIMITS.search_words);

/** UTF-16 units of the texts in a question, to bound a list page. */
export const questionUnits = textUnits(Question, ["id", "key_id", "task_id"]);
