/** Figures for the operator: of the store, and of this process (§4.3). */

import { accountFigures, accountFiguresOf, accountNames } from "../../db/statistics.ts";
import type { Store } from "../../db/store/store.ts";
import { LIMITS } from "../limits.ts";
import type {
  AccountList,
  AccountPage,
  AdminHealth,
  JobList,
  OutboxFigures,
  Outcome,
  Overview,
  ProcessFigures,
  PushFigures,
  SeriesFigures,
  StoreFigures,
} from "../model/admin.ts";
import type { Furthest } from "../model/delivery.ts";
import { type ReplyHealth, unblockedLane } from "../model/notification.ts";
import { foldCase } from "../model/text.ts";
import type { Histogram } from "../observability/metrics.ts";
import type { ProcessStats } from "../observability/process-stats.ts";
import type { JobStats } from "../observability/service-metrics.ts";
import type { TimeSeries } from "../observability/time-series.ts";
import type { KeptMinutes } from "./kept-minutes.ts";
import type { DeliveryFigures, StoreStatistics } from "./store-statistics.ts";

interface AdminDeps {
  readonly version: string;
  readonly store: Store;
  readonly feed: { position(): number };
  readonly streams: { count(): number; accounts(): number };
  readonly waits: { count(): number; owners(): number };
  readonly series: Pick<TimeSeries, "measured">;
  readonly keptMinutes: Pick<KeptMinutes, "together">;
  readonly health: { read(): Promise<AdminHealth> };
  readonly processStats: () => ProcessStats;
  readonly requestsInFlight: () => number;
  readonly rateLimited: Readonly<Record<string, number>>;
  readonly requestLogStats: () => { readonly queued: number; readonly dropped: number };
  readonly jobStats: () => readonly JobStats[];
  readonly laneHealth: () => DeliveryFigures["lanes"];
  readonly reply_reader: {
    health(): readonly ReplyHealth[];
    answers(): Readonly<Record<string, number>>;
  };
  /** Name of the channel that a lane belongs to; null for a lane of another version. */
  readonly channelOf: (lane: string) => string | null;
  /** Names of all channels, configured or not. */
  readonly channelNames: readonly string[];
  readonly statistics: StoreStatistics;
}

/** Failed deliveries that are listed. */
const FAILURES = 20;

export type Admin = ReturnType<typeof createAdmin>;

export function createAdmin(deps: AdminDeps) {
  const { version, store, feed, streams, waits, series, statistics } = deps;

  const channelOf = (lane: string) => deps.channelOf(unblockedLane(lane));

  /** Adds the name of the channel, and the lane as `environment`. */
  const named = <One extends { readonly lane: string }>(one: One) => ({
    ...one,
    channel: channelOf(one.lane),
    environment: one.lane,
  });

  const byChannel = (records: DeliveryFigures["records"]) => {
    const groups = Map.groupBy(records, ({ lane }) => channelOf(lane) ?? lane);
    return [...groups]
      .map(([channel, some]) => ({ channel, outcomes: outcomesOf(some) }))
      .sort((a, b) => (a.channel < b.channel ? -1 : 1));
  };

  const byType = (furthest: DeliveryFigures["furthest"]) => {
    const groups = Map.groupBy(furthest, ([lane]) => channelOf(lane) ?? lane);
    return [...groups]
      .map(([type, some]) => {
        const counts: Partial<Record<Furthest, number>> = {};
        for (const [, one, times] of some) counts[one] = (counts[one] ?? 0) + times;
        return { type, furthest: counts };
      })
      .sort((a, b) => (a.type < b.type ? -1 : 1));
  };

  return {
    overview: async (): Promise<Overview> => ({ version, counts: await statistics.counts() }),

    /** A page of accounts, newest first. With `name`, it may be short and still have a `next_cursor` (§4.3.4). */
    async accounts({ limit = 50, cursor, name }: AccountPage) {
      if (name !== undefined) return findAccounts(store, name, limit, cursor ?? null);
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
        activity: deps.requestLogStats(),
      };
    },

    series: async (): Promise<SeriesFigures> => ({
      minutes: await deps.keptMinutes.together(series.measured()),
    }),

    /** Whether everything is well. */
    health: deps.health.read,

    /** Figures of the store; also works while the store cannot be reached. */
    async store(): Promise<StoreFigures> {
      const state = await statistics.state().catch(() => null);
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
      const state = await statistics.events().catch(() => null);
      if (state === null) return { events: null };
      const { rows, oldest_at, latest } = state;
      // More events may have been delivered since the read.
      return { events: { rows, oldest_at, behind: Math.max(0, latest - feed.position()) } };
    },

    async pushes(): Promise<PushFigures> {
      const state = await statistics.pushes().catch(() => null);
      return {
        lanes: deps.laneHealth().map(named),
        listening: deps.reply_reader.health().filter(({ connections }) => connections > 0),
        answers: deps.reply_reader.answers(),
        off: deps.channelNames.filter((name) =>
          deps.laneHealth().every(({ channel }) => channel !== name),
        ),
        queues:
          state?.queues.map(({ lane, rows, oldest, due }) =>
            named({ lane, rows, oldest_at: oldest, due_at: due }),
          ) ?? null,
        outcomes: state && outcomesOf(state.records),
        outcomes_by_channel: state && byChannel(state.records),
        deliveries_by_type: state && byType(state.furthest),
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

/** The accounts whose name contains `searched`, of the next {@link LIMITS.account_scan}. SQLite knows the case of ASCII only. */
async function findAccounts(
  store: Store,
  searched: string,
  limit: number,
  cursor: string | null,
): Promise<AccountList> {
  const rows = await accountNames(store, cursor, LIMITS.account_scan + 1);
  const scanned = rows.slice(0, LIMITS.account_scan);
  const part = foldCase(searched);
  const found = scanned.flatMap(([id, name]) =>
    name !== null && foldCase(name).includes(part) ? [id] : [],
  );
  const ids = found.slice(0, limit);
  const accounts = ids.length > 0 ? await accountFiguresOf(store, ids) : [];
  const scanned_to = rows.length > scanned.length ? scanned.at(-1)![0] : null;
  return { accounts, next_cursor: found.length > limit ? ids.at(-1)! : scanned_to };
}

const isFailure = ({ outcome }: DeliveryFigures["records"][number]) =>
  outcome !== "sent" && outcome !== "pointless";

function outcomesOf(records: DeliveryFigures["records"]): Record<Outcome, number> {
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
