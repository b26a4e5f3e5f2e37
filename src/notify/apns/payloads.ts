/** Renders notifications for Apple's push service (§14.3); pure. */

import { NOTIFICATION_LIMITS } from "../../notification-limits.ts";
import type { Destination } from "../core/channel.ts";
import { bytesOf, cut } from "../core/cut.ts";
import type {
  Activity,
  Alert,
  EndedAlert,
  Notification,
  Silent,
  Test,
} from "../core/notification.ts";
import { fitsNotification, offeredAnswers } from "../core/offers.ts";

export interface ApnsRequest extends Rendered {
  readonly token: string;
  readonly apns_id: string;
}

interface Rendered {
  readonly type: "alert" | "background" | "widgets" | "liveactivity";
  /** The end of the topic, after the bundle id. */
  readonly topic: string;
  readonly priority: 5 | 10;
  /** Epoch seconds after which it need not arrive. */
  readonly expiration: number;
  readonly collapse_id: string | null;
  readonly payload: Payload;
}

interface Payload {
  readonly aps: Record<string, unknown>;
  readonly relay: Record<string, unknown>;
}

const TOPIC = { widgets: ".push-type.widgets", liveactivity: ".push-type.liveactivity" };
const RELEVANCE = { low: 0.25, medium: 0.5, high: 0.75, urgent: 1 };
const CATEGORY = {
  confirm: "QUESTION_CONFIRM",
  choice: "QUESTION_CHOICE",
  text: "QUESTION_TEXT",
};
const INTERRUPTION = { urgent: "time-sensitive", active: "active", passive: "passive" };

/**
 * Renders a notification with a payload of at most `payload_bytes`. The `address` of the destination is
 * the push token. Null for `test`, and for `ended`: a silent notification clears those alerts instead.
 */
export function render(
  notification: Notification,
  { address, delivery_id }: Destination,
): ApnsRequest | null {
  if (notification.kind === "ended" || notification.kind === "test") return null;
  return { ...rendered(notification), token: address, apns_id: delivery_id };
}

function rendered(notification: Exclude<Notification, EndedAlert | Test>): Rendered {
  switch (notification.kind) {
    case "question":
    case "task":
      return renderAlert(notification);
    case "silent":
      return renderSilent(notification);
    case "widget":
      return {
        ...QUIET,
        type: "widgets",
        topic: TOPIC.widgets,
        expiration: Math.floor(notification.expires_at),
        payload: {
          aps: { "content-changed": true },
          relay: { v: 1, event: "changed", key_id: notification.key_id },
        },
      };
    default:
      return renderActivity(notification);
  }
}

const QUIET = { priority: 5, collapse_id: null } as const;

function renderAlert(notification: Alert): Rendered {
  const { subject, urgency, expires_at, body } = notification;
  const is_draft = notification.actions?.draft !== undefined;
  const approvable = is_draft && offeredAnswers(notification, fitsNotification(body)).length > 0;
  const offered = alertPayload(notification, approvable);
  // A draft that was cut cannot be approved.
  const payload = approvable && offered.body !== body ? alertPayload(notification, false) : offered;
  return {
    type: "alert",
    topic: "",
    priority: urgency === "passive" ? 5 : 10,
    expiration: Math.floor(expires_at),
    collapse_id: subject,
    payload: payload.fitted,
  };
}

/** The payload, and its body as far as there is room for it. `approvable`: the app may offer to approve the draft. */
function alertPayload(
  notification: Alert,
  approvable: boolean,
): { readonly fitted: Payload; readonly body: string } {
  const { event, subject, key_id, task_id, urgency, actions } = notification;
  const { title, subtitle, body } = notification;
  const alert = { title, subtitle, body };
  const payload = {
    aps: {
      alert,
      ...(urgency !== "passive" && { sound: "default" }),
      ...(actions && { category: approvable ? "QUESTION_DRAFT" : CATEGORY[actions.kind] }),
      "interruption-level": INTERRUPTION[urgency],
      "relevance-score": RELEVANCE[notification.priority],
      "thread-id": key_id,
      // The labels of a choice vary, so the app builds the category itself.
      ...(actions?.kind === "choice" && { "mutable-content": 1 }),
    },
    relay: {
      v: 1,
      event,
      key_id,
      ...(task_id !== null && { task_id }),
      ...(actions && {
        question_id: subject,
        kind: actions.kind,
        ...(actions.options.length > 0 && { options: actions.options }),
        ...(approvable && { draft: actions.draft }),
        expires_at: actions.expires_at,
      }),
    },
  };
  const fitted = fit(payload, [
    [alert, "body"],
    [alert, "title"],
    [alert, "subtitle"],
  ]);
  // A request for permission that was cut does not show all that it permits.
  if (actions?.shows === "whole" && alert.body !== body) delete fitted.relay.options;
  return { fitted, body: alert.body };
}

function renderSilent({ key_id, clear, expires_at }: Silent): Rendered {
  const event = clear.length > 0 ? "cleared" : "changed";
  return {
    ...QUIET,
    type: "background",
    topic: "",
    expiration: Math.floor(expires_at),
    payload: {
      aps: { "content-available": 1 },
      relay: { v: 1, event, key_id, ...(clear.length > 0 && { clear }) },
    },
  };
}

function renderActivity(activity: Activity): Rendered {
  const { kind, task_id, key_id, key_label, timestamp, dismiss_at, expires_at } = activity;
  const state: Record<string, unknown> = { ...activity.state };
  const attributes: Record<string, unknown> = { task_id, key_id, key_label };
  const alert: Record<string, unknown> = { title: state.title, body: activity.body };
  const payload = {
    aps: {
      event: kind,
      timestamp,
      "content-state": state,
      ...(kind === "start" && { "attributes-type": "TaskActivity", attributes, alert }),
      ...(dismiss_at === null ? { "stale-date": expires_at } : { "dismissal-date": dismiss_at }),
    },
    relay: { v: 1, event: `activity.${kind}`, task_id, key_id },
  };
  return {
    type: "liveactivity",
    topic: TOPIC.liveactivity,
    priority: activity.urgency === "active" ? 10 : 5,
    expiration: expires_at,
    collapse_id: null,
    payload: fit(payload, [
      [alert, "title"],
      [state, "status_note"],
      [state, "title"],
      [attributes, "key_label"],
    ]),
  };
}

type Texts = readonly (readonly [holder: Record<string, unknown>, name: string])[];

/** Shortens the texts, in the given order, until the payload fits. Nothing else changes. */
function fit(payload: Payload, texts: Texts): Payload {
  for (const [holder, name] of texts) {
    const over = bytesOf(payload) - NOTIFICATION_LIMITS.payload_bytes;
    if (over <= 0) break;
    const text = holder[name];
    if (typeof text === "string") holder[name] = cut(text, bytesOf(text) - over);
  }
  return payload;
}
