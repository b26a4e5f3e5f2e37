/** Renders notifications for browsers, before encryption (§19.6.3); pure. */

import {
  DECLARATIVE,
  type PushAction,
  type PushData,
  type PushMessage,
} from "../../model/push-message.ts";
import type { Destination } from "../core/channel.ts";
import { bytesOf, cut } from "../core/cut.ts";
import type { Alert, EndedAlert, Notification, Test } from "../core/notification.ts";
import { fitsNotification, type OfferedAnswer, offeredAnswers } from "../core/offers.ts";
import { TEST_ANSWER } from "../replies/source.ts";
import { parseAddress, type Subscription } from "./subscription.ts";

/** Bytes of JSON: an encrypted message of 4,096 bytes, less its header, tag and delimiter (RFC 8291). */
export const PLAINTEXT_BYTES = 3_993;
/** Answers to a question up to which each has a button: what Chromium shows. */
const BUTTONS = 2;
/** Bytes of JSON that a shortened text has at least. */
const LEAST_TEXT = 40;

/** The urgencies of RFC 8030 5.3 that Relay uses. */
type Urgency = "low" | "normal" | "high";

export interface WebPushRequest {
  readonly subscription: Subscription;
  readonly message: PushMessage;
  readonly urgency: Urgency;
  /** A later message with the same subject replaces one that waits at the push service. */
  readonly subject: string;
  /** True: it has buttons only as long as its body is not cut. */
  readonly uncut: boolean;
  /** Epoch seconds until which the push service keeps it; null if only a browser that is connected now gets it. */
  readonly keep_until: number | null;
}

type VisibleNotification = Alert | EndedAlert | Test;

export function render(
  notification: Notification,
  destination: Destination,
): WebPushRequest | null {
  switch (notification.kind) {
    case "question":
    case "task":
    case "ended":
    case "test": {
      const message = messageOf(notification, destination);
      if (message === null) return null;
      return {
        subscription: parseAddress(destination.address),
        message,
        urgency: urgencyOf(notification),
        subject: notification.subject,
        uncut: needsWholeBody(notification),
        keep_until: keptUntil(notification, destination),
      };
    }
    default:
      return null;
  }
}

/** With `low` or `very-low`, a push service may wait until the device is charging. */
function urgencyOf(notification: VisibleNotification): Urgency {
  if (!("urgency" in notification)) return "normal";
  return ({ urgent: "high", active: "normal", passive: "low" } as const)[notification.urgency];
}

/**
 * An `ended` replaces an alert that still waits at the push service. If no alert was shown, it must not
 * arrive alone, so it is not kept.
 */
function keptUntil(notification: VisibleNotification, { shown }: Destination): number | null {
  return notification.kind === "ended" && shown === false ? null : notification.expires_at;
}

/** True if answers may be offered only below the whole body: to a request for permission, and to a draft. */
function needsWholeBody(notification: VisibleNotification): boolean {
  if (notification.kind !== "question") return false;
  const { shows, draft } = notification.actions ?? {};
  return shows === "whole" || draft !== undefined;
}

function messageOf(
  notification: VisibleNotification,
  { base_url, ticket, badge, codes }: Destination,
): PushMessage | null {
  const { kind, subject, title } = notification;
  const navigate = addressOf(notification, base_url ?? "");
  const alert = kind === "question" || kind === "task" ? notification : null;
  const app_badge = badge === null ? {} : { app_badge: badge };
  const buttons = kind === "question" ? buttonsOf(notification) : [];
  const shows = alert?.actions?.shows;
  const code = kind === "test" ? codes?.get(TEST_ANSWER) : undefined;
  const compose = (answers: readonly OfferedAnswer[]): PushMessage => ({
    web_push: DECLARATIVE,
    ...app_badge,
    notification: {
      title,
      body: bodyOf(notification, answers.length > 0),
      navigate,
      tag: subject,
      lang: "en",
      dir: "auto",
      silent: kind === "ended" || alert?.urgency === "passive",
      requireInteraction: kind === "question",
      mutable: true,
      ...app_badge,
      actions: [
        ...answers.map(
          ({ label }, i): PushAction => ({ action: `answer-${i}`, title: label, navigate }),
        ),
        ...(shows === "part" ? [{ action: "open", title: "Open", navigate } as const] : []),
        ...(code === undefined
          ? []
          : [{ action: "reached", title: TEST_ANSWER, navigate } as const]),
      ],
      data: {
        ...dataOf(notification, ticket),
        ...(answers.length > 0 && { answers: answers.map(({ answer }) => answer) }),
        ...(code !== undefined && { code }),
      },
    },
  });
  const bytes = PLAINTEXT_BYTES;
  return fit(compose(buttons), bytes, needsWholeBody(notification)) ?? fit(compose([]), bytes);
}

/** The URL to open, relative to the page if the server's own address is not known. */
function addressOf(notification: VisibleNotification, base: string): string {
  const { kind, subject } = notification;
  if (kind === "test") return `${base}/`;
  const about = kind === "ended" ? notification.about : kind;
  return `${base}/#/${about === "question" ? "questions" : "tasks"}/${subject}`;
}

/** The answers that get buttons: all or none. */
function buttonsOf(alert: Alert): readonly OfferedAnswer[] {
  const answers = offeredAnswers(alert, fitsNotification(alert.body));
  return answers.length <= BUTTONS ? answers : [];
}

/** The text, with the agent of a task, or the options of a choice that has no buttons. */
function bodyOf(notification: VisibleNotification, buttons: boolean): string {
  if (notification.kind === "task") return `${notification.body}\n${notification.subtitle}`;
  const options =
    notification.kind === "question" &&
    !buttons &&
    notification.actions?.kind === "choice" &&
    notification.actions.shows === undefined
      ? notification.actions.options
      : [];
  return [notification.body, ...options.map((option) => `– ${option}`)].join("\n");
}

function dataOf(notification: VisibleNotification, ticket: string | null): PushData {
  const { kind, subject } = notification;
  if (kind === "test") return { v: 1, event: "test" };
  const about = kind === "ended" ? notification.about : kind;
  const id = about === "question" ? { question_id: subject } : { task_id: subject };
  if (kind !== "question") return { v: 1, event: kind, ...id };
  const { expires_at, again } = notification;
  return {
    v: 1,
    event: kind,
    ...id,
    ...(ticket !== null && { ticket }),
    expires_at,
    ...(again && { again }),
  };
}

/**
 * Fits a message into `bytes` of JSON by shortening its body, then its title; null if the rest alone is
 * too large. With `uncut`, it loses its buttons if its body is cut.
 */
export function fit(message: PushMessage, bytes: number, uncut = false): PushMessage | null {
  const fitted = fitTexts(message, bytes);
  if (!uncut || fitted?.notification.body === message.notification.body) return fitted;
  const { answers: _, ...data } = message.notification.data;
  return fitTexts(
    { ...message, notification: { ...message.notification, actions: [], data } },
    bytes,
  );
}

function fitTexts(message: PushMessage, bytes: number): PushMessage | null {
  let fitted = message;
  for (const name of ["body", "title"] as const) {
    const over = bytesOf(fitted) - bytes;
    if (over <= 0) return fitted;
    const text = fitted.notification[name];
    const room = Math.max(LEAST_TEXT, bytesOf(text) - over);
    if (room >= bytesOf(text)) continue;
    fitted = { ...fitted, notification: { ...fitted.notification, [name]: cut(text, room) } };
  }
  return bytesOf(fitted) <= bytes ? fitted : null;
}
