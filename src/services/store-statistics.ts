/** Figures that are read from the store, over all processes: for the admin, `/metrics` and charts. */

import { countRows, eventFigures, storeBytes } from "../../db/statistics.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import type { Counts } from "../model/admin.ts";
import type { StoreGauges } from "../observability/time-series.ts";
import type { PushStatus } from "./push-status.ts";

interface StoreStatisticsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly pushStatus: { read(limit: number): Promise<PushStatus> };
}

/** Seconds for which a figure is kept. */
const CACHE_TTL = 1;
/** Rows are counted again after this many seconds, and for at most a twentieth of the time. */
const COUNT_AFTER = 5;
const COUNT_PART = 20;
/** Seconds that a call waits for a count before it gives the last one. */
const COUNT_WAIT = 0.5;
/** Pushes whose outcomes are read. */
const OUTCOMES = 500;

export type StoreStatistics = ReturnType<typeof createStoreStatistics>;

export function createStoreStatistics({ store, clock, pushStatus }: StoreStatisticsDeps) {
  let counts: Counts | null = null;
  /** When it was made, by {@link Clock.elapsed}. */
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
    /** The newest count of rows; null as long as the first one takes too long. */
    async counts(): Promise<Counts | null> {
      if (counts === null || isOld(counts)) {
        counting ??= count().finally(() => {
          counting = undefined;
        });
        const late = Promise.withResolvers<void>();
        const cancel = clock.after(COUNT_WAIT, late.resolve);
        // One that goes on alone fails alone: the next call reports it.
        counting.catch(() => {});
        await Promise.race([counting, late.promise]).finally(cancel);
      }
      return counts;
    },

    state: cached(clock, readState),
    events: cached(clock, () => eventFigures(store)),
    pushes: cached(clock, () => pushStatus.read(OUTCOMES)),

    /** What the charts need, once a minute; null for what cannot be read. */
    async gauges(): Promise<StoreGauges> {
      const [state, outbox, push] = await Promise.allSettled([
        readState(),
        eventFigures(store),
        pushStatus.read(1),
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

/** Lets other work of the event loop go first. */
const yieldLoop = () => new Promise<void>((next) => setImmediate(next));

/** Reads once for all who ask within a second; a failure is not kept. */
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
