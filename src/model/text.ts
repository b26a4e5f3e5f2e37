/** Text fields, ids and timestamps. Texts have lengths in code points, and no NUL or lone surrogate (§1.3). */

import { z } from "zod";
import { LIMITS } from "../limits.ts";

/** Why a text that {@link isBlank} is refused. */
export const NOT_BLANK = "must hold a visible character";

/** Why a text that is not {@link isStorable} is refused. */
export const UNSTORABLE = "must not contain a NUL character or a lone surrogate";

interface TextRules {
  /** Most code points. */
  readonly max: number;
  /** True: a text without a visible character is valid; an empty one too, unless `min` is 1. */
  readonly blank?: boolean;
  readonly min?: 0 | 1;
  /** True refuses line breaks. */
  readonly one_line?: boolean;
}

/** A text field, stored as sent. A text that is too long is refused, not cut. */
export function text({ max, blank = false, min = blank ? 0 : 1, one_line = false }: TextRules) {
  return z
    .string()
    .refine(isStorable, UNSTORABLE)
    .refine((value) => fits(value, max), `must be at most ${max} characters`)
    .refine((value) => blank || !isBlank(value), NOT_BLANK)
    .refine((value) => value.length >= min, "must not be empty")
    .refine((value) => !one_line || !/[\n\r\u2028\u2029\u0085\v\f]/.test(value), "must be one line")
    .meta({
      ...(min > 0 && { minLength: min }),
      maxLength: max,
      pattern: patternOf({ blank, one_line }),
    });
}

/** Control, format and default-ignorable characters below U+10000, for a pattern in any language. */
const INVISIBLE =
  "\\u0001-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb";

/** The rules as a pattern for the OpenAPI document, as far as a pattern can say them. */
function patternOf({ blank, one_line }: Required<Pick<TextRules, "blank" | "one_line">>): string {
  const never = `\\u0000${one_line ? "\\n\\r\\u2028\\u2029\\u0085\\v\\f" : ""}`;
  return `^[^${never}]*${blank ? "" : `[^\\s${never}${INVISIBLE}][^${never}]*`}$`;
}

/** A reference to a resource. A text of any shape is valid, and then not found. */
export const Id = z
  .string()
  .refine(isStorable, UNSTORABLE)
  .meta({ pattern: patternOf({ blank: true, one_line: false }) });

/** The name that a person gives a key, a sign-in or a channel. */
export const Label = text({ max: LIMITS.label });

/** Epoch seconds with millisecond resolution. */
export const Timestamp = z.number().meta({ description: "Unix epoch seconds" });

/** Kinds of schema whose values have a bounded length. */
const SHORT = ["number", "boolean", "enum", "literal"];

/**
 * Returns a function that counts the UTF-16 units of all texts in a record of `schema`, to bound a page (§1.5.3).
 * `ids`: fields that do not count, since Relay makes them.
 */
export function textUnits<Shape extends z.ZodRawShape>(
  { shape }: z.ZodObject<Shape>,
  ids: readonly (keyof Shape & string)[],
): (record: { readonly [Name in keyof Shape]?: unknown }) => number {
  const fields = Object.keys(shape).filter(
    (name) => !ids.includes(name) && !SHORT.includes(kindOf(shape[name] as z.ZodType)),
  );
  return (record) => fields.reduce((sum, name) => sum + unitsIn(record[name]), 0);
}

/** The kind of a schema within `nullable` and `optional`. */
function kindOf(schema: z.ZodType): string {
  const { type, innerType } = schema.def as { type: string; innerType?: z.ZodType };
  return innerType ? kindOf(innerType) : type;
}

function unitsIn(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + unitsIn(part), 0);
}

/** False for text with NUL or a lone surrogate, which a store would change. */
export function isStorable(value: string): boolean {
  return !value.includes("\0") && value.isWellFormed();
}

const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** True if a text has no visible character (§1.3.7). */
export function isBlank(value: string): boolean {
  return !VISIBLE.test(value);
}

/** A text for a comparison that ignores case, and whether letters are composed. */
export const foldCase = (value: string): string => value.normalize("NFC").toUpperCase();

/** True if `value` has at most `max` code points. */
export function fits(value: string, max: number): boolean {
  if (value.length <= max) return true;
  if (value.length > max * 2) return false;
  let points = 0;
  for (const _ of value) points++;
  return points <= max;
}
