/** The tools of `/mcp`: every procedure with `mcp` meta, made ready once at start. */

import { z } from "zod";
import type { Context } from "../../routers/context.ts";
import { invalidFields, type ServiceError } from "../errors.ts";
import { toServiceError } from "../rpc/errors.ts";
import { execute } from "../rpc/execute.ts";
import type { NextCall, RelayMeta, ToolMeta } from "../rpc/meta.ts";
import type { Procedure, Procedures } from "../rpc/trpc-internals.ts";
import { createArgumentReader, type ReadArguments } from "./arguments.ts";
import { HINT } from "./result.ts";
import {
  inputSchema,
  type JsonSchema,
  type ObjectSchema,
  outputSchema,
  type SchemaList,
  schemaName,
} from "./schema.ts";

export type Tools = ReadonlyMap<string, Tool>;

export interface Tool {
  /** The entry of `tools/list`. */
  readonly definition: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly inputSchema: ObjectSchema;
    /** Absent: the result is text. */
    readonly outputSchema?: ObjectSchema;
    readonly annotations: object;
  };
  /** True: listed and called at `/mcp?tools=approve` alone. */
  readonly for_hooks: boolean;
  /** True: it takes `wait_seconds`. */
  readonly waits: boolean;
  /** True: a wait may take several rounds. */
  readonly rounds: boolean;
  /** Reads the arguments that a client sent; never throws. */
  read(sent: Readonly<Record<string, unknown>>): ReadArguments;
  /** Runs it with arguments that were read; throws a ServiceError that names fields as the tool does. */
  call(ctx: Context, given: Readonly<Record<string, unknown>>): Promise<object | string>;
  /** A result of {@link call} with what the tool adds to it. */
  complete(ctx: Context, result: object): Promise<object>;
  /** The call that should follow this one, when one should. */
  next(result: object, given: Readonly<Record<string, unknown>>): NextCall | null;
  /** What an agent should make of this result, where the result does not say it. */
  note(result: object, now: number): string | null;
  /**
   * True when the call only waited (docs/interface.md 15.1.2); the result is null when its
   * client left meanwhile.
   */
  only_waited(given: Readonly<Record<string, unknown>>, result: object | string | null): boolean;
}

/** The tool's name for the field `wait`: an agent reads no manual to learn the unit. */
const WAIT = "wait_seconds";

/** Stands for a `wait` that an agent sent; no field has this name. */
const OTHER_WAIT = "wait_";
const TOOL_NAMES: Readonly<Record<string, string>> = { wait: WAIT, [OTHER_WAIT]: "wait" };

/** What a procedure without a result gives. */
const DONE = { done: true };
const DONE_SCHEMA: ObjectSchema = {
  type: "object",
  properties: { done: { type: "boolean", const: true } },
  required: ["done"],
};

/** All tools, in the order of the routers. Throws when one cannot be made, with its name. */
export function createTools(procedures: Procedures<Context>): Tools {
  const tools = new Map<string, Tool>();
  const list = schemaList([...procedures.values()]);
  for (const [path, procedure] of procedures) {
    const { mcp } = procedure.meta;
    if (!mcp) continue;
    try {
      if (tools.has(mcp.name)) throw new Error("two procedures have this name");
      tools.set(mcp.name, toTool(procedure, mcp, list));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`${path} cannot be the tool "${mcp.name}": ${why}`, { cause: error });
    }
  }
  return tools;
}

/** A resource is returned whole by the tool that reads it. */
function schemaList(procedures: readonly Procedure<Context>[]): SchemaList {
  const returned_by = new Map<string, string>();
  for (const { meta, output } of procedures) {
    const name = meta.mcp?.annotations?.readOnlyHint ? schemaName(output) : undefined;
    if (name !== undefined) returned_by.set(name, meta.mcp!.name);
  }
  return { returned_by, described: new Set() };
}

function toTool(procedure: Procedure<Context>, mcp: ToolMeta, list: SchemaList): Tool {
  const { meta, input, output } = procedure;
  check(mcp, meta);
  if (!(input instanceof z.ZodObject)) throw new Error("its input is no object");
  const accepted = argumentsOf(inputSchema(input), mcp);
  const waits = WAIT in accepted.properties;
  const { account_only = [], defaults = {}, fields = {} } = mcp;
  for (const name of [...account_only, ...Object.keys(defaults), ...Object.keys(fields)]) {
    if (!(name in input.shape)) throw new Error(`it has no field ${name}`);
  }
  const run = execute(procedure);
  const read = createArgumentReader({
    fields: new Map(
      Object.entries(input.shape as Record<string, z.ZodType>)
        .filter(([name]) => !account_only.includes(name))
        .map(([name, schema]) => [name === "wait" ? WAIT : name, schema]),
    ),
    patches: meta.openapi?.method === "PATCH",
  });

  const inputOf = (given: Readonly<Record<string, unknown>>) => {
    // Without a prototype, so that a field named `__proto__` is like any other.
    const data: Record<string, unknown> = Object.assign(Object.create(null), defaults);
    for (const name of Object.keys(given)) {
      // The tool has `wait` under another name, so one that is sent is unknown.
      if (waits && name === "wait") data[OTHER_WAIT] = given[name];
      else data[waits && name === WAIT ? "wait" : name] = given[name];
    }
    return data;
  };

  return {
    definition: {
      name: mcp.name,
      title: mcp.title,
      description: mcp.description,
      inputSchema: accepted,
      ...(!(output instanceof z.ZodString) && { outputSchema: resultSchema(output, mcp, list) }),
      annotations: mcp.annotations,
    },
    for_hooks: mcp.for_hooks === true,
    waits,
    rounds: mcp.rounds === true,
    read,
    async call(ctx, given) {
      try {
        return ((await run(ctx, inputOf(given))) ?? DONE) as object | string;
      } catch (error) {
        throw waits ? renamed(toServiceError(error)) : error;
      }
    },
    complete: async (ctx, result) => ({ ...result, ...(await mcp.adds?.read(ctx, result)) }),
    next: (result, given) => mcp.next?.(result, given) ?? null,
    note: (result, now) => mcp.note?.(result, now) ?? null,
    only_waited: (given, result) => meta.only_waited?.(inputOf(given), result) ?? false,
  };
}

/**
 * The schema of the route's answer, with the fields that the tool adds. They have no schema of their own:
 * the list is to stay short, and a text says what they mean.
 */
function resultSchema(output: z.ZodType, { adds }: ToolMeta, list: SchemaList): ObjectSchema {
  if (output instanceof z.ZodVoid) return DONE_SCHEMA;
  const schema = outputSchema(output, list);
  // It stands in no schema: they permit further members, and its words speak for themselves.
  if (HINT in schema.properties) throw new Error(`a field may not be called ${HINT}`);
  if (!adds) return schema;
  const added = adds.names.map((name) => [name, { type: "object" }]);
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(added) } };
}

/** What types cannot promise: meta may be written without them, as `never` or by a cast. */
function check({ name, title, description, annotations }: ToolMeta, meta: RelayMeta) {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name)) throw new Error("its name is not lower_case");
  if (!title?.trim() || !description?.trim()) throw new Error("it has no title or description");
  for (const hint of [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
  ] as const) {
    if (typeof annotations?.[hint] !== "boolean") throw new Error(`it has no ${hint}`);
  }
  if (meta.access !== "key" && meta.access !== "any") throw new Error("a key may not call it");
}

/** The input as an agent sees it: no fields of the account's, `wait` with its unit, the tool's words. */
function argumentsOf(
  schema: ObjectSchema,
  { account_only = [], defaults = {}, fields = {} }: ToolMeta,
): ObjectSchema {
  if (WAIT in schema.properties) throw new Error(`a field may not be called ${WAIT}`);
  const properties = Object.entries(schema.properties)
    .filter(([name]) => !account_only.includes(name))
    .map(([name, { description: _, ...property }]): [string, JsonSchema] => [
      name === "wait" ? WAIT : name,
      {
        ...property,
        ...(name in fields && { description: fields[name] }),
        ...(name in defaults && { default: defaults[name] }),
      },
    ]);
  return { ...schema, properties: Object.fromEntries(properties) };
}

/** An error with the field `wait` under the name that the tool has for it. */
function renamed(error: ServiceError): ServiceError {
  if (!error.fields || !Object.keys(TOOL_NAMES).some((name) => name in error.fields!)) return error;
  return invalidFields(
    Object.fromEntries(
      Object.entries(error.fields).map(([name, why]) => [TOOL_NAMES[name] ?? name, why]),
    ),
  );
}
