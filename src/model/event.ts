/** The events of the stream, in the order of docs/interface.md 7.2. */

import { z } from "zod";
import { Key } from "./key.ts";
import { Question } from "./question.ts";
import { Session } from "./session.ts";
import { Task } from "./task.ts";

const TaskData = z.object({ task: Task }).meta({ id: "TaskEventData" });
const KeyData = z.object({ key: Key }).meta({ id: "KeyEventData" });
const QuestionData = z.object({ question: Question }).meta({ id: "QuestionEventData" });

/**
 * Event name -> schema of its data (docs/interface.md 7.2). `ready` is made by the stream itself, and
 * `inbox.updated` in the write batch, which alone knows the number of unread items.
 */
export const EVENTS = {
  ready: z.object({ account_id: z.string() }).meta({ id: "ReadyEventData" }),
  "task.created": TaskData,
  "task.updated": TaskData,
  "task.deleted": z
    .object({ task_id: z.string(), key_id: z.string() })
    .meta({ id: "TaskDeletedEventData" }),
  "key.created": KeyData,
  "key.updated": KeyData,
  "key.deleted": z.object({ key_id: z.string() }).meta({ id: "KeyDeletedEventData" }),
  "grants.updated": z.object({ key_id: z.string() }).meta({ id: "GrantsEventData" }),
  "question.created": QuestionData,
  "question.updated": QuestionData,
  "inbox.updated": z
    .object({ key_id: z.string(), unread: z.int().min(0) })
    .meta({ id: "InboxEventData" }),
  "session.created": z.object({ session: Session }).meta({ id: "SessionEventData" }),
  "session.confirmed": z.object({ session: Session }).meta({ id: "SessionConfirmedEventData" }),
  "session.deleted": z.object({ session_id: z.string() }).meta({ id: "SessionDeletedEventData" }),
  "account.deleted": z.object({}).meta({ id: "AccountDeletedEventData" }),
} as const;

/** Events that a stream sends (docs/interface.md 7.2): name -> data. */
export type StreamData = { [Name in keyof typeof EVENTS]: z.infer<(typeof EVENTS)[Name]> };

/** Events from process to process that no stream sends: name -> data. */
interface InternalData {
  /** A token was replaced or its sign-in ended: each process checks its streams and waits again. */
  "token.replaced": Record<string, never>;
  /** A request of OAuth was approved or denied by another device. */
  "approval.decided": Record<string, never>;
}

/** Events that the store keeps. `ready` is not one of them: each stream makes its own. */
type StoredData = Omit<StreamData, "ready"> & InternalData;

const INTERNAL = ["token.replaced", "approval.decided"] as const satisfies (keyof InternalData)[];

/** The names of all events that the store keeps. */
export const STORED_EVENTS: readonly [keyof StoredData, ...(keyof StoredData)[]] = [
  ...INTERNAL,
  ...(Object.keys(EVENTS) as (keyof StreamData)[]).filter((name) => name !== "ready"),
];

/** True for an event that streams send; not for one between processes, or of a newer version. */
export const isStreamed = (name: string): name is keyof StreamData => Object.hasOwn(EVENTS, name);
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
    /** Id of the resource that changed; wakes the requests that wait for it. */
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
