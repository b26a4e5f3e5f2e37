/** What became of a question, in order of time and in words, without its content (§4.3.3); pure. */

import { z } from "zod";
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

/** What is known about the question besides its {@link QuestionReport.question} and targets. */
export interface ReportFacts extends Pick<QuestionReport, "question" | "targets"> {
  /** Notifications that were accepted or given up; a question that rang again has several of one target. */
  readonly outcomes: readonly {
    readonly target_id: string;
    readonly was_sent: boolean;
    readonly at: number;
  }[];
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

const PAGE = "page";
const WEBHOOK = "webhook";
/** The reason of a delivery that was sent without sound (§19.1.3). */
const QUIET = "quiet_hours";

/** Reasons that are not a code of a service. */
const REASONS: Readonly<Record<string, string>> = {
  expired: "its time was over",
  question_ended: "the question had ended before",
  target_removed: "the channel or device was removed",
  restored:
    "it was waiting when the server was restored from a backup, and may have arrived before",
  unclear: "it may have arrived, and must not arrive twice",
  not_wanted: "its settings leave questions out",
  not_for_target: "it cannot show this question",
  [QUIET]: "its quiet hours",
};
/** Reasons with which a delivery may have arrived, and what then follows the name of its target. */
const UNSURE: Readonly<Record<string, string>> = {
  restored: "may have got it before the server was restored from a backup",
  unclear: "may have got it",
};
const unsureOf = ({ reason, sent_at }: ReportedTarget): string | undefined =>
  sent_at === null && reason !== null ? UNSURE[reason] : undefined;

const wordsOf = (reason: string | null): string =>
  reason === null ? "no reason is known" : (REASONS[reason] ?? reason);

/** Why a target got nothing more. What waits also ends with its agent, though the channel stays. */
function whyGivenUp({ reason, state }: ReportedTarget, { key_is_gone }: ReportFacts): string {
  const has_channel = state !== null && state !== "gone";
  return reason === "target_removed" && key_is_gone && has_channel
    ? "the agent was deleted before"
    : wordsOf(reason);
}

const timeOf = (at: number): string => new Date(at * 1000).toISOString().replace(/\.\d+Z$/, "Z");

function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}

/** `a`, `a and b`, `a, b and c`. */
const listOf = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The channel or device as it is called in a sentence. */
function nameOf({ type, id }: { readonly type: string | null; readonly id: string }): string {
  if (type === PAGE) return "an open page";
  if (id.startsWith("dev_")) return `the device ${id}`;
  return type === null ? `the channel ${id}` : `the ${type} channel ${id}`;
}

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
  const planned = targets.filter(({ type }) => type !== PAGE).map(nameOf);
  const plan = planned.length > 0 ? `To be sent to ${listOf(planned)}.` : "Nothing was to be sent.";
  return [
    {
      at: asked_at,
      text: `The agent ${key_id} ${what}${about}, until ${timeOf(expires_at)}. ${plan}`,
    },
  ];
}

/** What happened with one target. */
function delivering(target: ReportedTarget, facts: ReportFacts): Entry[] {
  const { question, outcomes } = facts;
  const { id, type, status, reason, sent_at, shown_at, opened_at, failed_attempts } = target;
  const name = nameOf(target);
  const own = outcomes.filter(({ target_id }) => target_id === id);
  const entries: Entry[] = failed_attempts.map(({ at, reason: why }) => ({
    at,
    text: `${capital(name)} failed: ${wordsOf(why)}.`,
  }));
  if (sent_at !== null) {
    const how = reason === QUIET ? ", without sound in its quiet hours" : "";
    const text =
      type === PAGE ? "It was written to an open page." : `${capital(name)} accepted it${how}.`;
    entries.push({ at: sent_at, text });
    for (const { at, was_sent } of own) {
      if (was_sent && at > sent_at + 1) entries.push({ at, text: `It rang again on ${name}.` });
    }
  } else if (status === "failed" || status === "suppressed") {
    const at = own.at(-1)?.at ?? failed_attempts.at(-1)?.at ?? question.expires_at;
    const is_over = status === "failed" || unsureOf(target) !== undefined;
    const what = is_over ? "was given up" : "got nothing";
    entries.push({
      at: Math.max(at, target.queued_at),
      text: `${capital(name)} ${what}: ${whyGivenUp(target, facts)}.`,
    });
  }
  if (shown_at !== null) entries.push({ at: shown_at, text: `The person saw it on ${name}.` });
  if (opened_at !== null) entries.push({ at: opened_at, text: `The person opened it on ${name}.` });
  return entries;
}

function whence({ answered: { channel, session_id, by_api } }: ReportFacts): string {
  if (channel) return `by ${nameOf(channel)}`;
  if (session_id === null) return "by the account";
  return by_api
    ? `over REST by the sign-in ${session_id}`
    : `on a page by the sign-in ${session_id}`;
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

/** What holds now. */
function present(facts: ReportFacts): string[] {
  const { question, targets, unconfirmed, blocked_at, rings_at, remind_at } = facts;
  if (facts.account_is_gone) return ["The account was deleted."];
  if (facts.key_is_gone) return ["The agent was deleted."];
  const is_blocked = blocked_at !== null;
  const sentences: string[] = [];
  for (const { id, type, status, next_attempt_at: next } of targets) {
    // Only a webhook gets a question that is over.
    if (status !== "queued" || (question.status !== "pending" && type !== WEBHOOK)) continue;
    const why = unconfirmed.has(id)
      ? " It has not accepted a test yet, and gets nothing before."
      : "";
    const when = next === null || is_blocked ? "" : ` The next attempt is at ${timeOf(next)}.`;
    sentences.push(`${capital(nameOf({ type, id }))} waits.${why || when}`);
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

/** Why nothing was to be sent to any channel or device. */
function whyNothingPlanned(facts: ReportFacts): string {
  const { question, channels, devices, blocked_at } = facts;
  // Its channels were deleted with it.
  if (facts.account_is_gone) return "the account was deleted";
  if (blocked_at !== null && blocked_at <= question.asked_at) return "the account was blocked";
  if (channels.length + devices === 0) return "the account has no notification channel";
  const older = channels.filter(({ created_at }) => created_at <= question.asked_at);
  if (older.length + devices === 0) {
    return "the account had no notification channel when it was asked";
  }
  const off = older.filter(({ is_on, state }) => !is_on && state !== "gone");
  if (off.length > 0) {
    return `this server cannot send to ${listOf(off.map(nameOf))}, since that way is off`;
  }
  const gone = older.filter(({ state }) => state === "gone");
  if (gone.length === older.length && gone.length > 0) {
    const why = gone.map((one) => `${nameOf(one)} is gone (${wordsOf(one.error_code)})`);
    return listOf(why);
  }
  return "the account had no notification channel that could be used when it was asked";
}

/** Why one target got nothing. */
function whyNot(target: ReportedTarget, facts: ReportFacts): string {
  const { unconfirmed } = facts;
  const name = nameOf(target);
  const last = target.failed_attempts.at(-1)?.reason;
  const unsure = unsureOf(target);
  if (unsure !== undefined) return `${name} ${unsure}`;
  const was_in_vain = target.reason === "question_ended" && last !== undefined;
  if (target.status === "queued" || target.reason === "expired" || was_in_vain) {
    if (unconfirmed.has(target.id)) return `${name} has not accepted a test`;
    if (last !== undefined) return `${name} failed (${wordsOf(last)})`;
    return target.status === "queued" ? `${name} waits` : `${name} was not tried in time`;
  }
  const also = last !== undefined && last !== target.reason ? `, after ${wordsOf(last)}` : "";
  return `${name} got nothing (${whyGivenUp(target, facts)}${also})`;
}

/** How the question ended; null while it can still be answered. */
function endOf({ question, account_is_gone, key_is_gone }: ReportFacts): string | null {
  if (question.status === "cancelled") return "it was cancelled";
  if (question.status !== "pending") return "it expired";
  if (account_is_gone) return "the account was deleted";
  return key_is_gone ? "the agent was deleted" : null;
}

function conclude(facts: ReportFacts): string {
  const { question, targets, item } = facts;
  const { status, asked_at, answered_at } = question;
  if (status === "answered" && answered_at !== null) {
    const read = item !== null && (item.received_at ?? item.read_at) !== null;
    const agent =
      item === null
        ? ""
        : read
          ? ", and the agent has read the answer"
          : ", and the agent has not read the answer yet";
    return `It was answered after ${spanOf(answered_at - asked_at)} ${whence(facts)}${agent}.`;
  }
  const end = endOf(facts);
  const seen = targets.filter((one) => one.shown_at !== null || one.opened_at !== null);
  if (seen.length > 0) {
    const where = listOf(seen.map(nameOf));
    return end
      ? `The person saw it on ${where} and did not answer before ${end}.`
      : `The person saw it on ${where} and has not answered yet.`;
  }
  const sent = targets.filter(({ sent_at }) => sent_at !== null);
  if (sent.length > 0) {
    const where = listOf(sent.map(nameOf));
    const how = sent.every(({ reason }) => reason === QUIET) ? " without sound" : "";
    const begins = `It was sent${how} to ${where}, and nobody`;
    return end
      ? `${begins} answered before ${end}; nothing shows that it was seen.`
      : `${begins} has answered yet; nothing shows that it was seen.`;
  }
  const whys = targets.map((one) => whyNot(one, facts));
  if (whys.length === 0) whys.push(whyNothingPlanned(facts));
  else if (end === null && facts.blocked_at !== null) whys.push("the account is blocked");
  const is_open = end === null && facts.page_is_open;
  whys.push(is_open ? "no page was open when it was asked" : "no page was open");
  if (targets.some(unsureOf)) return `Nothing shows that it reached anybody: ${listOf(whys)}.`;
  return `${end ? "It reached nobody" : "It has reached nobody yet"}: ${listOf(whys)}.`;
}
