/**
 * Traces: a span for each request and for each attempt to deliver a message, with ids, codes and durations, and never
 * content, a credential or a query. Loaded only if a collector is configured.
 */

import { hostname } from "node:os";
import {
  type Attributes,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import { parseTraceParent } from "@opentelemetry/core";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Ids } from "../ids.ts";
import type { Log } from "../log.ts";
import { VERSION } from "../version.ts";
import { createExporter, type NewSpan, timeOf } from "./otlp.ts";
import { METHODS } from "./request-metrics.ts";

/** Bounds of one process. */
const TRACES = {
  /**
   * Requests and deliveries in a second, and at once, each; further ones are not traced. A span takes some 10 µs with its
   * share of sending, so that a busy server spends little on them.
   */
  per_second: 100,
  /** Requests in a second that are traced only because their client asks for it. */
  asked_per_second: 10,
  /** Questions and tasks whose last change is remembered, so that deliveries join its trace. */
  remembered: 10_000,
} as const;

/** Paths that monitors and load balancers ask all the time. */
const NOT_TRACED = /^\/(health|metrics)/;

interface TracesOptions {
  readonly config: Config;
  readonly clock: Pick<Clock, "now" | "elapsed">;
  /** Real time, also in tests of the whole server. */
  readonly timers: Pick<Clock, "elapsed" | "after">;
  readonly log: Log;
  readonly ids: Pick<Ids, "random" | "jitter">;
}

/** An answered request, as far as its span says. */
interface TracedRequest {
  readonly request: Pick<Request, "headers" | "method">;
  readonly id: string;
  /** When it arrived: epoch seconds, and seconds of {@link Clock.elapsed}. */
  readonly at: number;
  readonly started: number;
  /** Id of the resource in its answer. */
  readonly about: string | undefined;
  /** True if it changed that resource. */
  readonly changed: boolean;
  /** The account and the key of its credential, if it was looked up. */
  readonly credential: {
    caller(): { readonly account_id: string; readonly key_id?: string } | null | undefined;
  };
}

/** A delivery, as far as its span says. */
interface TracedDelivery {
  readonly channel: string;
  readonly account_id: string;
  readonly delivery_id?: string;
  /** Id of what it is about; only that of a question or task is in the span. */
  readonly subject: string;
}

export type Traces = ReturnType<typeof createTraces>;

export function createTraces({ config, clock, timers, log, ids }: TracesOptions) {
  const exporter = createExporter({
    ...exporterOptions(config, ids),
    ...{ version: VERSION, clock: timers, log },
  });
  const { parent_based, ratio } = samplerOf(config, log);
  /** The requests that last changed a question or task, by its id; the last change last. */
  const changes = new Map<string, SpanContext>();
  const requests = createAllowance(timers, TRACES.per_second);
  const deliveries = createAllowance(timers, TRACES.per_second);
  const asked = createAllowance(timers, TRACES.asked_per_second);

  /**
   * The sampler decides, never the client alone: what its `traceparent` asks for is granted within a bound, and the
   * trace id, which it chose, has no influence.
   */
  const isSampled = (parent: SpanContext | null): boolean => {
    const parent_asks = parent !== null && (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
    if (parent_based && parent && !parent_asks) return false;
    if (ratio === 1 || (ratio > 0 && ids.jitter() < ratio)) return true;
    return parent_based && parent_asks && asked.take();
  };

  const begin = (span: NewSpan, parent: SpanContext | null, allowance: Allowance): Span | null =>
    allowance.take() ? exporter.begin(span, parent) : exporter.drop();

  const remember = (subject: string, context: SpanContext): void => {
    changes.delete(subject);
    changes.set(subject, context);
    if (changes.size > TRACES.remembered) changes.delete(changes.keys().next().value!);
  };

  return {
    metrics: exporter.metrics,

    /** False for routes that monitors and load balancers ask all the time. */
    covers: (route: string): boolean => !NOT_TRACED.test(route),

    /** Makes the span of a request that is answered. `route`: the template of its path. */
    answered(scope: TracedRequest, route: string, status: number): void {
      // A busy server spends next to nothing on the requests that it does not trace.
      if (!requests.has()) {
        exporter.drop();
        return;
      }
      const header = scope.request.headers.get("traceparent");
      const parent = header === null ? null : parseTraceParent(header);
      if (!isSampled(parent)) return;
      const { id, at, started, about = "", changed } = scope;
      const method = METHODS.has(scope.request.method) ? scope.request.method : "_OTHER";
      const attributes: Attributes = {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": status,
        "relay.request_id": id,
      };
      // A credential may have ended after this process remembered it: then the request has no caller.
      const caller = status === 401 ? null : scope.credential.caller();
      if (caller) attributes["relay.account_id"] = caller.account_id;
      if (caller?.key_id) attributes["relay.key_id"] = caller.key_id;
      const key = attributeFor(about);
      if (key !== null) attributes[key] = about;
      const failed = status >= 500;
      if (failed) attributes["error.type"] = String(status);
      const name = `${method === "_OTHER" ? "HTTP" : method} ${route}`;
      const remote = parent && { ...parent, isRemote: true };
      const span = begin({ name, kind: SpanKind.SERVER, began: at, attributes }, remote, requests);
      if (!span) return;
      if (key !== null && changed) remember(about, span.spanContext());
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(timeOf(at + clock.elapsed() - started));
    },

    /**
     * Runs an attempt to deliver within a span, in the trace of the request that changed its subject if that is known.
     * `send` gets the value of a `traceparent` header; null if the attempt is not traced.
     */
    async delivery<T>(
      { channel, account_id, delivery_id, subject }: TracedDelivery,
      send: (traceparent: string | null) => Promise<T>,
      outcomeOf: (result: T) => { readonly ok: boolean; readonly code: string },
    ): Promise<T> {
      const parent = changes.get(subject) ?? null;
      if (!parent && !isSampled(null)) return send(null);
      const attributes: Attributes = { "relay.channel": channel, "relay.account_id": account_id };
      if (delivery_id !== undefined) attributes["relay.delivery_id"] = delivery_id;
      const key = attributeFor(subject);
      if (key !== null) attributes[key] = subject;
      const began = clock.now();
      const from = clock.elapsed();
      const about = { name: `deliver ${channel}`, kind: SpanKind.CLIENT, began, attributes };
      const span = begin(about, parent, deliveries);
      if (!span) return send(null);
      const { traceId, spanId } = span.spanContext();
      let failed = true;
      try {
        const result = await send(`00-${traceId}-${spanId}-01`);
        const { ok, code } = outcomeOf(result);
        span.setAttribute("relay.outcome", code);
        failed = !ok;
        return result;
      } finally {
        if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(timeOf(began + clock.elapsed() - from));
      }
    },

    /** Sends what waits, for at most `seconds`. */
    stop: exporter.stop,
  };
}

/** The attribute for the id of a question or task; null for another one. */
function attributeFor(subject: string): string | null {
  if (subject.startsWith("qst_")) return "relay.question_id";
  return subject.startsWith("tsk_") ? "relay.task_id" : null;
}

type Allowance = ReturnType<typeof createAllowance>;

/** Allows `per_second` takes in a second, and as many at once. */
function createAllowance(clock: Pick<Clock, "elapsed">, per_second: number) {
  let left = per_second;
  let at = clock.elapsed();
  const has = (): boolean => {
    const now = clock.elapsed();
    left = Math.min(per_second, left + (now - at) * per_second);
    at = now;
    return left >= 1;
  };
  return {
    has,
    take(): boolean {
      if (!has()) return false;
      left--;
      return true;
    },
  };
}

/** What the specification says of a value that is not known: it is told, and as if it were not set. */
function samplerOf(config: Config, log: Log) {
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: part } = config;
  for (const name of ["OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"] as const) {
    if (config[name] === null)
      log.warn("unknown value of a variable, its default is used", { name });
  }
  const name = sampler ?? "parentbased_always_on";
  return {
    parent_based: name.startsWith("parentbased_"),
    ratio: name.endsWith("always_on") ? 1 : name.endsWith("always_off") ? 0 : (part ?? 1),
  };
}

function exporterOptions(config: Config, ids: TracesOptions["ids"]) {
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/$/, "");
  const given = config.OTEL_RESOURCE_ATTRIBUTES ?? {};
  return {
    url: config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? `${base}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    resource: {
      // In two containers, the host name and the process id can be the same.
      "service.instance.id": ids.random(16).toHex(),
      "host.name": hostname(),
      "process.pid": String(process.pid),
      ...given,
      "service.version": VERSION,
      "service.name": config.OTEL_SERVICE_NAME ?? given["service.name"] ?? "relay",
    },
  };
}
