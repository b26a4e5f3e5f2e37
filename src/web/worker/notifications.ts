/** Shows notifications: of pushes, for the page, and with the outcome of a tap. */

import type { PushData, PushMessage } from "../../model/push-message.ts";
import { after } from "../clock.ts";
import type { CloseMessage, ShowMessage } from "../messages.ts";
import { files, openPages, type PushEvent, type ShownOptions, worker } from "./scope.ts";

/** Data of a notification; parts are absent if an earlier version made it. */
export type ShownData = Partial<PushData>;

/** The notification in a push; parts are absent if another version made it. */
type Pushed = Partial<PushMessage["notification"]>;

interface Message {
  readonly notification: Pushed;
  readonly app_badge: number | null;
}

/** Address of the app's icon; the file's name has a hash. */
const ICON = files.find((file) => /\/icon-touch-[^/]*\.png$/.test(file));

/** Most buttons that this browser shows on a notification. */
const MAX_ACTIONS = (Notification as { readonly maxActions?: number }).maxActions ?? 0;

/** Reads a push; null if this version cannot. */
export function read({ data, notification, appBadge }: PushEvent): Message | null {
  try {
    const message = data?.json() as Partial<PushMessage> | null | undefined;
    // With Declarative Web Push, the browser has parsed the message, and there is no `data`.
    const found = message?.notification ?? (notification as Pushed | undefined);
    if (typeof found?.title !== "string") return null;
    const badge = message?.app_badge ?? found.app_badge ?? appBadge;
    return { notification: found, app_badge: typeof badge === "number" ? badge : null };
  } catch {
    return null;
  }
}

/** Seconds in which a page says that it shows what a push is about. */
const SAYS_SO = 1;

/**
 * True if a page says that it shows the question or task to the person. That a window has the focus does not tell: a
 * suspended app on a home screen keeps it.
 */
export async function isShownByPage({ event, question_id }: ShownData): Promise<boolean> {
  const focused = (await openPages()).filter((page) => page.focused);
  if (event === "test" || focused.length === 0) return false;
  return new Promise((resolve) => {
    after(SAYS_SO, () => resolve(false));
    for (const page of focused) {
      const { port1, port2: reply } = new MessageChannel();
      port1.onmessage = () => resolve(true);
      const about = { ...(event && { event }), ...(question_id && { question_id }) };
      page.postMessage({ type: "pushed", reply, ...about }, [reply]);
    }
  });
}

/**
 * Shows a push, and the number of pending questions as the app's badge. Each shows a notification: Safari ends a
 * subscription after three pushes that show none, and other browsers withdraw the permission. One that a page shows
 * (`by_page`) makes no sound and is closed. Returns the data of the notification that stays; null if none does.
 */
export async function showPush(
  message: Message | null,
  by_page: boolean,
): Promise<ShownData | null> {
  if (!message) {
    await show("Relay", { body: "Something changed. Open Relay to see it.", tag: "relay" });
    return null;
  }
  const { notification, app_badge } = message;
  const { title = "", body = "", tag = "", lang = "", actions = [] } = notification;
  const data: ShownData = notification.data ?? {};
  const silent = by_page || notification.silent === true;
  if (app_badge !== null) await setBadge(app_badge);
  await show(title, {
    body,
    tag,
    lang,
    dir: "auto",
    silent,
    requireInteraction: notification.requireInteraction ?? false,
    actions: actions.slice(0, MAX_ACTIONS).map(({ action, title }) => ({ action, title })),
    // A question rings once unless it is to ring again, each change of a task again.
    renotify: (data.event === "task" || data.again === true) && !silent && tag !== "",
    data,
  });
  if (by_page) {
    await close(tag);
    return null;
  }
  if (data.event === "test") {
    for (const page of await openPages()) page.postMessage({ type: "tested", tag });
  }
  return data;
}

/** Shows a notification with the app's icon. It replaces one with the same `tag`. */
export function show(title: string, options: ShownOptions): Promise<void> {
  return worker.registration.showNotification(title, { ...(ICON && { icon: ICON }), ...options });
}

async function close(tag: string): Promise<void> {
  for (const shown of await worker.registration.getNotifications({ tag })) shown.close();
}

/** Shows a question for a page, unless another one shows it, or a push has already shown it. */
export async function showOnce({ question_id: tag, title, body }: ShowMessage): Promise<void> {
  if (await isShownByPage({ event: "question", question_id: tag })) return;
  if ((await worker.registration.getNotifications({ tag })).length > 0) return;
  await show(title, { body, tag, data: { v: 1, event: "question", question_id: tag } });
}

/** Closes the notification of a question, but not one with the outcome of an answer sent from it. */
export async function closeQuestion({ question_id: tag }: CloseMessage): Promise<void> {
  for (const shown of await worker.registration.getNotifications({ tag })) {
    if ((shown.data as ShownData | null)?.event !== "ended") shown.close();
  }
}

/** Sets the app's badge; 0 clears it. Does nothing where the browser has no badges or refuses. */
export async function setBadge(count: number): Promise<void> {
  const { setAppBadge, clearAppBadge } = navigator as Partial<Navigator>;
  const set = count > 0 ? setAppBadge?.call(navigator, count) : clearAppBadge?.call(navigator);
  await set?.catch(() => null);
}

/** Number of question notifications shown, without the one of `tag`. */
export async function waitingExcept(tag: string): Promise<number> {
  const all = await worker.registration.getNotifications();
  return all.filter((one) => (one.data as ShownData)?.event === "question" && one.tag !== tag)
    .length;
}
