/** Fixed parts of the OpenAPI document: headers, errors, tags, and the routes without procedures. */

import { ERRORS, type ErrorCode } from "../../errors.ts";
import { LIMITS } from "../../limits.ts";
import { HEALTH_PROBLEMS } from "../health.ts";

// biome-ignore lint/suspicious/noExplicitAny: the document is edited as the plain JSON it is
export type Json = Record<string, any>;

/** One response per status, which names its codes. */
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
              description: "Seconds to wait before the next attempt",
              schema: { type: "integer", format: "int32" },
            },
          },
        }),
        ...(status === ERRORS.unauthorized.status && {
          headers: { "WWW-Authenticate": { schema: { type: "string" }, example: "Bearer" } },
        }),
        content: {
          "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
        },
      },
    ]),
  );
}

/** The header of routes whose requests can be repeated safely (§8). */
export const IDEMPOTENCY_KEY: Json = {
  in: "header",
  name: "Idempotency-Key",
  description:
    "Names this request. A request with the same key and body within 24 hours changes nothing and gets the same result",
  schema: { type: "string", minLength: 1, maxLength: LIMITS.idempotency_key },
};

/** The machine that an agent works on (§1.6). */
export const AGENT_HOST: Json = {
  in: "header",
  name: "X-Agent-Host",
  description: "Name of the agent's machine, shown to the person; at most 253 characters are kept",
  schema: { type: "string" },
};

/** `GET /v1/openapi.json`. */
export function openApiRoute(): Json {
  return {
    operationId: "getOpenApi",
    tags: ["Service"],
    summary: "Read this document",
    description: "The OpenAPI document of the server that answers, with its address and version.",
    security: [],
    responses: {
      200: {
        description: "OK",
        content: {
          "application/json": { schema: { type: "object", additionalProperties: true } },
        },
      },
      ...errorResponses(["invalid_json"]),
    },
  };
}

/** `GET /health` (§5.12.1). */
export function healthRoute(version: string): Json {
  const response = (description: string, state: string): Json => ({
    description,
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Health" },
        example: { status: state, version, store: state },
      },
    },
  });
  return {
    operationId: "getHealth",
    tags: ["Service"],
    summary: "Check whether the service works",
    description: "Responds within 2 seconds. Needs no credential and counts toward no limit.",
    security: [],
    responses: {
      200: response("The store can be read and written", "ok"),
      503: response("The store is unavailable", "unavailable"),
      ...errorResponses(["invalid_json"]),
    },
  };
}

/** Schemas that no procedure has. */
export const FIXED_SCHEMAS: Json = {
  ErrorCode: {
    type: "string",
    description: "What went wrong; a client acts on it. Codes may be added",
    // Not an `enum`, as a client that was generated earlier could not read an error with a new code.
    "x-extensible-enum": Object.keys(ERRORS),
  },
  Health: {
    type: "object",
    properties: {
      status: { $ref: "#/components/schemas/HealthStatus" },
      version: { type: "string" },
      store: { $ref: "#/components/schemas/HealthStatus" },
      problems: {
        type: "array",
        description:
          "What the operator should know; left out if there is nothing. Codes may be added",
        items: { type: "string", "x-extensible-enum": HEALTH_PROBLEMS },
      },
    },
    required: ["status", "version", "store"],
  },
  HealthStatus: { type: "string", enum: ["ok", "unavailable"] },
  Problem: {
    type: "object",
    description: "Problem details (RFC 9457)",
    properties: {
      type: { type: "string", description: "Address of a page about the code" },
      title: { type: "string" },
      status: { type: "integer", format: "int32" },
      code: { $ref: "#/components/schemas/ErrorCode" },
      detail: { type: "string", description: "Text for people" },
      fields: {
        type: "object",
        description: "Name of a field or parameter to a short reason",
        additionalProperties: { type: "string" },
      },
      ended: {
        type: "boolean",
        description:
          "Present and true in a 401 for an account token that this server ended; a 401 without it does not say so",
      },
    },
    required: ["type", "title", "status", "code", "detail"],
  },
};

const PARAMETERS: Readonly<Record<string, string>> = {
  device_id: "Id of the device: `dev_` and a lowercase UUID, made by the client",
  session_id: "Id of the sign-in",
  status: "Only these statuses",
  priority: "Only these priorities",
};

/** Describes a parameter whose schema has no description. */
export const describeParameter = (name: string): string | undefined =>
  PARAMETERS[name] ?? (name.endsWith("_id") ? `Id of the ${name.slice(0, -3)}` : undefined);

/** Groups of operations, in the order in which documentation shows them. */
export const TAGS: readonly Json[] = [
  { name: "Accounts", description: "The person's account, its settings and its token" },
  { name: "Sign-ins", description: "Browsers and devices in which the person is signed in" },
  { name: "Devices", description: "Devices that receive pushes" },
  { name: "Channels", description: "Other ways to reach the person, such as webhooks" },
  { name: "Keys", description: "API keys, one for each agent, and what they were used for" },
  {
    name: "OAuth",
    description: "The person's decision about a client that asks for access to a key",
  },
  { name: "Tasks", description: "Work that an agent does or should do" },
  { name: "Live activities", description: "Tasks in progress on the lock screen of a device" },
  { name: "Questions", description: "Questions of agents, and the person's answers" },
  { name: "Inbox", description: "What happened to an agent's tasks and questions, and messages" },
  { name: "Events", description: "Changes of an account as server-sent events" },
  { name: "Service", description: "The state of the service, and this document" },
];
