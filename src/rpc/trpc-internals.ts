/**
 * Takes tRPC's procedures apart, and puts the call pipeline in the place of tRPC's middleware chain. No other file
 * knows how tRPC builds a procedure; the version of `@trpc/server` is pinned.
 */

import type { AnyTRPCProcedure, AnyTRPCRouter } from "@trpc/server";
import type { ZodType } from "zod";
import { cutMembers } from "../overload/json-bounds.ts";
import type { CallContext } from "./context.ts";
import { toTrpcError } from "./errors.ts";
import { execute } from "./execute.ts";
import type { ProcedureMeta } from "./meta.ts";

/** The parts of a procedure, as its router declares them. */
export interface Procedure<Ctx> {
  readonly type: "query" | "mutation";
  readonly meta: ProcedureMeta;
  readonly input: ZodType;
  readonly output: ZodType;
  readonly resolver: (options: { readonly ctx: Ctx; readonly input: unknown }) => Promise<unknown>;
}

/** The procedures of a router by name, such as `tasks.create`, in the order of the routers. */
export type Procedures<Ctx> = ReadonlyMap<string, Procedure<Ctx>>;

/** The stored form of a procedure in tRPC. The middlewares are those of its base, input, output and resolver. */
interface Definition<Ctx> extends Pick<Procedure<Ctx>, "type" | "resolver"> {
  readonly meta?: ProcedureMeta;
  readonly inputs: readonly ZodType[];
  readonly output?: ZodType;
  readonly middlewares: readonly unknown[];
}

export function proceduresOf<Ctx>(router: AnyTRPCRouter): Procedures<Ctx> {
  const procedures = router._def.procedures as unknown as Record<string, AnyTRPCProcedure>;
  return new Map(
    Object.entries(procedures).map(([name, procedure]) => [name, partsOf<Ctx>(procedure)]),
  );
}

function partsOf<Ctx>(procedure: AnyTRPCProcedure): Procedure<Ctx> {
  const { type, meta = {}, inputs, output, resolver } = definitionOf<Ctx>(procedure);
  return { type, meta, input: inputs[0]!, output: output!, resolver };
}

const definitionOf = <Ctx>(procedure: AnyTRPCProcedure) =>
  procedure._def as unknown as Definition<Ctx>;

/**
 * The middleware of a procedure base, which gives `ctx.caller` its type. It runs only outside the routers of
 * {@link throughPipeline}, where nothing would check the caller, and fails the call.
 */
export async function pipelineOnly(): Promise<never> {
  throw new Error("a procedure is called through the pipeline only");
}

/** Copies a record of procedures so that tRPC's calls of them run through {@link execute}. */
export function throughPipeline<Ctx extends CallContext, Members extends object>(
  record: Members,
): Members {
  const entries = Object.entries(record).map(([name, member]) => [
    name,
    typeof member === "function" ? callable<Ctx>(member as AnyTRPCProcedure) : member,
  ]);
  return Object.fromEntries(entries) as Members;
}

function callable<Ctx extends CallContext>(procedure: AnyTRPCProcedure): AnyTRPCProcedure {
  const { type, inputs, output, middlewares } = definitionOf<Ctx>(procedure);
  if (inputs.length !== 1 || !output || middlewares.length !== 4) {
    throw new Error("a procedure has a base, one input, an output, and no other middleware");
  }
  const call = execute(partsOf<Ctx>(procedure));
  const invoke = async ({ ctx, getRawInput }: { ctx: Ctx; getRawInput(): Promise<unknown> }) => {
    let raw: unknown = null;
    let unreadable: unknown;
    try {
      raw = cutMembers(await getRawInput());
      // A query without input is one without fields, as it is on REST.
      if (raw === undefined && type === "query") raw = {};
    } catch (thrown) {
      unreadable = thrown;
    }
    try {
      return await call(ctx, raw, unreadable);
    } catch (thrown) {
      throw toTrpcError(thrown);
    }
  };
  return Object.assign(invoke, procedure) as unknown as AnyTRPCProcedure;
}
