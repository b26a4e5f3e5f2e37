/** Reads the arguments of a tool call the way the model meant them (docs/interface.md 12.3.8). */

import type { z } from "zod";
import { nestingOf } from "../overload/json-bounds.ts";

type Given = Readonly<Record<string, unknown>>;

/** The arguments of a call, as the procedure of the tool takes them. */
export interface ReadArguments {
  readonly given: Given;
  /** Arguments of fields that can be cleared, whose empty value was taken as not set. */
  readonly left_unchanged: readonly string[];
}

/** A field of a tool: its schema, and what follows from it for an argument. */
interface Field {
  readonly optional: boolean;
  /** A value of any other kind than text, from the text that a model wrote; the text itself if it is none. */
  parse(value: unknown): unknown;
  /** Whether the schema takes the value. */
  accepts(value: unknown): boolean;
}

interface ReaderOptions {
  /** Argument -> its schema in the procedure. */
  readonly fields: ReadonlyMap<string, z.ZodType>;
  /** True: a field that is absent stays as it is, so that an empty value may mean to clear it. */
  readonly patches: boolean;
}

/** How Python writes what JSON writes in lower case. */
const PYTHON: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

/**
 * A function that reads the arguments of one tool. Many clients fill in every argument, with null or, where
 * a strict schema allows none, an empty text or list: for an optional field that means that it is not set.
 * Arrays, numbers and booleans may come as their JSON text, or as Python writes them. A tool without arguments
 * ignores those it gets. What remains goes to the procedure as it is, which refuses what it cannot take.
 */
export function createArgumentReader({ fields: schemas, patches }: ReaderOptions) {
  const fields = new Map([...schemas].map(([name, schema]) => [name, fieldOf(schema)]));

  return (sent: Given): ReadArguments => {
    // Without a prototype, so that a field named `__proto__` is like any other.
    const given: Record<string, unknown> = Object.create(null);
    if (fields.size === 0) return { given, left_unchanged: [] };
    const clearing: Record<string, unknown> = {};
    const left_unchanged: string[] = [];
    let leaves_unset = [...fields.keys()].every((name) => Object.hasOwn(sent, name));
    for (const name of Object.keys(sent)) {
      const field = fields.get(name);
      const value = field ? field.parse(sent[name]) : sent[name];
      const is_optional = field?.optional ?? true;
      if (!is_optional || !isEmpty(value, field)) given[name] = value;
      else if (patches && field?.accepts(value)) clearing[name] = value;
      else {
        leaves_unset = true;
        // An empty text or list for a field that null clears.
        if (patches && field?.accepts(null)) left_unchanged.push(name);
      }
    }
    // A client that writes an empty value where nothing can be cleared does not mean to clear the others either.
    if (!leaves_unset) return { given: Object.assign(given, clearing), left_unchanged };
    return { given, left_unchanged: [...Object.keys(clearing), ...left_unchanged] };
  };
}

/** Null, a list or a text without content; white space only if the field cannot hold it. */
function isEmpty(value: unknown, field: Field | undefined): boolean {
  if (value === null) return true;
  if (!field) return false;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== "string") return false;
  return value === "" || (value.trim() === "" && !field.accepts(value));
}

function fieldOf(schema: z.ZodType): Field {
  const { optional, type, inner } = unwrap(schema);
  const accepts = (value: unknown) => schema.safeParse(value).success;
  const parse = (value: unknown): unknown => {
    if (typeof value !== "string" || type === "string" || value === "" || accepts(value)) {
      return value;
    }
    const parsed = parseText(value.trim());
    if (parsed === null || (Array.isArray(parsed) && parsed.length === 0)) return parsed;
    if (KINDS[type]?.(parsed) && (type !== "enum" || accepts(parsed))) return parsed;
    // The words of a filter, as a query of the route has them.
    const text = typeof parsed === "string" ? parsed : value;
    const words = text.split(",").map((word) => word.trim());
    return type === "array" && elementOf(inner) === "enum" && accepts(words) ? words : value;
  };
  return { optional, parse, accepts };
}

/** Kind of schema -> whether a parsed value is of it. */
const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  enum: (value) => typeof value === "string",
};

/** The value of a JSON text, or of a word or list as Python writes it; undefined for any other text. */
export function parseText(text: string): unknown {
  if (Object.hasOwn(PYTHON, text)) return PYTHON[text];
  if (nestingOf(text) !== "shallow") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text.startsWith("[") ? parsePythonList(text) : undefined;
  }
}

/** Python writes texts in single quotes, as JSON5 may, with the escapes of JSON5; but `\U` has another meaning there. */
function parsePythonList(text: string): unknown {
  if (text.includes("\\U")) return undefined;
  try {
    return Bun.JSON5.parse(text);
  } catch {
    return undefined;
  }
}

interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
}

const definitionOf = (schema: z.ZodType) => schema.def as Definition;

/** The schema behind `optional` and `nullable`, and whether it is optional. */
function unwrap(schema: z.ZodType): { optional: boolean; type: string; inner: z.ZodType } {
  const { type, innerType } = definitionOf(schema);
  if (!innerType) return { optional: false, type, inner: schema };
  const behind = unwrap(innerType);
  return { ...behind, optional: behind.optional || type === "optional" };
}

function elementOf(schema: z.ZodType): string | undefined {
  const { element } = definitionOf(schema);
  return element && unwrap(element).type;
}
