/** Completes the OpenAPI 3.1 document of trpc-to-openapi with what the generator cannot know. */

import type { AnyTRPCRouter } from "@trpc/server";
import { generateOpenApiDocument, type OpenApiRouter } from "trpc-to-openapi";
import type { ErrorCode } from "../../errors.ts";
import type { RelayMeta } from "../../rpc/meta.ts";
import { proceduresOf } from "../../rpc/trpc-internals.ts";
import { EVENT_SCHEMAS, eventStream } from "./events.ts";
import { EXAMPLES, exampleOf } from "./examples.ts";
import {
  AGENT_HOST,
  describeParameter,
  errorResponses,
  FIXED_SCHEMAS,
  healthRoute,
  IDEMPOTENCY_KEY,
  type Json,
  openApiRoute,
  TAGS,
} from "./parts.ts";
import { nameBody, nameSharedValues, normalizeSchemas, openAnswers } from "./schemas.ts";

interface DocumentOptions {
  readonly router: AnyTRPCRouter;
  readonly version: string;
  readonly base_url: string;
}

/** Codes that any route can give. Routes with a body or a credential have more. */
const EVERYWHERE: readonly ErrorCode[] = [
  "body_too_large",
  "invalid_fields",
  "rate_limited",
  "internal",
  "store_unavailable",
];

/** The document of all `/v1` routes with their real statuses and error bodies. */
export function createDocument({ router, version, base_url }: DocumentOptions): Json {
  const document = generateOpenApiDocument(router as unknown as OpenApiRouter, {
    title: "Relay",
    description:
      "Agents report their work as tasks, ask a person questions and wait for the answers. The person follows the tasks, answers, and creates or changes tasks for any agent.",
    version,
    openApiVersion: "3.1.0",
    baseUrl: base_url,
    securitySchemes: {
      account: { type: "http", scheme: "bearer", description: "Account token (`mca_…`)" },
      key: { type: "http", scheme: "bearer", description: "API key (`mck_…`)" },
    },
  }) as unknown as Json;
  document.info.contact = { name: "Relay", url: `${base_url}/docs` };
  document.info.license = { name: "MIT", identifier: "MIT" };
  document.tags = TAGS;

  for (const { meta, input } of proceduresOf(router).values()) {
    const { openapi, ...own } = meta;
    if (!openapi) continue;
    const operation = document.paths[openapi.path][openapi.method.toLowerCase()];
    correct(operation, openapi.method, own);
    if (!operation.requestBody) continue;
    const name = input.meta()?.id;
    if (!name) throw new Error(`the input of ${openapi.method} ${openapi.path} has no id`);
    nameBody(document, operation, name);
  }
  document.paths["/v1/events"] = { get: eventStream() };
  document.paths["/health"] = { get: healthRoute(version) };
  document.paths["/v1/openapi.json"] = { get: openApiRoute() };
  document.components.schemas = sortedByName({
    ...document.components.schemas,
    ...structuredClone({ ...FIXED_SCHEMAS, ...EVENT_SCHEMAS }),
  });
  addQuotas(document);
  normalizeSchemas(document);
  openAnswers(document);
  nameSharedValues(document);
  for (const { meta, output } of proceduresOf(router).values()) {
    const { method, path } = meta.openapi!;
    const { request, response = exampleOf(output) } = EXAMPLES[`${method} ${path}`] ?? {};
    addExamples(document.paths[path][method.toLowerCase()], { request, response });
  }
  return document;
}

const EMPTY: Json = { type: "object", properties: {}, additionalProperties: false };

/** Status, security, query fields of a POST, and errors of one operation. */
function correct(operation: Json, method: string, meta: RelayMeta): void {
  const {
    access = "none",
    status = 200,
    may_exist = false,
    query = [],
    body_optional = false,
    accepts_idempotency_key,
    errors = [],
  } = meta;
  const success = operation.responses[200];
  if (status === 204) {
    operation.responses = { 204: { description: "Done" } };
  } else {
    operation.responses = {
      ...(may_exist && { 200: { ...success, description: "It already existed" } }),
      [status]: { ...success, description: status === 201 ? "Created" : "OK" },
    };
  }
  operation.security =
    access === "none" ? [] : access === "any" ? [{ account: [] }, { key: [] }] : [{ [access]: [] }];

  if (method === "DELETE") moveToBody(operation, query);
  // The generator gives a POST no body if the path has all fields.
  if (method === "POST") {
    operation.requestBody ??= { content: { "application/json": { schema: EMPTY } } };
  }
  const body = operation.requestBody?.content["application/json"];
  const parameters: Json[] = operation.parameters ?? [];
  for (const field of method === "DELETE" ? [] : query) {
    const { description, ...schema } = body.schema.properties[field];
    delete body.schema.properties[field];
    parameters.push({ in: "query", name: field, schema, ...(description && { description }) });
  }
  for (const parameter of parameters) {
    const { description = describeParameter(parameter.name), ...schema } = parameter.schema;
    Object.assign(parameter, { description: parameter.description ?? description, schema });
    // Routes accept commas too (§1.5.1); generated clients send what stands here.
    if (parameter.schema?.type === "array")
      Object.assign(parameter, { style: "form", explode: true });
  }
  if (parameters.length > 0) operation.parameters = parameters;
  if (operation.requestBody) operation.requestBody.required = !body_optional;

  const codes = new Set<ErrorCode>([...errors, ...EVERYWHERE]);
  if (accepts_idempotency_key) {
    codes.add("idempotency_mismatch");
    operation.parameters = [...parameters, IDEMPOTENCY_KEY];
    operation.responses[status].headers = {
      "Idempotency-Replayed": {
        description: "`true` if an earlier request made the change and this one changed nothing",
        schema: { type: "string" },
        example: "true",
      },
    };
  }
  if (operation.requestBody) codes.add("invalid_json").add("unsupported_media_type");
  if (access === "key" || access === "any") {
    operation.parameters = [...(operation.parameters ?? []), AGENT_HOST];
  }
  if (access !== "none") codes.add("unauthorized");
  if (access === "account" || access === "key") codes.add("forbidden");
  Object.assign(operation.responses, errorResponses(codes));
}

/** Moves fields of a DELETE, which the generator puts into the query, to the body, unless they are in `query`. */
function moveToBody(operation: Json, query: readonly string[]): void {
  delete operation.requestBody;
  const all: Json[] = operation.parameters ?? [];
  const fields = all.filter(({ in: place, name }) => place === "query" && !query.includes(name));
  if (fields.length === 0) return;
  operation.parameters = all.filter((parameter) => !fields.includes(parameter));
  const schema = {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
    required: fields.filter((field) => field.required).map((field) => field.name),
    additionalProperties: false,
  };
  operation.requestBody = { content: { "application/json": { schema } } };
}

function addExamples(operation: Json, { request, response }: (typeof EXAMPLES)[string]): void {
  const sent = operation.requestBody?.content["application/json"];
  if (sent) sent.example = request ?? {};
  const got = (operation.responses[200] ?? operation.responses[201])?.content["application/json"];
  if (got && response !== undefined) got.example = response;
}

/** Adds the headers in which a limited route reports its limit (§10.6.2). */
function addQuotas(document: Json): void {
  const header = (description: string, example: string): Json => ({
    description,
    schema: { type: "string" },
    example,
  });
  document.components.headers = {
    "RateLimit-Policy": header(
      "The limit that the request counts toward: a burst of `q` requests, refilled within `w` seconds",
      '"key";q=120;w=12',
    ),
    RateLimit: header(
      "`r` requests remain; the full burst is available again in `t` seconds",
      '"key";r=119;t=1',
    ),
  };
  const refs = {
    "RateLimit-Policy": { $ref: "#/components/headers/RateLimit-Policy" },
    RateLimit: { $ref: "#/components/headers/RateLimit" },
  };
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    if (path === "/health") continue;
    for (const { responses } of Object.values<Json>(operations)) {
      for (const [status, response] of Object.entries<Json>(responses)) {
        if (Number(status) < 500) response.headers = { ...response.headers, ...refs };
      }
    }
  }
}

function sortedByName(schemas: Json = {}): Json {
  const kept = Object.entries(schemas).filter(([name]) => !name.startsWith("error."));
  return Object.fromEntries(kept.sort(([a], [b]) => a.localeCompare(b)));
}
