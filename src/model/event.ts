/** Events: those of the stream, in the order of §7.2, and those between processes. */

import { z } from "zod";
import { Key } from "./key.ts";
import { Question } from "./question.ts";
import { Session } from "./session.ts";
import { Task } from "./task.ts";

const TaskData = z.object({ task: Task }).meta({ id: "TaskEventData" });
const KeyData = z.object({ key: Key }).meta({ id: "KeyEventData" });
const QuestionData = z.object({ question: Question }).meta({ id: "QuestionEventData" });

/** Event name -> schema of its data. */
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
    .object({
      key_id: z.string(),
      unread: z.int().min(0),
      unreceived: z.int().min(0).exactOptional(),
    })
    .meta({ id: "InboxEventData" }),
  "session.created": z.object({ session: Session }).meta({ id: "SessionEventData" }),
  "session.confirmed": z.object({ session: Session }).meta({ id: "SessionConfirmedEventData" }),
  "session.deleted": z.object({ session_id: z.string() }).meta({ id: "SessionDeletedEventData" }),
  "account.deleted": z.object({}).meta({ id: "AccountDeletedEventData" }),
} as const;

/** Events of the stream: name -> data. */
export type StreamData = { [Name in keyof typeof EVENTS]: z.infer<(typeof EVENTS)[Name]> };

/**
 * Events between processes, without data, which no stream sends. `token.replaced`: a token was replaced or its sign-in
 * ended, so each process checks its streams and waits. `approval.decided`: another device decided a request of OAuth.
 */
const INTERNAL = ["token.replaced", "approval.decided"] as const;

/** Events that the store keeps. Each stream makes its own `ready`. */
type StoredData = Omit<StreamData, "ready"> &
  Record<(typeof INTERNAL)[number], Record<string, never>>;

/** The names of all events that the store keeps. */
export const STORED_EVENTS: readonly [keyof StoredData, ...(keyof StoredData)[]] = [
  ...INTERNAL,
  ...(Object.keys(EVENTS) as (keyof StreamData)[]).filter((name) => name !== "ready"),
];

/** True for an event that streams send; false for one between processes, or of a newer version. */
export const isStreamed = (name: string): name is keyof StreamData => Object.hasOwn(EVENTS, name);

/** The batch makes `inbox.updated`: it alone knows the number of unread items. */
type ServiceData = Omit<StoredData, "inbox.updated">;

/** An event as a client reads it. A `switch` over `name` that ends in `satisfies never` must handle every event. */
export type StreamEvent = {
  [Name in keyof StreamData]: { readonly name: Name; readonly data: StreamData[Name] };
}[keyof StreamData];

/** A change as a service states it. */
export type ServiceEvent = {
  [Name in keyof ServiceData]: {
    readonly name: Name;
    readonly account_id: string;
    /** Id of the resource that changed: requests that wait for it wake. */
    readonly subject: string;
    readonly data: ServiceData[Name];
  };
}[keyof ServiceData];

/** An event as stored. `data`: the JSON text that streams send. */
export interface StoredEvent {
  /** Without a gap, in commit order over all processes. */
  readonly seq: number;
  readonly account_id: string;
  readonly subject: string;
  readonly name: keyof StoredData;
  readonly data: string;
}

/** The subject of `inbox.updated`. It is not the key, whose events wake other waits. */
export function inboxOf(key_id: string): string {
  return `${key_id} inbox`;
}
