/**
 * Sends spans to a collector by OTLP over HTTP, with OpenTelemetry's library. A collector that is slow, full or away costs
 * spans, never requests.
 */

import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  trace,
} from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from "@opentelemetry/otlp-exporter-base/node-http";
import { JsonTraceSerializer, TraceExporterMetricsHelper } from "@opentelemetry/otlp-transformer";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Clock } from "../clock.ts";
import { codeOf, type Log } from "../log.ts";
import { passesProxy } from "../loopback.ts";
import { counter } from "./metrics.ts";
import { createOutage } from "./outages.ts";

/** Spans; milliseconds. */
const EXPORT = {
  /** Spans that are not over or wait for the collector's answer; further ones are dropped. */
  waiting: 2_048,
  /** Spans in one request. */
  batch: 256,
  /** From a span to its request, unless a batch is full. */
  every: 5_000,
  /** Until a request is given up, with its repetitions. */
  within: 10_000,
} as const;

interface ExporterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Pick<Clock, "elapsed" | "after">;
  readonly log: Log;
}

/** What is known of a span when it begins. `began`: epoch seconds. */
export interface NewSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly began: number;
  readonly attributes: Attributes;
}

/** Epoch seconds as the library takes them, which reads a small number as a time since the process began. */
export const timeOf = (seconds: number): [seconds: number, nanoseconds: number] => [
  Math.floor(seconds),
  Math.floor((seconds % 1) * 1e9),
];

export function createExporter({ clock, log, ...options }: ExporterOptions) {
  const outage = createOutage({ clock, log, over: "traces sent again" });
  const results = { sent: 0, failed: 0, dropped: 0 };
  let waiting = 0;
  /** Spans that the response just read rejects, although it accepts the request. */
  let rejected = 0;
  const delegate = createOtlpHttpExportDelegate(
    {
      url: options.url,
      headers: async () => ({ ...options.headers, "content-type": "application/json" }),
      timeoutMillis: EXPORT.within,
      // A stop sends all that waits at once, beside what is under way.
      concurrencyLimit: EXPORT.waiting / EXPORT.batch + 1,
      compression: "none",
      agentFactory: httpAgentFactoryFromOptions({
        keepAlive: true,
        // Unlike `fetch`, an agent uses a proxy of the environment only if it is told to.
        ...(!passesProxy(options.url) && { proxyEnv: process.env }),
      }),
    },
    {
      ...JsonTraceSerializer,
      deserializeResponse(data) {
        const response = JsonTraceSerializer.deserializeResponse(data);
        // A 64-bit number is a string in JSON.
        rejected = Math.max(Number(response?.partialSuccess?.rejectedSpans ?? 0), 0) || 0;
        return response;
      },
    },
    "otlp_http_span_exporter",
    TraceExporterMetricsHelper,
    undefined,
  );
  /** Counts what becomes of the spans. */
  const exporter: SpanExporter = {
    export(spans, done) {
      delegate.export(spans, (result) => {
        const is_sent = result.code === ExportResultCode.SUCCESS;
        const lost = is_sent ? Math.min(rejected, spans.length) : spans.length;
        rejected = 0;
        waiting -= spans.length;
        results.sent += spans.length - lost;
        results.failed += lost;
        if (lost === 0) outage.works();
        else if (is_sent)
          outage.note("traces not sent", { reason: "rejected in part", rejected: lost });
        else outage.note("traces not sent", { reason: reasonOf(result.error) });
        done(result);
      });
    },
    shutdown: () => delegate.shutdown(),
  };
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(options.resource)),
    // It is asked only for spans that are to be traced.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: EXPORT.waiting,
        maxExportBatchSize: EXPORT.batch,
        scheduledDelayMillis: EXPORT.every,
      }),
    ],
  });
  const tracer = provider.getTracer("relay", options.version);

  /** Counts a span that was not made, as there was no room for it. */
  const drop = (): null => {
    results.dropped++;
    return null;
  };

  return {
    drop,

    /** Begins a span, which must be ended; null, and counted, if too many wait. */
    begin({ name, kind, began, attributes }: NewSpan, parent: SpanContext | null): Span | null {
      if (waiting >= EXPORT.waiting) return drop();
      waiting++;
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      return tracer.startSpan(name, { kind, attributes, startTime: timeOf(began) }, context);
    },

    /** Sends what waits, for at most `seconds`. */
    async stop(seconds: number): Promise<void> {
      const late = Promise.withResolvers<void>();
      const cancel = clock.after(seconds, late.resolve);
      // What fails is counted by the exporter.
      await Promise.race([provider.shutdown().catch(() => {}), late.promise]);
      cancel();
      results.dropped += waiting;
      waiting = 0;
    },

    metrics: [
      counter("relay_trace_spans_total", "Spans of traces, by what became of them.", () =>
        Object.entries(results).map(([result, count]) => [{ result }, count]),
      ),
    ],
  };
}

/** Never the text of an error, which may be the collector's. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  if (typeof error?.code === "number") return `HTTP_${error.code}`;
  return codeOf(error) || "not accepted in time";
}
