/**
 * The service worker: serves the page's files while offline, and shows notifications while the page
 * is closed.
 */

import { handleClick, ticketOf } from "./clicks.ts";
import { closeQuestion, isShownByPage, read, showOnce, showPush } from "./notifications.ts";
import { inTurn, keepAlive, openPages, type SubscriptionChangeEvent, worker } from "./scope.ts";
import { sendReceipt } from "./tickets.ts";
import "./shell.ts";

worker.addEventListener("push", (event) => {
  keepAlive(event, async () => {
    const message = read(event);
    // Asked at once, so that of several pushes each waits no longer than the first.
    const by_page = isShownByPage(message?.notification.data ?? {});
    const shown = await inTurn(async () => showPush(message, await by_page));
    const ticket = shown && ticketOf(shown);
    if (ticket && shown.event === "question") await sendReceipt(ticket, "shown");
  });
});

worker.addEventListener("notificationclick", (event) => {
  keepAlive(event, () => handleClick(event));
});

worker.addEventListener("message", (event) => {
  const message = event.data;
  if (message?.type === "show") keepAlive(event, () => inTurn(() => showOnce(message)));
  if (message?.type === "close") keepAlive(event, () => inTurn(() => closeQuestion(message)));
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
  for (const page of await openPages()) page.postMessage({ type: "subscribed" });
}
