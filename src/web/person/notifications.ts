/** What tells of questions that are new, or wait while nobody looks: messages, notifications, and the app's badge. */

import type { Question } from "../state/api.ts";
import type { Store } from "../state/store.ts";
import { isolated } from "../ui/isolated.ts";
import { toast } from "../ui/toast.tsx";
import { announce } from "./news.tsx";
import { labelOf } from "./use-store.ts";

const CHOICE = "relay.notify";

/** Where the questions themselves are shown. */
const QUESTIONS = /^(#\/?|#\/questions.*)?$/;

export type NotificationState = "on" | "off" | "blocked" | "unsupported";

/** Whether this browser shows notifications of new questions. */
export function notificationState(): NotificationState {
  if (!("Notification" in globalThis) || !navigator.serviceWorker) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  const chosen = localStorage.getItem(CHOICE) === "on";
  return chosen && Notification.permission === "granted" ? "on" : "off";
}

/** Turns them on, which asks the person, or off. */
export async function setNotifications(on: boolean): Promise<void> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  if (on && Notification.permission === "granted") localStorage.setItem(CHOICE, "on");
  else localStorage.removeItem(CHOICE);
}

/** Follows the questions until it is stopped. */
export function watchQuestions(store: Store): () => void {
  const known = new Set<string>();
  let told = 0;

  const stopChanges = store.onChange((kind, id) => {
    if (kind !== "questions") return;
    const question = store.all.questions.get(id);
    if (question?.status !== "pending") {
      if (known.has(id)) void close(id);
      return;
    }
    if (known.has(id)) return;
    known.add(id);
    // What was pending when the page first learned of anything is not new.
    if (store.knownAt() === null) return;
    if (!document.hasFocus()) return void show(store, question);
    // What comes with the lists has waited, and is counted; another page may have told of it.
    if (store.link() !== "live") return;
    const who = isolated(labelOf(store.all.keys.get(question.key_id)));
    if (QUESTIONS.test(location.hash)) announce(who);
    else toast(`${who} has a question`);
  });

  const count = () => {
    // A page that rests does not know; the one that stands for it tells.
    if (store.link() === "resting") return;
    const pending = store.pending().length;
    if (pending === told) return;
    told = pending;
    const badge = pending > 0 ? navigator.setAppBadge?.(pending) : navigator.clearAppBadge?.();
    badge?.catch(() => null);
  };
  for (const { id } of store.pending()) known.add(id);
  count();
  const stopCounts = store.subscribe(count);

  const goThere = () => {
    location.hash = "/questions";
  };
  navigator.serviceWorker?.addEventListener("message", goThere);

  return () => {
    stopChanges();
    stopCounts();
    navigator.serviceWorker?.removeEventListener("message", goThere);
    navigator.clearAppBadge?.().catch(() => null);
  };
}

/**
 * Through the worker: on phones there is no other way, several tabs share one by its tag, and the
 * worker alone knows whether another of them is looked at.
 */
async function show(store: Store, { id, key_id, prompt }: Question): Promise<void> {
  if (notificationState() !== "on") return;
  const worker = await navigator.serviceWorker.ready;
  // Restored questions come before the lists tell that they are settled.
  if (store.all.questions.get(id)?.status !== "pending") return;
  const title = labelOf(store.all.keys.get(key_id));
  worker.active?.postMessage({ title, body: prompt, tag: id });
}

async function close(id: string): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration();
  for (const shown of (await worker?.getNotifications({ tag: id })) ?? []) shown.close();
}
