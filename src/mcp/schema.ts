/** JSON schemas of tools, derived from those of the procedures at the start. */

import { z } from "zod";
import { Timestamp } from "../model/text.ts";

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** An object schema without references. */
export interface ObjectSchema extends JsonSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** State that the output schemas of one list share, so that each resource is described once. */
export interface SchemaList {
  /** Name of a resource -> the tool that returns it whole, to which other schemas refer. */
  readonly returned_by: ReadonlyMap<string, string>;
  /** Names of resources that a schema has described so far. */
  readonly described: Set<string>;
}

export const schemaName = (schema: z.ZodType): string | undefined => schema.meta()?.id;

/** The schema of a tool's arguments. Throws if it is not an object. */
export function inputSchema(schema: z.ZodType): ObjectSchema {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io: "input" });
  return objectSchema(root, $defs as Schemas, "input");
}

/**
 * The schema of a tool's result. A resource inside it that another tool returns whole is an open object that names
 * that tool. Throws if it is not an object.
 */
export function outputSchema(schema: z.ZodType, list: SchemaList): ObjectSchema {
  const { $defs = {}, ...root } = listed(z.toJSONSchema(schema, { io: "output" }));
  const own_name = schemaName(schema);
  const defs = Object.entries($defs as Schemas).map(([name, named]): [string, JsonSchema] => {
    const tool = name === own_name ? undefined : list.returned_by.get(name);
    if (tool !== undefined) return [name, { type: "object", description: `As in ${tool}` }];
    if (list.described.has(name)) return [name, shortened(named)];
    list.described.add(name);
    return [name, named];
  });
  return objectSchema(root, Object.fromEntries(defs), "output");
}

/** Schemas that no list describes: tools neither set nor return their fields to agents, and outputs are open. */
const UNLISTED = ["QuestionAction", "AnsweredBy", "AnsweredFrom"];

/** Fields that no list describes either, for its length. */
const UNLISTED_FIELDS: readonly unknown[] = [
  "expect_update_within",
  "silent_since",
  "remind_at",
  "received_at",
  "draft",
  "edited",
];

/** Removes the fields of {@link UNLISTED} schemas and the {@link UNLISTED_FIELDS}. */
function listed(schema: JsonSchema): JsonSchema {
  const refers = UNLISTED.map((name) => `#/$defs/${name}`);
  const copy = JSON.stringify(schema, (_, value: unknown) => {
    if (Array.isArray(value)) return value.filter((one) => !UNLISTED_FIELDS.includes(one));
    if (typeof value !== "object" || value === null) return value;
    const kept = Object.entries(value).filter(
      ([name, field]) => !refers.includes(field?.$ref) && !UNLISTED_FIELDS.includes(name),
    );
    return Object.fromEntries(kept);
  });
  return JSON.parse(copy) as JsonSchema;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

function objectSchema({ $schema: _, ...root }: JsonSchema, defs: Schemas, io: "input" | "output") {
  const whole = tidy(root, defs, io) as JsonSchema;
  if (whole.type !== "object" || typeof whole.properties !== "object") {
    throw new Error(`its ${io} is not an object`);
  }
  return whole as ObjectSchema;
}

/** Keeps the required fields of an object, without descriptions. */
function shortened({ description: __, ...schema }: JsonSchema): JsonSchema {
  if (schema.properties === undefined) return schema;
  const required = (schema.required ?? []) as readonly string[];
  const fields = Object.entries(schema.properties as Schemas).filter(([name]) =>
    required.includes(name),
  );
  const properties = fields.map(([name, { description: _, ...field }]) => [name, field]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/**
 * True if a keyword tells a model nothing that it could act on: a pattern means "not blank", a format
 * "double", a length of 1 "not empty", a minimum of 0 or 1 "not negative" or "at least one". Whether other
 * fields are accepted shows when one is sent.
 */
const isSilent = (keyword: string, given: unknown): boolean =>
  (typeof given === "string" && (keyword === "pattern" || keyword === "format")) ||
  (given === 1 && (keyword === "minLength" || keyword === "minItems")) ||
  ((given === 0 || given === 1) && keyword === "minimum") ||
  (keyword === "additionalProperties" && Object.keys(given as object).length === 0) ||
  given === Number.MIN_SAFE_INTEGER ||
  given === Number.MAX_SAFE_INTEGER;

/** The description of every timestamp, which the instructions say once. */
const TIMESTAMP = Timestamp.meta()?.description;

/**
 * Replaces references by their schemas and lists of types by `anyOf`, as clients differ in how they read the shorter
 * forms; drops keywords that say nothing. Outputs stay open: a new field must not break a client that keeps an older
 * schema.
 */
function tidy(value: unknown, defs: Schemas, io: "input" | "output"): unknown {
  if (Array.isArray(value)) return value.map((item) => tidy(item, defs, io));
  if (typeof value !== "object" || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: string };
  const named = $ref === undefined ? undefined : defs[$ref.replace("#/$defs/", "")];
  const entries = Object.entries({ ...named, ...rest }).filter(
    ([keyword, given]) =>
      !(io === "output" && (keyword === "additionalProperties" || given === TIMESTAMP)) &&
      !isSilent(keyword, given),
  );
  return Object.fromEntries(
    entries.map(([keyword, given]) =>
      keyword === "type" && Array.isArray(given)
        ? ["anyOf", given.map((type) => ({ type }))]
        : [keyword, tidy(given, defs, io)],
    ),
  );
}
