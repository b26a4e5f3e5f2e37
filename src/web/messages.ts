/** Messages between the page and its service worker, distinguished by `type`. */

import type { PushData } from "../model/push-message.ts";

/** Page to worker: show a notification, unless a window of the page has the focus. */
export interface ShowMessage {
  readonly type: "show";
  readonly question_id: string;
  readonly title: string;
  readonly body: string;
}

/** Page to worker: a question has ended, so close its notification. */
export interface CloseMessage {
  readonly type: "close";
  readonly question_id: string;
}

export type PageMessage = ShowMessage | CloseMessage;

/** Worker to page. */
export type WorkerMessage =
  /** A notification was clicked, so go to this route, such as `questions/<id>`. */
  | { readonly type: "open"; readonly route: string }
  /** The browser replaced its push subscription. */
  | { readonly type: "subscribed" }
  /**
   * A push arrived while this window says that it has the focus. If it shows what the push is about, it sends anything to
   * `reply` within a second.
   */
  | ({ readonly type: "pushed"; readonly reply: MessagePort } & Pick<
      Partial<PushData>,
      "event" | "question_id"
    >)
  /** A test notification arrived and was shown. `tag`: id of the channel. */
  | { readonly type: "tested"; readonly tag: string };

/** Calls `listener` with each message of the worker; returns a function that stops it. */
export function onWorkerMessage(listener: (message: WorkerMessage) => void): () => void {
  // Another program of the origin may have a worker that sends messages to its pages.
  const handle = ({ data }: MessageEvent<WorkerMessage | null>) => data?.type && listener(data);
  navigator.serviceWorker?.addEventListener("message", handle);
  return () => navigator.serviceWorker?.removeEventListener("message", handle);
}
