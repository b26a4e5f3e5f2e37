/** Renders notifications as JSON publishes of ntfy (§19.5.2); pure. */

import type { Destination } from "../core/channel.ts";
import { bytesOf, cut } from "../core/cut.ts";
import type { Alert, Notification } from "../core/notification.ts";
import { fitsNotification, type OfferedAnswer, offeredAnswers } from "../core/offers.ts";
import { TEST_ANSWER } from "../replies/source.ts";

/** Bytes of a message as a JSON string; ntfy turns a longer one into an attachment. */
const MESSAGE_BYTES = 4_095;
/** Bytes of a whole publish; ntfy refuses more than twice the size of a message. */
const PUBLISH_BYTES = 8_000;
/** Answers up to which each has a button, since ntfy takes no more; and bytes of all buttons of a publish. */
const BUTTONS = 3;
const BUTTONS_BYTES = 4_000;

/** The address of a target, as JSON. */
export interface NtfyAddress {
  /** Origin of the server. */
  readonly server: string;
  readonly topic: string;
  /** Access token. */
  readonly token: string | null;
  /** True if questions have buttons, which answer by a ticket. */
  readonly buttons?: boolean;
  /** The topic that buttons write codes to, which Relay reads (§19.8). */
  readonly replies?: string;
}

export interface NtfyRequest {
  readonly server: string;
  readonly token: string | null;
  /** True: it shows nothing new, so phones need not be woken for it. */
  readonly quiet?: boolean;
  /** The body of the publish. */
  readonly publish: Publish;
  /** True: an earlier notification with its `sequence_id` is deleted first, since a replaced one makes no sound. */
  readonly again?: true;
}

interface Publish {
  readonly topic: string;
  readonly title: string;
  readonly message: string;
  /** 1 to 5; 2 makes no sound. */
  readonly priority: number;
  /** The URL that a tap opens. */
  readonly click?: string;
  readonly actions?: readonly Action[];
  /** Notifications with the same value replace each other, since ntfy 2.16. */
  readonly sequence_id: string;
}

/** A button: https://docs.ntfy.sh/publish/#action-buttons */
type Action =
  | HttpAction
  | { readonly action: "view"; readonly label: string; readonly url: string };

interface HttpAction {
  readonly action: "http";
  readonly label: string;
  readonly url: string;
  readonly method: "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Removes the notification once the answer was accepted. */
  readonly clear: true;
}

const PRIORITY = { low: 2, medium: 3, high: 4, urgent: 5 };
const QUIET = 2;

export function render(notification: Notification, destination: Destination): NtfyRequest | null {
  const { base_url } = destination;
  const parsed = parse(destination.address);
  const { server, topic, token } = parsed;
  const of = (publish: Omit<Publish, "topic">): NtfyRequest => ({
    server,
    token,
    publish: fit({ topic, ...publish }),
  });
  switch (notification.kind) {
    case "question":
    case "task": {
      const { subject, title, body, urgency, priority } = notification;
      const actions = actionsOf(notification, parsed, destination);
      const request = of({
        title,
        message: textOf(notification, actions.length > 0),
        priority: urgency === "passive" ? QUIET : PRIORITY[priority],
        ...clickOf(notification.kind, subject, base_url),
        ...(actions.length > 0 && { actions }),
        sequence_id: subject,
      });
      const { shows, draft } = notification.actions ?? {};
      const whole = shows === "whole" || draft !== undefined;
      const sent = whole ? withoutCutAnswers(request, body) : request;
      return notification.again ? { ...sent, again: true } : sent;
    }
    case "ended": {
      const { subject, title, body } = notification;
      const request = of({ title, message: body, priority: QUIET, sequence_id: subject });
      // An iPhone would show it as one more notification.
      return parsed.replies === undefined ? request : { ...request, quiet: true };
    }
    case "test": {
      const { subject, title, body } = notification;
      const actions = testButtons(subject, parsed, destination);
      return of({
        ...{ title, message: body, priority: PRIORITY.medium },
        ...(actions.length > 0 && { actions }),
        sequence_id: subject,
      });
    }
    default:
      return null;
  }
}

/** Parses an address. An invalid one gives an empty server, which `send` refuses as `invalid_url`. */
export function parse(address: string): NtfyAddress {
  try {
    return JSON.parse(address) as NtfyAddress;
  } catch {
    return { server: "", topic: "", token: null };
  }
}

/** A button for each answer, and Open if the body shows only a part. None if they do not all fit. */
function actionsOf(
  alert: Alert,
  address: NtfyAddress,
  { base_url, ticket, codes }: Destination,
): readonly Action[] {
  const { subject, actions } = alert;
  const answers = offeredAnswers(alert, fitsNotification(alert.body));
  if (answers.length > BUTTONS) return [];
  const made: Action[] = [];
  if (address.replies !== undefined) {
    // Without a token, who else reads the topic could permit something: only the answer that permits nothing.
    const may_permit = address.token !== null || actions?.shows === undefined;
    const labels = answers.map(({ label }) => label);
    made.push(...replyButtons(may_permit ? labels : labels.slice(-1), address, codes));
  } else if (address.buttons && base_url !== null && ticket !== null) {
    made.push(...answers.map((one) => ticketButton(one, subject, base_url, ticket)));
  } else return [];
  if (actions?.shows === "part" && base_url !== null) {
    made.push({ action: "view", label: "Open", url: pageOf("question", subject, base_url) });
  }
  return bytesOf(made) <= BUTTONS_BYTES ? made : [];
}

/** True if {@link testButtons} makes one for this address. */
export function hasTestButton(address: string, base_url: string | null): boolean {
  const { replies, buttons } = parse(address);
  return replies !== undefined || (buttons === true && base_url !== null);
}

/** The button of a test answers it the way that questions are answered; none if they have no buttons. */
function testButtons(
  subject: string,
  address: NtfyAddress,
  { base_url, codes }: Destination,
): readonly Action[] {
  if (address.replies !== undefined) return replyButtons([TEST_ANSWER], address, codes);
  const code = codes?.get(TEST_ANSWER);
  if (!address.buttons || base_url === null || code === undefined) return [];
  return [
    {
      ...{ action: "http", label: TEST_ANSWER, method: "POST", clear: true },
      url: `${base_url}/v1/channels/${subject}/reached`,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ code }),
    },
  ];
}

/** Answers at Relay's own address. */
const ticketButton = (
  { label, answer }: OfferedAnswer,
  subject: string,
  base_url: string,
  ticket: string,
): HttpAction => ({
  action: "http",
  label,
  url: `${base_url}/v1/questions/${subject}/answer`,
  method: "POST",
  headers: { Authorization: `Bearer ${ticket}`, "Content-Type": "application/json" },
  body: JSON.stringify({ answer }),
  clear: true,
});

/**
 * Each publishes its code to the topic that Relay reads. Never with a token: one in a button would open all that its
 * user may read and write on the server.
 */
function replyButtons(
  labels: readonly string[],
  { server, replies }: NtfyAddress,
  codes: Destination["codes"],
): HttpAction[] {
  if (replies === undefined) return [];
  return labels.flatMap((label): HttpAction[] => {
    const message = codes?.get(label);
    if (message === undefined) return [];
    return [
      {
        ...{ action: "http", label, url: `${server}/`, method: "POST" },
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ topic: replies, message }),
        clear: true,
      },
    ];
  });
}

/**
 * The message. For a question, its body, with the options of a choice that has no buttons. For a task,
 * what happened, and its agent.
 */
function textOf({ kind, body, subtitle, actions }: Alert, buttons: boolean): string {
  if (kind === "task") return `${body}\n${subtitle}`;
  const lists = actions?.kind === "choice" && !buttons && actions.shows === undefined;
  const options = lists ? actions.options : [];
  return [body, ...options.map((option) => `– ${option}`)].join("\n");
}

function clickOf(kind: Alert["kind"], subject: string, base_url: string | null) {
  if (base_url === null) return {};
  return { click: pageOf(kind, subject, base_url) };
}

const pageOf = (kind: Alert["kind"], subject: string, base_url: string): string =>
  `${base_url}/#/${kind === "question" ? "questions" : "tasks"}/${subject}`;

/** Removes the buttons of a request for permission or a draft that was cut, since it no longer shows all. */
function withoutCutAnswers(request: NtfyRequest, body: string): NtfyRequest {
  const { actions: _, ...publish } = request.publish;
  return request.publish.message === body ? request : { ...request, publish };
}

/** Shortens the message to `MESSAGE_BYTES`, and so that the publish has `PUBLISH_BYTES`. */
function fit(publish: Publish): Publish {
  const { message } = publish;
  const over = bytesOf(publish) - PUBLISH_BYTES;
  const room = Math.min(MESSAGE_BYTES, bytesOf(message) - Math.max(0, over));
  return bytesOf(message) <= room ? publish : { ...publish, message: cut(message, room) };
}
