/** What whoever runs the service is told: of the store over all processes, and of this process. */

import { accountFigures, countRows, eventFigures, storeBytes } from "../../db/statistics.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";
import type {
  AccountList,
  AccountPage,
  Counts,
  JobList,
  OutboxFigures,
  Outcome,
  Overview,
  ProcessFigures,
  PushFigures,
  SeriesFigures,
  StoreFigures,
} from "../model/admin.ts";
import type { Histogram } from "../observability/metrics.ts";
import type { ProcessStats } from "../observability/process-stats.ts";
import type { Looks, TimeSeries } from "../observability/time-series.ts";
import type { PushStatus } from "./push-status.ts";

/** What the parts of this process tell of themselves. */
export interface AdminDeps {
  readonly version: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly feed: { position(): number };
  readonly streams: { count(): number; accounts(): number };
  readonly waits: { count(): number; owners(): number };
  readonly series: Pick<TimeSeries, "read">;
  readonly processStats: () => ProcessStats;
  readonly requestsInFlight: () => number;
  readonly rateLimited: Readonly<Record<string, number>>;
  readonly activityStats: () => { readonly queued: number; readonly dropped: number };
  readonly jobStats: () => readonly JobStats[];
  readonly pushLanes: () => PushStatus["lanes"];
  /** Name of the channel that a lane belongs to; null for a lane of another version. */
  readonly channelOf: (lane: string) => string | null;
  readonly pushStatus: { read(limit: number): Promise<PushStatus> };
  /** Faults of the store since the start, by kind. */
  readonly storeFaults: () => Readonly<Record<string, number>>;
}

/** What became of a job's passes in this process. */
export interface JobStats {
  readonly name: string;
  /** Seconds between passes. */
  readonly every: number;
  readonly running: boolean;
  readonly done: number;
  readonly failed: number;
  /** Seconds of each pass, whether it was done or failed. */
  readonly durations: Histogram;
  /** When the last pass began, and how many seconds it took; null before one ended. */
  readonly last: { readonly at: number; readonly seconds: number } | null;
  /** When the last pass that was done ended. */
  readonly last_done_at: number | null;
  /** The code, or else the name, of the last pass's error; null when it was done. */
  readonly last_error: string | null;
}

/** Seconds for which what was read of the store is told again. */
const KEEP = 1;
/** Rows are counted anew after so many seconds, and at most a twentieth of the time. */
const COUNT_AFTER = 5;
const COUNT_PART = 20;
/** Pushes whose outcomes are counted, and failures of them that are told one by one. */
const OUTCOMES = 500;
const FAILURES = 20;
/** Seconds that a call waits for a count before it tells the last one. */
const PATIENCE = 0.5;

export type Admin = ReturnType<typeof createAdmin>;

export function createAdmin(deps: AdminDeps) {
  const { version, store, clock, feed, streams, waits, series } = deps;

  let counts: Counts | null = null;
  /** When it was made, by {@link Clock.elapsed}. */
  let counted_from = 0;
  let counting: Promise<void> | undefined;

  const count = async () => {
    const from = clock.elapsed();
    const rows = await countRows(store, breathe);
    counts = { ...rows, counted_at: clock.now(), took: clock.elapsed() - from };
    counted_from = clock.elapsed();
  };

  const isOld = ({ took }: Counts) =>
    clock.elapsed() - counted_from >= Math.max(COUNT_AFTER, took * COUNT_PART);

  /** The newest count; null as long as the first one takes too long. */
  const countsNow = async (): Promise<Counts | null> => {
    if (counts === null || isOld(counts)) {
      counting ??= count().finally(() => {
        counting = undefined;
      });
      const late = Promise.withResolvers<void>();
      const cancel = clock.after(PATIENCE, late.resolve);
      // One that goes on alone fails alone: the next call tells of it.
      counting.catch(() => {});
      await Promise.race([counting, late.promise]).finally(cancel);
    }
    return counts;
  };

  const readState = async () => {
    const from = clock.elapsed();
    const bytes = await storeBytes(store);
    return { bytes, latency: clock.elapsed() - from };
  };

  const storeState = keep(clock, readState);
  const events = keep(clock, () => eventFigures(store));
  const pushes = keep(clock, () => deps.pushStatus.read(OUTCOMES));
  /** With the name of the channel, and the lane as `environment` too. */
  const named = <One extends { readonly lane: string }>(one: One) => ({
    ...one,
    channel: deps.channelOf(one.lane),
    environment: one.lane,
  });

  return {
    /** What is in the store, over all processes. */
    overview: async (): Promise<Overview> => ({ version, counts: await countsNow() }),

    /** What the charts need of the store, once a minute. */
    async look(): Promise<Looks> {
      const [state, outbox, push] = await Promise.allSettled([
        readState(),
        eventFigures(store),
        deps.pushStatus.read(1),
      ]);
      const told = <Value, Part>(one: PromiseSettledResult<Value>, part: (value: Value) => Part) =>
        one.status === "fulfilled" ? part(one.value) : null;
      return {
        store_read: told(state, ({ latency }) => latency),
        outbox_events: told(outbox, ({ rows }) => rows),
        pushes_queued: told(push, ({ queues }) => queues.reduce((sum, { rows }) => sum + rows, 0)),
      };
    },

    /** Newest first. */
    async accounts({ limit = LIMITS.admin_page_default, cursor }: AccountPage) {
      const found = await accountFigures(store, cursor ?? null, limit + 1);
      const accounts = found.slice(0, limit);
      const next_cursor = found.length > limit ? accounts.at(-1)!.id : null;
      return { accounts, next_cursor } satisfies AccountList;
    },

    process(): ProcessFigures {
      const { cpu_user, cpu_system, lag, ...stats } = deps.processStats();
      return {
        ...stats,
        version,
        bun: Bun.version,
        pid: process.pid,
        uptime: Math.max(0, process.uptime()),
        cpu: cpu_user + cpu_system,
        event_loop_lag: lag,
        requests_in_flight: deps.requestsInFlight(),
        streams: { open: streams.count(), accounts: streams.accounts() },
        waits: { open: waits.count(), owners: waits.owners() },
        rate_limited: deps.rateLimited,
        activity: deps.activityStats(),
      };
    },

    series: (): SeriesFigures => ({ minutes: series.read() }),

    /** Tells also that it cannot be reached, instead of failing for it. */
    async store(): Promise<StoreFigures> {
      const state = await storeState().catch(() => null);
      const { durations, groups, failed, queued } = store.stats();
      return {
        kind: store.kind,
        reachable: state !== null,
        latency: state?.latency ?? null,
        bytes: state?.bytes ?? null,
        wal_bytes: store.walBytes(),
        commit_seconds: distribution(durations),
        commit_batches: distribution(groups),
        failed_batches: failed,
        queued_batches: queued,
      };
    },

    async outbox(): Promise<OutboxFigures> {
      const state = await events().catch(() => null);
      if (state === null) return { events: null };
      const { rows, oldest_at, latest } = state;
      // What was read is older than what was delivered meanwhile.
      return { events: { rows, oldest_at, behind: Math.max(0, latest - feed.position()) } };
    },

    async pushes(): Promise<PushFigures> {
      const state = await pushes().catch(() => null);
      return {
        lanes: deps.pushLanes().map(named),
        queues:
          state?.queues.map(({ oldest, ...queue }) => named({ ...queue, oldest_at: oldest })) ??
          null,
        outcomes: state && outcomesOf(state.records),
        failures: state?.records.filter(isFailure).slice(0, FAILURES).map(named) ?? null,
      };
    },

    jobs: (): JobList => ({
      jobs: deps.jobStats().map(({ durations: _, last, ...job }) => ({
        ...job,
        last_at: last?.at ?? null,
        last_took: last?.seconds ?? null,
      })),
    }),
  };
}

const isFailure = ({ outcome }: PushStatus["records"][number]) =>
  outcome !== "sent" && outcome !== "pointless";

function outcomesOf(records: PushStatus["records"]): Record<Outcome, number> {
  const counts: Record<Outcome, number> = {
    sent: 0,
    pointless: 0,
    expired: 0,
    invalid_token: 0,
    unclear: 0,
    refused: 0,
  };
  for (const { outcome } of records) counts[outcome]++;
  return counts;
}

const distribution = ({ bounds, counts, sum }: Histogram) => ({
  bounds: [...bounds],
  counts: [...counts],
  sum: sum(),
});

/** Lets whatever else waits go on. */
const breathe = () => new Promise<void>((next) => setImmediate(next));

/** Reads once for all who ask within a second; a failure is not kept. */
function keep<Value>(clock: Clock, read: () => Promise<Value>): () => Promise<Value> {
  let kept: { readonly until: number; readonly value: Promise<Value> } | undefined;
  return () => {
    const now = clock.elapsed();
    if (kept && now < kept.until) return kept.value;
    const own = { until: now + KEEP, value: read() };
    kept = own;
    own.value.catch(() => {
      if (kept === own) kept = undefined;
    });
    return own.value;
  };
}
