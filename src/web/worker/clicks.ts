/** Clicks on notifications: a button answers without the page, anything else opens the page. */

import { type ShownData, setBadge, show, waitingExcept } from "./notifications.ts";
import { type ClickEvent, inTurn, openPages, page_url, worker } from "./scope.ts";
import {
  type AnswerOutcome,
  sendAnswer,
  sendReached,
  sendReceipt,
  type Ticket,
} from "./tickets.ts";

/** Handles a click on a notification (`action` is empty) or on one of its buttons. */
export async function handleClick({ notification, action }: ClickEvent): Promise<void> {
  const data = (notification.data ?? {}) as ShownData;
  const answer = answerOf(data, action);
  const ticket = ticketOf(data);
  if (answer !== null && ticket) {
    const label = labelOf(notification, action) ?? answer;
    return answerQuestion(notification, data, ticket, { label, answer });
  }
  notification.close();
  const { code } = data;
  if (code !== undefined) {
    // Any click shows that the test was seen. Not every browser shows the button, which alone leaves the page closed.
    const told = sendReached(notification.tag, code);
    if (action !== "reached") await openRoute("account");
    return told;
  }
  // The window first: after a click, a browser permits opening one for only some seconds.
  await openRoute(routeOf(data));
  if (ticket && data.event === "question") await sendReceipt(ticket, "opened");
}

/** The answer of the button that was clicked; null for a click elsewhere. */
function answerOf({ answers }: ShownData, action: string): string | null {
  const [, index] = /^answer-(\d)$/.exec(action) ?? [];
  return index === undefined ? null : (answers?.[Number(index)] ?? null);
}

/** What the button that was clicked says; undefined in browsers that do not tell. */
function labelOf({ actions }: ClickEvent["notification"], action: string): string | undefined {
  return actions?.find((one) => one.action === action)?.title;
}

/** The ticket in the data of a notification; null if it has none. */
export function ticketOf({ question_id, ticket }: ShownData): Ticket | null {
  return question_id && ticket ? { question_id, ticket } : null;
}

function routeOf({ question_id, task_id }: ShownData): string {
  if (question_id) return `questions/${encodeURIComponent(question_id)}`;
  return task_id ? `tasks/${encodeURIComponent(task_id)}` : "questions";
}

/** Sends an answer and replaces the notification with its outcome. */
async function answerQuestion(
  { title, tag, lang, dir }: Notification,
  data: ShownData,
  ticket: Ticket,
  { label, answer }: { readonly label: string; readonly answer: string },
): Promise<void> {
  const ended: ShownData = { ...data, event: "ended" };
  const tell = (body: string) =>
    inTurn(() => show(title, { tag, lang, dir, body, silent: true, data: ended }));
  await tell(`Sending: ${label}`);
  const outcome = await sendAnswer(ticket, answer);
  await tell(textOf(outcome, label));
  if (outcome.is === "refused" || outcome.is === "unreachable") {
    // If the browser does not permit it any more, a click on the new notification does the same.
    await openRoute(routeOf(data)).catch(() => null);
    return;
  }
  await setBadge(await inTurn(() => waitingExcept(tag)));
  if (outcome.is === "answered") await sendReceipt(ticket, "opened");
}

const ENDED: Readonly<Record<string, string>> = {
  answered: "Already answered",
  cancelled: "Cancelled by the agent",
  expired: "Expired",
};

/** `label`: what the button says, which for a draft is shorter than the answer. */
function textOf(outcome: AnswerOutcome, label: string): string {
  switch (outcome.is) {
    case "answered":
      return `Answered: ${label}`;
    case "ended": {
      const ended = ENDED[outcome.status] ?? "No longer open";
      return `${ended}${outcome.answer === null ? "" : `: ${outcome.answer}`}. Not sent: ${label}`;
    }
    case "refused":
      return `Not sent: ${label}. Open Relay to answer.`;
    case "unreachable":
      return `Not sent: ${label}. The server can't be reached.`;
  }
}

/** Goes to the route in an open tab, or opens one. */
async function openRoute(route: string): Promise<void> {
  const address = `${page_url}#/${route}`;
  const open = await openPages();
  const tab = open.find(({ url }) => url === address) ?? open[0];
  if (!tab) {
    await worker.clients.openWindow(address);
    return;
  }
  tab.postMessage({ type: "open", route });
  await tab.focus();
}
