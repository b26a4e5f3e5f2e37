/** The variables of OpenTelemetry for traces (§16), under the names that its specification gives them. */

import { z } from "zod";
import { anyText, isHeader, isPlainUrl, number, pairs } from "./config-values.ts";

const PLAIN_URL = "must be an http(s) URL without a credential, a query or a fragment";

/** The samplers of OpenTelemetry that Relay has. */
const SAMPLERS = [
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
  "always_on",
  "always_off",
  "traceidratio",
] as const;

/**
 * Each variable with its schema and default; `doc` is its row in docs/configuration.md. A sampler or a part that is not
 * known is null: other programs of the same environment may know it.
 */
export const TRACES_CONFIG = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    doc: "Collector of traces, by OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added. No traces when unset",
    schema: z.string().refine(isPlainUrl, PLAIN_URL).optional(),
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    doc: "The whole URL for traces, in place of the one above",
    schema: z.string().refine(isPlainUrl, PLAIN_URL).optional(),
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    doc: "Headers for the collector, such as `authorization=Bearer%20…`, separated by commas and percent-encoded",
    schema: pairs(isHeader, "must be headers such as name=value, percent-encoded").optional(),
  },
  OTEL_SERVICE_NAME: {
    doc: "The name of the service in traces; `relay` when unset",
    schema: anyText,
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    doc: "More attributes of the service in traces, such as `deployment.environment.name=production`, separated by commas",
    schema: pairs(() => true, "must be attributes such as name=value, percent-encoded").optional(),
  },
  OTEL_TRACES_SAMPLER: {
    doc: `Which requests are traced: ${SAMPLERS.map((name) => `\`${name}\``).join(", ")}`,
    schema: z.enum(SAMPLERS).nullable().default("parentbased_always_on").catch(null),
  },
  OTEL_TRACES_SAMPLER_ARG: {
    doc: "For the samplers with `traceidratio`: the part of the requests, from `0` to `1`",
    schema: number(/^(0?\.\d{1,9}|0|1(\.0+)?)$/, "")
      .nullable()
      .default(1)
      .catch(null),
  },
  OTEL_TRACES_EXPORTER: {
    doc: "`none` turns traces off; other values change nothing",
    schema: anyText,
  },
  OTEL_SDK_DISABLED: {
    doc: "`true` turns traces off",
    schema: anyText,
  },
} as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment without the variables of traces, unless traces are on. Platforms set these variables for every
 * container, so a value that Relay cannot read, such as an endpoint for gRPC, matters only if Relay sends traces.
 */
export function withoutUnusedTraces(env: Environment): Environment {
  const has_collector = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const is_off =
    env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none";
  if (has_collector && !is_off) return env;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !(name in TRACES_CONFIG)));
}
