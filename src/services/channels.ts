/** Notification channels: create, list, change, delete, test (§19). */

import { sealSecret } from "../../db/channel-secrets.ts";
import {
  channelById,
  channelsOfAccount,
  channelTests,
  deleteChannel,
  deleteReplacedChannels,
  insertChannel,
  isEndpointOfOther,
  labelTarget,
  NEW_CHANNEL,
  updateChannel,
} from "../../db/channels.ts";
import type { Statement } from "../../db/store/store.ts";
import type { Config } from "../config.ts";
import { fail, failFields, failNotFound } from "../errors.ts";
import { hostOf } from "../host-names.ts";
import { digest } from "../ids.ts";
import { LIMITS, RATES } from "../limits.ts";
import type { AccountCaller } from "../model/caller.ts";
import type { Channel, ChannelInput, ChannelPatch } from "../model/channel.ts";
import type { TestOutcome } from "../model/delivery.ts";
import type { Channel as LaneChannel, TargetInput } from "../notify/core/channel.ts";
import type { ReachCheck } from "../notify/core/reach-check.ts";
import type { UrlCheck } from "../notify/webhooks/url-check.ts";
import { createChannelCheck } from "./channel-check.ts";
import {
  type ChannelTransport,
  createLaneTransport,
  createWebhookTransport,
  type LaneTransportDeps,
  type WebhookTransportDeps,
} from "./channel-transports.ts";
import { untilDecided } from "./shared/commit.ts";
import { readOwn, type ServiceDeps } from "./shared/deps.ts";
import { type AdmitAddressUse, createUseLimit } from "./shared/use-limits.ts";
import type { TestAnswers } from "./test-answers.ts";

interface ChannelsDeps
  extends Pick<ServiceDeps, "store" | "clock" | "ids" | "assertLive" | "assertPastTrial">,
    WebhookTransportDeps,
    LaneTransportDeps {
  readonly config: Config;
  readonly checkUrl: UrlCheck;
  readonly checkReach: ReachCheck;
  /** Every notification channel. A client can create those that have `register`. */
  readonly channels: readonly LaneChannel[];
  readonly admitAddressUse: AdmitAddressUse;
  readonly testAnswers: TestAnswers;
  /** Tests of a channel within an hour; 0: any number. */
  readonly tests_per_hour: number;
}

type Row = ReturnType<typeof channelById> extends Statement<infer R> ? R : never;

/** The last 4 code points of a URL, which are shown beside its origin (§19.1.4). */
export const hintOf = (url: string): string => [...url].slice(-4).join("");

export function createChannels(deps: ChannelsDeps) {
  const { store, clock, ids, assertLive, assertPastTrial, checkUrl, tests_per_hour } = deps;
  const { admitAddressUse } = deps;

  const transports = {
    webhook: createWebhookTransport(deps),
    ...Object.fromEntries(
      deps.channels.flatMap((channel) => {
        const { name, register } = channel;
        if (!register) return [];
        const made = { ...channel, register: (of: TargetInput) => register(of, deps.config, ids) };
        return [[name, createLaneTransport(made, deps)]];
      }),
    ),
  } as Readonly<Record<Channel["type"], ChannelTransport>>;

  const find = (caller: AccountCaller, id: string): Promise<Row> =>
    readOwn(deps, caller, channelById({ id, account_id: caller.account_id }), "channel_id");

  /** Throws `403 forbidden` in the caller's trial, unless the channel belongs to the sign-in. */
  const assertMayChange = async (caller: AccountCaller, row: Row): Promise<void> => {
    const { session_id } = row.private;
    if (session_id === null || session_id !== caller.session_id) await assertPastTrial(caller);
  };

  const admitTest = createUseLimit(
    deps,
    channelTests,
    RATES.channel_tests,
    tests_per_hour,
    "A channel can be tested",
  );

  return {
    /** The channels of the account, newest first. */
    async list(caller: AccountCaller): Promise<Channel[]> {
      const rows = await store.read(channelsOfAccount({ account_id: caller.account_id }));
      return rows.map(toChannel);
    },

    /**
     * Creates a channel; only this answer has the secret of a webhook, or the URL of a topic that was made. `403 forbidden` in the caller's trial, unless the channel
     * belongs to the sign-in and takes no endpoint from another one; `409 too_many_channels`; `422 fields.url`,
     * `fields.token`, `fields.subscription`, `fields.type`; `429 rate_limited` (§10.6.8).
     */
    async create(
      caller: AccountCaller,
      { type, label, url: given, token, subscription, buttons, replies, ...settings }: ChannelInput,
    ): Promise<{ channel: Channel; secret?: string; url?: string }> {
      const transport = transports[type];
      const made = transport.make({
        url: given ?? null,
        token: token ?? null,
        subscription: subscription ?? null,
        buttons: buttons ?? null,
        replies: replies ?? null,
      });
      const { shown, exclusive, listener } = made;
      const { url } = made.secret;
      const { account_id } = caller;
      const session_id = exclusive ? caller.session_id : null;
      const endpoint_digest = exclusive ? digest(url) : null;
      // A channel of the sign-in ends with it, so a trial may add one, but not take another's endpoint.
      const [taken] = exclusive
        ? await store.read(isEndpointOfOther({ account_id, session_id, endpoint_digest }))
        : [[1]];
      if (taken![0] === 1) await assertPastTrial(caller);
      const { origin } = new URL(url);
      const host = hostOf(url);
      // Nothing is sent yet to the endpoint of a browser, and its host is a known push service.
      if (!exclusive) {
        if (!(await admitAddressUse({ account_id, host }))) await assertLive(caller);
        const wrong = await checkUrl(url, account_id);
        if (wrong !== null) failFields({ url: wrong });
      }
      const now = clock.now();
      const { min_priority = "low", quiet_hours = null } = settings;
      const sends = settings.sends ?? made.sends;
      const channel = {
        id: ids.next("chn"),
        type,
        label,
        sends,
        min_priority,
        quiet_hours,
        state: "ok",
        last_sent_at: null,
        created_at: now,
        origin,
        hint: hintOf(url),
        reached_at: null,
      } as const;
      const secret = sealSecret(store.vault, channel.id, made.secret);
      const row = insertChannel({
        ...NEW_CHANNEL,
        ...channel,
        account_id,
        session_id,
        secret,
        endpoint_digest,
        host,
        revision: ids.unique(),
        listener,
      });
      const old = exclusive
        ? [deleteReplacedChannels({ account_id, session_id, endpoint_digest, type })]
        : [];
      const started = transport.start({ ...channel, account_id, secret }, now);
      const results = await store.write([...old, row, ...started]);
      if (results[old.length]!.changes === 0) {
        await assertLive(caller);
        fail("too_many_channels");
      }
      transport.wake(account_id);
      return {
        channel: {
          ...channel,
          ...{ sends: [...sends], last_error: null, missed: 0, replies: listener !== null },
        },
        ...shown,
      };
    },

    check: createChannelCheck(deps),

    /** The key that browsers subscribe with; `404 not_found` while Web Push is off. */
    async key(): Promise<{ public_key: string }> {
      const public_key = deps.sender.clientKey();
      if (public_key === null) fail("not_found", { detail: "Web push is off on this server." });
      return { public_key };
    },

    /** Changes the fields in the patch. `403 forbidden` as for {@link assertMayChange}, `404 not_found`. */
    update: (caller: AccountCaller, id: string, patch: ChannelPatch): Promise<Channel> =>
      untilDecided(async () => {
        const row = await find(caller, id);
        await assertMayChange(caller, row);
        const before = toChannel(row);
        const channel = { ...before, ...patch };
        if (JSON.stringify(channel) === JSON.stringify(before)) return before;
        const [changed] = await store.write([
          updateChannel({
            ...channel,
            account_id: caller.account_id,
            revision: ids.unique(),
            old_revision: row.private.revision,
          }),
          labelTarget({ id, account_id: caller.account_id }),
        ]);
        return changed!.changes > 0 ? channel : undefined;
      }),

    /** Deletes the channel and its queue. `403 forbidden` as for {@link assertMayChange}, `404 not_found`. */
    async remove(caller: AccountCaller, id: string): Promise<void> {
      const { account_id } = caller;
      await assertMayChange(caller, await find(caller, id));
      const [gone] = await store.write([deleteChannel({ id, account_id })]);
      if (gone!.changes > 0) return;
      await assertLive(caller);
      failNotFound("channel_id");
    },

    /**
     * Sends a test and waits up to 10 seconds for its outcome (§19.2.5). `403 forbidden` as for
     * {@link assertMayChange}, since a test can confirm a webhook and revive a channel; `429 rate_limited`.
     */
    async test(caller: AccountCaller, id: string): Promise<TestOutcome> {
      const row = await find(caller, id);
      await assertMayChange(caller, row);
      const { account_id } = caller;
      if (!(await admitTest({ id, account_id }))) failNotFound("channel_id");
      if (!(await admitAddressUse({ account_id, host: row.private.host })))
        await assertLive(caller);
      const { type, label } = row.channel;
      const queued_at = clock.now();
      const transport = transports[type];
      const { sent, reason, statements, has_button } = await transport.test({
        ...row.private,
        id,
        account_id,
        label,
        listener: row.listening?.key ?? null,
        asked_at: queued_at,
      });
      if (statements.length > 0) await store.write(statements);
      // A successful test releases what has waited for it.
      transport.wake(account_id);
      return {
        id: ids.next("dlv"),
        target: { type, id, label },
        status: sent ? "sent" : "failed",
        reason: sent ? null : reason,
        queued_at,
        sent_at: sent ? clock.now() : null,
        shown_at: null,
        opened_at: null,
        answer_by: sent && has_button ? queued_at + LIMITS.channel_test_life : null,
      };
    },

    /** Records the answer to a test. Anybody who has its code may; `404 not_found` for any other. */
    async reached(id: string, code: string): Promise<{ reached_at: number }> {
      const reached_at = await deps.testAnswers.answer(id, code);
      return reached_at === null ? failNotFound("channel_id") : { reached_at };
    },
  };
}

/** The channel as clients see it: one whose answers do not arrive is failing, however well it sends. */
export function toChannel({ channel, last_error, listening }: Row): Channel {
  const { key, code, at } = listening ?? {};
  const replies = key != null;
  const sending = errorOf(last_error);
  if (code == null || channel.state !== "ok") return { ...channel, last_error: sending, replies };
  return { ...channel, state: "failing", last_error: errorOf({ code, at }), replies };
}

const errorOf = (error: Row["last_error"] | { code: string; at: number | null | undefined }) => {
  const { code, at } = error ?? {};
  return code != null && at != null ? { code, at } : null;
};
