/** What notifications show: of pushes, of the page, and of what a tap did. */

import type { PushData, PushMessage } from "../../model/push-message.ts";
import { files, type PushEvent, pages, type ShownOptions, worker } from "./scope.ts";

/** Data of a notification; absent in those of earlier versions. */
export type ShownData = Partial<PushData>;

/** What a push has; parts are absent where another version made it. */
type Pushed = Partial<PushMessage["notification"]>;

interface Message {
  readonly notification: Pushed;
  readonly app_badge: number | null;
}

/** A picture of the app; the file's name has a hash. */
const ICON = files.find((file) => /\/icon-touch-[^/]*\.png$/.test(file));

/** Buttons that this browser shows. */
const MAX_ACTIONS = (Notification as { readonly maxActions?: number }).maxActions ?? 0;

/** Reads a push. Null: nothing that this version can read. */
function read({ data, notification, appBadge }: PushEvent): Message | null {
  try {
    const message = data?.json() as Partial<PushMessage> | null | undefined;
    // Where the browser itself has parsed the message, there are no data.
    const found = message?.notification ?? (notification as Pushed | undefined);
    if (typeof found?.title !== "string") return null;
    const badge = message?.app_badge ?? found.app_badge ?? appBadge;
    return { notification: found, app_badge: typeof badge === "number" ? badge : null };
  } catch {
    return null;
  }
}

/** Shows a push, and says in the badge of the app how much waits. Gives what was shown. */
export async function showPush(event: PushEvent): Promise<ShownData | null> {
  const message = read(event);
  // A push without a notification would cost this page its permission.
  if (!message) {
    await show("Relay", { body: "Something changed. Open Relay to see it.", tag: "relay" });
    return null;
  }
  const { notification, app_badge } = message;
  const { title = "", body = "", tag = "", lang = "", silent = false, actions = [] } = notification;
  const data: ShownData = notification.data ?? {};
  if (app_badge !== null) await setBadge(app_badge);
  const open = await pages();
  // Whoever looks at the page sees it there; a browser then asks for no notification.
  if (data.event !== "test" && open.some(({ focused }) => focused)) {
    if (data.event === "ended") await close(tag);
    return null;
  }
  await show(title, {
    body,
    tag,
    lang,
    dir: "auto",
    silent,
    requireInteraction: notification.requireInteraction ?? false,
    actions: actions.slice(0, MAX_ACTIONS).map(({ action, title }) => ({ action, title })),
    // A question rings once; news of a task ring each time.
    renotify: data.event === "task" && !silent && tag !== "",
    data,
  });
  if (data.event === "test") for (const page of open) page.postMessage({ type: "tested", tag });
  return data;
}

export function show(title: string, options: ShownOptions): Promise<void> {
  return worker.registration.showNotification(title, { ...(ICON && { icon: ICON }), ...options });
}

async function close(tag: string): Promise<void> {
  for (const shown of await worker.registration.getNotifications({ tag })) shown.close();
}

/** 0 clears it. A browser without badges, or that refuses, has none. */
export async function setBadge(count: number): Promise<void> {
  const { setAppBadge, clearAppBadge } = navigator as Partial<Navigator>;
  const set = count > 0 ? setAppBadge?.call(navigator, count) : clearAppBadge?.call(navigator);
  await set?.catch(() => null);
}

/** Question notifications that are shown, but for the one of `tag`. */
export async function waitingExcept(tag: string): Promise<number> {
  const all = await worker.registration.getNotifications();
  return all.filter((one) => (one.data as ShownData)?.event === "question" && one.tag !== tag)
    .length;
}
