/** The parts of a call that the call pipeline needs: its caller, request and limits. */

import type { FieldReasons, ServiceError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { CredentialHolder } from "../model/caller.ts";
import type { LinkBase } from "../model/pairing.ts";
import type { BatchBudget } from "../overload/batch-budget.ts";
import type { RouteLimit } from "./meta.ts";

/** An ended call, as the request log records it (§15). */
export interface EndedCall {
  /** Method and route with parameter names. */
  readonly action: string;
  readonly host: string | null;
  /** Null when it succeeded. */
  readonly error: ServiceError | null;
}

/** The part of the request scope that each call of a request needs. */
export interface CallScope {
  readonly charges: {
    /** Charges one call to its caller; throws `429 rate_limited`, also while too many of its answers are unread. */
    charge(): void;
    /**
     * Charges one call to a limit of its address; throws `429 rate_limited`. `input` is unchecked, null when it cannot
     * be read. A call that would create an account with the token of an existing one is charged to that account instead
     * (§5.2.1(4)).
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
     * Returns the result of `work`, or throws `503 store_unavailable` when the request takes too long (§11.4.1). Not
     * for a call that waits for an event.
     */
    within<T>(work: Promise<T>): Promise<T>;
  };
  /** Notes the answer of a call, whose id then is in the log line of the request, and whether the call was a change. */
  answered(answer: unknown, changed: boolean): void;
  /** A log whose lines have the id of the request (§1.2.11). */
  log(): Log;
  /** Marks the request as one that asked to wait, so that its duration says nothing about the server. */
  waits(): void;
  /** Enters an ended call of a key into the request log. */
  ended(call: EndedCall): void;
  /** The client's address, for limits only: it is neither stored nor logged. */
  address(): string;
  /** The base address to give to another device (§1.7). */
  linkBase(): LinkBase;
}

export interface CallContext {
  /** Null without a valid credential. */
  readonly caller: CredentialHolder | null;
  /**
   * Resolves once the caller's credential is known to be valid; throws `401 unauthorized` when it has ended. A procedure
   * with `reads_first`, and any other GET of a single resource, awaits it before its first effect.
   */
  readonly confirmed: () => Promise<void>;
  /** True: the surface accepts tickets, for procedures with `accepts_ticket`. */
  readonly accepts_tickets: boolean;
  /** True for a call over REST. */
  readonly by_rest: boolean;
  /** Host name of the request (§1.6). */
  readonly host: string | null;
  /** False for HEAD and for a GET by a web page of another origin, which have no effects. */
  readonly effects: boolean;
  /** True for HEAD, which the request log shows as such. */
  readonly head: boolean;
  /** Fields that the surface rejected, such as a query parameter that is given twice. */
  readonly rejected: FieldReasons | null;
  readonly scope: CallScope;
  /** Bytes of JSON after which a page of a list ends. */
  readonly page_bytes: number;
  /** The budget that the answers of a tRPC batch share; null outside a batch. */
  readonly batch: BatchBudget | null;
  /** The recording of the key's use. Awaited before the response, so that its client sees the use. */
  readonly recorded: Promise<void> | undefined;
}
