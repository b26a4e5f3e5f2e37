/**
 * The part of the port of a channel that takes answers: over connections that Relay opens itself (§19.8).
 * reply-reader.ts opens them, in one process of all, and knows no channel by name.
 */

import type { Clock } from "../../clock.ts";
import type { Config } from "../../config.ts";
import { digest } from "../../ids.ts";
import type { Outbound } from "../../outbound/guard.ts";

/** How the replies of a channel are read. */
export interface ReplySource {
  /**
   * Names the connection that serves an address: channels whose addresses have the same key share one. A digest
   * ({@link replyKey}), since it is stored and shown to operators. Null if the address takes no answers. Pure.
   */
  keyOf(address: string): string | null;
  /**
   * Most channels of one connection. Those of a key that has more are spread over several, and one is opened again
   * when a channel is added to it. Null: one connection serves any number, and {@link ReplyConnection.channels} grows
   * while it is open.
   */
  readonly most: number | null;
  /** Opens one connection, and reads until `signal` aborts or a fault ends it. Never throws. */
  open(connection: ReplyConnection): Promise<ReplyConnectionEnd>;
}

/** What `open` works with. One process at a time reads replies. */
export interface ReplyConnection {
  readonly key: string;
  /** The channels of the connection as they are now. */
  channels(): readonly ReplyChannel[];
  /** Channels that the account has yet to confirm. The connection is open while there are any, too. */
  links(): readonly PendingLink[];
  /** The position that was last given to `handle` by this connection, or by an earlier one of the key; null for none. */
  readonly from: number | null;
  /**
   * Handles one event, and returns its outcome once that is stored; null for none. `position` (null: as before) is
   * stored after that: the next `open` gets it as `from`. Waits while the store is away. Rejects once `signal` has
   * aborted: what became of the event is then not known, and nothing is to be said to the person.
   */
  handle(event: ReplyEvent | null, position: number | null): Promise<ReplyOutcome>;
  /** Call it whenever the service has answered well: replies of these channels arrive, by default for all. */
  works(channels?: readonly ReplyChannel[]): void;
  /** Replies of these channels do not arrive; the connection goes on for others. Shows as `last_error.code`. */
  fails(channels: readonly ReplyChannel[], reason: string): void;
  /** Ends these channels: the service wants no more messages for them (`gone`). */
  forget(channels: readonly ReplyChannel[], reason: string): void;
  readonly signal: AbortSignal;
  readonly config: Config;
  readonly clock: Clock;
  readonly outbound: Outbound;
}

export interface ReplyChannel {
  readonly channel_id: string;
  readonly account_id: string;
  /** As in `Destination.address`. A secret. */
  readonly address: string;
  /** Why its replies do not arrive, as the store says or is to say; null if they do. */
  error: string | null;
}

export interface PendingLink {
  readonly link_id: string;
  readonly account_id: string;
  /** What is known of the address before the person came, in a form that the channel defines. A secret. */
  readonly address: string;
}

/** What a service handed over. */
export type ReplyEvent =
  /**
   * A button with a code of `Destination.codes` was pressed by somebody who may answer for the channel. The code tells
   * whether it answers, puts off, or proves a test.
   */
  | { readonly kind: "code"; readonly channel_id: string; readonly code: string }
  /**
   * A text in reply to the message that the service calls `handle`: the answer in the person's own words. `codes`: those of
   * the message's buttons, which tell its question before `handle` is stored, and after it was forgotten. `in_parts`:
   * `text` is only the beginning, since the service split it into several messages. It answers nothing.
   */
  | {
      readonly kind: "reply";
      readonly channel_id: string;
      readonly handle: string;
      readonly codes?: readonly string[];
      readonly text: string;
      readonly in_parts?: boolean;
    }
  /** Somebody opened the link with this code. `address`: the whole address of the channel, if the account confirms. */
  | {
      readonly kind: "link";
      readonly code: string;
      readonly from: LinkVisitor;
      readonly address: string;
    };

/** Who opened a link, as the service says. Shown to the account, which decides. */
export interface LinkVisitor {
  readonly name: string;
  readonly username: string | null;
}

/**
 * What became of an event. `text`: a sentence for the person, such as "The question has expired." `same`: it had been
 * answered so before. `unknown`: forged, foreign, too late or too much; nothing is to be said at all.
 */
export type ReplyOutcome =
  | {
      readonly is: "answered" | "same" | "ended" | "refused" | "snoozed";
      readonly text: string;
      readonly question_id: string;
    }
  | { readonly is: "reached" | "linked"; readonly text: string }
  | { readonly is: "unknown" };

/**
 * Why a connection ended. It is opened again after `least` seconds and a random time of up to as much, both doubling
 * with each end in a row, up to `most`. A connection that worked for a minute begins a new row.
 */
export interface ReplyConnectionEnd {
  /** As in `Verdict`: `ok` for an end that is no fault. */
  readonly reason: string;
  readonly least: number;
  readonly most: number;
  /** True: the fault shows on the channels at once; otherwise after {@link FAULTS_SHOWN} in a row. */
  readonly shows: boolean;
  /** True: one of the channels may be refused. The connection is opened as two, each with half of them. */
  readonly splits?: boolean;
}

/** Ends in a row after which a fault shows on the channels. */
export const FAULTS_SHOWN = 3;

/** What the button of a channel's test says; its code proves that answers arrive. */
export const TEST_ANSWER = "It works";

/** The key of a connection, from the channel's name and what tells its connections apart, secrets included. */
export const replyKey = (channel: string, ...parts: readonly (string | null)[]): string =>
  digest(JSON.stringify([channel, ...parts]));
