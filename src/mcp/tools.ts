/** The tools of `/mcp`: every procedure with `mcp` meta, prepared once at the start. */

import { z } from "zod";
import type { Context } from "../../routers/context.ts";
import { invalidFields, type ServiceError } from "../errors.ts";
import { toServiceError } from "../rpc/errors.ts";
import { execute } from "../rpc/execute.ts";
import type { Arguments, RelayMeta, ToolMeta } from "../rpc/meta.ts";
import type { Procedure, Procedures } from "../rpc/trpc-internals.ts";
import { createArgumentReader } from "./arguments.ts";
import { HINT } from "./result.ts";
import {
  inputSchema,
  type JsonSchema,
  type ObjectSchema,
  outputSchema,
  type SchemaList,
  schemaName,
} from "./schema.ts";

export type Tool = ReturnType<typeof toTool>;
export type Tools = ReadonlyMap<string, Tool>;

/** The tools' name for the field `wait`, so that an agent knows the unit. */
const WAIT = "wait_seconds";

/** Stands for a `wait` that an agent sent, which is an unknown argument. No field has this name. */
const OTHER_WAIT = "wait_";
const TOOL_NAMES: Readonly<Record<string, string>> = { wait: WAIT, [OTHER_WAIT]: "wait" };

/** The result of a procedure that returns nothing. */
const DONE = { done: true };
const DONE_SCHEMA: ObjectSchema = {
  type: "object",
  properties: { done: { type: "boolean", const: true } },
  required: ["done"],
};

/** All tools, in the order of the routers. Throws, with the tool's name, if one cannot be made. */
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

/** Finds the tools that read a resource, and so return it whole. */
function schemaList(procedures: readonly Procedure<Context>[]): SchemaList {
  const returned_by = new Map<string, string>();
  for (const { meta, output } of procedures) {
    const name = meta.mcp?.annotations?.readOnlyHint ? schemaName(output) : undefined;
    if (name !== undefined) returned_by.set(name, meta.mcp!.name);
  }
  return { returned_by, described: new Set() };
}

function toTool(procedure: Procedure<Context>, mcp: ToolMeta, list: SchemaList) {
  const { meta, input, output } = procedure;
  check(mcp, meta);
  if (!(input instanceof z.ZodObject)) throw new Error("its input is not an object");
  const accepted = argumentsOf(inputSchema(input), mcp);
  const waits = WAIT in accepted.properties;
  const { account_only = [], unlisted = [], defaults = {}, fields = {} } = mcp;
  const named = [...account_only, ...unlisted, ...Object.keys(defaults), ...Object.keys(fields)];
  for (const name of named) {
    if (!(name in input.shape)) throw new Error(`it has no field ${name}`);
  }
  const run = execute(procedure);
  const read = createArgumentReader({
    fields: new Map(
      Object.entries(input.shape as Record<string, z.ZodType>)
        .filter(([name]) => !account_only.includes(name))
        .map(([name, schema]) => [name === "wait" ? WAIT : name, schema]),
    ),
    unlisted,
    patches: meta.openapi?.method === "PATCH",
  });

  const inputOf = (given: Arguments) => {
    // Without a prototype, so that a field named `__proto__` is like any other.
    const data: Record<string, unknown> = Object.assign(Object.create(null), defaults);
    for (const name of Object.keys(given)) {
      if (waits && name === "wait") data[OTHER_WAIT] = given[name];
      else data[waits && name === WAIT ? "wait" : name] = given[name];
    }
    return data;
  };

  return {
    /** The entry of `tools/list`. */
    definition: {
      name: mcp.name,
      title: mcp.title,
      description: mcp.description,
      inputSchema: accepted,
      ...(!(output instanceof z.ZodString) && { outputSchema: resultSchema(output, mcp, list) }),
      annotations: mcp.annotations,
    },
    for_hooks: mcp.for_hooks === true,
    /** True: it accepts `wait_seconds`. */
    waits,
    /** True: without a wait, it awaits `ctx.confirmed` before its first effect. */
    reads_first:
      meta.reads_first === true || (meta.openapi?.method === "GET" && meta.pages !== true),
    /** True: a wait may take several rounds. */
    rounds: mcp.rounds === true,
    /** Reads the arguments that a client sent. Never throws. */
    read,
    /** Runs the tool with what {@link read} gave. Throws a ServiceError with the tool's names of fields. */
    async call(ctx: Context, given: Arguments): Promise<object | string> {
      try {
        return ((await run(ctx, inputOf(given))) ?? DONE) as object | string;
      } catch (error) {
        throw waits ? renamed(toServiceError(error)) : error;
      }
    },
    /** Adds the tool's own fields to a result. */
    complete: async (ctx: Context, result: object): Promise<object> => ({
      ...result,
      ...(await mcp.adds?.read(ctx, result)),
    }),
    /** The call that should follow, if any. */
    next: (result: object, given: Arguments) => mcp.next?.(result, given) ?? null,
    /** A sentence for the agent about this result; `now`: epoch seconds. */
    note: (result: object, now: number) => mcp.note?.(result, now) ?? null,
    /** True if the call only waited (§15.1.2). The result is null if the client left meanwhile. */
    only_waited: (given: Arguments, result: unknown) =>
      meta.only_waited?.(inputOf(given), result) ?? false,
  };
}

/**
 * The schema of the route's response with the fields that the tool adds. These are plain objects, to keep the list
 * short; a text of the tool says what they mean.
 */
function resultSchema(output: z.ZodType, { adds }: ToolMeta, list: SchemaList): ObjectSchema {
  if (output instanceof z.ZodVoid) return DONE_SCHEMA;
  const schema = outputSchema(output, list);
  // Schemas permit further members, so they need not list it.
  if (HINT in schema.properties) throw new Error(`a field may not be called ${HINT}`);
  if (!adds) return schema;
  const added = adds.names.map((name) => [name, { type: "object" }]);
  return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(added) } };
}

/** Checks what types cannot: meta may be cast. */
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

/**
 * The input as an agent sees it: without the account's and the unlisted fields, `wait` with its unit, with the tool's
 * texts.
 */
function argumentsOf(
  schema: ObjectSchema,
  { account_only = [], unlisted = [], defaults = {}, fields = {} }: ToolMeta,
): ObjectSchema {
  if (WAIT in schema.properties) throw new Error(`a field may not be called ${WAIT}`);
  const properties = Object.entries(schema.properties)
    .filter(([name]) => !account_only.includes(name) && !unlisted.includes(name))
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

/** The error with the tool's name of the field `wait`. */
function renamed(error: ServiceError): ServiceError {
  if (!error.fields || !Object.keys(TOOL_NAMES).some((name) => name in error.fields!)) return error;
  return invalidFields(
    Object.fromEntries(
      Object.entries(error.fields).map(([name, why]) => [TOOL_NAMES[name] ?? name, why]),
    ),
  );
}
