/** Decides by the current state what to do with a claimed delivery: send it, move it or drop it. Pure. */

import type { ClaimedDelivery } from "../../../db/notify/queue.ts";
import type { QuietHours } from "../../model/channel.ts";
import type { DeliveryRecord } from "../../model/notification.ts";
import type { Question } from "../../model/question.ts";
import type { Task } from "../../model/task.ts";
import { NOTIFICATION_LIMITS } from "../../notification-limits.ts";
import { TEST_ANSWER } from "../replies/source.ts";
import type { Channel, CodeOf, Destination, TicketOf } from "./channel.ts";
import { CHOICES, REMINDERS, subjectOfTest } from "./codes.ts";
import {
  type ContentOptions,
  composeActivity,
  composeEndedQuestion,
  composeEndedTask,
  composeQuestion,
  composeSilent,
  composeTask,
} from "./compose.ts";
import type { Activity, Alert, Notification } from "./notification.ts";
import { offeredAnswers } from "./offers.ts";
import { isImportant } from "./settings-filter.ts";

type Preparation =
  | {
      readonly is: "ready";
      /** As it is stored. */
      readonly address: string;
      readonly request: unknown;
      /** True if it is sent without a sound because of the channel's quiet hours. */
      readonly quiet: boolean;
      /** True if it says how its subject ended. */
      readonly ends: boolean;
    }
  /**
   * Not sent: what it would say is no longer true, or nobody is left to tell. `reason`: for the outcome record; null if
   * only the state of its subject has changed.
   */
  | { readonly is: "obsolete"; readonly reason: string | null }
  /** A start that another process may have sent. */
  | { readonly is: "unclear" }
  /** The target has moved to another lane; an address is valid only in its own lane. */
  | { readonly is: "elsewhere"; readonly lane: string };

export interface PrepareContext extends ContentOptions {
  readonly now: number;
  /** Address of the web page; null if it is not known. */
  readonly base_url: string | null;
  /** Pending questions by the id of their task. */
  readonly pending: ReadonlyMap<string, number>;
  /** Opens the stored address of a recipient. */
  readonly openAddress: (recipient_id: string, stored: string) => string;
  readonly ticketOf: TicketOf;
  readonly codeOf: CodeOf;
}

const obsolete = (reason: string | null) => ({ is: "obsolete", reason }) as const;

export function prepareDelivery(
  claimed: ClaimedDelivery,
  channel: Pick<Channel, "render" | "replaces">,
  context: PrepareContext,
): Preparation {
  const { delivery, target, account } = claimed;
  const { delivery_id } = delivery;
  if (delivery.kind === "start" && delivery.unclear) return { is: "unclear" };
  // If a lease ran out, the earlier request may have been accepted.
  const ended = obsolete(delivery.unclear ? "unclear" : null);
  if (delivery.address === null) {
    // If the account is gone, only a delivery with its own copy of the address can still be sent.
    if (target.lane === null || account.live_activities === null) {
      return obsolete("target_removed");
    }
    if (target.lane !== delivery.lane) return { is: "elsewhere", lane: target.lane };
  }
  const address = delivery.address ?? target.address;
  const composed = address === null ? null : compose(claimed, channel, context);
  if (address === null || composed === null) return ended;
  const { question_delivery, channel: settings } = claimed;
  const { quiet_hours } = settings;
  if (!isWantedByChannel(claimed, composed)) return obsolete("not_wanted");
  const quiet = isAlert(composed) && quiet_hours !== null && isQuiet(quiet_hours, context.now);
  // Where the question has arrived, a nudge waits for no other time. A reminder was asked for, so it comes silently.
  const { parts } = delivery;
  const is_nudge = parts.includes("nudge") && !parts.includes("reminder");
  if (quiet && is_nudge && question_delivery.sent_at !== null) return obsolete("quiet_hours");
  const notification = quiet
    ? { ...composed, urgency: "passive" as const, quiet: true as const }
    : composed;
  const { base_url } = context;
  const about = {
    ticket:
      composed.kind === "question" && settings.id !== null
        ? context.ticketOf({ question_id: composed.subject, channel_id: settings.id })
        : null,
    shown: delivery.question_id === null ? null : question_delivery.shown_at !== null,
    badge: settings.pending,
    handle: settings.handle,
    codes:
      settings.id !== null && settings.listener !== null
        ? codesOf(composed, settings.id, context.codeOf, claimed.question.options ?? [])
        : null,
    reminders:
      settings.id !== null && settings.listener !== null
        ? remindersOf(composed, settings.id, context)
        : [],
  };
  const opened = context.openAddress(delivery.recipient_id, address);
  const to = { address: opened, delivery_id, base_url, ...about };
  const request = channel.render(notification, to);
  if (request === null) return obsolete("not_for_target");
  return { is: "ready", address, request, quiet, ends: composed.kind === "ended" };
}

/**
 * The codes of what a notification offers (`Destination.codes`), and of nothing else. `options`: those of its question,
 * by whose places codes tell them apart.
 */
export function codesOf(
  notification: Notification,
  channel_id: string,
  codeOf: CodeOf,
  options: readonly string[] = [],
): ReadonlyMap<string, string> {
  const of = { channel_id };
  if (notification.kind === "test") {
    const subject = subjectOfTest(notification.asked_at);
    return new Map([[TEST_ANSWER, codeOf({ ...of, subject, choice: CHOICES.test })]]);
  }
  if (notification.kind !== "question") return new Map();
  const subject = notification.subject;
  return new Map(
    offeredAnswers(notification, true).flatMap(({ label, answer }) => {
      const is_draft = notification.actions?.draft !== undefined;
      const choice = is_draft ? CHOICES.approve : options.indexOf(answer);
      return choice < 0 ? [] : [[label, codeOf({ ...of, subject, choice })]];
    }),
  );
}

/** Codes of the reminders that come early enough before the question expires. */
function remindersOf(
  notification: Notification,
  channel_id: string,
  { codeOf, now }: Pick<PrepareContext, "codeOf" | "now">,
): NonNullable<Destination["reminders"]> {
  if (notification.kind !== "question") return [];
  const { subject, expires_at } = notification;
  const left = expires_at - now - NOTIFICATION_LIMITS.nudge_left;
  return REMINDERS.filter(({ minutes }) => minutes * 60 <= left).map(({ choice, label }) => ({
    label,
    code: codeOf({ subject, channel_id, choice }),
  }));
}

const isAlert = (notification: Notification): notification is Alert =>
  notification.kind === "question" || notification.kind === "task";

/** Formats that are cached: making one takes longer than everything else here. */
const KEPT = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(time_zone: string): Intl.DateTimeFormat {
  const kept = formats.get(time_zone);
  if (kept) return kept;
  const options = { timeZone: time_zone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const format = new Intl.DateTimeFormat("en", options as Intl.DateTimeFormatOptions);
  if (formats.size >= KEPT) formats.delete(formats.keys().next().value!);
  formats.set(time_zone, format);
  return format;
}

/**
 * True if it is quiet by the wall clock of the person's time zone (§19.1.3): from `from` until just before `to`, across
 * midnight if `from` is later. An hour that the clocks repeat counts twice, and one that they skip does not count.
 * `now`: epoch seconds.
 */
export function isQuiet({ from, to, time_zone }: QuietHours, now: number): boolean {
  const time = formatOf(time_zone).format(now * 1000);
  return from < to ? from <= time && time < to : from <= time || time < to;
}

/** True if the channel's settings want the notification now. What clears or replaces an alert always passes. */
function isWantedByChannel(
  { channel, account }: ClaimedDelivery,
  notification: Notification,
): boolean {
  const { state, sends, min_priority } = channel;
  if (!isAlert(notification) || sends === null || min_priority === null) return true;
  if (state === "gone" || account.live_activities === null) return false;
  const { kind, priority } = notification;
  if (kind === "question") return sends.includes("questions");
  return sends.includes("tasks") && isImportant(priority, min_priority);
}

/** The notification for the current state; null if the delivery has become obsolete. */
function compose(
  claimed: ClaimedDelivery,
  { replaces }: Pick<Channel, "replaces">,
  context: PrepareContext,
): Notification | null {
  const { delivery, account, activity } = claimed;
  const { now } = context;
  const { key_id, expires_at } = delivery;
  const question = known<Question>(claimed.question);
  const task = known<Task>(claimed.task);
  const key =
    claimed.key.label === null
      ? null
      : { label: claimed.key.label, last_host: claimed.key.last_host };
  /** Whether to say how the subject ended. A server that cannot replace alerts would show a second one. */
  const ends =
    delivery.parts.includes("ended") &&
    (replaces === "always" || claimed.channel.replaces !== false);
  const showing = activity.task_id !== null && activity.ended_at === null;
  const wanted = task?.status === "in_progress" && account.live_activities === true;
  const activityOf = (kind: Activity["kind"], timestamp: number) =>
    composeActivity(
      {
        kind,
        task,
        task_id: delivery.task_id ?? "",
        key_id,
        key,
        pending_questions: context.pending.get(delivery.task_id ?? "") ?? 0,
        changes: delivery.parts,
        timestamp,
        now,
      },
      context,
    );
  switch (delivery.kind) {
    case "question":
      if (question && key && question.status === "pending" && question.expires_at > now) {
        const again = delivery.parts.some((part) => part === "nudge" || part === "reminder");
        return composeQuestion(question, key, { ...context, again });
      }
      return ends
        ? composeEndedQuestion(delivery.subject, question, key, { ...context, expires_at })
        : null;
    case "task":
      if (task && key) {
        const changes = delivery.parts.filter((part) => part !== "silent" || task.silent_since);
        const is_over = changes.length === 0 && delivery.parts.length > 0;
        return task.notify && !is_over
          ? composeTask({ task, key, changes, expires_at }, context)
          : null;
      }
      return ends ? composeEndedTask(delivery.subject, key, { expires_at }) : null;
    case "silent":
      return composeSilent({ key_id, clear: clearedBy(delivery), expires_at, now });
    case "widget":
      return { kind: "widget", key_id, expires_at };
    case "start":
      return wanted && !showing ? activityOf("start", Math.floor(now)) : null;
    case "update":
      return wanted && showing ? activityOf("update", activity.timestamp ?? 0) : null;
    case "end":
      // Must be later than the timestamp of a start in the same second.
      return activityOf("end", Math.max(activity.timestamp ?? 0, Math.floor(now) + 1));
  }
}

/** The row of a join; null if the join found none. */
function known<T extends { readonly id: string }>(row: { readonly id: unknown }): T | null {
  return row.id === null ? null : (row as unknown as T);
}

type Row = ClaimedDelivery["delivery"];

/** The ids that this notification clears; those of {@link leftBy} go with the next. */
const clearedBy = ({ kind, parts }: Row) =>
  kind === "silent" ? parts.slice(0, NOTIFICATION_LIMITS.clear_ids) : [];

/** The ids for which this notification has no room. */
export const leftBy = ({ kind, parts }: Row) =>
  kind === "silent" ? parts.slice(NOTIFICATION_LIMITS.clear_ids) : [];

/** The kind and subject that the outcome record names. */
export function describeDelivery({ kind, parts, question_id, task_id }: Row): {
  readonly kind: DeliveryRecord["kind"];
  readonly about: string;
} {
  const about = question_id ?? task_id ?? "";
  if (kind === "silent") return { kind: parts.length > 0 ? "clear" : kind, about: "" };
  return kind === "widget" ? { kind, about: "" } : { kind, about };
}
