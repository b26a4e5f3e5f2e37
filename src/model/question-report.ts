/** What became of a question, in order of time and in words, without its content (§4.3.3); pure. */

import { z } from "zod";
import { conclude } from "./question-report-conclusion.ts";
import {
  capital,
  isPage,
  listOf,
  nameOf,
  QUIET,
  stillWaits,
  timeOf,
  unsureOf,
  whence,
  whyGivenUp,
  wordsOf,
} from "./question-report-words.ts";
import { Timestamp } from "./text.ts";

const Attempt = z.object({ at: Timestamp, reason: z.string() });

const ReportedTarget = z.object({
  /** Id of the device or channel; `page` for open pages. */
  id: z.string(),
  /** As in a delivery (§2.11): the type of a channel, or `page`. */
  type: z.string(),
  /** As in a delivery (§2.11). */
  status: z.string(),
  reason: z.string().nullable(),
  queued_at: Timestamp,
  sent_at: Timestamp.nullable(),
  shown_at: Timestamp.nullable(),
  opened_at: Timestamp.nullable(),
  /** The first and the newest attempts that failed, at most 10. */
  failed_attempts: z.array(Attempt),
  /** When it is tried next; null if nothing waits. */
  next_attempt_at: Timestamp.nullable(),
  /** The state of the channel now; null for a device, a page, or a channel that is gone with its account or sign-in. */
  state: z.string().nullable(),
});
export type ReportedTarget = z.infer<typeof ReportedTarget>;

export const QuestionReport = z.object({
  question: z.object({
    id: z.string(),
    account_id: z.string(),
    key_id: z.string(),
    task_id: z.string().nullable(),
    status: z.string(),
    asks_permission: z.boolean(),
    asked_at: Timestamp,
    expires_at: Timestamp,
    answered_at: Timestamp.nullable(),
    cancelled_at: Timestamp.nullable(),
  }),
  targets: z.array(ReportedTarget),
  /** What happened, the oldest first. `text` is a sentence, whose words may change. */
  history: z.array(z.object({ at: Timestamp, text: z.string() })),
  /** Sentences about what holds now. */
  now: z.array(z.string()),
  /** The whole in one sentence. */
  conclusion: z.string(),
});
export type QuestionReport = z.infer<typeof QuestionReport>;

/** What is known of a target that waits, besides the time of its next attempt. */
interface Wait {
  /** True while an attempt is under way; the next one is at the given time if that one is lost. */
  readonly is_tried: boolean;
  /** The state in which this process has the lane; `off` if it has none. */
  readonly lane: "open" | "paused" | "stopped" | "off";
  readonly lane_reason: string | null;
  /** The code of the last failure of the channel, about anything, if nothing was accepted since. */
  readonly trouble: string | null;
}

/** What is known about the question besides its {@link QuestionReport.question} and targets. */
export interface ReportFacts extends Pick<QuestionReport, "question" | "targets"> {
  /** Notifications that were accepted or given up; a question that rang again has several of one target. */
  readonly outcomes: readonly {
    readonly target_id: string;
    readonly was_sent: boolean;
    readonly reason: string | null;
    readonly at: number;
  }[];
  /** What holds up each target that waits, by its id. */
  readonly waits: ReadonlyMap<string, Wait>;
  /** Epoch seconds. */
  readonly at: number;
  /** The channels that the account has now. `is_on`: this server can send to it. */
  readonly channels: readonly {
    readonly id: string;
    readonly type: string;
    readonly state: string;
    readonly error_code: string | null;
    readonly created_at: number;
    readonly is_on: boolean;
  }[];
  /** Webhooks among the targets that never answered a test, so nothing else is sent to them. */
  readonly unconfirmed: ReadonlySet<string>;
  /** Devices of the account that take notifications. */
  readonly devices: number;
  /** True if this server can send to devices of the account. */
  readonly devices_are_on: boolean;
  readonly page_is_open: boolean;
  readonly blocked_at: number | null;
  readonly account_is_gone: boolean;
  readonly key_is_gone: boolean;
  readonly rings_at: number | null;
  readonly remind_at: number | null;
  readonly answered: {
    /** The channel that the answer came by; null for a sign-in. */
    readonly channel: { readonly id: string; readonly type: string | null } | null;
    readonly session_id: string | null;
    readonly by_api: boolean;
  };
  /** The answer in the inbox of the agent; null if it is not there. */
  readonly item: { readonly received_at: number | null; readonly read_at: number | null } | null;
}

/** Seconds after a question in which the targets are planned that it was asked for. */
const PLANNED_WITHIN = 5;

/** Says what became of a question, and why it reached nobody if it did not. */
export function reportOf(given: ReportFacts): QuestionReport {
  const facts: ReportFacts = {
    ...given,
    targets: given.targets.toSorted(
      (one, other) => one.queued_at - other.queued_at || (one.id < other.id ? -1 : 1),
    ),
    outcomes: given.outcomes.toSorted((one, other) => one.at - other.at),
  };
  const { question, targets } = facts;
  const history = [
    ...asking(facts),
    ...targets.flatMap((one) => delivering(one, facts)),
    ...ending(facts),
  ];
  return {
    question,
    targets: [...targets],
    history: history.sort((one, other) => one.at - other.at),
    now: present(facts),
    conclusion: conclude(facts),
  };
}

type Entry = QuestionReport["history"][number];

function asking({ question, targets }: ReportFacts): Entry[] {
  const { key_id, task_id, asked_at, expires_at, asks_permission } = question;
  const what = asks_permission ? "asked for permission" : "asked";
  const about = task_id === null ? "" : ` about the task ${task_id}`;
  // A target may be added later, and gets the question when it rings again.
  const planned = targets
    .filter((one) => !isPage(one) && one.queued_at <= asked_at + PLANNED_WITHIN)
    .map(nameOf);
  const plan = planned.length > 0 ? `To be sent to ${listOf(planned)}.` : "Nothing was to be sent.";
  return [
    {
      at: asked_at,
      text: `The agent ${key_id} ${what}${about}, until ${timeOf(expires_at)}. ${plan}`,
    },
  ];
}

const SILENTLY = "without sound in its quiet hours";

/** True if the person saw the question in an app that was added after it, to which nothing was sent. */
const isReceiptAlone = (target: ReportedTarget): boolean =>
  !isPage(target) &&
  target.sent_at === target.queued_at &&
  (target.shown_at ?? target.opened_at) === target.sent_at;

/** What became of a later notification of the same question. */
function ringing(name: string, { was_sent, reason, at }: ReportFacts["outcomes"][number]): Entry[] {
  if (!was_sent) {
    // Without a reason, the question had ended.
    return reason === null
      ? []
      : [{ at, text: `It did not ring again on ${name}: ${wordsOf(reason)}.` }];
  }
  const text =
    reason === QUIET ? `It came again to ${name}, ${SILENTLY}.` : `It rang again on ${name}.`;
  return [{ at, text }];
}

/** When what waited for a target ended without a record; null for what never waited. */
function endedAt(
  { answered_at, cancelled_at, expires_at }: ReportFacts["question"],
  reason: string | null,
) {
  if (reason === "expired") return expires_at;
  return reason === "question_ended" ? (answered_at ?? cancelled_at ?? expires_at) : null;
}

/** What happened with one target. */
function delivering(target: ReportedTarget, facts: ReportFacts): Entry[] {
  const { question, outcomes } = facts;
  const { id, status, reason, sent_at, shown_at, opened_at, failed_attempts } = target;
  const name = nameOf(target);
  const own = outcomes.filter(({ target_id }) => target_id === id);
  const entries: Entry[] = failed_attempts.map(({ at, reason: why }) => ({
    at,
    text: `${capital(name)} failed: ${wordsOf(why)}.`,
  }));
  if (sent_at !== null) {
    const how = reason === QUIET ? `, ${SILENTLY}` : "";
    const text = isPage(target)
      ? "It was written to an open page."
      : `${capital(name)} accepted it${how}.`;
    if (!isReceiptAlone(target)) entries.push({ at: sent_at, text });
    for (const again of own) {
      if (again.at > sent_at + 1) entries.push(...ringing(name, again));
    }
  } else if (status === "failed" || status === "suppressed") {
    const at = own.at(-1)?.at ?? failed_attempts.at(-1)?.at ?? endedAt(question, reason);
    const is_over = status === "failed" || unsureOf(target) !== undefined;
    const what = is_over ? "was given up" : "got nothing";
    entries.push({
      at: Math.max(at ?? 0, target.queued_at),
      text: `${capital(name)} ${what}: ${whyGivenUp(target, facts)}.`,
    });
  }
  if (shown_at !== null) entries.push({ at: shown_at, text: `The person saw it on ${name}.` });
  if (opened_at !== null) entries.push({ at: opened_at, text: `The person opened it on ${name}.` });
  return entries;
}

function ending(facts: ReportFacts): Entry[] {
  const { question, item } = facts;
  const { status, answered_at, cancelled_at, expires_at } = question;
  const entries: Entry[] = [];
  if (status === "answered" && answered_at !== null) {
    entries.push({ at: answered_at, text: `It was answered ${whence(facts)}.` });
  }
  if (status === "expired") entries.push({ at: expires_at, text: "It expired without an answer." });
  if (status === "cancelled" && cancelled_at !== null) {
    entries.push({ at: cancelled_at, text: "It was cancelled." });
  }
  if (item?.received_at != null) {
    entries.push({ at: item.received_at, text: "The agent read the answer with the question." });
  }
  if (item?.read_at != null) {
    entries.push({ at: item.read_at, text: "The agent read the answer in its inbox." });
  }
  return entries;
}

/** What a target waits for, as a sentence; null if nothing is known. */
function whyItWaits(
  target: ReportedTarget,
  { unconfirmed, waits, at }: ReportFacts,
): string | null {
  const { id, next_attempt_at: next } = target;
  if (unconfirmed.has(id)) return "It has not accepted a test yet, and gets nothing before.";
  const wait = waits.get(id);
  if (wait?.lane === "off") return "This server cannot send to it: that kind of channel is off.";
  if (wait?.lane === "stopped") {
    return `This server sends nothing by that kind of channel until it is restarted: the service refused it (${wordsOf(wait.lane_reason)}).`;
  }
  if (next === null) return null;
  if (wait?.is_tried) {
    return `An attempt is under way. If its outcome is lost, the next one is after ${timeOf(next)}.`;
  }
  if (wait?.lane === "paused") {
    return `This server has paused that kind of channel for a while (${wordsOf(wait.lane_reason)}).`;
  }
  return next <= at ? "It is due now." : `The next attempt is at ${timeOf(next)}.`;
}

/** What holds now. */
function present(facts: ReportFacts): string[] {
  const { question, targets, blocked_at, rings_at, remind_at } = facts;
  if (facts.account_is_gone) return ["The account was deleted."];
  if (facts.key_is_gone) return ["The agent was deleted."];
  const is_blocked = blocked_at !== null;
  const sentences: string[] = [];
  for (const target of targets) {
    if (!stillWaits(target, facts)) continue;
    const why = is_blocked ? null : whyItWaits(target, facts);
    sentences.push(`${capital(nameOf(target))} waits.${why === null ? "" : ` ${why}`}`);
  }
  if (is_blocked) {
    sentences.push(
      `The administrator has blocked the account since ${timeOf(blocked_at)}: it gets nothing.`,
    );
  }
  if (question.status !== "pending") return sentences;
  if (rings_at !== null && !is_blocked) {
    const why = remind_at === rings_at ? ", as the person asked" : " if nobody has answered";
    sentences.push(`It rings again at ${timeOf(rings_at)}${why}.`);
  }
  if (facts.page_is_open) sentences.push("A page of the account is open.");
  return sentences;
}
