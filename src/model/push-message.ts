/**
 * The JSON that a browser finds in a push, which is also valid as Declarative Web Push (§19.6.3). The service worker
 * reads `event.data?.json().notification ?? event.notification`.
 */

/** Marks the message as Declarative Web Push. */
export const DECLARATIVE = 8030;

export interface PushMessage {
  readonly web_push: typeof DECLARATIVE;
  /** Pending questions of the account; absent when unknown. */
  readonly app_badge?: number;
  readonly notification: PushNotification;
}

interface PushNotification {
  readonly title: string;
  readonly body: string;
  /** What a tap opens: `<base>/#/questions/<id>` or `<base>/#/tasks/<id>`; for a test `<base>/`. */
  readonly navigate: string;
  /** Id of the question or task; for a test, of the channel. A later notification with the same tag replaces it. */
  readonly tag: string;
  readonly lang: string;
  readonly dir: "auto";
  /** True: without a sound, as in quiet hours and for what has ended. */
  readonly silent: boolean;
  readonly requireInteraction: boolean;
  /** Lets the service worker change the notification; without it, Safari does not run the worker. */
  readonly mutable: true;
  readonly app_badge?: number;
  /** One for each answer that a tap can give, and one that opens the web page; at most 2. */
  readonly actions: readonly PushAction[];
  readonly data: PushData;
}

export interface PushAction {
  /**
   * `answer-0` and so on give the answer at that place in `data.answers`; `open` opens the web page; `reached` answers a
   * test.
   */
  readonly action: `answer-${number}` | "open" | "reached";
  /** Label of the option, or what the button does. */
  readonly title: string;
  /** What a tap on the action opens. */
  readonly navigate: string;
}

export interface PushData {
  readonly v: 1;
  /** `ended`: replaces a notification by how its question or task ended. */
  readonly event: "question" | "task" | "ended" | "test";
  readonly question_id?: string;
  readonly task_id?: string;
  /** The credential to read and answer the question and to send receipts (§19.7). */
  readonly ticket?: string;
  /** The code that answers a test (§19.2.10); its channel is the tag. */
  readonly code?: string;
  /** Epoch seconds at which the question expires. */
  readonly expires_at?: number;
  /** True if it rings although a notification with its tag may be shown; absent otherwise. */
  readonly again?: true;
  /** The answers of the actions, in their order. */
  readonly answers?: readonly string[];
}
