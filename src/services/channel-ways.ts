/** How channels of a type are made and tested: webhooks, and those that have a lane (docs/interface.md 19). */

import {
  channelFailed,
  channelGone,
  channelSucceeded,
  dropQueueOfGone,
  insertTarget,
} from "../../db/channels.ts";
import type { ChannelSecret } from "../../db/notify/schema.ts";
import { forgetTarget } from "../../db/notify/targets.ts";
import { insertTestMessage } from "../../db/notify/webhook-queue.ts";
import type { Statement } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { type FieldReasons, failFields } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { PUSH, WEBHOOK } from "../notification-limits.ts";
import type { Channel as LaneChannel, NewTarget, TargetInput } from "../notify/channel.ts";
import { composeTest } from "../notify/compose.ts";
import type { Sender } from "../notify/sender.ts";
import type { WebhookWorker } from "../notify/webhooks/worker.ts";

/** A channel as its row has it. */
interface Known {
  readonly id: string;
  readonly account_id: string;
  readonly label: string;
  readonly host: string;
  readonly secret: ChannelSecret;
}

interface Made {
  /** What is kept, and never shown. */
  readonly secret: ChannelSecret;
  /** What the client is shown once. */
  readonly shown?: string;
  /** As of {@link NewTarget}. */
  readonly exclusive: boolean;
}

interface Tested {
  readonly sent: boolean;
  /** Why it was not. */
  readonly reason: string;
  /** What the channel learns from it. */
  readonly statements: readonly Statement[];
}

export interface ChannelWay {
  /** Throws `422 invalid_fields`. */
  make(input: TargetInput): Made;
  /** Stand in the batch of its row, after it. */
  start(channel: Omit<Known, "host">, now: number): Statement[];
  /** One request; never throws. Within 10 seconds. */
  test(channel: Known): Promise<Tested>;
  /** Something may have fallen due. */
  wake(account_id: string): void;
}

interface WayDeps {
  readonly ids: Ids;
  readonly clock: Clock;
}

export interface WebhookWayDeps extends WayDeps {
  readonly webhooks: Pick<WebhookWorker, "learn" | "run" | "sendNow">;
}

export function createWebhookWay({ ids, clock, webhooks }: WebhookWayDeps): ChannelWay {
  /** The only message that has nothing to do with a change. */
  const testMessage = ({ id, label }: Pick<Known, "id" | "label">, created_at: number) => ({
    id: ids.next("msg"),
    type: "channel.test" as const,
    data: JSON.stringify({ channel_id: id, label }),
    created_at,
  });
  return {
    make({ url }) {
      if (url === null) failFields({ url: "is required" });
      const secret = ids.webhookSecret();
      return { secret: { url, secret }, shown: secret, exclusive: false };
    },

    start: (channel, now) => [
      insertTestMessage({
        ...testMessage(channel, now),
        account_id: channel.account_id,
        channel_id: channel.id,
        subject: channel.id,
        due_at: now,
        expires_at: now + WEBHOOK.message_life,
        head: 1,
        lease: null,
        item_seq: null,
      }),
    ],

    async test(channel) {
      const { id, account_id, host, secret } = channel;
      const target = { url: secret.url, secret: secret.secret ?? "", host, account_id };
      const verdict = await webhooks.sendNow(testMessage(channel, clock.now()), target);
      if (!verdict) return { sent: false, reason: "busy", statements: [] };
      const now = clock.now();
      const { code } = verdict;
      const statements = {
        finish: () => [channelSucceeded({ id, now, test: 1, replaces: null })],
        end: () => [channelGone({ id, now, code }), dropQueueOfGone({ id })],
        again: () => [channelFailed({ id, now, code, hold: 0, refused: 0 })],
      }[verdict.do]();
      return { sent: verdict.do === "finish", reason: code, statements };
    },

    wake(account_id) {
      webhooks.learn(account_id);
      webhooks.run();
    },
  };
}

export interface LaneWayDeps extends WayDeps {
  readonly sender: Pick<Sender, "clientKey" | "sendNow" | "wake">;
}

interface LaneWayOptions extends Pick<LaneChannel, "lanes"> {
  register(input: TargetInput): NewTarget | { readonly fields: FieldReasons };
}

/** Of a channel that makes addresses of what a client gives. */
export function createLaneWay(
  { lanes, register }: LaneWayOptions,
  { clock, sender }: LaneWayDeps,
): ChannelWay {
  const lane = lanes[0]!;
  const target = ({ id, account_id, secret }: Omit<Known, "host">, now: number) =>
    insertTarget({ id, account_id, lane, address: secret.address ?? "", now });
  return {
    make(input) {
      const made = register(input);
      if ("fields" in made) failFields(made.fields);
      const { address, url, exclusive } = made;
      return { secret: { url, address }, exclusive };
    },

    start: (channel, now) => [target(channel, now)],

    async test(channel) {
      const { id, account_id, secret } = channel;
      const notification = composeTest(id, { expires_at: clock.now() + PUSH.test_life });
      const verdict = await sender.sendNow(lane, notification, {
        address: secret.address ?? "",
        account_id,
      });
      if (!verdict) return { sent: false, reason: "busy", statements: [] };
      const now = clock.now();
      const code = verdict.reason;
      if (verdict.do === "finish") {
        const replaces = verdict.replaces === undefined ? null : Number(verdict.replaces);
        // One that was gone has no target any more.
        const statements = [channelSucceeded({ id, now, test: 1, replaces }), target(channel, now)];
        return { sent: true, reason: code, statements };
      }
      const statements = (): Statement[] => {
        if (verdict.do === "forget_target") {
          const { address = "" } = secret;
          const of = { account_id, purpose: "alert", recipient_id: id, subject: "", lane, address };
          return [forgetTarget({ ...of, since: now }), channelGone({ id, now, code })];
        }
        // No request was made.
        if (verdict.do === "again" && verdict.tried === false) return [];
        const refused = verdict.do === "drop" ? 1 : 0;
        return [channelFailed({ id, now, code, hold: 0, refused })];
      };
      return { sent: false, reason: code, statements: statements() };
    },

    wake: () => sender.wake(),
  };
}
