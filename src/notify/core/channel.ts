/**
 * The port of a channel: one way to reach a person. The rest of `src/notify` and `db/notify` knows no
 * channel by name. To add one, see "Add a notification channel" in docs/architecture.md.
 */

import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import type { FieldReasons } from "../../errors.ts";
import type { Ids } from "../../ids.ts";
import type { Sends, SubscriptionInput } from "../../model/channel.ts";
import type { NotificationKind } from "../../model/notification.ts";
import type { DirectFetch } from "../../outbound/direct-fetch.ts";
import type { Outbound } from "../../outbound/guard.ts";
import type { Signer } from "../../signer.ts";
import type { ReplySource } from "../replies/source.ts";
import type { CodeSubject } from "./codes.ts";
import type { HostSlots } from "./host-slots.ts";
import type { Notification } from "./notification.ts";

/** A channel. `Request` and `Answer` are opaque outside of it. */
export interface Channel<Request = unknown, Answer = unknown> {
  readonly name: string;
  /** What people call it, unless that is `name` as words with a capital letter. */
  readonly title?: string;
  /**
   * All lanes it may have, configured or not. Each lane sends, pauses and stops independently. A queued
   * delivery names only its lane, so names are unique across channels.
   */
  readonly lanes: readonly string[];
  /** True if it delivers this kind. If not, none is planned and `render` returns null. */
  supports(kind: NotificationKind): boolean;
  /**
   * Set if a `silent` notification cannot clear its alerts. When a question or task ends, a
   * notification of the kind `ended` replaces the alert without a sound: always, or only where the
   * service is known to support it.
   */
  readonly replaces?: "always" | "if_known";
  /** Makes the target of a channel that an account adds (§19.2.2), or says which fields are wrong. */
  register?(
    input: TargetInput,
    config: Config,
    ids: Pick<Ids, "random">,
  ): NewTarget | { readonly fields: FieldReasons };
  /**
   * A URL of the service that can be read without an effect, to learn if the service can be reached. `url`: what the
   * client gave. Absent if there is none.
   */
  pageOf?(url: string | null, config: Config): string;
  /** Why the configuration turns it off, for the operator; null if it is on. */
  whyOff?(config: Config): string | null;
  /** The request to send, of bounded size; null if this address does not get this notification. Pure. */
  render(notification: Notification, destination: Destination): Request | null;
  /** Set if the tests of some addresses have no button that answers them. `base_url`: as in `Destination`. Pure. */
  hasTestButton?(address: string, base_url: string | null): boolean;
  /** Decides what to do after an answer. Pure. */
  classify(answer: Answer, attempt: Attempt): Verdict;
  /** Set if it takes the person's answers over connections that Relay opens (§19.8). */
  readonly replies?: ReplySource;
  /** Connects the lanes that are configured. Throws a ConfigError if a value cannot be used. */
  connect(
    config: Config,
    clock: Clock,
    network: Network,
  ): Promise<readonly Connection<Request, Answer>[]>;
}

/** The client's description of where to send: `url` or `subscription`, depending on the channel's type. */
export interface TargetInput {
  readonly url: string | null;
  readonly token: string | null;
  readonly subscription: SubscriptionInput | null;
  /** True if its notifications should have tickets; null if the client did not say. */
  readonly buttons: boolean | null;
  /** True if answers should come back by the service (§19.8); null if the client did not say. */
  readonly replies: boolean | null;
}

/** The target of a channel that an account adds. */
export interface NewTarget {
  readonly address: string;
  /** The URL that requests are sent to. */
  readonly url: string;
  /**
   * True: the URL belongs to one browser. It can be registered once on the whole server, and its channel
   * belongs to the sign-in that registered it. Its host is known, so the network is not checked.
   */
  readonly exclusive: boolean;
  /** True: Relay made the URL, which the client is told once. */
  readonly is_made?: boolean;
  /** What the channel gets unless the client says; both by default. */
  readonly sends?: Sends;
}

/** Makes the ticket by which a channel can answer a question (§19.7). */
export type TicketOf = (of: {
  readonly question_id: string;
  readonly channel_id: string;
}) => string;

/** Makes a code of {@link Destination.codes} (§19.8.3). */
export type CodeOf = (of: CodeSubject) => string;

/** Values that all processes on a store share. */
export interface Shared {
  /** The secret of this name. Stores `fresh` if there is none. */
  secretOf(name: string, fresh: string): Promise<string>;
  readonly signer: Signer;
}

/** How channels reach their services. */
export interface Network {
  /** For addresses that users give. */
  readonly outbound: Outbound;
  /** For hosts that are known. */
  readonly direct: DirectFetch;
  readonly slots: HostSlots;
}

/** Where a request comes from. */
export interface RequestOrigin {
  /** Id of the account. */
  readonly owner: string;
  /**
   * True for the test of a channel: it goes before what is queued, waits somewhat longer for a
   * connection, and is tried even if the host has not answered lately.
   */
  readonly is_test: boolean;
}

/** One configured lane, which sends requests to its service. */
export interface Connection<Request = unknown, Answer = unknown> {
  readonly lane: string;
  /** Requests under way at once, at most; by default what the pool of request-pool.ts leaves to a lane. */
  readonly in_flight?: number;
  /** Requests under way at once of a lane that does not use Bun's HTTP client, and so has no part in that pool. */
  readonly own_sockets?: number;
  /** As `ACCOUNT_SHARE` of account-turns.ts, which is the default. */
  readonly account_share?: number;
  /** Called once, after the store opens and before any other method. */
  prepare?(shared: Shared): Promise<void>;
  /** Set if its channels are added by a link that the person opens in the service (§19.2.7). */
  readonly links?: ChannelLinks;
  /** Public key with which browsers subscribe. Called after `prepare`. */
  clientKey?(): string;
  /**
   * Makes one request. Never throws. Ends within `TIME_LIMIT` of requests.ts, after the wait for a
   * connection to its host.
   */
  send(request: Request, origin: RequestOrigin): Promise<Answer>;
  /**
   * For a channel that listens, after a test that was accepted: checks that answers can come back. Returns the reason
   * if not, as in `Verdict`, or null. Never throws; ends as `send` does.
   */
  check?(address: string, origin: RequestOrigin): Promise<string | null>;
  /** Aborts the requests under way: their `send` resolves at once. */
  abort(): void;
}

/** How a channel is added by a link (§19.2.7). */
export interface ChannelLinks {
  /** The host that is asked, for the limit of §10.6.8. */
  readonly host: string;
  /**
   * Checks `token`, or the operator's if that is null, within 10 seconds, and makes the address of `PendingLink`. Never
   * throws. `owner`: id of the account.
   */
  begin(
    token: string | null,
    owner: string,
  ): Promise<{ readonly address: string } | { readonly fields: FieldReasons }>;
  /** The link with a code of letters, digits, `-` and `_`, at most 64. `address`: as in `PendingLink`. Pure. */
  linkOf(address: string, code: string): string;
  /** A URL without a secret, whose origin and last characters are shown with the channel. Pure. */
  urlOf(address: string): string;
}

/** Where a notification is sent, and what the person has seen there of its subject. */
export interface Destination {
  /** In a form that the channel defines. A secret: never logged. */
  readonly address: string;
  /** UUID, the same in all attempts of a delivery. */
  readonly delivery_id: string;
  /** Address of the web page, without a slash at the end; null if it is not known. */
  readonly base_url: string | null;
  /** A credential for this one question (§19.7); null if there is none. */
  readonly ticket: string | null;
  /** True if an alert of its question is known to have been shown there; null for other subjects. */
  readonly shown: boolean | null;
  /** Pending questions of the account; null if not known. */
  readonly badge: number | null;
  /**
   * What the service called the last message about this subject that it accepted for this channel
   * (`Verdict.handle`); null if there is none. Kept for 7 days after the end of the subject.
   */
  readonly handle: string | null;
  /**
   * The codes of buttons that answer without an address of Relay, by what the button says: for a question, each
   * answer that the notification may offer (offers.ts); for a test, `TEST_ANSWER` of reply-source.ts alone. Null if the channel does not listen,
   * but for a test, which can also be answered at an address of Relay (§19.2.10).
   */
  readonly codes: ReadonlyMap<string, string> | null;
  /** Codes that put a question off, with the label of their button; absent if there are none. */
  readonly reminders?: readonly { readonly label: string; readonly code: string }[];
}

/** The attempt that got an answer. */
export interface Attempt {
  readonly kind: NotificationKind;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** True for the repetition that a verdict `resend` asked for. */
  readonly resent: boolean;
}

/** Seconds to wait: at least `least`, plus a random part of `spread`. */
export interface Delay {
  readonly least: number;
  readonly spread: number;
}

/**
 * What to do after an answer (§14.7). `reason` is counted and recorded: a short word of the service or of the
 * connection, without content; `ok` for what was accepted. `replaces` of `finish`: true if the service replaces this
 * alert by the next one about its subject. `handle` of `finish`: what the service calls the message, at most
 * `HANDLE_CHARACTERS`, by which it can be changed later and a reply to it refers to it.
 */
export type Verdict = { readonly reason: string } & (
  | { readonly do: "finish"; readonly replaces?: boolean; readonly handle?: string }
  /** The service does not know the address; `since`: epoch seconds, null if it did not say. */
  | { readonly do: "forget_target"; readonly since: number | null; readonly delay: Delay }
  /** Refused for good. `fault`: the configuration is wrong rather than this notification. */
  | { readonly do: "drop"; readonly fault: boolean }
  /** It may have arrived and must not arrive twice. */
  | { readonly do: "give_up" }
  /** Repeat at once, in the same attempt. If the repetition asks for it again, the lane pauses. */
  | { readonly do: "resend" }
  /** Send nothing in this lane until a restart. */
  | { readonly do: "stop_lane" }
  /** `base`: seconds of back-off that grow with each pause; 0 for exactly `least`. */
  | { readonly do: "pause_lane"; readonly least: number; readonly base: number }
  /** Send nothing to this address for `least` seconds, and longer each time. */
  | { readonly do: "hold_target"; readonly least: number }
  /** `unclear`: it may have arrived. `tried`: false if no request was made. */
  | {
      readonly do: "again";
      readonly delay: Delay;
      readonly unclear: boolean;
      readonly tried?: false;
    }
);

/** Characters of a handle, at most. */
export const HANDLE_CHARACTERS = 100;

/** Seconds of the first back-off after a lost connection, and of the longest. */
export const LOST_BACKOFF = 1;
export const LOST_BACKOFF_MOST = 60;

/** Exponential back-off: `base` for the first time (`times` = 1), doubling each time, at most `most`. */
export function exponentialDelay(base: number, times: number, most: number): number {
  return Math.min(most, base * 2 ** Math.min(times - 1, 30));
}

/** The verdict on a delivery that was not sent because its host is busy; `wait`: seconds. */
export const busyHost = (wait: number): Verdict => ({
  do: "again",
  reason: "busy",
  delay: { least: wait, spread: 5 },
  unclear: false,
  tried: false,
});
