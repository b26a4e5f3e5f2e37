/** JSON schemas of tools, derived from the procedures' own, once at start. */

import { z } from "zod";

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

/** The schema of what is sent in (`input`) or comes out (`output`). Throws when it is no object. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output"): ObjectSchema {
  const { $schema: _, $defs = {}, ...root } = z.toJSONSchema(schema, { io });
  const whole = tidy(root, $defs as Record<string, JsonSchema>, io) as JsonSchema;
  if (whole.type !== "object" || typeof whole.properties !== "object") {
    throw new Error(`its ${io} is no object`);
  }
  return whole as ObjectSchema;
}

/**
 * Puts named schemas in the place of their references and writes a nullable as `anyOf`, since
 * clients differ in how they read the shorter forms, and drops bounds that say nothing. An output
 * stays open: a field added later must not break a client that keeps an older schema.
 */
function tidy(value: unknown, defs: Readonly<Record<string, JsonSchema>>, io: string): unknown {
  if (Array.isArray(value)) return value.map((item) => tidy(item, defs, io));
  if (typeof value !== "object" || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: string };
  const named = $ref === undefined ? undefined : defs[$ref.replace("#/$defs/", "")];
  const entries = Object.entries({ ...named, ...rest }).filter(
    ([keyword, given]) =>
      !(io === "output" && keyword === "additionalProperties" && given === false) &&
      !(keyword === "minimum" && given === Number.MIN_SAFE_INTEGER) &&
      !(keyword === "maximum" && given === Number.MAX_SAFE_INTEGER),
  );
  return Object.fromEntries(
    entries.map(([keyword, given]) =>
      keyword === "type" && Array.isArray(given)
        ? ["anyOf", given.map((type) => ({ type }))]
        : [keyword, tidy(given, defs, io)],
    ),
  );
}
