/** Reads query parameters: text is decoded by the kind of the schema, never coerced. */

import { z } from "zod";

/** Decodes the values of one query field. */
interface Decoder {
  /** Decodes text to the native value. Other text stays as it is, and the schema refuses it. */
  readonly decode: (text: string) => unknown;
  /** True for a list, whose parameter may be repeated; the values are joined (§1.5.1). */
  readonly repeats: boolean;
}

const one = (decode: Decoder["decode"]): Decoder => ({ decode, repeats: false });

/** Returns the decoder of a query field: decimal integer, `true` or `false`, list with commas, or plain text. */
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
    return one((text) => (/^-?[0-9]{1,15}$/.test(text) ? Number(text) : text));
  }
  if (inner instanceof z.ZodBoolean) {
    return one((text) => (text === "true" ? true : text === "false" ? false : text));
  }
  if (inner instanceof z.ZodArray) return { decode: (text) => text.split(","), repeats: true };
  if (inner instanceof z.ZodString) return one((text) => text);
  throw new Error("a query field must be a string, an integer, a boolean or a list");
}

/** Copies known parameters into `data`. One that is repeated and not a list goes into `rejected`. */
export function readQuery(
  url: string,
  decoders: ReadonlyMap<string, Decoder>,
  data: Record<string, unknown>,
  rejected: Record<string, string>,
): void {
  const at = url.indexOf("?");
  if (at < 0) return;
  for (const [name, text] of new URLSearchParams(url.slice(at + 1).replace(/#.*$/, ""))) {
    const decoder = decoders.get(name);
    if (!decoder) continue;
    const value = decoder.decode(text);
    if (!Object.hasOwn(data, name)) data[name] = value;
    else if (decoder.repeats) (data[name] as unknown[]).push(...(value as unknown[]));
    else rejected[name] = "is given more than once";
  }
}
