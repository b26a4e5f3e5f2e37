/** The events of the stream, in the order of docs/interface.md 7. */

import type { Key } from "./key.ts";
import type { Question } from "./question.ts";
import type { Task } from "./task.ts";

/** Events that a stream sends (docs/interface.md 7.2): name -> data. */
export interface StreamData {
  ready: { account_id: string };
  "task.created": { task: Task };
  "task.updated": { task: Task };
  "task.deleted": { task_id: string; key_id: string };
  "key.created": { key: Key };
  "key.updated": { key: Key };
  "key.deleted": { key_id: string };
  "question.created": { question: Question };
  "question.updated": { question: Question };
  "inbox.updated": { key_id: string; unread: number };
  "account.deleted": Record<string, never>;
}

/** Events from process to process that no stream sends: name -> data. */
interface InternalData {
  /** A token has ended: each process looks again at what it opened. */
  "token.replaced": Record<string, never>;
}

/** Events that the store keeps. `ready` is not one of them: each stream makes its own. */
type StoredData = Omit<StreamData, "ready"> & InternalData;
/** The write batch makes `inbox.updated`: it alone knows the number of unread items. */
type ServiceData = Omit<StoredData, "inbox.updated">;

/**
 * An event as a client of the stream reads it. A `switch` over its `name` that ends in
 * `satisfies never` does not compile once an event is added and not handled.
 */
export type StreamEvent = {
  [Name in keyof StreamData]: { readonly name: Name; readonly data: StreamData[Name] };
}[keyof StreamData];

/** A change as a service states it. */
export type ServiceEvent = {
  [Name in keyof ServiceData]: {
    readonly name: Name;
    readonly account_id: string;
    /** Id of the resource that changed: what a sleeping request is woken by. */
    readonly subject: string;
    readonly data: ServiceData[Name];
  };
}[keyof ServiceData];

/** An event as the store keeps it; `data` is the JSON text that streams send. */
export interface StoredEvent {
  /** Gapless, in commit order over all processes. */
  readonly seq: number;
  readonly account_id: string;
  readonly subject: string;
  readonly name: keyof StoredData;
  readonly data: string;
}

/** The subject of `inbox.updated`: not the key, whose own events wake other sleepers. */
export function inboxOf(key_id: string): string {
  return `${key_id} inbox`;
}
