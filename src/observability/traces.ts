/**
 * Traces: a span for each request and for each attempt to deliver a message, with ids, codes and durations, and never
 * content, a credential or a query. Loaded only if a collector is configured.
 */

import { hostname } from "node:os";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Ids } from "../ids.ts";
import type { Log } from "../log.ts";
import { VERSION } from "../version.ts";
import { type Attribute, createExporter } from "./otlp.ts";
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

interface TraceContext {
  readonly trace_id: string;
  readonly span_id: string;
}

interface ParentContext extends TraceContext {
  readonly sampled: boolean;
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
    ...{ version: VERSION, clock: timers, log, jitter: ids.jitter },
  });
  const { parent_based, ratio } = samplerOf(config);
  /** The requests that last changed a question or task, by its id; the last change last. */
  const changes = new Map<string, TraceContext>();
  const requests = createAllowance(timers, TRACES.per_second);
  const deliveries = createAllowance(timers, TRACES.per_second);
  const asked = createAllowance(timers, TRACES.asked_per_second);

  /**
   * The sampler decides, never the client alone: what its `traceparent` asks for is granted within a bound, and the
   * trace id, which it chose, has no influence.
   */
  const isSampled = (parent: ParentContext | null): boolean => {
    if (parent_based && parent && !parent.sampled) return false;
    if (ratio === 1 || (ratio > 0 && ids.jitter() < ratio)) return true;
    return parent_based && parent?.sampled === true && asked.take();
  };

  /** New ids within the trace of the parent; null, and counted, if there is no room for another span. */
  const contextIn = (parent: TraceContext | null, allowance: Allowance): TraceContext | null => {
    if (exporter.hasRoom() && allowance.take()) {
      const hex = ids.random(parent ? 8 : 24).toHex();
      return { span_id: hex.slice(0, 16), trace_id: parent?.trace_id ?? hex.slice(16) };
    }
    exporter.drop();
    return null;
  };

  const remember = (subject: string, context: TraceContext): void => {
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
      const parent = readTraceparent(scope.request.headers.get("traceparent"));
      if (!isSampled(parent)) return;
      const context = contextIn(parent, requests);
      if (!context) return;
      const { id, at, started, about = "", changed } = scope;
      const method = METHODS.has(scope.request.method) ? scope.request.method : "_OTHER";
      // A credential may have ended after this process remembered it: then the request has no caller.
      const caller = status === 401 ? null : scope.credential.caller();
      const attributes: Attribute[] = [
        ["http.request.method", method],
        ["http.route", route],
        ["http.response.status_code", status],
        ["relay.request_id", id],
      ];
      if (caller) attributes.push(["relay.account_id", caller.account_id]);
      if (caller?.key_id) attributes.push(["relay.key_id", caller.key_id]);
      const key = attributeFor(about);
      if (key !== null) {
        attributes.push([key, about]);
        if (changed) remember(about, context);
      }
      const failed = status >= 500;
      if (failed) attributes.push(["error.type", String(status)]);
      const ended = at + clock.elapsed() - started;
      const name = `${method === "_OTHER" ? "HTTP" : method} ${route}`;
      const parent_id = parent?.span_id ?? null;
      exporter.add({
        ...context,
        ...{ parent_id, name, kind: "server", began: at, ended, attributes, failed },
      });
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
      const context = parent || isSampled(null) ? contextIn(parent, deliveries) : null;
      if (!context) return send(null);
      const attributes: Attribute[] = [
        ["relay.channel", channel],
        ["relay.account_id", account_id],
      ];
      if (delivery_id !== undefined) attributes.push(["relay.delivery_id", delivery_id]);
      const key = attributeFor(subject);
      if (key !== null) attributes.push([key, subject]);
      const began = clock.now();
      const from = clock.elapsed();
      let failed = true;
      try {
        const result = await send(`00-${context.trace_id}-${context.span_id}-01`);
        const { ok, code } = outcomeOf(result);
        attributes.push(["relay.outcome", code]);
        failed = !ok;
        return result;
      } finally {
        const ended = began + clock.elapsed() - from;
        const parent_id = parent?.span_id ?? null;
        const name = `deliver ${channel}`;
        exporter.add({
          ...context,
          ...{ parent_id, name, kind: "client", began, ended, attributes, failed },
        });
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

/** Reads a `traceparent` header (https://www.w3.org/TR/trace-context/); null for an invalid one. */
export function readTraceparent(header: string | null): ParentContext | null {
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(
    header?.slice(0, 200) ?? "",
  );
  if (!found) return null;
  const [, version, trace_id = "", span_id = "", flags = "", rest] = found;
  if (version === "ff" || (version === "00" && rest !== undefined)) return null;
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id)) return null;
  return { trace_id, span_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
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

function samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio }: Config) {
  return {
    parent_based: name.startsWith("parentbased_"),
    ratio: name.endsWith("always_on") ? 1 : name.endsWith("always_off") ? 0 : ratio,
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
