/** What the routers and models say, in the wording of `docs/interface.md`. */

import type { OpenApiMeta } from "trpc-to-openapi";
import { z } from "zod";
import { procedures } from "../../routers/index.ts";
import type { RelayMeta } from "../../src/rpc/meta.ts";

export interface Procedure {
  readonly name: string;
  readonly route: string;
  readonly meta: RelayMeta & { readonly openapi: NonNullable<OpenApiMeta["openapi"]> };
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
}

export const PROCEDURES: readonly Procedure[] = [...procedures].map(([name, procedure]) => {
  const meta = procedure.meta as Procedure["meta"];
  const route = `${meta.openapi.method} ${meta.openapi.path}`;
  return { name, route, meta, input: procedure.input as z.ZodObject, output: procedure.output };
});

// biome-ignore lint/suspicious/noExplicitAny: JSON schemas have members of many types.
export type Schema = Readonly<Record<string, any>>;

const list = (values: readonly unknown[]) => values.map((value) => `\`${value}\``).join(", ");

/** A schema as the document writes its type; `name` is the field's. */
export function typeOf(schema: Schema, name = ""): string {
  if (schema.$ref) return schema.$ref.replace(/^.*\/(Relay(?=Task$))?/, "");
  const options: readonly Schema[] | undefined = schema.anyOf;
  if (options) {
    const kinds = options.map((option) => (option.type === "null" ? "null" : typeOf(option, name)));
    return kinds.join(" or ");
  }
  if (schema.enum) return `one of ${list(schema.enum)}`;
  if (schema.const !== undefined) return `one of ${list([schema.const])}`;
  if (schema.type === "array") {
    const of = typeOf(schema.items);
    return `array of ${of === "string" ? "strings" : of}`;
  }
  if (schema.type === "number" && /(^|_)(at|since)$/.test(name)) return "timestamp";
  return wordsOf(schema.type);
}

/** One or several types of JSON schema. */
const wordsOf = (type: string | readonly string[]): string => [type].flat().join(" or ");

/** A named resource's fields with their types. */
export function resourceOf(schema: z.ZodType): [name: string, type: string][] {
  const { $ref, $defs } = jsonOf(schema, "output");
  return fieldsOf($defs[$ref.replace(/^.*\//, "")]);
}

/** An object's fields with their types; fields of a nested object follow, with a dot. */
function fieldsOf(schema: Schema, prefix = ""): [name: string, type: string][] {
  const shown = schema.anyOf?.find((option: Schema) => option.type !== "null") ?? schema;
  return Object.entries<Schema>(shown.properties ?? {}).flatMap(([name, field]) => [
    [prefix + name, typeOf(field, name)] as [string, string],
    ...fieldsOf(field, `${prefix}${name}.`),
  ]);
}

/** A response as the table of routes writes it. */
export function responseOf(schema: Schema): string {
  if (schema.$ref) return typeOf(schema);
  if (schema.anyOf) return schema.anyOf.map(responseOf).join(" or ");
  if (schema.type === "array") return `[${responseOf(schema.items)}]`;
  if (schema.type !== "object") return wordsOf(schema.type);
  const members = Object.entries<Schema>(schema.properties);
  return `{${members.map(([name, one]) => `${name}: ${responseOf(one)}`).join(", ")}}`;
}

/** Schema names of the resources of section 2; all other named schemas are written out in place. */
const RESOURCES = ["Account", "Device", "Key", "RelayTask", "Question", "Item", "Agent"];
RESOURCES.push("ActivityEntry", "Session", "Pairing", "Channel", "Delivery", "Reach");
RESOURCES.push("Grant", "Authorization", "Approval", "KeyWebhook", "HistoryEntry");

/** A JSON schema that refers only to resources. */
export function jsonOf(schema: z.ZodType, io: "input" | "output"): Schema {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io }) as Schema;
  const inlined = (node: unknown): unknown => {
    if (typeof node !== "object" || node === null) return node;
    if (Array.isArray(node)) return node.map(inlined);
    const { $ref, ...rest } = node as Schema;
    const name = $ref?.replace(/^.*\//, "");
    if (name !== undefined && !RESOURCES.includes(name))
      return inlined({ ...$defs[name], ...rest });
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inlined(value)]));
  };
  return { ...(inlined(root) as Schema), $defs: inlined($defs) };
}
