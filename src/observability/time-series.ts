/** Figures of this process by the minute for the last three hours, for the administrator's charts. */

import type { Cancel, Clock } from "../clock.ts";

/** Minutes that are kept. */
export const MINUTES_KEPT = 180;

/** Durations are counted in steps of a fifth, four to each doubling, from 0.05 ms on. */
const SHORTEST = 0.000_05;
const PER_DOUBLING = 4;
/** Up to 105 seconds, which is longer than any request lasts. */
const STEPS = 84;

/** Gauges of this process at the beginning of a minute. */
interface Gauges {
  readonly streams: number;
  readonly waits: number;
  readonly resident_bytes: number;
}

/** Counters of this process. */
interface Totals {
  /** Seconds of CPU time. */
  readonly cpu: number;
  /** Notifications that a service accepted, and the others. */
  readonly pushes_accepted: number;
  readonly pushes_failed: number;
}

/** Figures of the store at the beginning of a minute; null for what cannot be read. */
export interface StoreGauges {
  /** Seconds of one small read. */
  readonly store_read: number | null;
  /** Events that are kept, and notifications that wait. */
  readonly outbox_events: number | null;
  readonly pushes_queued: number | null;
}

interface Counts {
  readonly requests: number;
  /** Answers with a status from 400 to 499, and from 500. */
  readonly client_errors: number;
  readonly server_errors: number;
}

/** What one process measured in one minute: gauges at its beginning, and the growth of counters. */
export interface MeasuredMinute extends Gauges, Totals, StoreGauges, Counts {
  /** When it began. */
  readonly at: number;
  /** How many requests took how long: the steps that are not 0. */
  readonly durations: readonly (readonly [step: number, requests: number])[];
}

/** One minute of one process or of several together. */
export interface Minute extends Gauges, Totals, StoreGauges, Counts {
  readonly at: number;
  /** Quantiles of the duration in seconds; null without a request. */
  readonly p50: number | null;
  readonly p99: number | null;
}

interface Slot {
  minute: number;
  requests: number;
  client_errors: number;
  server_errors: number;
  readonly steps: Uint32Array;
  levels: Gauges;
  totals: Totals;
  store: StoreGauges;
}

const UNKNOWN: StoreGauges = { store_read: null, outbox_events: null, pushes_queued: null };

interface SeriesOptions {
  readonly clock: Clock;
  readonly levels: () => Gauges;
  readonly totals: () => Totals;
  readonly readStoreGauges: () => Promise<StoreGauges>;
  /** Called with each minute that is over, and at the stop with the last one. */
  readonly onMinute?: (minute: MeasuredMinute) => void;
}

export type TimeSeries = ReturnType<typeof createTimeSeries>;

export function createTimeSeries(options: SeriesOptions) {
  const { clock, levels, totals, readStoreGauges, onMinute = () => {} } = options;
  const slots: Slot[] = [];
  const minuteNow = () => Math.floor(clock.now() / 60);
  const first = minuteNow();
  let cancel: Cancel = () => {};

  /** Returns the slot of the current minute, which replaces that of three hours before. */
  const current = (): Slot => {
    const minute = minuteNow();
    const slot = slots[minute % MINUTES_KEPT];
    if (slot?.minute === minute) return slot;
    const fresh: Slot = {
      minute,
      requests: 0,
      client_errors: 0,
      server_errors: 0,
      steps: slot?.steps.fill(0) ?? new Uint32Array(STEPS),
      levels: levels(),
      totals: totals(),
      store: UNKNOWN,
    };
    slots[minute % MINUTES_KEPT] = fresh;
    void readStoreGauges()
      .then((gauges) => (fresh.store = gauges))
      .catch(() => {});
    return fresh;
  };

  const measured = (): MeasuredMinute[] => {
    const now = current().minute;
    const minutes: MeasuredMinute[] = [];
    const end = { levels: levels(), totals: totals() };
    // Newest first, since the growth of a counter follows from the next minute.
    let after: Pick<Slot, "levels" | "totals"> = end;
    for (let minute = now; minute >= Math.max(first, now - MINUTES_KEPT + 1); minute--) {
      const slot = slots[minute % MINUTES_KEPT];
      // A minute in which the machine slept has no slot.
      const own = slot?.minute === minute ? slot : undefined;
      minutes.push({
        at: minute * 60,
        requests: own?.requests ?? 0,
        client_errors: own?.client_errors ?? 0,
        server_errors: own?.server_errors ?? 0,
        durations: own ? stepsOf(own.steps) : [],
        ...(minute === now ? end.levels : (own ?? after).levels),
        ...growth(own?.totals ?? after.totals, after.totals),
        ...(own?.store ?? UNKNOWN),
      });
      after = own ?? after;
    }
    return minutes.reverse();
  };

  const arm = () => {
    cancel = clock.after(60 - (clock.now() % 60), () => {
      current();
      const over = measured().at(-2);
      if (over) onMinute(over);
      arm();
    });
  };

  return {
    /** Reads the gauges at the beginning of each minute, even if no request comes. */
    start(): void {
      current();
      arm();
    },

    stop(): void {
      cancel();
      // None is measured after the clock was set back.
      const last = measured().at(-1);
      if (last) onMinute(last);
    },

    /** Counts an answer. `seconds` is null for a request that asked to wait. */
    record(status: number, seconds: number | null): void {
      const slot = current();
      slot.requests++;
      if (status >= 500) slot.server_errors++;
      else if (status >= 400) slot.client_errors++;
      if (seconds === null) return;
      const step = Math.floor(Math.log2(seconds / SHORTEST) * PER_DOUBLING);
      slot.steps[Math.min(STEPS - 1, Math.max(0, step))]!++;
    },

    /**
     * Every minute since the start, oldest first, at most the last 180. The last one is not over, and has the current
     * levels.
     */
    measured,
    /** {@link measured}, with quantiles in place of the durations. */
    read: (): Minute[] => measured().map((one) => summarize(one.at, [one])),
  };
}

/**
 * The minute that began `at`, of all processes that measured in it: sums, quantiles of all their requests, and of the
 * store the highest value.
 */
export function summarize(at: number, measured: readonly MeasuredMinute[]): Minute {
  const sum = (name: keyof (Gauges & Totals & Counts)) =>
    measured.reduce((total, minute) => total + minute[name], 0);
  const most = (name: keyof StoreGauges) => {
    const known = measured.flatMap((minute) => minute[name] ?? []);
    return known.length === 0 ? null : Math.max(...known);
  };
  const steps = new Uint32Array(STEPS);
  for (const [step, requests] of measured.flatMap(({ durations }) => durations)) {
    if (step >= 0 && step < STEPS) steps[step]! += requests;
  }
  return {
    at,
    requests: sum("requests"),
    client_errors: sum("client_errors"),
    server_errors: sum("server_errors"),
    p50: quantile(steps, 0.5),
    p99: quantile(steps, 0.99),
    streams: sum("streams"),
    waits: sum("waits"),
    resident_bytes: sum("resident_bytes"),
    cpu: sum("cpu"),
    pushes_accepted: sum("pushes_accepted"),
    pushes_failed: sum("pushes_failed"),
    store_read: most("store_read"),
    outbox_events: most("outbox_events"),
    pushes_queued: most("pushes_queued"),
  };
}

const stepsOf = (steps: Uint32Array): [number, number][] =>
  [...steps].flatMap((requests, step) => (requests > 0 ? [[step, requests]] : []));

function growth(from: Totals, to: Totals): Totals {
  return {
    cpu: Math.max(0, to.cpu - from.cpu),
    pushes_accepted: to.pushes_accepted - from.pushes_accepted,
    pushes_failed: to.pushes_failed - from.pushes_failed,
  };
}

/** The upper bound of the step that holds the quantile; null if nothing was counted. */
function quantile(steps: Uint32Array, part: number): number | null {
  const total = steps.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let step = 0;
  for (let left = part * total - steps[0]!; left > 0; left -= steps[step]!) step++;
  return SHORTEST * 2 ** ((step + 1) / PER_DOUBLING);
}
