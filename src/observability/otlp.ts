/**
 * Sends spans to a collector by OTLP over HTTP, as JSON. A collector that is slow, full or away costs spans, never
 * requests. The official packages take 9 µs of CPU time for each span, a tenth of a read.
 */

import type { Cancel, Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { proxyOptions } from "../loopback.ts";
import { counter } from "./metrics.ts";
import { createOutage } from "./outages.ts";

/** Spans; seconds. */
const EXPORT = {
  /** Spans that wait; further ones are dropped. */
  queued: 2_048,
  /** Spans in one request: it takes the event loop less than a millisecond to write them. */
  batch: 256,
  /** From a span to its request, unless a batch is full. */
  every: 5,
  /** Until a request is given up. */
  within: 10,
  /** Tries of a batch, and about the pause after the first of them, which doubles. A `Retry-After` may be this long. */
  tries: 5,
  pause: 1,
  retry_after: 60,
  /** Bytes of a response that are read. */
  response: 4_096,
} as const;

/** Statuses after which the collector may accept the same request later, by the protocol. */
const LATER = new Set([429, 502, 503, 504]);

export type Attribute = readonly [key: string, value: string | number];

/** A span that is over. Times are in epoch seconds. */
export interface EndedSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | null;
  readonly name: string;
  readonly kind: "server" | "client";
  readonly began: number;
  readonly ended: number;
  readonly attributes: readonly Attribute[];
  readonly failed: boolean;
}

interface ExporterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly version: string;
  readonly clock: Pick<Clock, "elapsed" | "after">;
  readonly log: Log;
  /** A random number from 0 to below 1. */
  readonly jitter: () => number;
}

/** `rejected`: spans that the collector did not take. `later`: seconds until another try; null if none would help. */
type Outcome =
  | { readonly rejected: number }
  | { readonly reason: string; readonly later: number | null };

export function createExporter(options: ExporterOptions) {
  const { url, clock, log, jitter } = options;
  const resource = `{"attributes":[${Object.entries(options.resource).map(attributeOf).join()}]}`;
  const scope = JSON.stringify({ name: "relay", version: options.version });
  const outage = createOutage({ clock, log, over: "traces sent again" });
  const results = { sent: 0, failed: 0, dropped: 0 };
  let queue: EndedSpan[] = [];
  let sending: Promise<void> | undefined;
  let cancel: Cancel | undefined;
  let stopping = false;
  /** Ends a pause between two tries. */
  let wake = () => {};
  const cut = new AbortController();

  const post = async (spans: readonly EndedSpan[]): Promise<Outcome> => {
    const late = new AbortController();
    const cancel_late = clock.after(EXPORT.within, () => late.abort());
    try {
      const response = await fetch(url, {
        ...proxyOptions(url),
        method: "POST",
        // A redirect could take the headers elsewhere.
        redirect: "manual",
        headers: { ...options.headers, "content-type": "application/json" },
        body: `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[${spans.map(toJson).join()}]}]}]}`,
        signal: AbortSignal.any([late.signal, cut.signal]),
      });
      if (response.ok) return { rejected: Math.min(await rejectedIn(response), spans.length) };
      await response.body?.cancel();
      // A date is not understood: the usual pause follows.
      const asked = Number(response.headers.get("retry-after")) || 0;
      const later = Math.min(asked, EXPORT.retry_after);
      const reason = `HTTP_${response.status}`;
      return { reason, later: LATER.has(response.status) ? later : null };
    } catch {
      const is_late = late.signal.aborted || cut.signal.aborted;
      return { reason: is_late ? "no answer in time" : "unreachable", later: 0 };
    } finally {
      cancel_late();
    }
  };

  /** Sends a batch, several times if that may help. Never rejects. */
  const send = async (spans: readonly EndedSpan[]): Promise<void> => {
    for (let tries = 1; ; tries++) {
      const outcome = await post(spans);
      if ("rejected" in outcome) {
        const { rejected } = outcome;
        results.sent += spans.length - rejected;
        results.failed += rejected;
        if (rejected === 0) outage.works();
        else outage.note("traces not sent", { reason: "rejected in part", rejected });
        return;
      }
      outage.note("traces not sent", { reason: outcome.reason });
      if (outcome.later === null || tries === EXPORT.tries || stopping) break;
      const backoff = EXPORT.pause * 2 ** (tries - 1) * (0.5 + jitter());
      const pause = Math.max(outcome.later, backoff);
      await new Promise<void>((next) => {
        wake = next;
        clock.after(pause, next);
      });
    }
    results.failed += spans.length;
  };

  const flush = async (): Promise<void> => {
    // `sending` is set by now.
    await null;
    cancel?.();
    cancel = undefined;
    while (queue.length > 0 && !cut.signal.aborted) {
      const spans = queue.slice(0, EXPORT.batch);
      queue = queue.slice(EXPORT.batch);
      await send(spans);
      // The rest of a batch waits for more.
      if (queue.length < EXPORT.batch && !stopping) break;
    }
    sending = undefined;
    if (queue.length > 0 && !stopping) arm();
  };

  const arm = () => {
    if (sending) return;
    if (queue.length >= EXPORT.batch) sending = flush();
    else {
      cancel ??= clock.after(EXPORT.every, () => {
        sending ??= flush();
      });
    }
  };

  return {
    /** False while the queue is full: spans that begin now would be dropped. */
    hasRoom: (): boolean => queue.length < EXPORT.queued,

    /** Counts a span that was not made, as there was no room for it. */
    drop(): void {
      results.dropped++;
    },

    add(span: EndedSpan): void {
      if (stopping || queue.length >= EXPORT.queued) {
        results.dropped++;
        return;
      }
      queue.push(span);
      arm();
    },

    /** Sends what waits, for at most `seconds`. */
    async stop(seconds: number): Promise<void> {
      stopping = true;
      wake();
      const cancel_cut = clock.after(seconds, () => cut.abort());
      await sending;
      sending = flush();
      await sending;
      cancel_cut();
      results.dropped += queue.length;
      queue = [];
    },

    metrics: [
      counter("relay_trace_spans_total", "Spans of traces, by what became of them.", () =>
        Object.entries(results).map(([result, count]) => [{ result }, count]),
      ),
    ],
  };
}

/** How many spans an accepted request lost, by the partial success in its response. They must not be sent again. */
async function rejectedIn(response: Response): Promise<number> {
  const length = Number(response.headers.get("content-length"));
  // A collector that has something to say says it in a few hundred bytes; an endless body would hold up the next request.
  if (!(length > 2 && length <= EXPORT.response)) {
    await response.body?.cancel();
    return 0;
  }
  const body: unknown = await response.json().catch(() => null);
  const { partialSuccess } = (body ?? {}) as {
    partialSuccess?: { rejectedSpans?: unknown } | null;
  };
  // A 64-bit number is a string in JSON.
  const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
  return Math.max(rejected, 0) || 0;
}

/** Numbers of the protocol (opentelemetry/proto/trace/v1/trace.proto). */
const KINDS = { server: 2, client: 3 } as const;
const ERROR = 2;

/** Ids and numbers need no escapes. Text made by hand takes a third of the time of `JSON.stringify` with its objects. */
function toJson(span: EndedSpan): string {
  const parent = span.parent_id === null ? "" : `"parentSpanId":"${span.parent_id}",`;
  const status = span.failed ? `{"code":${ERROR}}` : "{}";
  return `{"traceId":"${span.trace_id}","spanId":"${span.span_id}",${parent}"name":${JSON.stringify(span.name)},"kind":${KINDS[span.kind]},"startTimeUnixNano":"${nanosecondsOf(span.began)}","endTimeUnixNano":"${nanosecondsOf(span.ended)}","attributes":[${span.attributes.map(attributeOf).join()}],"status":${status}}`;
}

/** 64-bit numbers are strings in JSON. A double holds a time of today to a microsecond. */
const nanosecondsOf = (seconds: number): string => `${Math.round(seconds * 1e6)}000`;

function attributeOf([key, value]: Attribute): string {
  const name = JSON.stringify(key);
  if (typeof value === "string")
    return `{"key":${name},"value":{"stringValue":${JSON.stringify(value)}}}`;
  return Number.isInteger(value)
    ? `{"key":${name},"value":{"intValue":"${value}"}}`
    : `{"key":${name},"value":{"doubleValue":${value}}}`;
}
