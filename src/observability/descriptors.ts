/** Bounds the CPU time of a process that has run out of file descriptors, and logs the shortage. */

import { closeSync, openSync } from "node:fs";
import type { Cancel, Clock } from "../clock.ts";
import { codeOf, type Log, type LogFields } from "../log.ts";
import { counter } from "./metrics.ts";
import { createOutage } from "./outages.ts";

/** Running out of file descriptors (§11.2.3); seconds. */
const DESCRIPTORS = {
  /** Between two probes; the event loop can spin so long before it is slowed down. */
  check_every: 0.25,
  /** Pause after each turn of the loop: uses some 3 % of a core, and delays each answer by 2 ms. */
  pause: 0.002,
  /** The shortage is over after descriptors were free so long. */
  settle: 1,
} as const;

/** The system and the event loop, as a port. */
interface DescriptorSystem {
  /** True if another descriptor can be opened now. */
  available(): boolean;
  /** Blocks the thread. */
  block(seconds: number): void;
  /** Calls `run` once, after the event loop has handled what is ready. */
  nextTurn(run: () => void): Cancel;
}

interface DescriptorOptions {
  readonly clock: Pick<Clock, "elapsed" | "after">;
  readonly system: DescriptorSystem;
  /** The users of descriptors, for the log line. */
  readonly usage: () => LogFields;
  readonly log: Log;
}

/**
 * While no descriptor is left, Bun's event loop cannot accept the waiting connections and spins. So each turn of the
 * loop is then followed by a short pause: open connections are served a little later, and the others wait in the kernel
 * (§11.2.3). The pauses last until {@link DESCRIPTORS.settle}, since a freed descriptor is usually taken at once.
 */
export function createDescriptorWatch({ clock, system, usage, log }: DescriptorOptions) {
  let cancel: Cancel = () => {};
  const outage = createOutage({
    clock,
    log,
    level: "error",
    over: "file descriptors are free again",
  });
  let shortages = 0;
  let probed_at = 0;
  /** When a probe last failed. */
  let failed_at = 0;

  const report = () => outage.note("out of file descriptors", { shortages, ...usage() });

  const probe = (): boolean => {
    probed_at = clock.elapsed();
    if (system.available()) return true;
    failed_at = probed_at;
    return false;
  };

  const slowDown = () => {
    system.block(DESCRIPTORS.pause);
    if (clock.elapsed() - probed_at >= DESCRIPTORS.check_every && !probe()) report();
    if (probed_at - failed_at >= DESCRIPTORS.settle) {
      outage.works();
      watch();
    } else cancel = system.nextTurn(slowDown);
  };

  const watch = () => {
    cancel = clock.after(DESCRIPTORS.check_every, () => {
      if (probe()) return watch();
      shortages++;
      report();
      cancel = system.nextTurn(slowDown);
    });
  };

  const metrics = [
    counter(
      "relay_descriptor_shortages_total",
      "Times that the process ran out of file descriptors.",
      () => shortages,
    ),
  ];

  return { metrics, start: watch, stop: (): void => cancel() };
}

/** The real system. Only a failure because of a limit is a shortage. */
export const descriptorSystem: DescriptorSystem = {
  available() {
    try {
      closeSync(openSync("/dev/null", "r"));
      return true;
    } catch (error) {
      return !/^E[MN]FILE$/.test(codeOf(error));
    }
  },
  block: (seconds) => Bun.sleepSync(seconds * 1000),
  nextTurn(run) {
    const turn = setImmediate(run);
    return () => clearImmediate(turn);
  },
};
