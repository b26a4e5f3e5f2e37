/** Counts and times requests by method, route template and status. */

import type { Clock } from "../clock.ts";
import {
  counter,
  createHistogram,
  gauge,
  type Histogram,
  histogram,
  type Metric,
  type Sample,
} from "./metrics.ts";
import type { TimeSeries } from "./time-series.ts";

interface RequestMetricsOptions {
  readonly clock: Clock;
  readonly series: Pick<TimeSeries, "record">;
}

/** Buckets in seconds for requests that did not ask to wait. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** Buckets for requests that did: up to `LIMITS.wait_max` and a little more. */
const WAIT_BOUNDS = [0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 40, 50, 51] as const;

/** Other methods count as `other`, since each would be another series. */
export const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The figures of one method of one route. */
interface MethodFigures {
  /** Of requests that did not ask to wait, and of those that did. */
  readonly durations: Histogram;
  readonly waits: Histogram;
  readonly statuses: Map<number, number>;
}

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

export function createRequestMetrics({ clock, series }: RequestMetricsOptions) {
  const routes = new Map<string, Map<string, MethodFigures>>();
  /** Requests that asked to wait. */
  const waiting = new WeakSet<Request>();
  let in_flight = 0;

  const knownOf = (methods: Map<string, MethodFigures>, method: string): MethodFigures => {
    const name = METHODS.has(method) ? method : "other";
    let known = methods.get(name);
    if (!known) {
      known = {
        durations: createHistogram(BOUNDS),
        waits: createHistogram(WAIT_BOUNDS),
        statuses: new Map(),
      };
      methods.set(name, known);
    }
    return known;
  };

  const samples = <Value>(read: (known: MethodFigures) => readonly Sample<Value>[]) =>
    [...routes].flatMap(([route, methods]) =>
      [...methods].flatMap(([method, known]) =>
        read(known).map(([labels, value]) => [{ method, route, ...labels }, value] as const),
      ),
    );

  const metrics: readonly Metric[] = [
    counter(
      "http_requests_total",
      "Requests that were answered, by the template of their route.",
      () =>
        samples(({ statuses }) =>
          [...statuses].map(([status, count]) => [{ status: String(status) }, count]),
        ),
    ),
    histogram(
      "http_request_duration_seconds",
      "Duration of requests that did not ask to wait.",
      () => samples(({ durations }) => ofAny(durations)),
    ),
    histogram("relay_wait_duration_seconds", "Duration of requests that asked to wait.", () =>
      samples(({ waits }) => ofAny(waits)),
    ),
    gauge("http_requests_in_flight", "Requests that are not answered yet.", () => in_flight),
  ];

  return {
    metrics,
    inFlight: (): number => in_flight,

    /** Marks a request that asked to wait, whose duration says nothing about the server. */
    waits(request: Request): void {
      waiting.add(request);
    },

    /**
     * Measures the requests of a route, under this template: call the result when one arrives, and its result with the
     * status of the answer.
     */
    of(template: string) {
      const methods = routes.get(template) ?? new Map<string, MethodFigures>();
      // The charts leave out the requests that read them.
      const counts = !/^\/(metrics|admin\/trpc)$/.test(template);
      routes.set(template, methods);
      return (request: Request) => {
        const from = clock.elapsed();
        in_flight++;
        return (status: number): void => {
          in_flight--;
          const seconds = clock.elapsed() - from;
          const asked_to_wait = waiting.has(request);
          const { durations, waits, statuses } = knownOf(methods, request.method);
          (asked_to_wait ? waits : durations).observe(seconds);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (counts) series.record(status, asked_to_wait ? null : seconds);
        };
      };
    },
  };
}

/** No sample of an empty histogram, since most routes never wait. */
const ofAny = (durations: Histogram): readonly Sample<Histogram>[] =>
  durations.counts.some((count) => count > 0) ? [[{}, durations]] : [];
