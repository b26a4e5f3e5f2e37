/** Watches over this process: its requests, its last three hours, its memory and event loop. */

import { type Clock, systemClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { LaneHealth } from "../model/notification.ts";
import { createDescriptorWatch, descriptorSystem } from "./descriptors.ts";
import type { Metric } from "./metrics.ts";
import { createProcessStats } from "./process-stats.ts";
import { createRequestMetrics } from "./request-metrics.ts";
import { createTimeSeries, type Looks } from "./time-series.ts";

interface MonitorOptions {
  readonly clock: Clock;
  readonly streams: { count(): number };
  readonly waits: { count(): number };
  readonly pushLanes: () => readonly LaneHealth[];
  /** Asked once a minute. */
  readonly look: () => Promise<Looks>;
  readonly log: Log;
}

export function createMonitor({ clock, streams, waits, pushLanes, look, log }: MonitorOptions) {
  // The event loop is the real one even when the time is a test's.
  const process_stats = createProcessStats(systemClock);
  const series = createTimeSeries({
    clock,
    levels: () => ({
      streams: streams.count(),
      waits: waits.count(),
      resident_bytes: process_stats.read().resident_bytes,
    }),
    totals: () => {
      const { cpu_user, cpu_system } = process_stats.read();
      const counts = pushLanes().map((lane) => lane.counts);
      const accepted = sum(counts.map(({ ok = 0 }) => ok));
      const all = sum(counts.flatMap((one) => Object.values(one)));
      return {
        cpu: cpu_user + cpu_system,
        pushes_accepted: accepted,
        pushes_failed: all - accepted,
      };
    },
    look,
  });
  const meter = createRequestMetrics({ clock, series });
  const descriptors = createDescriptorWatch({
    clock: systemClock,
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
    metrics: [...meter.metrics, ...descriptors.metrics] as readonly Metric[],
    series,
    processStats: process_stats.read,
    start(): void {
      process_stats.start();
      descriptors.start();
      series.start();
    },
    stop(): void {
      process_stats.stop();
      descriptors.stop();
      series.stop();
    },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
