/** Measures this process: requests, memory, event loop, and charts of the last three hours. */

import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { LaneHealth } from "../model/notification.ts";
import { createDescriptorWatch, descriptorSystem } from "./descriptors.ts";
import type { Metric } from "./metrics.ts";
import { createProcessStats } from "./process-stats.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { createStandstillWatch } from "./standstill.ts";
import { createTimeSeries, type MeasuredMinute, type StoreGauges } from "./time-series.ts";

interface MonitorOptions {
  readonly clock: Clock;
  /** Real time, also in tests: the process and its event loop are real. */
  readonly timers: Clock;
  readonly streams: { count(): number };
  readonly waits: { count(): number };
  readonly laneHealth: () => readonly LaneHealth[];
  /** Called once a minute. */
  readonly readStoreGauges: () => Promise<StoreGauges>;
  /** Called with each minute that is over, and at the stop with the last one. */
  readonly onMinute?: ((minute: MeasuredMinute) => void) | undefined;
  readonly log: Log;
}

export function createMonitor(options: MonitorOptions) {
  const { clock, timers, streams, waits, laneHealth, readStoreGauges, onMinute, log } = options;
  const process_stats = createProcessStats(timers);
  const series = createTimeSeries({
    clock,
    levels: () => ({
      streams: streams.count(),
      waits: waits.count(),
      resident_bytes: process_stats.read().resident_bytes,
    }),
    totals: () => {
      const { cpu_user, cpu_system } = process_stats.read();
      const counts = laneHealth().map((lane) => lane.counts);
      const accepted = sum(counts.map(({ ok = 0 }) => ok));
      const all = sum(counts.flatMap((one) => Object.values(one)));
      return {
        cpu: cpu_user + cpu_system,
        pushes_accepted: accepted,
        pushes_failed: all - accepted,
      };
    },
    readStoreGauges,
    ...(onMinute && { onMinute }),
  });
  const meter = createRequestMetrics({ clock, series });
  const standstill = createStandstillWatch({
    clock: timers,
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    log,
  });
  const descriptors = createDescriptorWatch({
    clock: timers,
    system: descriptorSystem,
    usage: () => ({
      max_fds: process_stats.read().max_fds,
      requests_in_flight: meter.inFlight(),
      streams: streams.count(),
      waits: waits.count(),
    }),
    log,
  });
  return {
    meter,
    metrics: [...meter.metrics, ...descriptors.metrics, ...standstill.metrics] as readonly Metric[],
    series,
    processStats: process_stats.read,
    start(): void {
      process_stats.start();
      descriptors.start();
      standstill.start();
      series.start();
    },
    stop(): void {
      process_stats.stop();
      descriptors.stop();
      standstill.stop();
      series.stop();
    },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
