/** What of the OpenAPI document stands fixed: headers, error bodies, and routes that are no procedures. */

import { ERRORS, type ErrorCode } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";

// biome-ignore lint/suspicious/noExplicitAny: the document is edited as the plain JSON it is
export type Json = Record<string, any>;

/** One response per status, naming the codes it can carry. */
export function errorResponses(codes: Iterable<ErrorCode>): Json {
  const by_status = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = ERRORS[code];
    by_status.set(status, [...(by_status.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...by_status].map(([status, some]) => [
      status,
      {
        description: some.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
        ...(some.some((code) => "retry_after" in ERRORS[code]) && {
          headers: {
            "Retry-After": {
              description: "Seconds to wait",
              schema: { type: "integer", minimum: 0 },
            },
          },
        }),
        ...(status === ERRORS.unauthorized.status && {
          headers: { "WWW-Authenticate": { schema: { type: "string", enum: ["Bearer"] } } },
        }),
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    ]),
  );
}

/** The header of routes whose requests may be sent again (docs/interface.md 8). */
export const IDEMPOTENCY_KEY: Json = {
  in: "header",
  name: "Idempotency-Key",
  description:
    "Any text that names this request: sent again with the same key and body within 24 hours, it is not done again",
  schema: { type: "string", minLength: 1, maxLength: LIMITS.idempotency_key },
};

/** The machine that an agent works on (docs/interface.md 1.6). */
export const AGENT_HOST: Json = {
  in: "header",
  name: "X-Agent-Host",
  description:
    "From an agent: the name of its machine, shown to the person; a longer one is cut to 253 characters",
  schema: { type: "string" },
};

/** `GET /v1/events` is no procedure, so the generator does not know it (docs/interface.md 7). */
export function eventStream(): Json {
  return {
    operationId: "events",
    tags: ["Events"],
    summary: "Stream every change of the account",
    description:
      "Server-sent events: first `ready`, then each change in the order of the commits. Nothing is replayed: after `ready`, get the lists again.",
    security: [{ account: [] }],
    responses: {
      200: { description: "OK", content: { "text/event-stream": { schema: { type: "string" } } } },
      ...errorResponses([
        "unauthorized",
        "forbidden",
        "rate_limited",
        "internal",
        "store_unavailable",
      ]),
    },
  };
}

/** This document. */
export function itself(): Json {
  return {
    operationId: "openapi",
    tags: ["Health"],
    summary: "This document",
    security: [],
    responses: {
      200: { description: "OK", content: { "application/json": { schema: { type: "object" } } } },
    },
  };
}

/** `GET /health` is no procedure either. */
export function health(version: string): Json {
  const response = (description: string, status: string, store: string): Json => ({
    description,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: {
            status: { type: "string", enum: [status] },
            version: { type: "string" },
            store: { type: "string", enum: [store] },
          },
          required: ["status", "version", "store"],
        },
        example: { status, version, store },
      },
    },
  });
  return {
    operationId: "health",
    tags: ["Health"],
    summary: "Tell whether the service and its store can be used",
    security: [],
    responses: {
      200: response("OK", "ok", "ok"),
      503: response("The store is unavailable", "unavailable", "unavailable"),
    },
  };
}

export function problemSchema(): Json {
  return {
    type: "object",
    description: "RFC 9457 problem details",
    properties: {
      type: { type: "string" },
      title: { type: "string" },
      status: { type: "integer" },
      code: { type: "string", enum: Object.keys(ERRORS) },
      detail: { type: "string" },
      fields: {
        type: "object",
        description: "Field name to a short reason",
        additionalProperties: { type: "string" },
      },
    },
    required: ["type", "title", "status", "code", "detail"],
  };
}
