/** Brings the schemas of the OpenAPI document into forms that all client generators read. */

import { TASK_STATUSES } from "../../model/task.ts";
import type { Json } from "./parts.ts";

const INT32_MAX = 2 ** 31 - 1;

/** Small integers of responses, whose schemas have no bounds. */
const SMALL: readonly string[] = ["progress", ...TASK_STATUSES];

/** Calls `visit` for every object in `node`, the innermost first. */
function walk(node: unknown, visit: (schema: Json) => void): void {
  if (typeof node !== "object" || node === null) return;
  for (const child of Object.values(node)) walk(child, visit);
  if (!Array.isArray(node)) visit(node as Json);
}

const typesOf = ({ type }: Json): readonly unknown[] => [type].flat();

/**
 * Gives every number a format: without one, some generators make a timestamp a 32-bit float, which cannot hold its
 * seconds. Removes bounds that only mean "any integer".
 */
function setFormats(schema: Json): void {
  if (typesOf(schema).includes("number")) schema.format ??= "double";
  if (!typesOf(schema).includes("integer")) return;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  schema.format ??= schema.maximum <= INT32_MAX ? "int32" : "int64";
}

/** Writes `T or null` as a list of types, as some generators make a class of an `anyOf`. */
function mergeNull(schema: Json): void {
  const [value, nothing, ...more]: Json[] = schema.anyOf ?? [];
  if (more.length > 0 || nothing?.type !== "null" || typeof value?.type !== "string") return;
  const { anyOf: _, ...outer } = schema;
  delete schema.anyOf;
  Object.assign(schema, value, outer, { type: [value.type, "null"] });
}

/** Brings numbers and nullable values into one form each. Call it before the examples are added. */
export function normalizeSchemas(document: Json): void {
  walk(document, (schema) => {
    setFormats(schema);
    mergeNull(schema);
    for (const [name, field] of Object.entries<Json>(schema.properties ?? {})) {
      if (SMALL.includes(name) && typesOf(field).includes("integer")) field.format = "int32";
    }
  });
}

const upper = (text: string): string => text.replace(/[^A-Za-z]+/g, "_").toUpperCase();

/** Names the constants of values that are in several lists, as some generators put all constants into one namespace. */
export function nameSharedValues(document: Json): void {
  const lists = Object.entries<Json>(document.components.schemas).filter(
    ([, { enum: list }]) => list,
  );
  const uses = new Map<string, number>();
  for (const [, { enum: values }] of lists) {
    for (const value of values) uses.set(value, (uses.get(value) ?? 0) + 1);
  }
  for (const [name, schema] of lists) {
    const values: readonly string[] = schema.enum;
    if (values.every((value) => uses.get(value) === 1)) continue;
    const prefix = upper(name.replace(/^Relay/, "").replace(/(?<=[a-z])(?=[A-Z])/g, "_"));
    schema["x-enum-varnames"] = values.map((value) =>
      uses.get(value) === 1 ? upper(value) : `${prefix}_${upper(value)}`,
    );
  }
}

/** Names of the components that `node` refers to, directly or indirectly. */
function reach(document: Json, node: unknown, found = new Set<string>()): Set<string> {
  walk(node, ({ $ref }) => {
    const [, name] = /^#\/components\/schemas\/(.+)$/.exec($ref ?? "") ?? [];
    if (name === undefined || found.has(name)) return;
    found.add(name);
    reach(document, document.components.schemas[name], found);
  });
  return found;
}

/**
 * Says that responses and events may get further members (§1.3.9). Generators differ in what an absent
 * `additionalProperties` means.
 */
export function openAnswers(document: Json): void {
  const { schemas } = document.components;
  const answers = Object.values<Json>(document.paths).flatMap((path) =>
    Object.values<Json>(path).map(({ responses }) => responses),
  );
  for (const name of reach(document, answers)) {
    walk(schemas[name], (schema) => {
      const is_map = typeof schema.additionalProperties === "object";
      if (schema.type === "object" && !is_map) schema.additionalProperties = true;
    });
  }
}

/** Makes the schema of a request body a component of this name. */
export function nameBody(document: Json, operation: Json, name: string): void {
  const { schemas } = document.components;
  const media = operation.requestBody.content["application/json"];
  if (schemas[name]) throw new Error(`two schemas are called ${name}`);
  schemas[name] = media.schema;
  media.schema = { $ref: `#/components/schemas/${name}` };
}
