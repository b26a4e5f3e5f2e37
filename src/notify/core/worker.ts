/**
 * Sends what is due in one lane of a channel: claims rows by lease, renders them from the current
 * state, and does what each answer asks for (§14.7).
 */

import type { ClaimedDelivery } from "../../../db/notify/queue.ts";
import { noteFailedAttempt } from "../../../db/question-report.ts";
import { IN_BACKGROUND, type Statement, type Store } from "../../../db/store/store.ts";
import { PLACES } from "../../../db/store/vault.ts";
import type { Clock } from "../../clock.ts";
import type { Ids } from "../../ids.ts";
import type { Log } from "../../log.ts";
import type { LaneHealth } from "../../model/notification.ts";
import type { Traces } from "../../observability/traces.ts";
import { ACCOUNT_SHARE } from "./account-turns.ts";
import { createAddressHolds } from "./address-holds.ts";
import { createBatchSettler } from "./batch-settler.ts";
import {
  type Channel,
  type Connection,
  type Delay,
  LOST_BACKOFF,
  type Verdict,
} from "./channel.ts";
import { BEAT, type Claim, createClaims } from "./claims.ts";
import { type DeliveryNames, type FailureLog, fieldsOf } from "./failure-log.ts";
import { createLaneState } from "./lane-state.ts";
import { type PrepareContext, prepareDelivery } from "./prepare.ts";
import type { LaneSlots } from "./request-pool.ts";
import { acceptedOf, drop, forget, noteOutcome, putOff, succeed } from "./settle.ts";
import type { Release } from "./under-way.ts";
import { createWorkerLoop, POLL_EVERY } from "./worker-loop.ts";

/** Accepted deliveries that are settled in one batch, by the kind of store; see `CLAIMED` in claims.ts. */
const SETTLED = { embedded: 16, server: 64 };

interface WorkerOptions extends Pick<PrepareContext, "full" | "base_url" | "ticketOf" | "codeOf"> {
  readonly channel: Channel;
  readonly connection: Connection;
  readonly store: Store;
  readonly clock: Clock;
  /** Real time, also in tests: for writes that share a commit, and for connections at a stop. */
  readonly timers: Pick<Clock, "after">;
  readonly ids: Ids;
  readonly log: Log;
  readonly failures: FailureLog;
  /** Null or absent without a collector of traces. */
  readonly traces?: Traces | null;
  /** The requests that may be under way at once. */
  readonly slots: LaneSlots;
}

/** A request that was sent for a delivery. */
interface SentRequest {
  /** As it is stored. */
  readonly address: string;
  /** `turn` of {@link createAddressHolds} when it was sent. */
  readonly turn: number;
  readonly quiet: boolean;
  readonly ends: boolean;
}

export function createDeliveryWorker(options: WorkerOptions) {
  const { channel, connection, store, clock, timers, ids, log, failures, slots } = options;
  const { lane } = connection;
  const clears = channel.supports("silent");
  /** Fields that name the lane in log lines. */
  const named = { channel: channel.name, lane };
  let under_way = 0;
  let next_beat: PromiseWithResolvers<void> | undefined;
  /** When the first delivery is due, as of the last claim. */
  let due: number | undefined;

  const secondsOf = ({ least, spread }: Delay) => least + ids.jitter() * spread;
  const openAddress = (recipient_id: string, stored: string) =>
    store.vault.open(PLACES.address(recipient_id), stored);
  /** Epoch seconds of the end of a delay. */
  const after = (delay: Delay) => clock.now() + secondsOf(delay);
  const holds = createAddressHolds((delay) => clock.elapsed() + secondsOf(delay));
  /** Converts a moment of {@link Clock.elapsed} to epoch seconds. */
  const timeOf = (elapsed: number) => clock.now() + elapsed - clock.elapsed();

  const claim = async (): Promise<number | null> => {
    const known = due;
    due = undefined;
    // The end of a delivery, and the end of a pause, call `run` again.
    if (!state.isOpen() || slots.room() === 0) return null;
    const found = await claims.next(known);
    if (found.count > 0) {
      due = found.due;
      return 0;
    }
    const wait = found.due - clock.now();
    return wait > 0 ? Math.min(POLL_EVERY, wait) : POLL_EVERY;
  };

  const loop = createWorkerLoop({ clock, timers, log, name: "notifications", named, claim });
  const { run, retryUntil } = loop;
  const state = createLaneState({ clock, log, named, secondsOf, resumed: run });

  /** Resolves after `BEAT` for all who wait: their writes and the next claim share a commit. */
  const beat = (): Promise<void> => {
    // During a stop, nothing else may keep the process alive until the timer fires.
    if (loop.isStopping()) return Promise.resolve();
    if (!next_beat) {
      next_beat = Promise.withResolvers();
      timers.after(BEAT, strike);
    }
    return next_beat.promise;
  };

  const strike = () => {
    next_beat?.resolve();
    next_beat = undefined;
    run();
  };

  const write = (statements: readonly Statement[], until: number) =>
    retryUntil(() => store.write(statements, IN_BACKGROUND), until);

  /** Writes what ends one attempt of a row; retries until its lease ends, a moment of `elapsed`. */
  const settle = async (until: number, statements: readonly Statement[]): Promise<void> => {
    await beat();
    await write(statements, until).catch(notSettled);
  };

  // The lease then runs out, and the row is sent once more.
  const notSettled = (error: unknown) => loop.failed("notification not settled", error);

  const settleTogether = createBatchSettler({
    most: SETTLED[store.kind],
    beat,
    write,
    failed: notSettled,
  });

  const namesOf = ({ delivery, channel: { host } }: ClaimedDelivery): DeliveryNames => {
    const { recipient_id: target_id, account_id, subject, delivery_id } = delivery;
    return { ...named, target_id, account_id, host, subject, delivery_id };
  };

  /** Logs an attempt that the service did not accept. What was not sent for want of a connection is no failure. */
  const logFailure = (claimed: ClaimedDelivery, verdict: Verdict) => {
    if (verdict.do === "again" && verdict.tried === false) return;
    const { reason } = verdict;
    const { attempts } = claimed.delivery;
    const refused = verdict.do === "drop";
    const event = !refused
      ? "notification not delivered"
      : verdict.fault
        ? "channel configuration at fault"
        : "notification refused";
    failures.report(namesOf(claimed), {
      level: refused ? "warn" : "info",
      event,
      reason,
      attempts,
    });
  };

  /** The service has accepted a request to the address: ends its hold. */
  const accept = (address: string, turn: number) => {
    state.works();
    holds.release(address, turn);
  };

  /** Keeps the reason of a failed attempt to deliver a question; the administrator may ask for it. */
  const noteFailure = ({ delivery }: ClaimedDelivery, ends: boolean, verdict: Verdict) => {
    const { question_id, recipient_id: target_id } = delivery;
    if (verdict.do === "finish" || ends || question_id === null) return [];
    if (verdict.do === "again" && verdict.tried === false) return [];
    return [noteFailedAttempt({ question_id, target_id, at: clock.now(), reason: verdict.reason })];
  };

  /** Carries out the verdict, and returns the statements that end this attempt. */
  const applyVerdict = (
    claimed: ClaimedDelivery,
    { address, turn, quiet, ends }: SentRequest,
    verdict: Verdict,
  ): Statement[] => {
    const { reason } = verdict;
    const now = clock.now();
    const ending = { claimed, now, clears, ends };
    if (verdict.do !== "finish") logFailure(claimed, verdict);
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
        return drop({ ...ending, outcome: "refused", reason });
      case "give_up":
        return drop({ ...ending, outcome: "unclear", reason });
      case "hold_target": {
        const until = holds.hold(address, verdict.least, turn);
        return putOff({ ...ending, due_at: timeOf(until) });
      }
      case "again": {
        const unclear = verdict.unclear ? address : null;
        const { delay, tried } = verdict;
        return putOff({ ...ending, due_at: after(delay), unclear, tried });
      }
      case "resend":
        state.pause(reason, 0, LOST_BACKOFF);
        return putOff({ ...ending, due_at: now });
      case "pause_lane":
        state.pause(reason, verdict.least, verdict.base);
        return putOff({ ...ending, due_at: now });
      case "stop_lane":
        state.stop(reason);
        return putOff({ ...ending, due_at: now });
    }
  };

  /** When a delivery may be sent to its address, by {@link Clock.elapsed}. */
  const untilFree = ({ delivery, question }: ClaimedDelivery, address: string): number => {
    const is_new = delivery.kind === "question" && delivery.attempts <= 1;
    if (!is_new || question.expires_at === null) return holds.until(address);
    return holds.untilProbe(address, clock.elapsed() + question.expires_at - clock.now());
  };

  const deliver = async (claimed: ClaimedDelivery, claim: Claim, release: Release) => {
    const { pending, held_until } = claim;
    const now = clock.now();
    const ending = { claimed, now, clears };
    const attempt = { ...claimed.channel, subject: claimed.delivery.subject };
    const prepared = prepareDelivery(claimed, channel, { ...options, openAddress, now, pending });
    if (prepared.is === "elsewhere") {
      const moved = { tried: false, lane: prepared.lane };
      return settle(held_until, putOff({ ...ending, due_at: now, ...moved }));
    }
    if (prepared.is === "obsolete") {
      const { reason } = prepared;
      log.debug?.("notification not sent", { ...fieldsOf(namesOf(claimed)), reason });
      return settle(held_until, drop({ ...ending, outcome: "pointless", reason, tried: false }));
    }
    if (prepared.is === "unclear") {
      return settle(held_until, drop({ ...ending, outcome: "unclear", reason: null }));
    }
    const { address, request, quiet, ends } = prepared;
    const held_for = untilFree(claimed, address) - clock.elapsed();
    if (held_for >= 0.001 || !state.isOpen()) {
      const due_at = now + Math.max(0, held_for);
      return settle(held_until, putOff({ ...ending, due_at, tried: false }));
    }
    const turn = holds.turn();
    holds.probed(address);
    under_way++;
    const verdict = await send(request, claimed).finally(() => {
      under_way--;
      release();
    });
    if (verdict.do === "finish") {
      log.debug?.("notification sent", fieldsOf(namesOf(claimed)));
      const success = { address, reason: quiet ? "quiet_hours" : null };
      const row = acceptedOf({ ...ending, now: clock.now(), ends }, success);
      if (row) {
        accept(address, turn);
        const others = (now: number) => noteOutcome({ ...attempt, now }, verdict);
        return settleTogether({ row, others, until: held_until });
      }
    }
    const statements = applyVerdict(claimed, { address, turn, quiet, ends }, verdict);
    return settle(held_until, [
      ...noteFailure(claimed, ends, verdict),
      ...statements,
      ...noteOutcome({ ...attempt, now }, verdict),
    ]);
  };

  /** Sends a request, and once more if the verdict asks for that at once. */
  const send = async (request: unknown, claimed: ClaimedDelivery): Promise<Verdict> => {
    const { delivery } = claimed;
    const attempt = async (resent: boolean) => {
      const answer = await connection.send(request, { owner: delivery.account_id, is_test: false });
      const verdict = channel.classify(answer, { ...delivery, resent });
      loop.count(verdict.reason);
      return verdict;
    };
    const sendIt = async () => {
      const verdict = await attempt(false);
      return verdict.do === "resend" ? attempt(true) : verdict;
    };
    if (!options.traces) return sendIt();
    return options.traces.delivery(namesOf(claimed), sendIt, ({ do: what, reason }) => ({
      ok: what === "finish",
      code: reason,
    }));
  };

  const launch = (claimed: ClaimedDelivery, claim: Claim, release: Release) =>
    loop.track(
      deliver(claimed, claim, release)
        .catch((error: unknown) =>
          loop.failed("notification failed", error, fieldsOf(namesOf(claimed))),
        )
        .finally(release),
    );

  const claims = createClaims({
    store,
    clock,
    timers,
    ids,
    lane,
    slots,
    account_share: connection.account_share ?? ACCOUNT_SHARE,
    retryUntil,
    launch,
    isSending: () => !loop.isStopping() && state.isOpen(),
  });

  return {
    run,
    settled: loop.settled,

    /** Waits for what is under way, aborts what takes too long, and gives the leases back. */
    stop(seconds?: number): Promise<void> {
      const stopped = loop.stop(connection.abort, seconds);
      state.close();
      strike();
      return stopped;
    },

    health: (): LaneHealth => ({
      ...named,
      ...state.health(),
      in_flight: under_way,
      counts: loop.counts(),
    }),
  };
}
