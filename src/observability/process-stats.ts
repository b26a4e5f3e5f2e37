/** Figures of this process, from the operating system and the event loop. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Cancel, Clock } from "../clock.ts";

/** Seconds between two samples of the event loop, and samples that are kept: those of a minute. */
const SAMPLE_EVERY = 0.1;
const SAMPLES = 600;

/** Seconds for which figures are kept, since listing thousands of sockets takes milliseconds. */
const KEPT_FOR = 1;

export interface ProcessStats {
  readonly started_at: number;
  /** Seconds of processor time so far. */
  readonly cpu_user: number;
  readonly cpu_system: number;
  readonly resident_bytes: number;
  readonly heap_bytes: number;
  /** Open files and sockets, and their limit; null if the system does not say. */
  readonly open_fds: number | null;
  readonly max_fds: number | null;
  /** Seconds by which timers of the last minute came late. */
  readonly lag: { readonly p50: number; readonly p99: number; readonly max: number };
}

export function createProcessStats(clock: Clock) {
  const started_at = clock.now() - process.uptime();
  // Bun's own monitorEventLoopDelay does not notice a blocked loop.
  const late = new Float64Array(SAMPLES);
  let samples = 0;
  let cancel: Cancel = () => {};
  let kept: { readonly until: number; readonly stats: ProcessStats } | undefined;
  let max_fds = readMaxFds();
  let memory: Pick<NodeJS.MemoryUsage, "rss" | "heapUsed"> = process.memoryUsage();

  const sample = () => {
    const due = clock.elapsed() + SAMPLE_EVERY;
    cancel = clock.after(SAMPLE_EVERY, () => {
      late[samples++ % SAMPLES] = Math.max(0, clock.elapsed() - due);
      sample();
    });
  };

  const readNow = (): ProcessStats => {
    const { user, system } = process.cpuUsage();
    // Reading files fails while no descriptor is left; then the last values are used.
    memory = orNull(() => process.memoryUsage()) ?? memory;
    max_fds = readMaxFds() ?? max_fds;
    const sorted = late.slice(0, Math.min(samples, SAMPLES)).sort();
    const at = (part: number) => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
    return {
      started_at,
      cpu_user: user / 1e6,
      cpu_system: system / 1e6,
      resident_bytes: memory.rss,
      heap_bytes: memory.heapUsed,
      open_fds: countOpenFds(),
      max_fds,
      lag: { p50: at(0.5), p99: at(0.99), max: at(1) },
    };
  };

  return {
    start: sample,
    stop: (): void => cancel(),

    /** Returns the same object for a second, so that callers can read one figure at a time. */
    read(): ProcessStats {
      const now = clock.elapsed();
      if (!kept || now >= kept.until) kept = { until: now + KEPT_FOR, stats: readNow() };
      return kept.stats;
    },
  };
}

/** Since Linux 6.2 the size of the folder is their number, which can be read without a descriptor. */
const countOpenFds = () =>
  orNull(() => statSync("/proc/self/fd").size || readdirSync("/proc/self/fd").length);

const readMaxFds = () =>
  orNull(() => {
    const limits = readFileSync("/proc/self/limits", "latin1");
    return Number(/^Max open files +(\d+)/m.exec(limits)![1]);
  });

/** Returns null if reading fails. */
function orNull<Value>(read: () => Value): Value | null {
  try {
    return read();
  } catch {
    return null;
  }
}
