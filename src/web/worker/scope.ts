/** The global scope of the service worker, as far as it is used. */

import { after } from "../clock.ts";
import type { PageMessage, WorkerMessage } from "../messages.ts";

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends WorkerEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface MessageEvent extends WorkerEvent {
  readonly data: PageMessage | null;
}
export interface PushEvent extends WorkerEvent {
  readonly data: { json(): unknown } | null;
  /** Set by Declarative Web Push, where the browser itself parses the message. */
  readonly notification?: Notification;
  readonly appBadge?: number | null;
}
export interface ClickEvent extends WorkerEvent {
  readonly notification: Notification & Pick<ShownOptions, "actions">;
  /** Name of the button that was clicked; empty for the notification itself. */
  readonly action: string;
}
export interface SubscriptionChangeEvent extends WorkerEvent {
  readonly oldSubscription?: PushSubscription | null;
  readonly newSubscription?: PushSubscription | null;
}
interface WindowClient {
  readonly url: string;
  readonly focused: boolean;
  focus(): Promise<WindowClient>;
  postMessage(message: WorkerMessage, transfer?: readonly Transferable[]): void;
}

/** Options that `lib.dom` leaves out, since only workers may use them. */
export interface ShownOptions extends NotificationOptions {
  readonly actions?: readonly { readonly action: string; readonly title: string }[];
  readonly renotify?: boolean;
}

interface Events {
  readonly install: WorkerEvent;
  readonly activate: WorkerEvent;
  readonly fetch: FetchEvent;
  readonly message: MessageEvent;
  readonly push: PushEvent;
  readonly notificationclick: ClickEvent;
  readonly pushsubscriptionchange: SubscriptionChangeEvent;
}

interface Worker {
  readonly registration: {
    readonly scope: string;
    readonly pushManager?: PushManager;
    showNotification(title: string, options: ShownOptions): Promise<void>;
    getNotifications(options?: { readonly tag: string }): Promise<readonly Notification[]>;
  };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window" }): Promise<readonly WindowClient[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener<Name extends keyof Events>(
    name: Name,
    listener: (event: Events[Name]) => void,
  ): void;
}

/**
 * Files to cache. The server puts the list in front of this script, so a changed file changes the
 * script.
 */
declare const SHELL: readonly string[];

export const worker = globalThis as unknown as Worker;

/** Address of the person's page. */
export const page_url = worker.registration.scope;

/** Addresses of the page's files. */
export const files = SHELL.map((path) => new URL(path, page_url).href);

/** Open windows of the person's page, most recently focused first; not `/docs` or `/admin`. */
export async function openPages(): Promise<readonly WindowClient[]> {
  const windows = await worker.clients.matchAll({ type: "window" });
  return windows.filter(({ url }) => withoutQuery(url) === page_url);
}

/** The address without its query and fragment. */
export function withoutQuery(url: string): string {
  const plain = new URL(url);
  plain.search = "";
  plain.hash = "";
  return plain.href;
}

/** Resolves once the work has ended, well or badly, or after `limit` milliseconds. */
function settled(work: Promise<unknown>, limit: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(limit / 1000, resolve);
    const end = () => {
      cancel();
      resolve();
    };
    work.then(end, end);
  });
}

/** Most milliseconds that an event keeps the worker alive. */
const LIMIT = 60_000;

/** Keeps the worker alive until the work is done, fails, or has taken too long. */
export function keepAlive(event: WorkerEvent, work: () => Promise<unknown>): void {
  event.waitUntil(settled(work(), LIMIT));
}

/** Milliseconds after which the next turn begins even if the one before has not ended. */
const TURN = 10_000;
let last_turn: Promise<unknown> = Promise.resolve();

/**
 * Runs `work` after earlier calls have ended, so that checking which notifications are shown and
 * changing them is one step. The worker shows and lists notifications only in turn: Chromium forgets
 * the data of one that is being shown while they are listed, and then a click on it does nothing.
 */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = last_turn.then(work);
  last_turn = settled(mine, TURN);
  return mine;
}
