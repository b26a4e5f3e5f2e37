/** Query parameters: text, decoded by the kind of the field's schema, never coerced. */

import { z } from "zod";

/** Text to the native value; text that is none stays as it is, for the schema to refuse. */
export type Decoder = (text: string) => unknown;

/** The decoder for a query field: decimal integer, `true`/`false`, comma list, or plain text. */
export function decoderOf(schema: z.ZodType): Decoder {
  let inner: z.core.$ZodType = schema;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodExactOptional ||
    inner instanceof z.ZodDefault
  ) {
    inner = inner.unwrap();
  }
  if (inner instanceof z.ZodNumber) {
    return (text) => (/^-?[0-9]{1,15}$/.test(text) ? Number(text) : text);
  }
  if (inner instanceof z.ZodBoolean) {
    return (text) => (text === "true" ? true : text === "false" ? false : text);
  }
  if (inner instanceof z.ZodArray) return (text) => text.split(",");
  if (inner instanceof z.ZodString) return (text) => text;
  throw new Error("a query field must be a string, an integer, a boolean or a list");
}

/** Puts the known parameters into `data`; one given twice goes into `rejected`. */
export function readQuery(
  url: string,
  decoders: ReadonlyMap<string, Decoder>,
  data: Record<string, unknown>,
  rejected: Record<string, string>,
): void {
  const at = url.indexOf("?");
  if (at < 0) return;
  for (const [name, text] of new URLSearchParams(url.slice(at + 1).replace(/#.*$/, ""))) {
    const decode = decoders.get(name);
    if (!decode) continue;
    if (Object.hasOwn(data, name)) rejected[name] = "is given more than once";
    else data[name] = decode(text);
  }
}
