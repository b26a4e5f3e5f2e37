/** Results and errors for an MCP client: structured, and as text for the model. */

import { type ErrorCode, invalidFields, ServiceError, toProblem } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import type { NextCall } from "../rpc/meta.ts";

/** Error numbers of JSON-RPC and MCP. */
export const RPC = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal: -32603,
  resource_not_found: -32002,
  session_not_found: -32001,
  header_mismatch: -32020,
  unsupported_version: -32022,
} as const;

/** The problem that REST sends, with the seconds of `Retry-After`. */
function problemData(error: ServiceError) {
  return {
    ...toProblem(error),
    ...(error.retry_after !== undefined && { retry_after: error.retry_after }),
  };
}

/** The member of structured content with the sentences for the model. No resource has a field of this name. */
export const HINT = "hint";

const say = (text: string) => ({ type: "text" as const, text });

/**
 * The result of a tool, with sentences about `next`, the call to go on with, and `note`. Some clients give their model
 * only the structured content, so the sentences are its member `hint` too.
 */
export function toolResult(value: object, next: NextCall | null, note: string | null) {
  const words: string[] = [];
  if (next) {
    words.push(`${next.why}, call ${next.name} with ${JSON.stringify(next.arguments)}.`);
  }
  if (note !== null) words.push(note);
  return {
    content: [JSON.stringify(value), ...words].map(say),
    structuredContent: words.length > 0 ? { ...value, [HINT]: words.join(" ") } : value,
  };
}

/** The result of a tool that returns a text. */
export const textResult = (text: string) => ({ content: [say(text)] });

/**
 * The result of a tool that failed. Clients of the old era validate structured content by the output schema even then,
 * so they get the problem in `_meta`.
 */
export function toolFailure(error: ServiceError, modern: boolean) {
  const data = problemData(error);
  const reasons = Object.entries(error.fields ?? {}).map(([name, why]) => `${name} ${why}.`);
  const { message, retry_after } = error;
  const says_when = retry_after === undefined || message.includes("Try again in");
  const again = says_when ? [] : [`Try again in ${retry_after} s.`];
  const text = [`${error.code}: ${message}`, ...reasons, ...again].join("\n");
  return {
    isError: true,
    content: [say(text)],
    ...(modern ? { structuredContent: data } : { _meta: { problem: data } }),
  };
}

/** A request names a tool or prompt that does not exist: models guess names. */
class UnknownName extends ServiceError {
  constructor(readonly kind: "tool" | "prompt") {
    const { message, fields } = invalidFields({ name: `is not a ${kind}` });
    super("invalid_fields", { detail: message, ...(fields && { fields }) });
  }
}

export function unknownName(kind: "tool" | "prompt"): never {
  throw new UnknownName(kind);
}

/** The number of an error outside a tool. */
export function rpcCodeOf({ code }: ServiceError): number {
  if (code === "invalid_fields") return RPC.invalid_params;
  return code === "not_found" ? RPC.resource_not_found : RPC.internal;
}

/** Relay's error for each number with which the SDK rejects a message. */
const REFUSALS: Readonly<Record<number, readonly [ErrorCode, field?: string, why?: string]>> = {
  [RPC.parse_error]: ["invalid_json"],
  [RPC.invalid_request]: ["invalid_fields", "body", "must be one JSON-RPC request or notification"],
  [RPC.method_not_found]: ["unknown_path"],
  [RPC.invalid_params]: ["invalid_fields", "params", "are not valid for this method"],
  [RPC.session_not_found]: ["not_found"],
  [-32021]: ["invalid_fields", "capabilities", "lack one that is needed"],
  [RPC.unsupported_version]: ["invalid_fields", "protocol_version", "is not supported"],
};

/** The error of a rejected message. Its texts repeat nothing of the message. */
export function refusal(rpc_code: number): ServiceError {
  const [code, field, why] = REFUSALS[rpc_code] ?? ["internal" as const];
  return field && why ? invalidFields({ [field]: why }) : new ServiceError(code);
}

const TITLES: Readonly<Record<number, string>> = {
  [RPC.method_not_found]: "Method not found.",
  [RPC.session_not_found]: "Session not found.",
};

function messageOf(rpc_code: number, error: ServiceError): string {
  if (error instanceof UnknownName) {
    return `Unknown ${error.kind}: ${error.kind}s/list has the names.`;
  }
  return TITLES[rpc_code] ?? error.message;
}

/** Members of `data` that the protocol requires of some errors. */
const OF_PROTOCOL = ["supported", "requested", "requiredCapabilities", "envelope", "uri"];

/**
 * A JSON-RPC error with the problem as its data. Of the SDK's `data` only what the protocol requires stays, if it is no
 * longer than `LIMITS.rpc_text`: some of it repeats what was sent.
 */
export function rpcError(rpc_code: number, error: ServiceError, data: object = {}) {
  const isShort = (value: unknown) => (JSON.stringify(value) ?? "").length <= LIMITS.rpc_text;
  const kept = Object.entries(data).filter(
    ([name, value]) => OF_PROTOCOL.includes(name) && isShort(value),
  );
  return {
    code: rpc_code,
    message: messageOf(rpc_code, error),
    data: { ...Object.fromEntries(kept), ...problemData(error) },
  };
}
