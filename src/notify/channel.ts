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
import type { Outbound } from "../outbound/guard.ts";
import type { Signer } from "../signer.ts";
import type { HostSlots } from "./host-slots.ts";
import type { Notification } from "./notification.ts";

/** `Request` and `Answer` are opaque outside of the channel. */
export interface Channel<Request = unknown, Answer = unknown> {
  readonly name: string;
  /**
   * All lanes it may have, configured or not, with names that are unique over all channels: queued
   * deliveries say their lane, and by it their channel. Each lane is sent, paused and stopped by
   * itself.
   */
  readonly lanes: readonly string[];
  /** False: none is planned, and `render` gives null. */
  supports(kind: NotificationKind): boolean;
  /**
   * Set: what it has shown is not cleared by a `silent` notification. When a question or task ends, a
   * notification of the kind `ended` replaces the alert without a sound: always, or where the service
   * has said that it can do that.
   */
  readonly replaces?: "always" | "if_known";
  /** Makes the target of a channel that an account adds (docs/interface.md §19.2.2); pure. */
  register?(input: TargetInput, config: Config): NewTarget | { readonly fields: FieldReasons };
  /** Why the configuration leaves it off, for the operator; null when it does not. */
  whyOff?(config: Config): string | null;
  /** The request; null if this address does not get it. Pure; its size is bounded. */
  render(notification: Notification, destination: Destination): Request | null;
  /** Pure. */
  classify(answer: Answer, attempt: Attempt): Verdict;
  /** The lanes that are configured. Throws a ConfigError when a value cannot be used. */
  connect(
    config: Config,
    clock: Clock,
    network: Network,
  ): Promise<readonly Connection<Request, Answer>[]>;
}

/** What a client gives to reach it: `url` or `subscription`, by the type of the channel. */
export interface TargetInput {
  readonly url: string | null;
  readonly token: string | null;
  readonly subscription: SubscriptionInput | null;
  /** Whether its notifications are to have tickets; null when the client did not say. */
  readonly buttons: boolean | null;
}

export interface NewTarget {
  readonly address: string;
  /** Where it leads. */
  readonly url: string;
  /**
   * True: the URL is of one browser. It can be there once in the whole server, and the channel belongs
   * to the sign-in that gave it. It needs no look at its network, since its host is known.
   */
  readonly exclusive: boolean;
}

/** The ticket of a channel for a question (docs/interface.md 19.7). */
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

/** For requests to addresses that users give. */
export interface Network {
  readonly outbound: Outbound;
  readonly slots: HostSlots;
}

export interface Connection<Request = unknown, Answer = unknown> {
  readonly lane: string;
  /** Requests under way at once; a share of `PUSH.in_flight` when it is left out. */
  readonly in_flight?: number;
  /** Called once, when the store is open and before any other. */
  prepare?(shared: Shared): Promise<void>;
  /** What a client needs to get an address from its push service, once prepared. */
  clientKey?(): string;
  /** Makes one request. Never throws, and ends within `PUSH.time_limit`. */
  send(request: Request): Promise<Answer>;
  /** Gives up the requests under way: their answers come at once. */
  abort(): void;
}

export interface Destination {
  /** As it was registered; its form is the channel's own. A secret: never logged. */
  readonly address: string;
  /** UUID, the same in all attempts of a delivery. */
  readonly delivery_id: string;
  /** Address of the web page, without a slash at the end; null where it is not known. */
  readonly base_url: string | null;
  /** A credential for this question alone (docs/interface.md 19.7); null if there is none. */
  readonly ticket: string | null;
  /** Whether the person has seen an alert of its question there, as far as is known; null for other subjects. */
  readonly shown: boolean | null;
  /** Pending questions of the account; null where it is not known. */
  readonly badge: number | null;
}

export interface Attempt {
  readonly kind: NotificationKind;
  /** This one included. */
  readonly attempts: number;
  /** The request was sent a second time, as an earlier verdict asked for. */
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
} /** `replaces`: the service will replace this alert by the next one of its subject, or will not. */ & (
  | { readonly do: "finish"; readonly replaces?: boolean }
  /** The service knows the address no more; `since`: epoch seconds, null when it did not say. */
  | { readonly do: "forget_target"; readonly since: number | null; readonly delay: Delay }
  /** `fault`: of the configuration, rather than of this notification. */
  | { readonly do: "drop"; readonly fault: boolean }
  /** It may have arrived, and must not arrive twice. */
  | { readonly do: "give_up" }
  /** Repeat at once, in the same attempt; if the repetition asks for it too, the lane pauses. */
  | { readonly do: "resend" }
  /** Until a restart. */
  | { readonly do: "stop_lane" }
  /** `base`: seconds of back-off that grow with each pause; 0: exactly `least`. */
  | { readonly do: "pause_lane"; readonly least: number; readonly base: number }
  /** The address gets fewer pushes. */
  | { readonly do: "hold_target"; readonly least: number }
  /** `unclear`: it may have arrived. `tried`: false when no request was made. */
  | {
      readonly do: "again";
      readonly delay: Delay;
      readonly unclear: boolean;
      readonly tried?: false;
    }
);

/** `base` at the first time, doubling, up to `most`. */
export function grown(base: number, times: number, most: number): number {
  return Math.min(most, base * 2 ** Math.min(times - 1, 30));
}
