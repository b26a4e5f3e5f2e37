/**
 * The fast path of output validation: skips zod if a value already matches its schema exactly. With zod alone, a read
 * takes 3 % and a list of 50 tasks 10 % more CPU time.
 */

import type { core, ZodType } from "zod";
import { ServiceError } from "../errors.ts";

/** False also for some valid values, which the schema then parses. */
type Check = (value: unknown) => boolean;

const never: Check = () => false;

/** Returns a function that validates a result. It throws `500 internal` for a result that breaks the schema. */
export function createOutputCheck(schema: ZodType): (result: unknown) => unknown {
  const isExact = fastValidate(schema);
  return (result) => {
    if (isExact(result)) return result;
    const answer = schema.safeParse(result);
    if (!answer.success) throw new ServiceError("internal", { cause: answer.error });
    return answer.data;
  };
}

/**
 * Makes a check that a value has exactly the members of the schema in the schema's order; optional ones may be missing.
 * The check allocates nothing.
 */
export function fastValidate(schema: core.$ZodType): Check {
  const { def } = (schema as core.$ZodTypes)._zod;
  if (def.checks && def.checks.length > 0) return never;
  switch (def.type) {
    case "string":
      return "format" in def ? never : (value) => typeof value === "string";
    case "boolean":
      return (value) => typeof value === "boolean";
    case "number":
      if (!("format" in def)) return Number.isFinite;
      return def.format === "safeint" ? Number.isSafeInteger : never;
    case "enum": {
      const values = new Set<unknown>(Object.values(def.entries));
      return (value) => values.has(value);
    }
    case "nullable": {
      const inner = fastValidate(def.innerType);
      return (value) => value === null || inner(value);
    }
    case "array": {
      const element = fastValidate(def.element);
      return (value) => Array.isArray(value) && value.every(element);
    }
    case "object":
      return memberCheck(def.shape);
    default:
      return never;
  }
}

/** The schema of an optional member; null for a required one. */
function optionalInner(schema: core.$ZodType): core.$ZodType | null {
  const { def } = (schema as core.$ZodTypes)._zod;
  return def.type === "optional" ? def.innerType : null;
}

function memberCheck(shape: core.$ZodShape): Check {
  const members = Object.entries(shape).map(([name, schema]) => {
    const inner = optionalInner(schema);
    return { name, optional: inner !== null, check: fastValidate(inner ?? schema) };
  });
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    let seen = 0;
    for (const name in value) {
      while (members[seen]?.optional && members[seen]!.name !== name) seen++;
      const member = members[seen++];
      if (member?.name !== name || !member.check((value as Record<string, unknown>)[name])) {
        return false;
      }
    }
    while (members[seen]?.optional) seen++;
    return seen === members.length;
  };
}
