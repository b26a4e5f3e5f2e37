/**
 * Sends what is due in one lane of a channel: claims rows by lease, renders them from the current
 * state, and does what each answer asks for (docs/interface.md §14.7).
 */

import type { ClaimedDelivery } from "../../db/notify/queue.ts";
import { IN_BACKGROUND, type Statement, type Store } from "../../db/store.ts";
import type { Cancel, Clock } from "../clock.ts";
import type { Ids } from "../ids.ts";
import { describeError, type Log } from "../log.ts";
import type { LaneHealth } from "../model/notification.ts";
import { PUSH, PUSH_BATCH } from "../notification-limits.ts";
import { createBatchSettler } from "./batch-settler.ts";
import type { Channel, Connection, Delay, TicketOf, Verdict } from "./channel.ts";
import { type Claim, createClaims } from "./claims.ts";
import type { Release } from "./host-slots.ts";
import { createLaneState } from "./lane-state.ts";
import { prepareDelivery } from "./prepare.ts";
import type { LaneSlots } from "./request-pool.ts";
import { createRetryUntil } from "./retry-until.ts";
import { acceptedOf, drop, forget, noteOutcome, putOff, succeed } from "./settle.ts";
import { createTokenBackoff } from "./token-backoff.ts";

interface WorkerOptions {
  readonly channel: Channel;
  readonly connection: Connection;
  readonly store: Store;
  readonly clock: Clock;
  /** Real time, also in tests: for writes that share a commit, and for connections at a stop. */
  readonly timers: Pick<Clock, "after">;
  readonly ids: Ids;
  readonly log: Log;
  /** False: no title, prompt or note. */
  readonly full: boolean;
  /** Address of the web page; null where it is not known. */
  readonly base_url: string | null;
  readonly ticketOf: TicketOf;
  /** The requests that may be under way at once. */
  readonly slots: LaneSlots;
}

/** What is known of a request that was sent, besides its row. */
interface Sent {
  readonly address: string;
  /** `turn` of {@link createTokenBackoff} when it was sent. */
  readonly turn: number;
  readonly quiet: boolean;
  readonly ends: boolean;
}

/** Distinct reasons that are counted; further ones count as `other`. */
const REASONS = 100;

export function createDeliveryWorker(options: WorkerOptions) {
  const { channel, connection, store, clock, timers, ids, log, full, base_url, slots, ticketOf } =
    options;
  const { lane } = connection;
  const clears = channel.supports("silent");
  /** Fields that name the lane in log lines. */
  const named = { channel: channel.name, lane };
  /** Claimed rows that are not settled. */
  const deliveries = new Set<Promise<void>>();
  let under_way = 0;
  let next_beat: PromiseWithResolvers<void> | undefined;
  const counts: Record<string, number> = Object.create(null);
  let timer: Cancel | undefined;
  let running: Promise<void> | undefined;
  let again = false;
  let stopping = false;

  const count = (name: string) => {
    const known = name in counts || Object.keys(counts).length < REASONS;
    const slot = known ? name : "other";
    counts[slot] = (counts[slot] ?? 0) + 1;
  };

  const secondsOf = ({ least, spread }: Delay) => least + ids.jitter() * spread;
  /** Epoch seconds of the end of a delay. */
  const after = (delay: Delay) => clock.now() + secondsOf(delay);
  const tokenBackoff = createTokenBackoff((delay) => clock.elapsed() + secondsOf(delay));
  /** Epoch seconds of a moment of {@link Clock.elapsed}. */
  const timeOf = (elapsed: number) => clock.now() + elapsed - clock.elapsed();

  const state = createLaneState({ clock, log, named, secondsOf, resumed: () => run() });

  /**
   * Resolves after `PUSH.beat` for all who wait: their writes and the next claim share a commit.
   */
  const beat = (): Promise<void> => {
    // During a stop, nothing else may keep the process alive until the timer fires.
    if (stopping) return Promise.resolve();
    if (!next_beat) {
      next_beat = Promise.withResolvers();
      timers.after(PUSH.beat, strike);
    }
    return next_beat.promise;
  };

  const strike = () => {
    next_beat?.resolve();
    next_beat = undefined;
    run();
  };

  const retryUntil = createRetryUntil({
    clock,
    log,
    event: "pushes wait for the store",
    isStopping: () => stopping,
  });

  /** Writes what ends one attempt of a row; retries until its lease ends, a moment of `elapsed`. */
  const settle = async (until: number, statements: readonly Statement[]): Promise<void> => {
    await beat();
    await retryUntil(() => store.write(statements, IN_BACKGROUND), until).catch(notSettled);
  };

  // The lease then runs out, and the row is sent once more.
  const notSettled = (error: unknown) => log.warn("push not settled", describeError(error));

  const settleTogether = createBatchSettler({
    most: PUSH_BATCH[store.kind].settle,
    beat,
    write: (statements, until) => retryUntil(() => store.write(statements, IN_BACKGROUND), until),
    failed: notSettled,
  });

  const note = (event: string, { delivery }: ClaimedDelivery, why: string) => {
    const { kind, recipient_id, delivery_id } = delivery;
    log.warn(event, { ...named, kind, recipient_id, delivery_id, reason: why });
  };

  /** The service has accepted a request to the address: ends its hold. */
  const accept = (address: string, turn: number) => {
    state.works();
    tokenBackoff.release(address, turn);
  };

  /** What the verdict asks for, as the statements that end this attempt. */
  const applyVerdict = (
    claimed: ClaimedDelivery,
    { address, turn, quiet, ends }: Sent,
    verdict: Verdict,
  ): Statement[] => {
    const { reason } = verdict;
    const now = clock.now();
    const ending = { claimed, now, clears, ends };
    switch (verdict.do) {
      case "finish":
        accept(address, turn);
        return succeed(ending, { address, reason: quiet ? "quiet_hours" : null });
      case "forget_target":
        return forget(ending, {
          address,
          since: verdict.since,
          later: after(verdict.delay),
          reason,
        });
      case "drop":
        note(verdict.fault ? "push configuration at fault" : "push refused", claimed, reason);
        return drop({ ...ending, outcome: "refused", reason });
      case "give_up":
        return drop({ ...ending, outcome: "unclear", reason });
      case "hold_target": {
        const until = tokenBackoff.hold(address, verdict.least, turn);
        return putOff({ ...ending, due_at: timeOf(until) });
      }
      case "again": {
        const unclear = verdict.unclear ? address : null;
        const { delay, tried } = verdict;
        return putOff({ ...ending, due_at: after(delay), unclear, tried });
      }
      case "resend":
        state.pause(reason, 0, PUSH.lost_backoff);
        return putOff({ ...ending, due_at: now });
      case "pause_lane":
        state.pause(reason, verdict.least, verdict.base);
        return putOff({ ...ending, due_at: now });
      case "stop_lane":
        state.stop(reason);
        return putOff({ ...ending, due_at: now });
    }
  };

  const deliver = async (claimed: ClaimedDelivery, claim: Claim, release: Release) => {
    const { pending, held_until } = claim;
    const now = clock.now();
    const ending = { claimed, now, clears };
    const prepared = prepareDelivery(claimed, channel, {
      now,
      pending,
      full,
      base_url,
      ticketOf,
    });
    if (prepared.is === "elsewhere") {
      const moved = { tried: false, lane: prepared.lane };
      return settle(held_until, putOff({ ...ending, due_at: now, ...moved }));
    }
    if (prepared.is === "obsolete") {
      const { reason } = prepared;
      return settle(held_until, drop({ ...ending, outcome: "pointless", reason, tried: false }));
    }
    if (prepared.is === "unclear") {
      return settle(held_until, drop({ ...ending, outcome: "unclear", reason: null }));
    }
    const { address, request, quiet, ends } = prepared;
    const held_for = tokenBackoff.until(address) - clock.elapsed();
    if (held_for >= 0.001 || !state.isOpen()) {
      const due_at = now + Math.max(0, held_for);
      return settle(held_until, putOff({ ...ending, due_at, tried: false }));
    }
    const turn = tokenBackoff.turn();
    under_way++;
    const verdict = await send(request, claimed).finally(() => {
      under_way--;
      release();
    });
    if (verdict.do === "finish") {
      const success = { address, reason: quiet ? "quiet_hours" : null };
      const row = acceptedOf({ ...ending, now: clock.now(), ends }, success);
      if (row) {
        accept(address, turn);
        const others = (now: number) => noteOutcome({ claimed, now }, verdict);
        return settleTogether({ row, others, until: held_until });
      }
    }
    const statements = applyVerdict(claimed, { address, turn, quiet, ends }, verdict);
    return settle(held_until, [...statements, ...noteOutcome(ending, verdict)]);
  };

  /** Sends a request, and once more if the verdict asks for that at once. */
  const send = async (request: unknown, { delivery }: ClaimedDelivery): Promise<Verdict> => {
    const attempt = async (resent: boolean) => {
      const answer = await connection.send(request, { owner: delivery.account_id, is_test: false });
      const verdict = channel.classify(answer, { ...delivery, resent });
      count(verdict.reason);
      return verdict;
    };
    const verdict = await attempt(false);
    return verdict.do === "resend" ? attempt(true) : verdict;
  };

  const launch = (claimed: ClaimedDelivery, claim: Claim, release: Release) => {
    const delivery = deliver(claimed, claim, release)
      .catch((error: unknown) => log.error("push failed", describeError(error)))
      .finally(() => {
        release();
        deliveries.delete(delivery);
        run();
      });
    deliveries.add(delivery);
  };

  const claims = createClaims({
    store,
    clock,
    timers,
    ids,
    lane,
    slots,
    account_share: connection.account_share ?? PUSH.account_share,
    retryUntil,
    launch,
    isSending: () => !stopping && state.isOpen(),
  });

  const arm = (seconds: number) => {
    timer?.();
    timer = clock.after(Math.max(0.001, seconds), run);
  };

  const pass = async () => {
    let due: number | undefined;
    for (;;) {
      again = false;
      // The end of a delivery, and that of a pause, calls `run` again.
      if (stopping || !state.isOpen() || slots.room() === 0) return;
      const found = await claims.next(due);
      if (found.count === 0 && !again) {
        const wait = found.due - clock.now();
        arm(wait > 0 ? Math.min(PUSH.poll_every, wait) : PUSH.poll_every);
        return;
      }
      due = found.count === 0 ? undefined : found.due;
    }
  };

  function run(): void {
    if (stopping) return;
    again = true;
    running ??= pass()
      .catch((error: unknown) => {
        log.warn("pushes not claimed", describeError(error));
        arm(PUSH.poll_every);
      })
      .finally(() => {
        running = undefined;
        if (again) run();
      });
  }

  return {
    /** Sends what is due; call it when something may have fallen due. */
    run,

    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      while (running || deliveries.size > 0) await Promise.all([running, ...deliveries]);
    },

    /** Waits for what is under way, for `PUSH.stop_wait` at most, and gives the leases back. */
    async stop(): Promise<void> {
      stopping = true;
      timer?.();
      state.close();
      strike();
      const cut = timers.after(PUSH.stop_wait, connection.abort);
      while (running || deliveries.size > 0) await Promise.all([running, ...deliveries]);
      cut();
    },

    health: (): LaneHealth => ({
      ...named,
      ...state.health(),
      in_flight: under_way,
      counts: { ...counts },
    }),
  };
}
