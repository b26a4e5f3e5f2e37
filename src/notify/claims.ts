/** Claims what is due in one lane by lease, so that each account has its share (docs/interface.md §14.4.1). */

import {
  type ClaimedDelivery,
  claimDue,
  claimedDeliveries,
  claimOfAccounts,
  leasesOf,
  makeDue,
  misdatedDeliveries,
  nextDue,
  pendingCounts,
  stampActivities,
} from "../../db/notify/queue.ts";
import { IN_BACKGROUND, type Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import type { Ids } from "../ids.ts";
import type { NotificationKind } from "../model/notification.ts";
import { PUSH, PUSH_BATCH } from "../notification-limits.ts";
import { createAccountTurns } from "./account-turns.ts";
import { createDueTimes } from "./due-times.ts";
import type { Release } from "./host-slots.ts";
import { createLeaseWatch } from "./leases.ts";
import type { LaneSlots } from "./request-pool.ts";
import type { createRetryUntil } from "./retry-until.ts";

/** What the deliveries of one claim have in common. */
export interface Claim {
  /** Pending questions by the id of their task. */
  readonly pending: ReadonlyMap<string, number>;
  /** The end of the lease, in seconds of {@link Clock.elapsed}. */
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
  readonly retryUntil: ReturnType<typeof createRetryUntil>;
  /** Takes over a claimed delivery and the request that is held for it. */
  readonly launch: (claimed: ClaimedDelivery, claim: Claim, release: Release) => void;
  /** False: the lane sends nothing now. */
  readonly isSending: () => boolean;
}

/** What a claim found. */
interface Found {
  readonly count: number;
  /** When the next of the rest is due, in epoch seconds; undefined if not known. */
  readonly due: number | undefined;
}

const NOTHING: Found = { count: 0, due: undefined };

/** Kinds that say how many questions of the task are pending. */
const ACTIVITIES: readonly NotificationKind[] = ["start", "update", "end"];

/** Epoch seconds; infinity if nothing is queued. */
const dueOf = ([row]: readonly [due_ms: number | null][]): number =>
  row?.[0] == null ? Number.POSITIVE_INFINITY : row[0] / 1000;

export function createClaims(options: ClaimsOptions) {
  const { store, clock, timers, ids, lane, slots, account_share, retryUntil, launch, isSending } =
    options;
  const next_due = nextDue({ lane });
  const most = PUSH_BATCH[store.kind].claim;
  const leases = createLeaseWatch(clock);
  /** Leases that are over, as of the last look at them, and when the next look is due. */
  let lapsed: readonly string[] = [];
  let next_look = clock.elapsed();
  /** Claims in a row that left more that is due. */
  let behind = 0;
  const correctDueTimes = createDueTimes({
    store,
    clock,
    find: (now) => misdatedDeliveries({ lane, now }),
    correct: (seqs, now) => [makeDue({ seqs, now })],
  });

  const pause = async () => {
    if (isSending()) await new Promise<void>((next) => void timers.after(PUSH.beat, next));
  };
  const turns = createAccountTurns({ store, clock, lane, share: account_share, pause });

  /** Only its leases show what a killed process had claimed. */
  const lookAtLeases = async () => {
    const rows = await store.read(leasesOf({ lane, now: clock.now(), limit: PUSH.leases }));
    // The moment after the read: a lease must not seem older than it is.
    next_look = clock.elapsed() + PUSH.poll_every;
    lapsed = leases.lapsed(rows.map(([lease]) => lease));
  };

  /** Claims a row for each of `held` at most. `room`: the requests that may begin now, these included. */
  const claimFor = async (
    held: Release[],
    room: number,
    accounts: readonly string[] | undefined,
  ): Promise<Found> => {
    const limit = held.length;
    const lease = ids.unique();
    const now = clock.now();
    const from = clock.elapsed();
    const window = accounts ? limit : PUSH.claim_window;
    const moment = { lease, lane, now, until: now + PUSH.lease };
    const share = { limit, window, room, share: account_share, busy: turns.busy() };
    const rows = claimedDeliveries(moment);
    const claiming = accounts
      ? claimOfAccounts({ ...moment, ...share, accounts: JSON.stringify(accounts) })
      : claimDue({ ...moment, ...share, lapsed: JSON.stringify(lapsed) });
    // One batch: a read of its own would cost a libSQL server a round trip more, and a file the
    // pages that its reading connection forgets with each commit.
    const batch = [claiming, stampActivities(moment), rows, next_due];
    const written = await store.write(batch, IN_BACKGROUND).catch((error: unknown) => ({ error }));
    // Reads end early enough that the lease lasts for a request and its repetition.
    const held_until = from + PUSH.lease;
    const read_until = held_until - 2 * PUSH.time_limit;
    // A start whose lease runs out is never sent, so the rows are looked for also when nobody knows
    // whether they were claimed.
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

  /** Claims what is due, of `accounts` alone if they are given, and launches it. */
  const claim = async (accounts?: readonly string[]): Promise<Found> => {
    const room = slots.room();
    const held = slots.take(most);
    if (held.length === 0) return NOTHING;
    return claimFor(held, room, accounts).finally(() => {
      for (const release of held) release();
    });
  };

  /** Claims in turns of accounts, behind what accounts have due that have their share under way. */
  const claimInTurns = async (): Promise<Found> => {
    for await (const accounts of turns.round(slots.room, most)) {
      const found = await claim(accounts);
      if (found.count > 0) return found;
      if (!isSending() || slots.room() === 0) break;
    }
    return NOTHING;
  };

  return {
    /**
     * Claims and launches what is due. `known`: when the first delivery is due, as of the last claim. Gives how many
     * were claimed, and when the next is due, in epoch seconds; infinity if nothing is queued.
     */
    async next(known: number | undefined): Promise<{ count: number; due: number }> {
      // What the last claim found due still is. A later time may be outdated by a change since.
      const is_due = known !== undefined && known <= clock.now();
      // Together: the reads of one turn share a round trip to a libSQL server.
      const [due] = await Promise.all([
        is_due ? known : store.read(next_due).then(dueOf),
        clock.elapsed() >= next_look ? lookAtLeases() : undefined,
        correctDueTimes(),
      ]);
      const now = clock.now();
      const idle = due > now && lapsed.length === 0;
      // What is due next may be behind thousands of one account, however fast they go.
      const is_turn = due <= now && behind >= PUSH.claims_by_age;
      let found = is_turn ? await claimInTurns() : NOTHING;
      if (is_turn) behind = 0;
      if (found.count === 0 && !idle) {
        found = await claim();
        behind = found.due !== undefined && found.due <= now ? behind + 1 : 0;
      }
      if (found.count === 0 && due <= now && !is_turn) found = await claimInTurns();
      return { count: found.count, due: found.count === 0 ? due : (found.due ?? now + 1) };
    },
  };
}
