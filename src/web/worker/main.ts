/**
 * The service worker: serves the page's files while offline, and shows notifications while the page
 * is closed.
 */

import { handleClick, ticketOf } from "./clicks.ts";
import { show, showPush } from "./notifications.ts";
import { inTurn, keepAlive, pages, type SubscriptionChangeEvent, worker } from "./scope.ts";
import { sendReceipt } from "./tickets.ts";
import "./shell.ts";

worker.addEventListener("push", (event) => {
  keepAlive(event, async () => {
    const shown = await inTurn(() => showPush(event));
    const ticket = shown && ticketOf(shown);
    if (ticket && shown.event === "question") await sendReceipt(ticket, "shown");
  });
});

worker.addEventListener("notificationclick", (event) => {
  keepAlive(event, () => handleClick(event));
});

// Shows a notification for a page, unless a window has the focus or a push has already shown it.
worker.addEventListener("message", (event) => {
  if (event.data?.type !== "show") return;
  const { question_id: tag, title, body } = event.data;
  const showOnce = async () => {
    if ((await pages()).some(({ focused }) => focused)) return;
    if ((await worker.registration.getNotifications({ tag })).length > 0) return;
    await show(title, { body, tag, data: { v: 1, event: "question", question_id: tag } });
  };
  keepAlive(event, () => inTurn(showOnce));
});

worker.addEventListener("pushsubscriptionchange", (event) => {
  keepAlive(event, () => resubscribe(event));
});

/**
 * Subscribes again if the browser has not. The page, which has the token, tells the server: at once
 * if it is open, else when it is next opened.
 */
async function resubscribe(event: SubscriptionChangeEvent): Promise<void> {
  const { oldSubscription, newSubscription } = event;
  const applicationServerKey = oldSubscription?.options.applicationServerKey;
  if (!newSubscription && applicationServerKey) {
    const options = { userVisibleOnly: true, applicationServerKey };
    await worker.registration.pushManager?.subscribe(options).catch(() => null);
  }
  for (const page of await pages()) page.postMessage({ type: "subscribed" });
}
