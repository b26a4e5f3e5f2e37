/** Watches over this process: its requests, its last three hours, its memory and event loop. */

import { type Clock, systemClock } from "../clock.ts";
import { createProcessStats } from "../process-stats.ts";
import { createSeries } from "../series.ts";
import { createMeter } from "./meter.ts";

interface MonitorOptions {
  readonly clock: Clock;
  readonly streams: { count(): number };
  readonly waits: { count(): number };
}

export function createMonitor({ clock, streams, waits }: MonitorOptions) {
  // The event loop is the real one even when the time is a test's.
  const process_stats = createProcessStats(systemClock);
  const series = createSeries({
    clock,
    levels: () => ({
      streams: streams.count(),
      waits: waits.count(),
      resident_bytes: process_stats.read().resident_bytes,
    }),
  });
  return {
    meter: createMeter({ clock, series }),
    series,
    processStats: process_stats.read,
    start(): void {
      process_stats.start();
      series.start();
    },
    stop(): void {
      process_stats.stop();
      series.stop();
    },
  };
}
