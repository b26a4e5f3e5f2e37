/**
 * Sends the messages of webhooks: claims what is due by lease, in turns of accounts, and does what
 * each answer asks for (docs/interface.md 19.4).
 */

import {
  type ClaimedMessage,
  claimedMessages,
  claimMessages,
  countAttempts,
  dropMessage,
  dueMessages,
  makeMessagesDue,
  messageLeases,
  misdatedChannels,
  putBackMessage,
  releaseLapsed,
  TESTS,
} from "../../../db/notify/webhook-queue.ts";
import { IN_BACKGROUND, type Statement, type Store } from "../../../db/store.ts";
import type { Cancel, Clock } from "../../clock.ts";
import type { Ids } from "../../ids.ts";
import { describeError, type Log } from "../../log.ts";
import type { StoredEvent } from "../../model/event.ts";
import type { LaneHealth } from "../../model/notification.ts";
import { PUSH, WEBHOOK } from "../../notification-limits.ts";
import { type Outbound, OutboundError } from "../../outbound/guard.ts";
import { createDueTimes } from "../due-times.ts";
import type { HostSlots } from "../host-slots.ts";
import { createLeaseWatch } from "../leases.ts";
import { createRetryUntil } from "../retry-until.ts";
import { isWanted } from "../wanted.ts";
import { chooseMessages, type DueMessage } from "./choose.ts";
import { classify, type WebhookVerdict } from "./classify.ts";
import { endAttempt, endDelivery } from "./endings.ts";
import { type WebhookMessage, type WebhookTarget, webhookRequest } from "./request.ts";

/** Access to the inbox items that the webhook of a key gets. */
export interface ItemPosts {
  /** The item as it is now; null once it was read, or is gone with its key or account. */
  read(item: ItemOf): Promise<Omit<WebhookMessage, "id"> | null>;
  /**
   * Marks it as read, and its task as seen, in one batch with `statements`; may be called again.
   */
  taken(item: ItemOf, statements: readonly Statement[]): Promise<void>;
}

interface ItemOf {
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
}

/** The target of an account. */
interface OwnedTarget extends WebhookTarget {
  readonly account_id: string;
}

/** Where the test of a channel is sent. */
interface TestTarget extends OwnedTarget {
  readonly host: string;
}

/** Distinct codes that are counted; further ones count as `other`. */
const CODES = 100;

/** Its lane in figures; no channel has a lane of this name. */
const LANE = "webhook";

const failingName = (host: string, account_id: string | null) => `${host} ${account_id ?? ""}`;

function addTo(counts: Map<string, number>, name: string, n: 1 | -1): void {
  const left = (counts.get(name) ?? 0) + n;
  if (left > 0) counts.set(name, left);
  else counts.delete(name);
}

export type WebhookWorker = ReturnType<typeof createWebhookWorker>;

/** The worker of one process; all processes on a store share the queue. */
export function createWebhookWorker(options: WebhookWorkerOptions) {
  const { store, items, outbound, slots, clock, timers, ids, log } = options;
  const deliveries = new Set<Promise<void>>();
  /** Messages under way by account, and those of failing channels. */
  const of_account = new Map<string, number>();
  let under_way = 0;
  let failing_under_way = 0;
  /** Those of failing channels by host, and by host and account. */
  const failing_at = new Map<string, number>();
  /** When messages of an account were last claimed, as a number that grows: who waits longest is next. */
  const served = new Map<string, number>();
  let turn = 0;
  const counts: Record<string, number> = Object.create(null);
  const since = clock.now();
  const cut = new AbortController();
  let timer: Cancel | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopping = false;

  /** Accounts that have webhooks, as far as this process has seen: only a hint of when to look. */
  const known = new Set<string>();
  const learn = (account_id: string) => {
    if (known.size >= WEBHOOK.known_accounts) known.delete(known.values().next().value!);
    known.add(account_id);
  };

  const leases = createLeaseWatch(clock, WEBHOOK.lease);
  let next_look = clock.elapsed();
  const correctDueTimes = createDueTimes({
    store,
    clock,
    find: (now) => misdatedChannels({ now }),
    correct: (ids, now) => makeMessagesDue.map((step) => step({ ids, now })),
  });

  const retryUntil = createRetryUntil({
    clock,
    log,
    event: "webhooks wait for the store",
    isStopping: () => stopping,
  });

  const count = (code: string) => {
    const slot = code in counts || Object.keys(counts).length < CODES ? code : "other";
    counts[slot] = (counts[slot] ?? 0) + 1;
  };

  /** One request. Never throws. */
  const send = async (
    message: WebhookMessage,
    target: OwnedTarget,
    signal: AbortSignal,
  ): Promise<WebhookVerdict> => {
    const request = {
      ...webhookRequest(message, target, clock.now()),
      owner: target.account_id,
      signal,
    };
    const answer = await outbound.request(request).catch((error: unknown) => {
      if (error instanceof OutboundError) return { fault: error.fault };
      log.error("webhook failed", describeError(error));
      return { fault: "failed" as const };
    });
    const is_test = TESTS.includes(message.type);
    const verdict = classify(answer, { now: clock.now(), is_test });
    count(verdict.code);
    return verdict;
  };

  /** What the verdict asks for, as the statements that end this attempt. */
  const ending = (claimed: ClaimedMessage, verdict: WebhookVerdict): Statement[] => {
    if (verdict.do !== "finish") {
      const { channel, message } = claimed;
      const { code } = verdict;
      const { attempts } = message;
      log.info("webhook not delivered", { channel_id: channel.id, code, attempts });
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
    const { url, secret = "" } = channel.secret;
    const target = { url, secret, account_id: channel.account_id };
    const verdict = await send({ ...message, id }, target, cut.signal).finally(release);
    if (cut.signal.aborted && verdict.do === "again") return write([putBackMessage(back)]);
    const end = ending(claimed, verdict);
    if (!item || verdict.do !== "finish") return write(end);
    return retryUntil(() => items.taken(item, end), until);
  };

  /** `until`: the end of its lease, by {@link Clock.elapsed}. */
  const launch = (claimed: ClaimedMessage, failing: boolean, until: number) => {
    const { account_id, host } = claimed.channel;
    served.delete(account_id);
    if (served.size >= WEBHOOK.known_accounts) served.delete(served.keys().next().value!);
    served.set(account_id, ++turn);
    const add = (n: 1 | -1) => {
      under_way += n;
      addTo(of_account, account_id, n);
      if (!failing) return;
      failing_under_way += n;
      for (const of of [null, account_id]) addTo(failing_at, failingName(host, of), n);
    };
    add(1);
    const delivery = deliver(claimed, until)
      // If it is not settled, its lease runs out and the message is sent once more.
      .catch((error: unknown) => log.warn("webhook not settled", describeError(error)))
      .finally(() => {
        add(-1);
        deliveries.delete(delivery);
        run();
      });
    deliveries.add(delivery);
  };

  const offered = async (): Promise<DueMessage[]> => {
    const now = clock.now();
    const accounts = [...of_account].filter(([, n]) => n >= WEBHOOK.per_account);
    const rows = await store.read(
      dueMessages({
        now,
        now_ms: Math.round(now * 1000),
        hosts: JSON.stringify(slots.full()),
        accounts: JSON.stringify(accounts.map(([id]) => id)),
        failing: failing_under_way < WEBHOOK.in_flight_failing ? 1 : 0,
      }),
    );
    const due = rows.map(([seq, channel_id, account_id, host, failing, left]) => {
      learn(account_id);
      return { seq, channel_id, account_id, host, failing: failing === 1, left };
    });
    const turnOf = ({ account_id }: DueMessage) => served.get(account_id) ?? 0;
    return due.toSorted((one, other) => turnOf(one) - turnOf(other));
  };

  /**
   * Claims messages and launches their deliveries; returns how many, as another process may be
   * faster.
   */
  const claim = async (chosen: readonly DueMessage[]): Promise<number> => {
    const now = clock.now();
    const until = clock.elapsed() + WEBHOOK.lease;
    const lease = ids.unique();
    const moment = { now, now_ms: Math.round(now * 1000), lease };
    const seqs = JSON.stringify(chosen.map(({ seq }) => seq));
    const claim = claimMessages({ ...moment, until: now + WEBHOOK.lease, seqs });
    await store.write([claim, countAttempts(moment)], IN_BACKGROUND);
    // Messages that cannot be read now are sent after the lease has run out.
    const claimed = await retryUntil(
      () => store.read(claimedMessages({ lease })),
      until - WEBHOOK.lease / 2,
    );
    const failing = new Set(chosen.filter((one) => one.failing).map(({ seq }) => seq));
    for (const one of claimed) launch(one, failing.has(one.message.seq), until);
    return claimed.length;
  };

  /** Only its leases show what a killed process had claimed. */
  const lookAtLeases = async () => {
    const rows = await store.read(messageLeases({ limit: WEBHOOK.leases }));
    // The moment after the read: a lease must not seem older than it is.
    next_look = clock.elapsed() + WEBHOOK.poll_every;
    const lapsed = leases.lapsed(rows.map(([lease]) => lease));
    if (lapsed.length === 0) return;
    await store.write(
      [releaseLapsed({ lapsed: JSON.stringify(lapsed), now: clock.now() })],
      IN_BACKGROUND,
    );
  };

  const pass = async () => {
    for (;;) {
      again = false;
      const total = WEBHOOK.in_flight - under_way;
      // A delivery calls `run` when it ends.
      if (stopping || total <= 0) return;
      if (clock.elapsed() >= next_look) await lookAtLeases();
      await correctDueTimes();
      const chosen = chooseMessages(await offered(), {
        total,
        failing: WEBHOOK.in_flight_failing - failing_under_way,
        ofHost: slots.free,
        heldBy: slots.heldBy,
        failingAt: (host, account_id) => failing_at.get(failingName(host, account_id)) ?? 0,
        underWay: (account_id) => of_account.get(account_id) ?? 0,
      });
      if (stopping) return;
      if (chosen.length > 0 && (await claim(chosen)) > 0) continue;
      if (again) continue;
      timer?.();
      timer = clock.after(WEBHOOK.poll_every, run);
      return;
    }
  };

  function run(): void {
    if (stopping) return;
    again = true;
    running ??= pass()
      .catch((error: unknown) => {
        log.warn("webhooks not claimed", describeError(error));
        timer?.();
        timer = clock.after(WEBHOOK.poll_every, run);
      })
      .finally(() => {
        running = undefined;
        if (again) run();
      });
  }

  return {
    lane: LANE,

    /** Sends what is due; call it at any time. */
    run,

    /** Notes that an account has a webhook. */
    learn,

    /**
     * Call it with events that this process has committed: sends those of accounts with webhooks at
     * once.
     */
    committed(events: readonly StoredEvent[]): void {
      if (events.some(({ account_id }) => known.has(account_id))) run();
    },

    /**
     * Sends one message at once, outside of the queue, within `WEBHOOK.test_wait` seconds; null
     * when no connection to the host was free within `PUSH.connection_wait`. Never throws.
     */
    async sendNow(
      message: WebhookMessage,
      { host, ...target }: TestTarget,
    ): Promise<WebhookVerdict | null> {
      const late = new AbortController();
      const impatient = new AbortController();
      const cancels = [
        timers.after(WEBHOOK.test_wait, () => late.abort(new OutboundError("timed_out"))),
        clock.after(PUSH.connection_wait, () => impatient.abort()),
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

    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      while (running || deliveries.size > 0) await Promise.all([running, ...deliveries]);
    },

    /**
     * Waits for the deliveries under way, for `WEBHOOK.stop_wait` seconds at most, then aborts them
     * and gives the leases back.
     */
    async stop(): Promise<void> {
      stopping = true;
      timer?.();
      const cancel = timers.after(WEBHOOK.stop_wait, () => cut.abort());
      while (running || deliveries.size > 0) await Promise.all([running, ...deliveries]);
      cancel();
    },

    health: (): LaneHealth => ({
      channel: LANE,
      lane: LANE,
      state: "open",
      reason: null,
      since,
      in_flight: under_way,
      counts: { ...counts },
    }),
  };
}
