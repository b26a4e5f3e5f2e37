/** A stand-in for a collector of OpenTelemetry: takes traces by OTLP over HTTP as JSON, and checks what is documented. */

import { afterAll } from "bun:test";
import { z } from "zod";

/** Times are strings, ids hexadecimal, enumerations numbers (https://opentelemetry.io/docs/specs/otlp/). */
const Attribute = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ intValue: z.int() }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
});
/** Nothing is cut off. */
const none = { droppedAttributesCount: z.literal(0).optional() };
const nanoseconds = z.string().regex(/^1[6-9]\d{17}$|^2\d{18}$/);
const Span = z.strictObject({
  traceId: z.string().regex(/^(?!0+$)[0-9a-f]{32}$/),
  spanId: z.string().regex(/^(?!0+$)[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^(?!0+$)[0-9a-f]{16}$/)
    .optional(),
  name: z.string().min(1),
  kind: z.union([z.literal(2), z.literal(3)]),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes: z.array(Attribute),
  status: z.strictObject({ code: z.union([z.literal(0), z.literal(2)]) }),
  ...none,
  events: z.tuple([]),
  droppedEventsCount: z.literal(0),
  links: z.tuple([]),
  droppedLinksCount: z.literal(0),
  flags: z.int(),
});
const Request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(Attribute), ...none }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.literal("relay"), version: z.string() }),
          spans: z.array(Span).min(1),
        }),
      ),
    }),
  ),
});

interface SeenSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_id: string | undefined;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
}

const valuesOf = (attributes: readonly z.output<typeof Attribute>[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      "intValue" in value ? Number(value.intValue) : Object.values(value)[0]!,
    ]),
  );

export function startCollector() {
  const spans: SeenSpan[] = [];
  const faults: string[] = [];
  const resources: Record<string, string | number>[] = [];
  const headers: Headers[] = [];
  let requests = 0;
  let behave: () => Response | Promise<Response> = () => Response.json({});
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      requests++;
      headers.push(request.headers);
      const { pathname } = new URL(request.url);
      if (request.method !== "POST" || pathname !== "/v1/traces") faults.push(request.url);
      if (request.headers.get("content-type") !== "application/json") faults.push("media type");
      const body = Request.safeParse(await request.json());
      if (!body.success) faults.push(z.prettifyError(body.error));
      const response = await behave();
      if (!response.ok) return response;
      for (const { resource, scopeSpans } of body.data?.resourceSpans ?? []) {
        resources.push(valuesOf(resource.attributes));
        for (const one of scopeSpans.flatMap((scope) => scope.spans)) {
          if (BigInt(one.endTimeUnixNano) < BigInt(one.startTimeUnixNano)) faults.push("times");
          spans.push({
            trace_id: one.traceId,
            span_id: one.spanId,
            parent_id: one.parentSpanId,
            name: one.name,
            attributes: valuesOf(one.attributes),
            failed: one.status.code === 2,
          });
        }
      }
      return response;
    },
  });
  afterAll(() => server.stop(true));
  return {
    url: server.url.origin,
    spans,
    faults,
    resources,
    headers,
    requests: () => requests,
    behave(next: typeof behave) {
      behave = next;
    },
  };
}
