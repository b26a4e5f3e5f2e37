/**
 * Tells the person about new questions: by toasts, browser notifications, and the badge of the app.
 */

import { after } from "../../clock.ts";
import {
  type CloseMessage,
  onWorkerMessage,
  type ShowMessage,
  type WorkerMessage,
} from "../../messages.ts";
import type { Question } from "../../state/api.ts";
import { pushChannel } from "../../state/push-channel.ts";
import { local } from "../../state/storage.ts";
import type { Store } from "../../state/store.ts";
import { ownWorker, readyWorker } from "../../state/worker.ts";
import { isolated } from "../../ui/isolated.ts";
import { toast } from "../../ui/toast.tsx";
import { labelOf } from "../use-store.ts";
import { announce } from "./announcer.tsx";

const CHOICE = "notify";

/** Matches the addresses at which the questions themselves are shown. */
const QUESTIONS = /^(#\/?|#\/questions.*)?$/;

type NotificationState = "on" | "off" | "blocked" | "unsupported";

/** True if this browser shows notifications for new questions. */
export function notificationState(): NotificationState {
  if (!("Notification" in globalThis) || !navigator.serviceWorker) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  const chosen = local.get(CHOICE) === "on";
  return chosen && Notification.permission === "granted" ? "on" : "off";
}

/** Turns notifications on, which asks for permission, or off. */
export async function setNotifications(on: boolean): Promise<void> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  if (on && Notification.permission === "granted") local.set(CHOICE, "on");
  else local.remove(CHOICE);
}

/** Watches for new questions; returns a function that stops it. */
export function watchQuestions(store: Store): () => void {
  const known = new Set<string>();
  let shown_count = 0;

  const stopChanges = store.onChange((kind, id) => {
    if (kind !== "questions") return;
    const question = store.all.questions.get(id);
    if (question?.status !== "pending") {
      if (known.has(id)) void close(id);
      return;
    }
    if (known.has(id)) return;
    known.add(id);
    // Questions of the first load are not new.
    if (store.knownAt() === null) return;
    if (!document.hasFocus()) return void show(store, question).catch(() => null);
    // Questions of a later load are in the counts; another page may have announced them already.
    if (store.connection() !== "live") return;
    const who = isolated(labelOf(store.all.keys.get(question.key_id)));
    if (QUESTIONS.test(location.hash)) announce(who);
    else toast(`${who} has a question`, { href: `#/questions/${id}` });
  });

  const count = () => {
    // A resting page has no current number; the page with the stream sets the badge.
    if (store.connection() === "resting") return;
    const pending = store.pending().length;
    if (pending === shown_count) return;
    shown_count = pending;
    const badge = pending > 0 ? navigator.setAppBadge?.(pending) : navigator.clearAppBadge?.();
    badge?.catch(() => null);
  };
  for (const { id } of store.pending()) known.add(id);
  count();
  const stopCounts = store.subscribe(count);

  const stopMessages = onWorkerMessage((message) => {
    if (message.type === "open") location.hash = `/${message.route}`;
    if (message.type === "pushed") sayShown(message, store);
  });

  return () => {
    stopChanges();
    stopCounts();
    stopMessages();
    navigator.clearAppBadge?.().catch(() => null);
  };
}

/** Seconds between two looks for the question of a push, which may be faster than the stream; looks. */
const LOOK_EVERY = 0.2;
const LOOKS = 5;

/** Tells the worker that the person sees here what a push is about. */
function sayShown(
  push: Extract<WorkerMessage, { type: "pushed" }>,
  store: Store,
  looks = LOOKS,
): void {
  const { event, question_id = "", reply } = push;
  if (!document.hasFocus() || document.hidden || store.connection() !== "live") return;
  if (event !== "question" || store.all.questions.has(question_id)) reply.postMessage(0);
  else if (looks > 1) after(LOOK_EVERY, () => sayShown(push, store, looks - 1));
}

/**
 * Shows a notification through the service worker: phones have no other way, all tabs share the
 * tag, and only the worker can ask whether another tab shows it.
 */
async function show(store: Store, { id, key_id, prompt }: Question): Promise<void> {
  if (notificationState() !== "on") return;
  const worker = await readyWorker();
  // Questions from the archive may turn out to be closed once the lists arrive.
  if (store.all.questions.get(id)?.status !== "pending") return;
  const title = labelOf(store.all.keys.get(key_id));
  const message: ShowMessage = { type: "show", question_id: id, title, body: prompt };
  worker.active?.postMessage(message);
}

async function close(id: string): Promise<void> {
  if (!("Notification" in globalThis) || Notification.permission !== "granted") return;
  // With push on, the push about the end replaces the notification, as every push must show one.
  if (!document.hasFocus() && pushChannel() !== null) return;
  const worker = await ownWorker();
  const message: CloseMessage = { type: "close", question_id: id };
  worker?.active?.postMessage(message);
}
