/** What became of a question: a line for each way it could take, and one sentence, without its content (§4.3.3); pure. */

import { z } from "zod";
import { capital, listOf, nameOf, spanOf, timeOf, wordsOf } from "./question-report-words.ts";
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
type ReportedTarget = z.infer<typeof ReportedTarget>;

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

/** A target with what holds it up while it waits, besides the time of its next attempt. */
export interface TargetFacts extends ReportedTarget {
  /** True while an attempt is under way; the next one is at the given time if that one is lost. */
  readonly is_tried: boolean;
  /** The state in which this process has the lane; `off` if it has none. */
  readonly lane: "open" | "paused" | "stopped" | "off";
  readonly lane_reason: string | null;
  /** The code of the last failure of the channel, about anything, if nothing was accepted since. */
  readonly trouble: string | null;
  /** True for a webhook that never answered a test, so nothing else is sent to it. */
  readonly is_unconfirmed: boolean;
}

/** What is known about the question besides its {@link QuestionReport.question}. */
export interface ReportFacts extends Pick<QuestionReport, "question"> {
  readonly targets: readonly TargetFacts[];
  /** Notifications that were accepted or given up; a question that rang again has several of one target. */
  readonly outcomes: readonly {
    readonly target_id: string;
    readonly was_sent: boolean;
    readonly reason: string | null;
    readonly at: number;
  }[];
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

/** Says what became of a question, and why it reached nobody if it did not. */
export function reportOf(given: ReportFacts): QuestionReport {
  const facts: ReportFacts = {
    ...given,
    targets: given.targets.toSorted(
      (one, other) => one.queued_at - other.queued_at || (one.id < other.id ? -1 : 1),
    ),
  };
  const history = [
    asking(facts),
    ...facts.targets.map((one) => wayOf(one, facts)),
    ...ending(facts),
  ];
  return {
    question: facts.question,
    targets: facts.targets.map(
      ({ is_tried, lane, lane_reason, trouble, is_unconfirmed, ...target }) => target,
    ),
    history: history.toSorted((one, other) => one.at - other.at),
    now: present(facts),
    conclusion: conclude(facts),
  };
}

/** Seconds after a question in which the targets are planned that it was asked for. */
const PLANNED_WITHIN = 5;

/** True for a target to which a notification was to be sent. */
const isPlanned = ({ type, reason }: TargetFacts): boolean =>
  type !== "page" && reason !== "not_wanted" && reason !== "not_for_target";

type Entry = QuestionReport["history"][number];

function asking({ question, targets }: ReportFacts): Entry {
  const { key_id, task_id, asked_at, expires_at, asks_permission } = question;
  const what = asks_permission ? "asked for permission" : "asked";
  const about = task_id === null ? "" : ` about the task ${task_id}`;
  // What is planned later rings again, or was added after the question.
  const was_planned = targets.some(
    (one) => isPlanned(one) && one.queued_at <= asked_at + PLANNED_WITHIN,
  );
  const plan = was_planned ? "" : " Nothing was to be sent.";
  return {
    at: asked_at,
    text: `The agent ${key_id} ${what}${about}, until ${timeOf(expires_at)}.${plan}`,
  };
}

/** The line of one target: when it was planned, tried, accepted, rung again and seen, and why it got nothing. */
function wayOf(target: TargetFacts, facts: ReportFacts): Entry {
  const { id, type, reason, queued_at, sent_at, shown_at, opened_at, failed_attempts } = target;
  const quietly = (why: string | null) =>
    why === "quiet_hours" ? "without sound, in its quiet hours" : null;
  const first = failed_attempts[0];
  const last = failed_attempts.at(-1);
  // Nothing was sent to an app that was added after the question and only showed it.
  const shows_only = sent_at === queued_at && (shown_at ?? opened_at) === sent_at;
  const is_page = type === "page";
  const happened: (readonly [at: number | null | undefined, what: string, how: string | null])[] = [
    [isPlanned(target) && !shows_only ? queued_at : null, "planned", null],
    [first?.at, "failed", wordsOf(first?.reason)],
    [last === first ? null : last?.at, "last failed", wordsOf(last?.reason)],
    [is_page || !shows_only ? sent_at : null, is_page ? "written" : "accepted", quietly(reason)],
    [shown_at, "seen", null],
    [opened_at, "opened", null],
  ];
  for (const { target_id, at, was_sent, reason: why } of facts.outcomes) {
    if (target_id !== id || sent_at === null || at <= sent_at + 1) continue;
    if (was_sent) happened.push([at, "rang again", quietly(why)]);
    // Without a reason, the question had ended.
    else if (why !== null) happened.push([at, "did not ring again", wordsOf(why)]);
  }
  const parts = happened
    .flatMap(([at, what, how]) => (at == null ? [] : [{ at, what, how }]))
    .sort((one, other) => one.at - other.at)
    .map(({ at, what, how }) => `${what} ${timeOf(at)}${how === null ? "" : ` (${how})`}`);
  if (sent_at === null && !stillWaits(target, facts)) parts.push(stateOf(target, facts));
  return { at: queued_at, text: `${capital(nameOf(target))}: ${parts.join("; ")}.` };
}

function ending({ question, item, answered }: ReportFacts): Entry[] {
  const { status, answered_at, cancelled_at, expires_at } = question;
  const entries: readonly (readonly [number | null | undefined, string])[] = [
    [status === "answered" ? answered_at : null, `It was answered ${whence(answered)}.`],
    [status === "expired" ? expires_at : null, "It expired without an answer."],
    [status === "cancelled" ? cancelled_at : null, "It was cancelled."],
    [item?.received_at, "The agent read the answer with the question."],
    [item?.read_at, "The agent read the answer in its inbox."],
  ];
  return entries.flatMap(([at, text]) => (at == null ? [] : [{ at, text }]));
}

/** By which way the question was answered. */
function whence({ channel, session_id, by_api }: ReportFacts["answered"]): string {
  if (channel) return `by ${nameOf(channel)}`;
  if (session_id === null) return "by the account";
  return by_api
    ? `over REST by the sign-in ${session_id}`
    : `on a page by the sign-in ${session_id}`;
}

/** True if a target can still get what waits for it. Only a webhook gets a question that is over. */
const stillWaits = ({ status, type }: TargetFacts, { question }: ReportFacts): boolean =>
  status === "queued" && (question.status === "pending" || type === "webhook");

/** Reasons with which a delivery may have arrived. */
const UNSURE: readonly (string | null)[] = ["restored", "unclear"];

/** What holds for a target that accepted nothing, after its name: what it waits for, or why it got nothing. */
function stateOf(target: TargetFacts, facts: ReportFacts): string {
  const { reason, failed_attempts, trouble } = target;
  const waits = stillWaits(target, facts);
  const last = failed_attempts.at(-1)?.reason ?? (waits ? trouble : null);
  const after = last === null || last === reason ? "" : `, after ${wordsOf(last)}`;
  if (waits) return `waits: ${whatFor(target, facts)}${after}`;
  const what = UNSURE.includes(reason) ? "may have got it" : "got nothing";
  return `${what}: ${whyNothing(target, facts)}${after}`;
}

function whatFor(target: TargetFacts, { blocked_at, at }: ReportFacts): string {
  const { lane, lane_reason, next_attempt_at: next } = target;
  if (blocked_at !== null) return "the account is blocked";
  if (target.is_unconfirmed) return "it has not accepted a test";
  if (lane === "off") return "that kind of channel is off on this server";
  if (lane === "stopped")
    return `the service refuses this server until it is restarted (${wordsOf(lane_reason)})`;
  if (target.is_tried) return "an attempt is under way";
  if (lane === "paused")
    return `that kind of channel is paused for a while (${wordsOf(lane_reason)})`;
  return next === null || next <= at ? "it is due" : `the next attempt is at ${timeOf(next)}`;
}

/** Why a target got nothing. What waits also ends with its agent, and with the address of its target. */
function whyNothing(target: TargetFacts, facts: ReportFacts): string {
  const { question, key_is_gone, channels } = facts;
  const { id, state, is_unconfirmed } = target;
  // The job that gives it up has not come to it yet.
  const over = question.status === "expired" ? "expired" : "question_ended";
  const reason = target.status === "queued" ? over : target.reason;
  if ((reason === "expired" || reason === "question_ended") && is_unconfirmed)
    return "it had not accepted a test";
  if (reason !== "target_removed") return wordsOf(reason);
  if (state === "gone") {
    const code = channels.find((one) => one.id === id)?.error_code ?? null;
    return `it is gone (${wordsOf(code)})`;
  }
  if (state === null && id.startsWith("dev_")) {
    return "it was removed, or its push token was no longer valid";
  }
  if (state === null) return wordsOf(reason);
  return key_is_gone ? "the agent was deleted before" : "it could not be used then";
}

/** What holds now. */
function present(facts: ReportFacts): string[] {
  const { question, targets, blocked_at, rings_at, remind_at } = facts;
  if (facts.account_is_gone) return ["The account was deleted."];
  if (facts.key_is_gone) return ["The agent was deleted."];
  const sentences = targets
    .filter((one) => stillWaits(one, facts))
    .map((one) => `${capital(nameOf(one))} ${stateOf(one, facts)}.`);
  if (blocked_at !== null) {
    sentences.push(`The account has been blocked since ${timeOf(blocked_at)}: it gets nothing.`);
  }
  if (question.status !== "pending") return sentences;
  if (rings_at !== null && blocked_at === null) {
    const why = remind_at === rings_at ? ", as the person asked" : " if nobody has answered";
    sentences.push(`It rings again at ${timeOf(rings_at)}${why}.`);
  }
  if (facts.page_is_open) sentences.push("A page of the account is open.");
  return sentences;
}

/** Why nothing was to be sent to any channel or device. */
function whyNothingPlanned(facts: ReportFacts): string {
  const { question, channels, devices, devices_are_on, blocked_at } = facts;
  // Its channels were deleted with it.
  if (facts.account_is_gone) return "the account was deleted";
  if (blocked_at !== null && blocked_at <= question.asked_at) return "the account was blocked";
  const whys = channels.map((one) => {
    const { state, error_code, created_at, is_on } = one;
    const name = nameOf(one);
    if (created_at > question.asked_at) return `${name} was added later`;
    if (state === "gone") return `${name} is gone (${wordsOf(error_code)})`;
    if (!is_on) return `${name} is of a kind that is off on this server`;
    // Only a webhook has so short a queue.
    return error_code === "queue_full"
      ? `too many messages waited for ${name}`
      : `${name} could not be used when it was asked`;
  });
  if (devices > 0) {
    whys.push(
      devices_are_on
        ? "no device could be used when it was asked"
        : "this server cannot send to devices, since that is off",
    );
  }
  return whys.length > 0 ? listOf(whys) : "the account has no notification channel";
}

/** How the question ended; null while it can still be answered. */
function endOf({ question, account_is_gone, key_is_gone }: ReportFacts): string | null {
  if (question.status === "cancelled") return "it was cancelled";
  if (question.status !== "pending") return "it expired";
  if (account_is_gone) return "the account was deleted";
  return key_is_gone ? "the agent was deleted" : null;
}

/** Codes of attempts that had no answer: the service may have taken the message all the same. */
const UNANSWERED: readonly string[] = [
  ...["timed_out", "time-out", "failed", "answer_too_large", "ECONNRESET", "EPIPE"],
];

/** True if nothing was accepted, and yet something may have arrived. */
const mayHaveArrived = ({ reason, failed_attempts }: TargetFacts): boolean =>
  UNSURE.includes(reason) || failed_attempts.some((one) => UNANSWERED.includes(one.reason));

/** One sentence from the furthest fact. */
function conclude(facts: ReportFacts): string {
  const { question, targets, item, blocked_at } = facts;
  const { status, asked_at, answered_at } = question;
  if (status === "answered" && answered_at !== null) {
    const read = item && (item.received_at ?? item.read_at) !== null ? "has" : "has not";
    const agent = item ? `, and the agent ${read} read the answer` : "";
    return `It was answered after ${spanOf(answered_at - asked_at)} ${whence(facts.answered)}${agent}.`;
  }
  const end = endOf(facts);
  const unanswered = end ? `not answered before ${end}` : "not answered yet";
  const seen = targets.filter((one) => one.shown_at !== null || one.opened_at !== null);
  if (seen.length > 0) return `It was seen on ${listOf(seen.map(nameOf))}, and ${unanswered}.`;
  const sent = targets.filter(({ sent_at }) => sent_at !== null);
  if (sent.length > 0) {
    return `It was sent to ${listOf(sent.map(nameOf))}, and ${unanswered}; nothing shows that it was seen.`;
  }
  const whys = targets.map((one) => `${nameOf(one)} ${stateOf(one, facts)}`);
  if (whys.length === 0) whys.push(whyNothingPlanned(facts));
  // What still waits says so itself.
  else if (end !== null && blocked_at !== null && blocked_at < question.expires_at) {
    whys.push("the account is blocked");
  }
  whys.push("no open page got it");
  const reached = targets.some(mayHaveArrived)
    ? "Nothing shows that it reached anybody"
    : end
      ? "It reached nobody"
      : "It has reached nobody yet";
  return `${reached}: ${whys.join("; ")}.`;
}
