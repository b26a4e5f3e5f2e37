/** Creates and tests channels by their type: webhooks, and types whose notifications go through a lane (§19). */

import { openSecret } from "../../db/channel-secrets.ts";
import {
  channelFailed,
  channelGone,
  channelSucceeded,
  dropQueueOfGone,
  insertTarget,
} from "../../db/channels.ts";
import { noteReplies } from "../../db/notify/replies.ts";
import type { ChannelSecret } from "../../db/notify/schema.ts";
import { forgetTarget } from "../../db/notify/targets.ts";
import { insertTestMessage } from "../../db/notify/webhook-queue.ts";
import type { Statement, Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import { type FieldReasons, failFields } from "../errors.ts";
import type { Ids } from "../ids.ts";
import type { Sends } from "../model/channel.ts";
import { WEBHOOK_LIMITS } from "../notification-limits.ts";
import type { Channel as LaneChannel, NewTarget, TargetInput } from "../notify/core/channel.ts";
import { composeTest } from "../notify/core/compose.ts";
import type { Sender } from "../notify/core/sender.ts";
import { noteOutcome } from "../notify/core/settle.ts";
import type { ReplyReader } from "../notify/replies/reader.ts";
import type { WebhookWorker } from "../notify/webhooks/worker.ts";

const BOTH: Sends = ["questions", "tasks"];
/** Seconds for which a service keeps the test of a channel. */
const TEST_LIFE = 60;

/** The columns of a stored channel that a transport uses. */
interface ChannelRow {
  readonly id: string;
  readonly account_id: string;
  readonly label: string;
  readonly host: string;
  /** As it is stored. */
  readonly secret: ChannelSecret;
  readonly listener: string | null;
}

interface NewSecret {
  /** To be stored, and never shown again. */
  readonly secret: ChannelSecret;
  /** Shown once, in the answer that creates the channel. */
  readonly shown?: { readonly secret: string } | { readonly url: string };
  /** See {@link NewTarget.exclusive}. */
  readonly exclusive: boolean;
  /** See `ReplySource.keyOf`; null for a channel that does not listen. */
  readonly listener: string | null;
  /** What the channel gets unless the client says. */
  readonly sends: Sends;
}

interface TestOutcome {
  readonly sent: boolean;
  /** The code of the answer or fault; `ok` if it was sent. */
  readonly reason: string;
  /** True if the test can be answered from its notification. */
  readonly has_button: boolean;
  /** Statements that record the outcome on the channel. */
  readonly statements: readonly Statement[];
}

/** Creates and tests the channels of one type. */
export interface ChannelTransport {
  /** Checks what the client gave. Throws `422 invalid_fields`. */
  make(input: TargetInput): NewSecret;
  /** Statements that follow the insert of the channel's row in its batch. */
  start(channel: Omit<ChannelRow, "host" | "listener">, now: number): Statement[];
  /** Sends one request, within 10 seconds. Never throws. `asked_at`: epoch seconds, by which its answer is known. */
  test(channel: ChannelRow & { readonly asked_at: number }): Promise<TestOutcome>;
  /** Starts to send what is due. */
  wake(account_id: string): void;
}

interface TransportDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly clock: Clock;
}

export interface WebhookTransportDeps extends TransportDeps {
  readonly webhooks: Pick<WebhookWorker, "learn" | "run" | "sendNow">;
}

export function createWebhookTransport({
  store,
  ids,
  clock,
  webhooks,
}: WebhookTransportDeps): ChannelTransport {
  /** The only message that no change causes. */
  const testMessage = ({ id, label }: Pick<ChannelRow, "id" | "label">, created_at: number) => ({
    id: ids.next("msg"),
    type: "channel.test" as const,
    data: JSON.stringify({ channel_id: id, label }),
    created_at,
  });
  return {
    make({ url }) {
      if (url === null) failFields({ url: "is required" });
      const secret = ids.webhookSecret();
      const shown = { secret };
      return { secret: { url, secret }, shown, exclusive: false, listener: null, sends: BOTH };
    },

    start: (channel, now) => [
      insertTestMessage({
        ...testMessage(channel, now),
        account_id: channel.account_id,
        channel_id: channel.id,
        subject: channel.id,
        due_at: now,
        expires_at: now + WEBHOOK_LIMITS.message_life,
        head: 1,
        lease: null,
        item_seq: null,
      }),
    ],

    async test(channel) {
      const { id, account_id, host } = channel;
      const { url, secret = "" } = openSecret(store.vault, id, channel.secret);
      const target = { url, secret, host, account_id };
      const verdict = await webhooks.sendNow(testMessage(channel, clock.now()), target);
      const has_button = false;
      if (!verdict) return { sent: false, reason: "busy", statements: [], has_button };
      const now = clock.now();
      const { code } = verdict;
      const statements = {
        finish: () => [channelSucceeded({ id, now, test: 1, replaces: null })],
        end: () => [channelGone({ id, now, code }), dropQueueOfGone({ id })],
        again: () => [channelFailed({ id, now, code, hold: 0, refused: 0 })],
      }[verdict.do]();
      return { sent: verdict.do === "finish", reason: code, statements, has_button };
    },

    wake(account_id) {
      webhooks.learn(account_id);
      webhooks.run();
    },
  };
}

export interface LaneTransportDeps extends TransportDeps {
  readonly sender: Pick<Sender, "check" | "clientKey" | "hasTestButton" | "sendNow" | "wake">;
  readonly reply_reader: Pick<ReplyReader, "wake">;
}

interface LaneTransportOptions extends Pick<LaneChannel, "lanes" | "replies"> {
  register(input: TargetInput): NewTarget | { readonly fields: FieldReasons };
}

/** The transport of a channel that has `register`, which turns the client's input into an address. */
export function createLaneTransport(
  { lanes, replies, register }: LaneTransportOptions,
  { store, clock, sender, reply_reader }: LaneTransportDeps,
): ChannelTransport {
  const lane = lanes[0]!;
  const target = ({ id, account_id, secret }: Omit<ChannelRow, "host" | "listener">, now: number) =>
    insertTarget({ id, account_id, lane, address: secret.address ?? "", now });
  return {
    make(input) {
      const made = register(input);
      if ("fields" in made) failFields(made.fields);
      const { address, url, exclusive, is_made = false, sends = BOTH } = made;
      const key = replies?.keyOf(address) ?? null;
      const shown = is_made && { shown: { url } };
      return { secret: { url, address }, ...shown, exclusive, listener: key, sends };
    },

    start: (channel, now) => [target(channel, now)],

    async test(channel) {
      const { id, account_id, secret, asked_at } = channel;
      const notification = composeTest(id, { asked_at, expires_at: asked_at + TEST_LIFE });
      const { address = "" } = openSecret(store.vault, id, secret);
      const listens = channel.listener !== null;
      const to = { channel_id: id, address, account_id };
      const verdict = await sender.sendNow(lane, notification, to);
      const has_button = sender.hasTestButton(lane, address);
      if (!verdict) return { sent: false, reason: "busy", statements: [], has_button };
      const now = clock.now();
      const statements = noteOutcome({ id, now, test: 1 }, verdict);
      if (verdict.do === "finish" && listens) {
        const code = await sender.check(lane, to);
        statements.push(noteReplies({ code, ids: JSON.stringify([id]), now, test: 1 }));
        if (code !== null) return { sent: false, reason: code, statements, has_button };
      }
      // A channel in the state `gone` has lost its target.
      if (verdict.do === "finish") statements.push(target(channel, now));
      if (verdict.do === "forget_target") {
        const of = { account_id, purpose: "alert", recipient_id: id, subject: "", lane };
        statements.unshift(forgetTarget({ ...of, address: secret.address ?? "", since: now }));
      }
      return { sent: verdict.do === "finish", reason: verdict.reason, statements, has_button };
    },

    wake() {
      sender.wake();
      if (replies) reply_reader.wake();
    },
  };
}
