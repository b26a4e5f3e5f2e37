/** The metrics of `/metrics`, except those of requests: names, meanings and sources. */

import type { Clock } from "../clock.ts";
import type { OutboxFigures, PushFigures, StoreFigures } from "../model/admin.ts";
import type { BackupStatus } from "../model/backup.ts";
import type { LaneHealth, ReplyHealth } from "../model/notification.ts";
import type { DiskSpace } from "./disk-space.ts";
import { counter, gauge, type Histogram, histogram, type Metric } from "./metrics.ts";
import type { ProcessStats } from "./process-stats.ts";

/** The runs of one job in this process. */
export interface JobStats {
  readonly name: string;
  /** Seconds between passes. */
  readonly every: number;
  readonly running: boolean;
  readonly done: number;
  readonly failed: number;
  /** Seconds of each pass. */
  readonly durations: Histogram;
  /** When the last pass began, and its seconds; null before one ended. */
  readonly last: { readonly at: number; readonly seconds: number } | null;
  /** When a pass last succeeded. */
  readonly last_done_at: number | null;
  /** The code or name of the last pass's error; null if it succeeded. */
  readonly last_error: string | null;
}

/** The sources of the metrics. */
interface MetricSources {
  readonly version: string;
  readonly clock: Pick<Clock, "now">;
  readonly processStats: () => ProcessStats;
  readonly streams: { count(): number; ended(): Readonly<Record<string, number>> };
  readonly waits: { count(): number; refused(): number };
  readonly rateLimited: Readonly<Record<string, number>>;
  readonly requestLogStats: () => { readonly queued: number; readonly dropped: number };
  readonly jobStats: () => readonly JobStats[];
  readonly laneHealth: () => readonly LaneHealth[];
  readonly reply_reader: {
    health(): readonly ReplyHealth[];
    answers(): Readonly<Record<string, number>>;
    keys(): number;
  };
  readonly store: {
    usable(): boolean;
    walBytes(): number | null;
    readonly kind: "embedded" | "server";
    writeLock(): { readonly seconds: number } | null;
    stats(): {
      readonly durations: Histogram;
      readonly groups: Histogram;
      readonly failed: number;
      readonly queued: number;
    };
  };
  /** Faults of the store since the start by kind. */
  readonly storeFaults: { totals(): Readonly<Record<string, number>> };
  /** Seconds by which the wall clock is ahead, by what it was compared with. */
  /** Seconds that this machine's clock is ahead of the store's; null before it was compared. */
  readonly clockAhead: () => number | null;
  /** Space of the disk with the store's file; null for a server. */
  readonly disk: () => Promise<DiskSpace | null>;
  /** When the certificate that this process serves ends, in epoch seconds; null without one. */
  readonly certificateEnds: number | null;
  readonly backups: {
    status(): Promise<BackupStatus | null>;
    counts(): Readonly<Record<"success" | "failure", number>> | null;
  };
  /** Figures of the whole store, as the admin page shows them. */
  readonly readings: {
    store(): Promise<Pick<StoreFigures, "reachable" | "latency" | "bytes">>;
    outbox(): Promise<OutboxFigures>;
    pushes(): Promise<Pick<PushFigures, "queues">>;
  };
}

/** Metrics of the store and the outbox are equal in every process; the others are of this process. */
export function createServiceMetrics(sources: MetricSources): readonly Metric[] {
  return [
    ...ofProcess(sources),
    ...ofWork(sources),
    ...ofJobs(sources),
    ...ofStore(sources),
    ...ofBackups(sources),
    ...ofOutbox(sources),
    ...ofDeliveries(sources),
    ...ofReplies(sources),
  ];
}

function ofProcess({
  version,
  certificateEnds,
  processStats: read,
}: MetricSources): readonly Metric[] {
  return [
    gauge("relay_build_info", "1, with the version.", () => [[{ version }, 1]]),
    gauge(
      "relay_certificate_expires_timestamp_seconds",
      "When the TLS certificate that this process serves expires, Unix seconds.",
      () => certificateEnds,
    ),
    counter("process_cpu_user_seconds_total", "User CPU time.", () => read().cpu_user),
    counter("process_cpu_system_seconds_total", "System CPU time.", () => read().cpu_system),
    counter("process_cpu_seconds_total", "User and system CPU time.", () => {
      const { cpu_user, cpu_system } = read();
      return cpu_user + cpu_system;
    }),
    gauge("process_start_time_seconds", "Start time, Unix seconds.", () => read().started_at),
    gauge("process_resident_memory_bytes", "Resident memory.", () => read().resident_bytes),
    gauge("nodejs_heap_size_used_bytes", "JavaScript heap in use.", () => read().heap_bytes),
    gauge("process_open_fds", "Open files and sockets.", () => read().open_fds),
    gauge("process_max_fds", "Most files and sockets it may open.", () => read().max_fds),
    gauge(
      "nodejs_eventloop_lag_p50_seconds",
      "Delay of timers in the last minute, median.",
      () => read().lag.p50,
    ),
    gauge(
      "nodejs_eventloop_lag_p99_seconds",
      "Delay of timers in the last minute, 99th percentile.",
      () => read().lag.p99,
    ),
    gauge(
      "nodejs_eventloop_lag_max_seconds",
      "Delay of timers in the last minute, maximum.",
      () => read().lag.max,
    ),
  ];
}

function ofWork({
  streams,
  waits,
  rateLimited,
  requestLogStats,
}: MetricSources): readonly Metric[] {
  return [
    gauge("relay_streams_open", "Open event streams.", () => streams.count()),
    counter(
      "relay_streams_ended_total",
      "Event streams that this process ended: because their account opened too many, or did not read.",
      () => Object.entries(streams.ended()).map(([reason, count]) => [{ reason }, count]),
    ),
    gauge("relay_waits_open", "Requests that wait for something to happen.", () => waits.count()),
    counter(
      "relay_waits_refused_total",
      "Waits that were refused, because their key or account had too many.",
      () => waits.refused(),
    ),
    counter("relay_rate_limited_total", "Calls that a rate limit refused.", () =>
      Object.entries(rateLimited).map(([limit, count]) => [{ limit }, count]),
    ),
    gauge(
      "relay_activity_queued",
      "Entries of the request log that wait to be written.",
      () => requestLogStats().queued,
    ),
    counter(
      "relay_activity_dropped_total",
      "Entries of the request log that were dropped.",
      () => requestLogStats().dropped,
    ),
  ];
}

function ofJobs({ jobStats }: MetricSources): readonly Metric[] {
  return [
    counter("relay_job_runs_total", "Passes of each job, by their result.", () =>
      jobStats().flatMap(({ name: job, done, failed }) => [
        [{ job, result: "success" }, done] as const,
        [{ job, result: "failure" }, failed] as const,
      ]),
    ),
    histogram("relay_job_duration_seconds", "Duration of a pass.", () =>
      jobStats().map(({ name: job, durations }) => [{ job }, durations]),
    ),
    gauge("relay_job_last_success_timestamp_seconds", "When a pass last succeeded.", () =>
      jobStats().flatMap(({ name: job, last_done_at }) =>
        last_done_at === null ? [] : [[{ job }, last_done_at] as const],
      ),
    ),
  ];
}

function ofStore(sources: MetricSources): readonly Metric[] {
  const { store, storeFaults, clockAhead, disk, readings } = sources;
  return [
    gauge("relay_store_up", "1 while the store can be reached.", async () =>
      Number((await readings.store()).reachable),
    ),
    gauge("relay_store_usable", "0 while writes fail, or reads meet faults.", () =>
      Number(store.usable()),
    ),
    counter("relay_store_faults_total", "Faults of the store, by kind.", () =>
      Object.entries(storeFaults.totals()).map(([kind, count]) => [{ kind }, count]),
    ),
    gauge(
      "relay_clock_offset_seconds",
      "By how much this machine's clock is ahead of the store's. Relay goes by the store's.",
      () => {
        const ahead = clockAhead();
        return ahead === null ? [] : [[{ against: "store" }, ahead]];
      },
    ),
    gauge(
      "relay_store_write_lock_held_seconds",
      "How long another process has held the write lock of the file while writes failed; 0 without such a lock.",
      () => (store.kind === "embedded" ? (store.writeLock()?.seconds ?? 0) : null),
    ),
    gauge(
      "relay_store_read_seconds",
      "Duration of one small read.",
      async () => (await readings.store()).latency,
    ),
    gauge(
      "relay_store_size_bytes",
      "Size of the store.",
      async () => (await readings.store()).bytes,
    ),
    gauge("relay_store_wal_bytes", "Size of the log beside a file.", () => store.walBytes()),
    gauge(
      "relay_store_disk_free_bytes",
      "Free space of the disk with the store's file.",
      async () => (await disk())?.free ?? null,
    ),
    gauge(
      "relay_store_disk_size_bytes",
      "Size of the disk with the store's file.",
      async () => (await disk())?.size ?? null,
    ),
    histogram(
      "relay_store_commit_duration_seconds",
      "Duration of a commit, which writes what several requests changed.",
      () => store.stats().durations,
    ),
    histogram(
      "relay_store_commit_batches",
      "Batches that shared a commit.",
      () => store.stats().groups,
    ),
    counter(
      "relay_store_failed_batches_total",
      "Batches that were not written, or may not have been.",
      () => store.stats().failed,
    ),
    gauge("relay_store_queued_batches", "Batches that wait.", () => store.stats().queued),
  ];
}

/** Without automatic backups, none of these has a value. */
function ofBackups({ backups }: MetricSources): readonly Metric[] {
  // The gauges of one scrape share a read.
  let reading: Promise<BackupStatus | null> | undefined;
  const status = () =>
    (reading ??= backups.status().finally(() => {
      reading = undefined;
    }));
  return [
    gauge(
      "relay_backup_last_success_timestamp_seconds",
      "When the newest good backup was made, Unix seconds.",
      async () => (await status())?.made?.at ?? null,
    ),
    gauge(
      "relay_backup_size_bytes",
      "Size of the newest good backup.",
      async () => (await status())?.made?.bytes ?? null,
    ),
    gauge(
      "relay_backup_interval_seconds",
      "Time between two automatic backups.",
      async () => (await status())?.every ?? null,
    ),
    gauge("relay_backup_failing", "1 while backups fail.", async () => {
      const found = await status();
      return found && Number(found.failing !== null);
    }),
    counter("relay_backups_total", "Backups that this process began, by their result.", () =>
      Object.entries(backups.counts() ?? {}).map(([result, count]) => [{ result }, count]),
    ),
  ];
}

function ofOutbox({ clock, readings }: MetricSources): readonly Metric[] {
  const events = async () => (await readings.outbox()).events;
  return [
    gauge("relay_outbox_events", "Kept events.", async () => (await events())?.rows ?? null),
    gauge("relay_outbox_oldest_seconds", "Age of the oldest kept event.", async () => {
      const state = await events();
      return state && ageOf(state.oldest_at, clock.now());
    }),
    gauge(
      "relay_outbox_lag_events",
      "Events that this process has yet to deliver.",
      async () => (await events())?.behind ?? null,
    ),
  ];
}

function ofDeliveries({ clock, laneHealth, readings }: MetricSources): readonly Metric[] {
  /** `environment` is the lane under its earlier name. */
  const labelsOf = ({ channel, lane }: { channel: string | null; lane: string }) => ({
    channel: channel ?? "",
    lane,
    environment: lane,
  });
  /** An empty lane counts as 0, so that alerts can use it. */
  const queues = async () => {
    const { queues } = await readings.pushes();
    if (queues === null) return [];
    const filled = new Set(queues.map(({ lane }) => lane));
    const empty = laneHealth().filter(({ lane }) => !filled.has(lane));
    return [
      ...queues,
      ...empty.map(({ channel, lane }) => ({
        ...{ channel, lane, rows: 0, oldest_at: null, due_at: null },
      })),
    ];
  };
  return [
    gauge("relay_push_lane_open", "1 while the lane sends.", () =>
      laneHealth().map((lane) => [labelsOf(lane), Number(lane.state === "open")]),
    ),
    gauge("relay_push_in_flight", "Notifications under way.", () =>
      laneHealth().map((lane) => [labelsOf(lane), lane.in_flight]),
    ),
    counter("relay_push_answers_total", "Answers of push services, and faults.", () =>
      laneHealth().flatMap((lane) =>
        Object.entries(lane.counts).map(
          ([reason, count]) => [{ ...labelsOf(lane), reason }, count] as const,
        ),
      ),
    ),
    gauge("relay_push_queued", "Notifications that wait, at most 10,000.", async () =>
      (await queues()).map((queue) => [labelsOf(queue), queue.rows]),
    ),
    gauge("relay_push_oldest_seconds", "Age of the notification that waits longest.", async () =>
      (await queues()).map((queue) => [labelsOf(queue), ageOf(queue.oldest_at, clock.now())]),
    ),
    gauge(
      "relay_push_overdue_seconds",
      "How long the first notification that could be sent has been due; 0 if none is.",
      async () =>
        (await queues()).map((queue) => [labelsOf(queue), ageOf(queue.due_at, clock.now())]),
    ),
  ];
}

function ofReplies({ reply_reader }: MetricSources): readonly Metric[] {
  const of = (name: "connections" | "working" | "served") => () =>
    reply_reader.health().map((one) => [{ channel: one.channel }, one[name]] as const);
  return [
    gauge("relay_listener_keys", "Services and topics that this process listens to.", () =>
      reply_reader.keys(),
    ),
    gauge("relay_listener_connections", "Connections that take answers.", of("connections")),
    gauge("relay_listener_working", "Those that work now.", of("working")),
    gauge("relay_listener_channels", "Channels that they serve.", of("served")),
    counter("relay_replies_total", "Answers that came by them, by what became of them.", () =>
      Object.entries(reply_reader.answers()).map(
        ([outcome, times]) => [{ outcome }, times] as const,
      ),
    ),
  ];
}

/** Seconds; 0 where there is none. */
const ageOf = (at: number | null, now: number): number => (at === null ? 0 : Math.max(0, now - at));
