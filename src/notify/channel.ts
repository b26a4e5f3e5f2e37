/**
 * The port of a channel: one way to reach a person, such as a push service. The rest of
 * `src/notify` and `db/notify` knows no channel by name. To add one: a folder under `channels/`
 * with an object of this type, its line in `channels/registry.ts`, and what registers its targets;
 * docs/architecture.md has all steps.
 */

import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { FieldReasons } from "../errors.ts";
import type { SubscriptionInput } from "../model/channel.ts";
import type { NotificationKind } from "../model/notification.ts";
import type { DirectFetch } from "../outbound/direct-fetch.ts";
import type { Outbound } from "../outbound/guard.ts";
import type { Signer } from "../signer.ts";
import type { HostSlots } from "./host-slots.ts";
import type { Notification } from "./notification.ts";

/** `Request` and `Answer` are opaque outside of the channel. */
export interface Channel<Request = unknown, Answer = unknown> {
  readonly name: string;
  /**
   * All lanes it may have, configured or not. Names are unique across channels, since a queued
   * delivery names only its lane. Each lane sends, pauses and stops independently.
   */
  readonly lanes: readonly string[];
  /** Whether it can deliver this kind. If not, none is planned and `render` returns null. */
  supports(kind: NotificationKind): boolean;
  /**
   * Set if a `silent` notification cannot clear its alerts. When a question or task ends, a
   * notification of the kind `ended` replaces the alert without a sound: always, or only where the
   * service is known to support it.
   */
  readonly replaces?: "always" | "if_known";
  /**
   * Makes the target of a channel that an account adds (docs/interface.md §19.2.2), or says which
   * fields are wrong; pure.
   */
  register?(input: TargetInput, config: Config): NewTarget | { readonly fields: FieldReasons };
  /** Why the configuration turns it off, for the operator; null if it is on. */
  whyOff?(config: Config): string | null;
  /**
   * The request to send; null if this address does not get this notification. Pure; its size is
   * bounded.
   */
  render(notification: Notification, destination: Destination): Request | null;
  /** What the answer asks for. Pure. */
  classify(answer: Answer, attempt: Attempt): Verdict;
  /**
   * Connections of the lanes that are configured. Throws a ConfigError if a value cannot be used.
   */
  connect(
    config: Config,
    clock: Clock,
    network: Network,
  ): Promise<readonly Connection<Request, Answer>[]>;
}

/**
 * How to reach a channel, as the client gave it: `url` or `subscription`, depending on its type.
 */
export interface TargetInput {
  readonly url: string | null;
  readonly token: string | null;
  readonly subscription: SubscriptionInput | null;
  /** Whether its notifications should have tickets; null if the client did not say. */
  readonly buttons: boolean | null;
}

/** The target of a channel that an account adds. */
export interface NewTarget {
  readonly address: string;
  /** The URL that requests are sent to. */
  readonly url: string;
  /**
   * True: the URL belongs to one browser. It can be registered once on the whole server, its
   * channel belongs to the sign-in that registered it, and its host is known, so the network is not
   * checked.
   */
  readonly exclusive: boolean;
}

/** Makes the ticket by which a channel can answer a question (docs/interface.md 19.7). */
export type TicketOf = (of: {
  readonly question_id: string;
  readonly channel_id: string;
}) => string;

/** Values that all processes on a store share. */
export interface Shared {
  /** The secret of this name; stores `fresh` if there is none. */
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

/** What a request comes from. */
export interface RequestOrigin {
  /** Id of the account. */
  readonly owner: string;
  /**
   * The test of a channel: it waits for a connection somewhat longer, before what is queued, and does not mind that
   * the host has not answered lately.
   */
  readonly is_test: boolean;
}

/** One configured lane, which sends requests to its push service. */
export interface Connection<Request = unknown, Answer = unknown> {
  readonly lane: string;
  /** Requests under way at once, at most; by default what `PUSH.in_flight` leaves to a lane. */
  readonly in_flight?: number;
  /** The same of a connection that does not use Bun's HTTP client, and has no part in `PUSH.in_flight`. */
  readonly own_sockets?: number;
  /**
   * Requests that an account may have under way for each one that it leaves to others; by default
   * `PUSH.account_share`.
   */
  readonly account_share?: number;
  /** Called once, after the store opens and before any other method. */
  prepare?(shared: Shared): Promise<void>;
  /** Public key with which clients subscribe at their push service; call after `prepare`. */
  clientKey?(): string;
  /**
   * Makes one request. Never throws, and ends within `PUSH.time_limit`, after the wait for a connection to its
   * host.
   */
  send(request: Request, origin: RequestOrigin): Promise<Answer>;
  /** Aborts the requests under way: their `send` resolves at once. */
  abort(): void;
}

/** Where a notification is sent, and what is known there of its subject. */
export interface Destination {
  /** As it was registered; its form is the channel's own. A secret: never logged. */
  readonly address: string;
  /** UUID, the same in all attempts of a delivery. */
  readonly delivery_id: string;
  /** Address of the web page, without a slash at the end; null where it is not known. */
  readonly base_url: string | null;
  /** A credential for this question alone (docs/interface.md 19.7); null if there is none. */
  readonly ticket: string | null;
  /**
   * Whether an alert of its question is known to have been shown there; null for other subjects.
   */
  readonly shown: boolean | null;
  /** Pending questions of the account; null where it is not known. */
  readonly badge: number | null;
}

/** What `classify` needs to know of the attempt that got an answer. */
export interface Attempt {
  readonly kind: NotificationKind;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** True: this is the repetition that a verdict `resend` asked for. */
  readonly resent: boolean;
}

/** Seconds to wait: at least `least`, plus a random part of `spread`. */
export interface Delay {
  readonly least: number;
  readonly spread: number;
}

/**
 * What an answer asks for (docs/interface.md §14.7). `reason` is what is counted and recorded: a
 * short word of the service or of the connection, without content; `ok` for what was accepted.
 */
export type Verdict = {
  readonly reason: string;
} /** `replaces`: whether the service replaces this alert by the next one of its subject. */ & (
  | { readonly do: "finish"; readonly replaces?: boolean }
  /** The service does not know the address; `since`: epoch seconds, null if it did not say. */
  | { readonly do: "forget_target"; readonly since: number | null; readonly delay: Delay }
  /**
   * Refused for good. `fault`: true if the configuration is wrong rather than this notification.
   */
  | { readonly do: "drop"; readonly fault: boolean }
  /** It may have arrived, and must not arrive twice. */
  | { readonly do: "give_up" }
  /** Repeat at once, in the same attempt; if the repetition asks for it too, the lane pauses. */
  | { readonly do: "resend" }
  /** Send nothing in this lane until a restart. */
  | { readonly do: "stop_lane" }
  /** `base`: seconds of back-off that grow with each pause; 0: exactly `least`. */
  | { readonly do: "pause_lane"; readonly least: number; readonly base: number }
  /** Send nothing to this address for `least` seconds, and longer each time. */
  | { readonly do: "hold_target"; readonly least: number }
  /** `unclear`: it may have arrived. `tried`: false when no request was made. */
  | {
      readonly do: "again";
      readonly delay: Delay;
      readonly unclear: boolean;
      readonly tried?: false;
    }
);

/**
 * Exponential back-off: `base` for the first time (`times` = 1), doubling each time, at most
 * `most`.
 */
export function grown(base: number, times: number, most: number): number {
  return Math.min(most, base * 2 ** Math.min(times - 1, 30));
}
