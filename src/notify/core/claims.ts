/** Claims what is due in one lane by lease, so that each account has its share (§14.4.1). */

import {
  type ClaimedDelivery,
  claimDue,
  claimedDeliveries,
  claimOfAccounts,
  leasesOf,
  nextDue,
  pendingCounts,
  stampActivities,
} from "../../../db/notify/queue.ts";
import { IN_BACKGROUND, type Store } from "../../../db/store/store.ts";
import type { Clock } from "../../clock.ts";
import type { Ids } from "../../ids.ts";
import type { NotificationKind } from "../../model/notification.ts";
import { createAccountTurns } from "./account-turns.ts";
import { createLeaseWatch, LEASE } from "./leases.ts";
import type { LaneSlots } from "./request-pool.ts";
import { TIME_LIMIT } from "./requests.ts";
import type { Release } from "./under-way.ts";
import type { WorkerLoop } from "./worker-loop.ts";

/** Seconds within which outcomes are gathered for one write, and between two reads of accounts. */
export const BEAT = 0.01;
/**
 * Deliveries that one claim takes, by the kind of store. The SQL of a file runs on the event loop,
 * where requests wait for it; a libSQL server is asked less often for the same work.
 */
const CLAIMED = { embedded: 25, server: 100 };
/** Deliveries of each urgency that a claim considers: those that have been due for longest. */
const WINDOW = 100;
/** Claims by age in a row, while more is due, before one goes through the accounts. */
export const CLAIMS_BY_AGE = 2;

/** The values that the deliveries of one claim share. */
export interface Claim {
  /** Pending questions by the id of their task. */
  readonly pending: ReadonlyMap<string, number>;
  /** The end of the lease, by {@link Clock.elapsed}. */
  readonly held_until: number;
}

interface ClaimsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Real time, also in tests. */
  readonly timers: Pick<Clock, "after">;
  readonly ids: Ids;
  readonly lane: string;
  readonly slots: LaneSlots;
  /** Requests that an account may have under way for each one that it leaves to others. */
  readonly account_share: number;
  readonly retryUntil: WorkerLoop["retryUntil"];
  /** Takes over a claimed delivery and the request that is held for it. */
  readonly launch: (claimed: ClaimedDelivery, claim: Claim, release: Release) => void;
  /** False while the lane sends nothing. */
  readonly isSending: () => boolean;
}

interface ClaimResult {
  /** Deliveries that were claimed. */
  readonly count: number;
  /** When the next of the rest is due, in epoch seconds; undefined if not known. */
  readonly due: number | undefined;
}

const NOTHING: ClaimResult = { count: 0, due: undefined };

/** Kinds that say how many questions of the task are pending. */
const ACTIVITIES: readonly NotificationKind[] = ["start", "update", "end"];

/** Epoch seconds; infinity if nothing is queued. */
const dueOf = ([row]: readonly [due_ms: number | null][]): number =>
  row?.[0] == null ? Number.POSITIVE_INFINITY : row[0] / 1000;

export function createClaims(options: ClaimsOptions) {
  const { store, clock, timers, ids, lane, slots, account_share, retryUntil, launch, isSending } =
    options;
  const next_due = nextDue({ lane });
  const most = CLAIMED[store.kind];
  // Only its leases show what a killed process had claimed.
  const lookAtLeases = createLeaseWatch(clock, (limit) =>
    store.read(leasesOf({ lane, now: clock.now(), limit })),
  );
  /** Leases that are over and may have rows left. */
  let lapsed: readonly string[] = [];
  /** Claims in a row after which more was due. */
  let behind = 0;

  const pause = async () => {
    if (isSending()) await new Promise<void>((next) => void timers.after(BEAT, next));
  };
  const turns = createAccountTurns({ store, clock, lane, share: account_share, pause });

  /**
   * Claims at most one row for each of `held`. `room`: requests that may begin now, these included.
   */
  const claimFor = async (
    held: Release[],
    room: number,
    accounts: readonly string[] | undefined,
  ): Promise<ClaimResult> => {
    const limit = held.length;
    const lease = ids.unique();
    const now = clock.now();
    const from = clock.elapsed();
    const window = accounts ? limit : WINDOW;
    const moment = { lease, lane, now, until: now + LEASE };
    const share = { limit, window, room, share: account_share, busy: turns.busy() };
    const rows = claimedDeliveries(moment);
    const claiming = accounts
      ? claimOfAccounts({ ...moment, ...share, accounts: JSON.stringify(accounts) })
      : claimDue({ ...moment, ...share, lapsed: JSON.stringify(lapsed) });
    // One batch: a separate read would cost a round trip more on a libSQL server, and on a file the
    // cached pages, which its reading connection forgets with each commit.
    const batch = [claiming, stampActivities(moment), rows, next_due];
    const written = await store.write(batch, IN_BACKGROUND).catch((error: unknown) => ({ error }));
    // Reads end early enough that the lease lasts for a request and its repetition.
    const held_until = from + LEASE;
    const read_until = held_until - 2 * TIME_LIMIT;
    // A start whose lease runs out is never sent. So the rows are also read when the outcome of the
    // write is unknown.
    const claimed =
      "error" in written
        ? await retryUntil(() => store.read(rows), from)
        : rows.read(written[2]!.rows);
    if ("error" in written && claimed.length === 0) throw written.error;
    const shown = claimed.filter(({ delivery: { kind } }) => ACTIVITIES.includes(kind));
    const ids_shown = JSON.stringify(shown.map(({ delivery }) => delivery.task_id));
    const count_pending = () => store.read(pendingCounts({ ids: ids_shown, now: clock.now() }));
    const counted = shown.length > 0 ? await retryUntil(count_pending, read_until) : [];
    const pending = new Map(counted);
    for (const one of claimed) {
      launch(one, { pending, held_until }, turns.count(one.delivery.account_id, held.pop()!));
    }
    if (!accounts && claimed.length < limit) lapsed = [];
    const due = "error" in written ? undefined : dueOf(next_due.read(written[3]!.rows));
    return { count: claimed.length, due };
  };

  /** Claims and launches what is due, only of `accounts` if they are given. */
  const claim = async (accounts?: readonly string[]): Promise<ClaimResult> => {
    const room = slots.room();
    const held = slots.take(most);
    if (held.length === 0) return NOTHING;
    return claimFor(held, room, accounts).finally(() => {
      for (const release of held) release();
    });
  };

  /** Claims in turns of accounts, to get past deliveries of accounts whose share is under way. */
  const claimInTurns = async (): Promise<ClaimResult> => {
    for await (const accounts of turns.round(slots.room, most)) {
      const result = await claim(accounts);
      if (result.count > 0) return result;
      if (!isSending() || slots.room() === 0) break;
    }
    return NOTHING;
  };

  return {
    /**
     * Claims and launches what is due. `known`: when the first delivery is due, as of the last claim.
     * Returns how many were claimed, and when the next is due in epoch seconds: infinity if nothing is
     * queued.
     */
    async next(known: number | undefined): Promise<{ count: number; due: number }> {
      // What the last claim found due still is. A later time may be outdated by a change since.
      const is_due = known !== undefined && known <= clock.now();
      // Together: the reads of one turn share a round trip to a libSQL server.
      const [due, over] = await Promise.all([
        is_due ? known : store.read(next_due).then(dueOf),
        lookAtLeases(),
      ]);
      lapsed = over ?? lapsed;
      const now = clock.now();
      const idle = due > now && lapsed.length === 0;
      // What is due next may stand behind thousands of deliveries of one account.
      const is_turn = due <= now && behind >= CLAIMS_BY_AGE;
      let result = is_turn ? await claimInTurns() : NOTHING;
      if (is_turn) behind = 0;
      if (result.count === 0 && !idle) {
        result = await claim();
        behind = result.due !== undefined && result.due <= now ? behind + 1 : 0;
      }
      if (result.count === 0 && due <= now && !is_turn) result = await claimInTurns();
      return { count: result.count, due: result.count === 0 ? due : (result.due ?? now + 1) };
    },
  };
}
