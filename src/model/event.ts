/** The events of the stream, in the order of docs/interface.md 7. */

import type { Key } from "./key.ts";
import type { Question } from "./question.ts";
import type { Task } from "./task.ts";

/**
 * Event name -> its data. `ready` is made by the stream itself, and `inbox.updated` in the write
 * batch, which alone knows the number of unread items.
 */
interface EventData {
  "task.created": { task: Task };
  "task.updated": { task: Task };
  "task.deleted": { task_id: string; key_id: string };
  "key.created": { key: Key };
  "key.updated": { key: Key };
  "key.deleted": { key_id: string };
  "question.created": { question: Question };
  "question.updated": { question: Question };
  "account.deleted": Record<string, never>;
  /** For the processes alone: what the old token opened is looked at again. No stream shows it. */
  "token.replaced": Record<string, never>;
}

/** Events that a stream sends, by name (docs/interface.md 7.2). */
interface StreamData extends Omit<EventData, "token.replaced"> {
  ready: { account_id: string };
  "inbox.updated": { key_id: string; unread: number };
}

/** An event as a client of the stream reads it. */
export type StreamEvent = {
  [Name in keyof StreamData]: { readonly name: Name; readonly data: StreamData[Name] };
}[keyof StreamData];

/** A change as a service states it. */
export type ServiceEvent = {
  [Name in keyof EventData]: {
    readonly name: Name;
    readonly account_id: string;
    /** Id of the resource that changed: what a sleeping request is woken by. */
    readonly subject: string;
    readonly data: EventData[Name];
  };
}[keyof EventData];

/** An event as the store keeps it; `data` is the JSON text that streams send. */
export interface StoredEvent {
  /** Gapless, in commit order over all processes. */
  readonly seq: number;
  readonly account_id: string;
  readonly subject: string;
  readonly name: string;
  readonly data: string;
}

/** The subject of `inbox.updated`: not the key, whose own events wake other sleepers. */
export function inboxOf(key_id: string): string {
  return `${key_id} inbox`;
}
