/** JSON schemas of tools, derived from the procedures' own, once at start. */

import { z } from "zod";
import { Timestamp } from "../model/text.ts";

/** A JSON schema as the plain object it is. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** What a `tools/list` shows: an object schema, whole in itself. */
export interface ObjectSchema extends JsonSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** What the schemas of one list share, so that none repeats what another one says. */
export interface SchemaList {
  /** Name of a resource -> the tool that returns it whole: inside other results it is referred to. */
  readonly returned_by: ReadonlyMap<string, string>;
  /** Names of resources whose fields a schema of the list has described. */
  readonly described: Set<string>;
}

/** The name of a schema that has one. */
export const schemaName = (schema: z.ZodType): string | undefined => schema.meta()?.id;

/** The schema of a tool's arguments. Throws when it is no object. */
export function inputSchema(schema: z.ZodType): ObjectSchema {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io: "input" });
  return objectSchema(root, $defs as Schemas, "input");
}

/**
 * The schema of a tool's result. A resource inside it that another tool returns whole is an open object
 * that names the tool. Throws when it is no object.
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

/** Named schemas of fields that no list describes: outputs are open, and tools that agents call make none. */
const UNLISTED = ["QuestionAction"];

/** The same without those fields. */
function listed(schema: JsonSchema): JsonSchema {
  const refers = UNLISTED.map((name) => `#/$defs/${name}`);
  const copy = JSON.stringify(schema, (_, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const kept = Object.entries(value).filter(([, field]) => !refers.includes(field?.$ref));
    return Object.fromEntries(kept);
  });
  return JSON.parse(copy) as JsonSchema;
}

type Schemas = Readonly<Record<string, JsonSchema>>;

function objectSchema({ $schema: _, ...root }: JsonSchema, defs: Schemas, io: "input" | "output") {
  const whole = tidy(root, defs, io) as JsonSchema;
  if (whole.type !== "object" || typeof whole.properties !== "object") {
    throw new Error(`its ${io} is no object`);
  }
  return whole as ObjectSchema;
}

/** An object with the fields that are always there, without descriptions. */
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
 * Whether a keyword tells a model nothing that it could act on: a pattern means "not blank", a format
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

/** What each timestamp says of itself; the instructions say it once for all. */
const TIMESTAMP = Timestamp.meta()?.description;

/**
 * Puts named schemas in the place of their references and writes a nullable as `anyOf`, since
 * clients differ in how they read the shorter forms, and drops names and bounds that say nothing. An
 * output stays open: a field added later must not break a client that keeps an older schema.
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
