/** What every procedure call gets, on each surface. */

import type { FieldReasons, ServiceError } from "../src/errors.ts";
import type { Caller } from "../src/model/caller.ts";
import type { IdempotentRequest } from "../src/model/idempotency.ts";
import type { Accounts } from "../src/services/accounts.ts";
import type { Activity } from "../src/services/activity.ts";
import type { Attestations } from "../src/services/attestations.ts";
import type { Devices } from "../src/services/devices.ts";
import type { Inbox } from "../src/services/inbox.ts";
import type { Keys } from "../src/services/keys.ts";
import type { LiveActivities } from "../src/services/live-activities.ts";
import type { Questions } from "../src/services/questions.ts";
import type { Tasks } from "../src/services/tasks.ts";

export interface Services {
  readonly accounts: Accounts;
  readonly attestations: Attestations;
  readonly devices: Devices;
  readonly keys: Keys;
  readonly tasks: Tasks;
  readonly questions: Questions;
  readonly inbox: Inbox;
  readonly liveActivities: LiveActivities;
  readonly activity: Activity;
}

export interface EndedCall {
  /** Method and route with parameter names. */
  readonly action: string;
  readonly host: string | null;
  /** Null when it succeeded. */
  readonly error: ServiceError | null;
}

/** The request that a call came with, as far as every call of it needs it. */
export interface RequestScope {
  /** Charges one call to its caller; throws `429 rate_limited`. */
  charge(): void;
  /**
   * Waits until the caller may have its next page, which pages of all callers take turns for
   * (docs/interface.md 11.2.4); call what it gives once the page was made. Throws `429 rate_limited`
   * when its earlier answers have meanwhile put it into debt, or too many of them wait to be read.
   */
  pageTurn(): Promise<() => void>;
  /** Charges one call to a limit of its address; throws `429 rate_limited`. */
  limit(name: "accounts" | "challenges"): Promise<void>;
  /**
   * The result of a call's work, or `503 store_unavailable` when it takes too long since the request
   * came (docs/interface.md 13.4). Not for a call that waits for something.
   */
  within<T>(work: Promise<T>): Promise<T>;
  /** Takes note that a call asked to wait: how long it takes says nothing of the server. */
  waits(): void;
  /** Takes note of a call of the caller's that has ended, for the activity log. */
  ended(call: EndedCall): void;
  /** The client's address, for limits alone: it is neither stored nor logged. */
  address(): string;
}

/** Bytes of answers that the calls of one tRPC batch share (docs/interface.md 13.4). */
export interface BatchBudget {
  /**
   * Waits until bytes are free for the answer of a query, and reserves them; gives how many. Throws
   * `429 rate_limited` once the answers so far have used the budget up.
   */
  reserve(): Promise<number>;
  /** Gives back what {@link reserve} gave, and counts the bytes that the answer really has. */
  settle(reserved: number, bytes: number): void;
  /** Bytes for the answer of a query that waits for something, which reserves none. As {@link reserve}. */
  share(): number;
}

export interface Context {
  readonly services: Services;
  /** Null without a valid credential. */
  readonly caller: Caller | null;
  /** Host name of the request (docs/interface.md 1.6). */
  readonly host: string | null;
  /** The `Idempotency-Key` of the request and its body, as digests; null without one. */
  readonly once: IdempotentRequest | null;
  /** Its signal aborts when the client goes; made when it is first asked for, which most never do. */
  readonly connection: { readonly signal: AbortSignal };
  /**
   * True: a tool call that asks, whose agent does not know the question's id yet (docs/interface.md
   * 12.4.5).
   */
  readonly asking: boolean;
  /** A procedure that creates sets it when it gives what was there instead: `200`, not `201`. */
  readonly outcome: { existing: boolean };
  /** False for HEAD, and for a GET that a web page of another origin sent: neither has an effect. */
  readonly effects: boolean;
  /** True for HEAD, which is an action of its own in the activity log. */
  readonly head: boolean;
  /** Fields that the surface itself found invalid, such as a query parameter given twice. */
  readonly rejected: FieldReasons | null;
  readonly scope: RequestScope;
  /** Bytes of JSON that a page of a list may hold. */
  readonly page_bytes: number;
  /** What the answers of a tRPC batch share; null for a call of its own. */
  readonly batch: BatchBudget | null;
  /** Awaited before the response, so that a client that got it sees the key as used. */
  readonly recorded: Promise<void> | undefined;
}
