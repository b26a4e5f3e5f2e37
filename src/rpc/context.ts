/** The context of a call for the call pipeline: its caller, request and limits. */

import type { FieldReasons, ServiceError } from "../errors.ts";
import type { CredentialHolder } from "../model/caller.ts";
import type { LinkBase } from "../model/pairing.ts";
import type { BatchBudget } from "../overload/batch-budget.ts";
import type { RouteLimit } from "./meta.ts";

/** A call that has ended, for the activity log (docs/interface.md 15). */
export interface EndedCall {
  /** Method and route with parameter names. */
  readonly action: string;
  readonly host: string | null;
  /** Null when it succeeded. */
  readonly error: ServiceError | null;
}

/** The part of a request's scope that each of its calls needs. */
export interface CallScope {
  readonly charges: {
    /** Charges one call to its caller; throws `429 rate_limited`, also while too many of its answers are unread. */
    charge(): void;
    /**
     * Charges one call to a limit of its address; throws `429 rate_limited`. `input` is unchecked, null when it
     * cannot be read. To create an account with the token of an existing one is charged to that account
     * instead (§5.2.1(4)).
     */
    limit(name: RouteLimit, input: unknown): Promise<void>;
  };
  readonly turns: {
    /**
     * Waits until the caller may make its next page; call the result when the page is made (§11.2.4). Throws
     * `429 rate_limited` when its earlier answers have put it into debt, or too many of them are unread.
     */
    page(): Promise<() => void>;
    /**
     * Gives the result of `work`, or throws `503 store_unavailable` when the request takes too long (§11.4.1).
     * Not for a call that waits for an event.
     */
    within<T>(work: Promise<T>): Promise<T>;
  };
  /** Marks the request as one that asked to wait: its duration says nothing about the server. */
  waits(): void;
  /** Enters a call of the caller's into the activity log. */
  ended(call: EndedCall): void;
  /** The client's address, for limits alone: it is neither stored nor logged. */
  address(): string;
  /** The base address to give to another device (docs/interface.md 1.7). */
  linkBase(): LinkBase;
}

export interface CallContext {
  /** Null without a valid credential. */
  readonly caller: CredentialHolder | null;
  /** True: the surface accepts tickets, for procedures with `accepts_ticket`. */
  readonly accepts_tickets: boolean;
  /** Host name of the request (docs/interface.md 1.6). */
  readonly host: string | null;
  /** False for HEAD, and for a GET that a web page of another origin sent: neither has an effect. */
  readonly effects: boolean;
  /** True for HEAD, which is an action of its own in the activity log. */
  readonly head: boolean;
  /** Fields that the surface itself found invalid, such as a query parameter given twice. */
  readonly rejected: FieldReasons | null;
  readonly scope: CallScope;
  /** Bytes of JSON that a page of a list may hold. */
  readonly page_bytes: number;
  /** What the answers of a tRPC batch share; null for a call of its own. */
  readonly batch: BatchBudget | null;
  /** Awaited before the response, so that a client that got it sees the key as used. */
  readonly recorded: Promise<void> | undefined;
}
