/** Converts between Relay's errors and those of tRPC and zod (§9). */

import { type TRPCDefaultErrorShape, TRPCError } from "@trpc/server";
import { type core, ZodError } from "zod";
import {
  ClientGone,
  ERRORS,
  type FieldReasons,
  invalidFields,
  ServiceError,
  UNKNOWN_FIELD,
} from "../errors.ts";

/** Converts whatever a call threw to the error that surfaces render. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (!(error instanceof TRPCError)) return new ServiceError("internal", { cause: error });
  const { cause } = error;
  if (cause instanceof ServiceError) return cause;
  // The admin's router has tRPC check its inputs.
  if (cause instanceof ZodError) return invalidFields(reasonsOf(cause.issues));
  switch (error.code) {
    case "PARSE_ERROR":
      return new ServiceError("invalid_json");
    case "NOT_FOUND":
      return new ServiceError("unknown_path");
    case "METHOD_NOT_SUPPORTED":
      return new ServiceError("method_not_allowed");
    case "UNSUPPORTED_MEDIA_TYPE":
      return new ServiceError("unsupported_media_type");
    case "BAD_REQUEST":
      return cause instanceof SyntaxError
        ? new ServiceError("invalid_json")
        : invalidFields({ input: "cannot be read" });
    default:
      return new ServiceError("internal", { cause: error });
  }
}

/** Wraps an error for tRPC, with the key from which tRPC derives the HTTP status. */
export function toTrpcError(error: unknown): TRPCError {
  const cause = toServiceError(error);
  return new TRPCError({ code: ERRORS[cause.code].trpc, message: cause.message, cause });
}

/** The error that a typed client gets: tRPC's own shape with Relay's code, fields and `ended`. */
export function formatError({ shape, error }: { shape: TRPCDefaultErrorShape; error: TRPCError }) {
  const { code, fields, ended } = toServiceError(error);
  const own = { code_name: code, ...(fields && { fields }), ...(ended && { ended }) };
  return { ...shape, data: { ...shape.data, ...own } };
}

/** True if the client went away, so that nobody is left to answer. */
export const isGone = (error: unknown): boolean =>
  error instanceof ClientGone || (error instanceof Error && isGone(error.cause));

/** Says why each top-level field is invalid. For a body of the wrong kind, the field is `body`. */
export function reasonsOf(issues: readonly core.$ZodIssue[]): FieldReasons {
  // Without a prototype, so that a field named `constructor` is like any other.
  const reasons: Record<string, string> = Object.create(null);
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
      for (const name of issue.keys) reasons[fieldName(name)] ??= UNKNOWN_FIELD;
    } else {
      reasons[fieldName(issue.path[0] ?? "body")] ??= describe(issue);
    }
  }
  return reasons;
}

/** The name of a field, or `unknown` for a name that may be content (§1.3.4). */
function fieldName(name: PropertyKey): string {
  return typeof name === "string" && /^[a-z][a-z0-9_]{0,39}$/.test(name) ? name : "unknown";
}

/** Makes a reason from the schema alone, never from what was sent. It names a field within the field. */
function describe(issue: core.$ZodIssue): string {
  const [, name] = issue.path;
  return typeof name === "string" ? `${fieldName(name)} ${reasonOf(issue)}` : reasonOf(issue);
}

function reasonOf(issue: core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.message.startsWith("must be ")) return issue.message;
      return issue.message.endsWith("received undefined")
        ? "is required"
        : `must be of type ${issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue)}`;
    case "unrecognized_keys":
      return "must have no other fields";
    case "custom":
      return issue.message;
    default:
      return "is not valid";
  }
}

function unitOf(issue: core.$ZodIssueTooSmall | core.$ZodIssueTooBig): string {
  if (issue.origin !== "array") return "";
  return (issue.code === "too_small" ? issue.minimum : issue.maximum) === 1 ? " item" : " items";
}
