/**
 * What a browser gets once it has decrypted a push: JSON that is valid as Declarative Web Push too
 * (docs/interface.md §19.6.3). The service worker reads `event.data?.json().notification ??
 * event.notification`.
 */

/** Tells browsers that know Declarative Web Push what the message is. */
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
  /** Where a tap leads: `<base>/#/questions/<id>` or `<base>/#/tasks/<id>`; for a test `<base>/`. */
  readonly navigate: string;
  /** Id of the question or task, or of the channel for a test. A later one with the same tag replaces it. */
  readonly tag: string;
  readonly lang: string;
  readonly dir: "auto";
  /** True: without a sound, as in quiet hours and of what has ended. */
  readonly silent: boolean;
  readonly requireInteraction: boolean;
  /** The service worker may change it; without it, Safari does not ask the worker. */
  readonly mutable: true;
  readonly app_badge?: number;
  /** One for each answer that a tap can give, and one that opens the page; 2 at most, often none. */
  readonly actions: readonly PushAction[];
  readonly data: PushData;
}

export interface PushAction {
  /** `answer-0` and so on: the answer is `data.answers` at that place. `open` leads to the page. */
  readonly action: `answer-${number}` | "open";
  /** Label of the option, or what the button does. */
  readonly title: string;
  /** As of the notification. */
  readonly navigate: string;
}

export interface PushData {
  readonly v: 1;
  /** `ended`: how a question or task ended, in place of what was shown of it. */
  readonly event: "question" | "task" | "ended" | "test";
  readonly question_id?: string;
  readonly task_id?: string;
  /** Answers and reads the question and sends its receipts (docs/interface.md §19.7). */
  readonly ticket?: string;
  /** Epoch seconds at which the question expires. */
  readonly expires_at?: number;
  /** What the actions answer, in their order. */
  readonly answers?: readonly string[];
}
