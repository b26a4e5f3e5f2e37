/** Reads the arguments of a tool call the way the model meant them (§12.3.8). */

import type { z } from "zod";
import { nestingOf } from "../overload/json-bounds.ts";
import type { Arguments } from "../rpc/meta.ts";

interface ReaderOptions {
  /** Argument -> its schema in the procedure. */
  readonly fields: ReadonlyMap<string, z.ZodType>;
  /** Arguments that `tools/list` leaves out, so no client fills them in. */
  readonly unlisted: readonly string[];
  /** True: an absent field stays as it is, so an empty value may mean to clear it. */
  readonly patches: boolean;
}

/** How Python writes what JSON writes in lower case. */
const PYTHON: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

/**
 * Makes the function that reads the arguments of one tool. Many clients fill in every argument, with null or, where a
 * strict schema forbids null, with an empty text or list; for an optional field that means "not set". Arrays, numbers
 * and booleans may come as JSON text or in Python's form. A tool without arguments ignores what it gets. All else goes
 * to the procedure unchanged, which rejects what it does not accept. `left_unchanged`: arguments that could clear a field,
 * but whose empty value counted as not set.
 */
export function createArgumentReader({ fields: schemas, unlisted, patches }: ReaderOptions) {
  const fields = new Map([...schemas].map(([name, schema]) => [name, fieldOf(schema)]));
  const listed = [...fields.keys()].filter((name) => !unlisted.includes(name));

  return (sent: Arguments): { given: Arguments; left_unchanged: readonly string[] } => {
    // Without a prototype, so that a field named `__proto__` is like any other.
    const given: Record<string, unknown> = Object.create(null);
    if (fields.size === 0) return { given, left_unchanged: [] };
    const clearing: Record<string, unknown> = {};
    const left_unchanged: string[] = [];
    let leaves_unset = listed.every((name) => Object.hasOwn(sent, name));
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
    // A client that sends an empty value where nothing can be cleared does not mean to clear the others either.
    if (!leaves_unset) return { given: Object.assign(given, clearing), left_unchanged };
    return { given, left_unchanged: [...Object.keys(clearing), ...left_unchanged] };
  };
}

/** Null, or an empty text or list. White space counts as empty only if the field cannot hold it. */
function isEmpty(value: unknown, field: ReturnType<typeof fieldOf> | undefined): boolean {
  if (value === null) return true;
  if (!field) return false;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== "string") return false;
  return value === "" || (value.trim() === "" && !field.accepts(value));
}

function fieldOf(schema: z.ZodType) {
  const { optional, type, element } = kindOf(schema);
  const accepts = (value: unknown) => schema.safeParse(value).success;
  /** Reads a value that is not text from the text that a model wrote; any other text stays. */
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
    return element === "enum" && accepts(words) ? words : value;
  };
  // A field of any type gets an empty value as it is.
  return { optional: optional && type !== "unknown", parse, accepts };
}

/** Type of a schema -> whether a parsed value has it. */
const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  enum: (value) => typeof value === "string",
};

/** The value of a JSON text, or of a word or list in Python's form; undefined for any other text. */
export function parseText(text: string): unknown {
  if (Object.hasOwn(PYTHON, text)) return PYTHON[text];
  if (nestingOf(text) !== "shallow") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text.startsWith("[") ? parsePythonList(text) : undefined;
  }
}

/** Python writes texts in single quotes, as JSON5 may, and with the same escapes but for `\U`. */
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

interface FieldKind {
  readonly optional: boolean;
  readonly type: string;
  /** Type of the elements of an array. */
  readonly element: string | undefined;
}

/** What is behind `optional` and `nullable`. */
function kindOf(schema: z.ZodType): FieldKind {
  const { type, innerType, element } = schema.def as Definition;
  if (!innerType) return { optional: false, type, element: element && kindOf(element).type };
  const behind = kindOf(innerType);
  return { ...behind, optional: behind.optional || type === "optional" };
}
