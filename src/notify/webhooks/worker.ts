/**
 * Sends the messages of webhooks: claims what is due by lease, in turns of accounts, and does what
 * each answer asks for (§19.4).
 */

import { openSecret } from "../../../db/channel-secrets.ts";
import {
  type ClaimedMessage,
  claimedMessages,
  claimMessages,
  countAttempts,
  dropMessage,
  dueMessages,
  messageLeases,
  putBackMessage,
  releaseLapsed,
  TESTS,
} from "../../../db/notify/webhook-queue.ts";
import { IN_BACKGROUND, type Statement, type Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import type { Ids } from "../../ids.ts";
import type { Log } from "../../log.ts";
import type { StoredEvent } from "../../model/event.ts";
import type { LaneHealth } from "../../model/notification.ts";
import { NOTIFICATION_LIMITS, WEBHOOK_LIMITS } from "../../notification-limits.ts";
import type { Traces } from "../../observability/traces.ts";
import { type Outbound, OutboundError } from "../../outbound/guard.ts";
import { createFailureLog, type DeliveryNames, fieldsOf } from "../core/failure-log.ts";
import type { HostSlots } from "../core/host-slots.ts";
import { createLeaseWatch, LEASE } from "../core/leases.ts";
import { isWanted } from "../core/settings-filter.ts";
import { addTo } from "../core/under-way.ts";
import { createWorkerLoop, POLL_EVERY } from "../core/worker-loop.ts";
import { chooseMessages, type DueMessage, PER_ACCOUNT } from "./choose.ts";
import { classify, type WebhookVerdict } from "./classify.ts";
import { endAttempt, endDelivery } from "./endings.ts";
import { type WebhookMessage, type WebhookTarget, webhookRequest } from "./request.ts";

/** Access to the inbox items that the webhook of a key gets. */
export interface ItemPosts {
  /** Reads the item as it is now; null if it was read, or is gone with its key or account. */
  read(item: ItemRef): Promise<Omit<WebhookMessage, "id"> | null>;
  /**
   * Marks the item as read and its task as seen, in one batch with `statements`. May be called again.
   */
  taken(item: ItemRef, statements: readonly Statement[]): Promise<void>;
}

interface ItemRef {
  readonly id: string;
  readonly account_id: string;
}

interface WebhookWorkerOptions {
  readonly store: Store;
  readonly items: ItemPosts;
  readonly outbound: Outbound;
  readonly slots: HostSlots;
  readonly clock: Clock;
  /** Real time, also in tests: for connections at a stop. */
  readonly timers: Pick<Clock, "after">;
  readonly ids: Ids;
  readonly log: Log;
  /** Null without a collector of traces. */
  readonly traces: Traces | null;
}

interface OwnedTarget extends WebhookTarget {
  readonly account_id: string;
}

interface TestTarget extends OwnedTarget {
  readonly host: string;
}

/** The name of its channel and lane in figures. No other channel has a lane of this name. */
const LANE = "webhook";
/** Messages under way at once, per process. */
const IN_FLIGHT = 64;
/** Of those, messages of channels whose last attempt failed: hosts that hang leave room. */
const IN_FLIGHT_FAILING = 32;
/** Accounts whose events wake the worker at once. Events of others wait for the next poll. */
const KNOWN_ACCOUNTS = 10_000;

const failingName = (host: string, account_id: string | null) => `${host} ${account_id ?? ""}`;

export type WebhookWorker = ReturnType<typeof createWebhookWorker>;

/** The worker of one process; all processes on a store share the queue. */
export function createWebhookWorker(options: WebhookWorkerOptions) {
  const { store, items, outbound, slots, clock, timers, ids, log, traces } = options;
  /** Messages under way by account. */
  const of_account = new Map<string, number>();
  let under_way = 0;
  let failing_under_way = 0;
  /** Messages of failing channels by host, and by host and account. */
  const failing_at = new Map<string, number>();
  /** A number that grows with each claim, by account: the account that waits longest is next. */
  const served = new Map<string, number>();
  let turn = 0;
  const since = clock.now();
  const failures = createFailureLog({ clock, log });
  const cut = new AbortController();

  /** Accounts that are known to have webhooks: a hint of when to look. */
  const known = new Set<string>();
  const learn = (account_id: string) => {
    if (known.size >= KNOWN_ACCOUNTS) known.delete(known.values().next().value!);
    known.add(account_id);
  };

  // Only its leases show what a killed process had claimed.
  const lookAtLeases = createLeaseWatch(clock, (limit) => store.read(messageLeases({ limit })));

  /** Sends one request. Never throws. */
  const send = async (
    message: WebhookMessage,
    target: OwnedTarget,
    signal: AbortSignal,
    traceparent: string | null = null,
  ): Promise<WebhookVerdict> => {
    const request = {
      ...webhookRequest(message, target, clock.wall(), traceparent),
      owner: target.account_id,
      signal,
    };
    const answer = await outbound.request(request).catch((error: unknown) => {
      if (error instanceof OutboundError) return { fault: error.fault };
      const names = { account_id: target.account_id, delivery_id: message.id };
      loop.failed("webhook failed", error, names);
      return { fault: "failed" as const };
    });
    const is_test = TESTS.includes(message.type);
    const verdict = classify(answer, { now: clock.wall(), is_test });
    loop.count(verdict.code);
    return verdict;
  };

  const namesOf = ({ message, channel }: ClaimedMessage): DeliveryNames => ({
    channel: LANE,
    lane: LANE,
    target_id: channel.id,
    account_id: channel.account_id,
    host: channel.host,
    subject: message.subject,
    delivery_id: message.id,
  });

  /** The statements that end an attempt as the verdict asks. */
  const ending = (claimed: ClaimedMessage, verdict: WebhookVerdict): Statement[] => {
    const { code: reason } = verdict;
    const { attempts } = claimed.message;
    if (verdict.do === "finish") log.debug?.("webhook delivered", fieldsOf(namesOf(claimed)));
    else {
      const event = "webhook not delivered";
      failures.report(namesOf(claimed), { level: "info", event, reason, attempts });
    }
    return endAttempt(claimed, verdict, { now: clock.now(), jitter: ids.jitter() });
  };

  /** `until`: the end of its lease, by {@link Clock.elapsed}. */
  const deliver = async (claimed: ClaimedMessage, until: number): Promise<void> => {
    const { channel } = claimed;
    const { id, seq, lease, item_seq } = claimed.message;
    const back = { seq, lease: lease ?? "", due_at: clock.now(), tried: 0 };
    const write = (statements: Statement[]) =>
      retryUntil(async () => void (await store.write(statements, IN_BACKGROUND)), until);
    if (!isWanted(claimed.message, channel)) {
      const suppressed = endDelivery(claimed, "suppressed", "not_wanted", clock.now());
      return write([...suppressed, dropMessage(back)]);
    }
    const item = item_seq === null ? null : { id, account_id: channel.account_id };
    const message = item ? await retryUntil(() => items.read(item), until) : claimed.message;
    // The agent has read the item by now, or it is gone.
    if (!message) return write([dropMessage(back)]);
    const release = slots.take(channel.host, channel.account_id);
    if (!release) return write([putBackMessage(back)]);
    const { url, secret = "" } = openSecret(store.vault, channel.id, channel.secret);
    const target = { url, secret, account_id: channel.account_id };
    const attempt = (traceparent: string | null) =>
      send({ ...message, id }, target, cut.signal, traceparent);
    const sending = traces
      ? traces.delivery(namesOf(claimed), attempt, ({ do: what, code }) => ({
          ok: what === "finish",
          code,
        }))
      : attempt(null);
    const verdict = await sending.finally(release);
    if (cut.signal.aborted && verdict.do === "again") return write([putBackMessage(back)]);
    const end = ending(claimed, verdict);
    if (!item || verdict.do !== "finish") return write(end);
    return retryUntil(() => items.taken(item, end), until);
  };

  /** `until`: the end of its lease, by {@link Clock.elapsed}. */
  const launch = (claimed: ClaimedMessage, failing: boolean, until: number) => {
    const { account_id, host } = claimed.channel;
    served.delete(account_id);
    if (served.size >= KNOWN_ACCOUNTS) served.delete(served.keys().next().value!);
    served.set(account_id, ++turn);
    const add = (n: 1 | -1) => {
      under_way += n;
      addTo(of_account, account_id, n);
      if (!failing) return;
      failing_under_way += n;
      for (const of of [null, account_id]) addTo(failing_at, failingName(host, of), n);
    };
    add(1);
    loop.track(
      deliver(claimed, until)
        // If it is not settled, its lease runs out and the message is sent once more.
        .catch((error: unknown) =>
          loop.failed("webhook not settled", error, fieldsOf(namesOf(claimed))),
        )
        .finally(() => add(-1)),
    );
  };

  /** Due messages that could be sent now, those of the account that waits longest first. */
  const readDue = async (): Promise<DueMessage[]> => {
    const now = clock.now();
    const accounts = [...of_account].filter(([, n]) => n >= PER_ACCOUNT);
    const rows = await store.read(
      dueMessages({
        now,
        now_ms: Math.round(now * 1000),
        hosts: JSON.stringify(slots.full()),
        accounts: JSON.stringify(accounts.map(([id]) => id)),
        failing: failing_under_way < IN_FLIGHT_FAILING ? 1 : 0,
      }),
    );
    const due = rows.map(([seq, channel_id, account_id, host, failing, left]) => {
      learn(account_id);
      return { seq, channel_id, account_id, host, failing: failing === 1, left };
    });
    const turnOf = ({ account_id }: DueMessage) => served.get(account_id) ?? 0;
    return due.toSorted((one, other) => turnOf(one) - turnOf(other));
  };

  /** Claims messages and launches their deliveries. Returns how many: another process may be faster. */
  const claimChosen = async (chosen: readonly DueMessage[]): Promise<number> => {
    const now = clock.now();
    const until = clock.elapsed() + LEASE;
    const lease = ids.unique();
    const moment = { now, now_ms: Math.round(now * 1000), lease };
    const seqs = JSON.stringify(chosen.map(({ seq }) => seq));
    const claim = claimMessages({ ...moment, until: now + LEASE, seqs });
    await store.write([claim, countAttempts(moment)], IN_BACKGROUND);
    // Messages that cannot be read now are sent after the lease has run out.
    const claimed = await retryUntil(
      () => store.read(claimedMessages({ lease })),
      until - LEASE / 2,
    );
    const failing = new Set(chosen.filter((one) => one.failing).map(({ seq }) => seq));
    for (const one of claimed) launch(one, failing.has(one.message.seq), until);
    return claimed.length;
  };

  const releaseLeases = async () => {
    const lapsed = (await lookAtLeases()) ?? [];
    if (lapsed.length === 0) return;
    const release = releaseLapsed({ lapsed: JSON.stringify(lapsed), now: clock.now() });
    await store.write([release], IN_BACKGROUND);
  };

  const claim = async (): Promise<number | null> => {
    const total = IN_FLIGHT - under_way;
    // A delivery calls `run` when it ends.
    if (total <= 0) return null;
    await releaseLeases();
    const chosen = chooseMessages(await readDue(), {
      total,
      failing: IN_FLIGHT_FAILING - failing_under_way,
      ofHost: slots.free,
      heldBy: slots.heldBy,
      failingAt: (host, account_id) => failing_at.get(failingName(host, account_id)) ?? 0,
      underWay: (account_id) => of_account.get(account_id) ?? 0,
    });
    if (loop.isStopping()) return null;
    return chosen.length > 0 && (await claimChosen(chosen)) > 0 ? 0 : POLL_EVERY;
  };

  const loop = createWorkerLoop({ clock, timers, log, name: "webhooks", claim });
  const { run, settled, retryUntil } = loop;

  return {
    lane: LANE,

    run,
    settled,

    /** Remembers that an account has a webhook. */
    learn,

    /** Looks at events that this process has committed, and sends those of accounts with webhooks at once. */
    committed(events: readonly StoredEvent[]): void {
      if (events.some(({ account_id }) => known.has(account_id))) run();
    },

    /**
     * Sends one message at once, outside of the queue, within `test_wait` seconds. Null if no
     * connection to the host was free within `connection_wait`. Never throws.
     */
    async sendNow(
      message: WebhookMessage,
      { host, ...target }: TestTarget,
    ): Promise<WebhookVerdict | null> {
      const late = new AbortController();
      const impatient = new AbortController();
      const cancels = [
        timers.after(WEBHOOK_LIMITS.test_wait, () => late.abort(new OutboundError("timed_out"))),
        clock.after(NOTIFICATION_LIMITS.connection_wait, () => impatient.abort()),
      ];
      const until = AbortSignal.any([impatient.signal, cut.signal]);
      const release = await slots.wait(host, { owner: target.account_id, is_test: true, until });
      try {
        const signal = AbortSignal.any([late.signal, cut.signal]);
        return release && (await send(message, target, signal));
      } finally {
        release?.();
        for (const cancel of cancels) cancel();
      }
    },

    /** Waits for the deliveries under way, aborts what takes too long, and gives the leases back. */
    stop: (seconds?: number): Promise<void> => loop.stop(() => cut.abort(), seconds),

    health: (): LaneHealth => ({
      channel: LANE,
      lane: LANE,
      state: "open",
      reason: null,
      since,
      in_flight: under_way,
      counts: loop.counts(),
    }),
  };
}
