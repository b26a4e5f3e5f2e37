/** Figures read from the store, over all processes: for the admin page, `/metrics` and charts. */

import { furthestByLane } from "../../db/notify/question-deliveries.ts";
import { newestRecords, queuedDeliveries, refusedDeliveries } from "../../db/notify/records.ts";
import { queuedMessages } from "../../db/notify/webhook-queue.ts";
import { countRows, eventFigures, storeBytes } from "../../db/statistics.ts";
import type { Store } from "../../db/store/store.ts";
import type { Clock } from "../clock.ts";
import type { Counts } from "../model/admin.ts";
import { Furthest } from "../model/delivery.ts";
import { type LaneHealth, unblockedLane } from "../model/notification.ts";
import type { StoreGauges } from "../observability/time-series.ts";
import type { ServiceDeps } from "./shared/deps.ts";

interface DeliveryFiguresDeps extends Pick<ServiceDeps, "store"> {
  /** The health of every lane, with that of webhooks. */
  readonly health: () => LaneHealth[];
  /** The lane of webhooks, which have a queue of their own. */
  readonly webhook_lane: string;
}

export type DeliveryFigures = Awaited<ReturnType<ReturnType<typeof createDeliveryFigures>["read"]>>;

/** Figures of notifications, without content and addresses. */
export function createDeliveryFigures({ store, health, webhook_lane }: DeliveryFiguresDeps) {
  return {
    /**
     * The lanes of this process; the queues of all processes, each counted up to 10,000 rows; the newest `limit`
     * outcome records of the last 7 days, newest first; and how far as many deliveries of questions got.
     */
    async read(limit: number) {
      const [queues, [messages], records, furthest] = await Promise.all([
        store.read(queuedDeliveries({})),
        store.read(queuedMessages({})),
        store.read(newestRecords({ limit })),
        store.read(furthestByLane({ limit })),
      ]);
      const [rows = 0, oldest_ms = null, due_ms = null] = messages ?? [];
      const all =
        oldest_ms === null ? queues : [...queues, [webhook_lane, rows, oldest_ms, due_ms] as const];
      return {
        lanes: health(),
        queues: all.map(([lane, rows, oldest_ms, due_ms]) => ({
          lane,
          rows,
          oldest: oldest_ms / 1000,
          // What is held for a blocked account is never late.
          due: due_ms === null || lane !== unblockedLane(lane) ? null : due_ms / 1000,
        })),
        records,
        furthest: furthest.filter(([, one]) => Furthest.safeParse(one).success),
      };
    },
  };
}

interface StoreStatisticsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly deliveryFigures: { read(limit: number): Promise<DeliveryFigures> };
}

/** Seconds for which a figure is cached. */
const CACHE_TTL = 1;
/** Seconds after which rows are counted again; counting takes at most a twentieth of the time. */
const COUNT_AFTER = 5;
const COUNT_PART = 20;
/** Seconds that a call waits for a new count before it returns the last one. */
const COUNT_WAIT = 0.5;
/** Deliveries whose outcomes are read. */
const OUTCOMES = 500;

export type StoreStatistics = ReturnType<typeof createStoreStatistics>;

export function createStoreStatistics({ store, clock, deliveryFigures }: StoreStatisticsDeps) {
  let counts: Counts | null = null;
  /** When `counts` was made, by {@link Clock.elapsed}. */
  let counted_from = 0;
  let counting: Promise<void> | undefined;

  const count = async () => {
    const from = clock.elapsed();
    const rows = await countRows(store, yieldLoop);
    counts = { ...rows, counted_at: clock.now(), took: clock.elapsed() - from };
    counted_from = clock.elapsed();
  };

  const isOld = ({ took }: Counts) =>
    clock.elapsed() - counted_from >= Math.max(COUNT_AFTER, took * COUNT_PART);

  const readState = async () => {
    const from = clock.elapsed();
    const bytes = await storeBytes(store);
    /** `latency`: seconds of one small read. */
    return { bytes, latency: clock.elapsed() - from };
  };

  return {
    /** The newest count of rows; null while the first one is not ready. */
    async counts(): Promise<Counts | null> {
      if (counts === null || isOld(counts)) {
        counting ??= count().finally(() => {
          counting = undefined;
        });
        const late = Promise.withResolvers<void>();
        const cancel = clock.after(COUNT_WAIT, late.resolve);
        // A count that goes on may fail unseen: the next call reports it.
        counting.catch(() => {});
        await Promise.race([counting, late.promise]).finally(cancel);
      }
      return counts;
    },

    state: cached(clock, readState),
    events: cached(clock, () => eventFigures(store)),
    pushes: cached(clock, () => deliveryFigures.read(OUTCOMES)),
    /** For each lane with notifications that were refused and are tried again: when, and why the last one was. */
    refused: cached(clock, async () =>
      (await store.read(refusedDeliveries({}))).map(([lane, tried_ms, code]) => ({
        lane,
        tried_at: tried_ms / 1000,
        code,
      })),
    ),

    /** The figures of the charts; null for each that cannot be read. */
    async gauges(): Promise<StoreGauges> {
      const [state, outbox, push] = await Promise.allSettled([
        readState(),
        eventFigures(store),
        deliveryFigures.read(1),
      ]);
      const of = <Value, Part>(read: PromiseSettledResult<Value>, part: (value: Value) => Part) =>
        read.status === "fulfilled" ? part(read.value) : null;
      return {
        store_read: of(state, ({ latency }) => latency),
        outbox_events: of(outbox, ({ rows }) => rows),
        pushes_queued: of(push, ({ queues }) => queues.reduce((sum, { rows }) => sum + rows, 0)),
      };
    },
  };
}

/** Lets other work of the event loop run first. */
const yieldLoop = () => new Promise<void>((next) => setImmediate(next));

/** Reads once for all callers within {@link CACHE_TTL}. A failure is not cached. */
function cached<Value>(clock: Clock, read: () => Promise<Value>): () => Promise<Value> {
  let kept: { readonly until: number; readonly value: Promise<Value> } | undefined;
  return () => {
    const now = clock.elapsed();
    if (kept && now < kept.until) return kept.value;
    const own = { until: now + CACHE_TTL, value: read() };
    kept = own;
    own.value.catch(() => {
      if (kept === own) kept = undefined;
    });
    return own.value;
  };
}
