/** The whole report on a question in one sentence: how far it got, or why it reached nobody. Pure. */

import type { ReportedTarget, ReportFacts } from "./question-report.ts";
import {
  listOf,
  mayHaveArrived,
  nameOf,
  QUIET,
  spanOf,
  stillWaits,
  unsureOf,
  whence,
  whyGivenUp,
  wordsOf,
} from "./question-report-words.ts";

/** Why nothing was to be sent to any channel or device. */
function whyNothingPlanned(facts: ReportFacts): string {
  const { question, channels, devices, devices_are_on, blocked_at } = facts;
  // Its channels were deleted with it.
  if (facts.account_is_gone) return "the account was deleted";
  if (blocked_at !== null && blocked_at <= question.asked_at) return "the account was blocked";
  if (channels.length + devices === 0) return "the account has no notification channel";
  const older = channels.filter(({ created_at }) => created_at <= question.asked_at);
  if (older.length + devices === 0) {
    return "the account had no notification channel when it was asked";
  }
  if (older.length === 0 && !devices_are_on) {
    return "this server cannot send to devices, since that is off";
  }
  const off = older.filter(({ is_on, state }) => !is_on && state !== "gone");
  if (off.length > 0) {
    return `this server cannot send to ${listOf(off.map(nameOf))}, since that kind of channel is off`;
  }
  const gone = older.filter(({ state }) => state === "gone");
  if (gone.length === older.length && gone.length > 0) {
    const why = gone.map((one) => `${nameOf(one)} is gone (${wordsOf(one.error_code)})`);
    return listOf(why);
  }
  // Only a webhook has so short a queue.
  const full = older.filter(({ error_code }) => error_code === "queue_full");
  if (full.length > 0) return `too many messages waited for ${listOf(full.map(nameOf))}`;
  return "the account had no notification channel that could be used when it was asked";
}

/** Why one target got nothing. */
function whyNot(target: ReportedTarget, facts: ReportFacts): string {
  const { unconfirmed, waits } = facts;
  const name = nameOf(target);
  const last = target.failed_attempts.at(-1)?.reason;
  const unsure = unsureOf(target);
  if (unsure !== undefined) return `${name} ${unsure}`;
  const was_in_vain = target.reason === "question_ended" && last !== undefined;
  if (target.status === "queued" || target.reason === "expired" || was_in_vain) {
    if (unconfirmed.has(target.id)) return `${name} has not accepted a test`;
    if (last !== undefined) return `${name} failed (${wordsOf(last)})`;
    if (!stillWaits(target, facts)) return `${name} was not tried in time`;
    const { lane, trouble } = waits.get(target.id) ?? { lane: "open", trouble: null };
    if (lane === "off") return `${name} waits, since that kind of channel is off on this server`;
    if (lane === "stopped") return `${name} waits, since the service refuses this server`;
    return trouble === null
      ? `${name} waits`
      : `${name} waits, since its last message failed (${wordsOf(trouble)})`;
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

export function conclude(facts: ReportFacts): string {
  const { question, targets, outcomes, item } = facts;
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
    const rang = outcomes.some(({ was_sent, reason }) => was_sent && reason !== QUIET);
    const is_silent = !rang && sent.every(({ reason }) => reason === QUIET);
    const how = is_silent ? " without sound" : "";
    const begins = `It was sent${how} to ${where}, and nobody`;
    return end
      ? `${begins} answered before ${end}; nothing shows that it was seen.`
      : `${begins} has answered yet; nothing shows that it was seen.`;
  }
  const whys = targets.map((one) => whyNot(one, facts));
  if (whys.length === 0) whys.push(whyNothingPlanned(facts));
  else if (facts.blocked_at !== null && (end === null || facts.blocked_at < question.expires_at)) {
    whys.push("the account is blocked");
  }
  whys.push("no open page got it");
  if (targets.some(mayHaveArrived))
    return `Nothing shows that it reached anybody: ${listOf(whys)}.`;
  return `${end ? "It reached nobody" : "It has reached nobody yet"}: ${listOf(whys)}.`;
}
