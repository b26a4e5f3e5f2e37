/** Reads one posted message: its era and its client, or why it is rejected. */

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import { invalidFields, type ServiceError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { type ClientInfo, clientOf } from "../model/client.ts";
import type { McpSession } from "../model/mcp-session.ts";
import { TOO_DEEP_REASON } from "../overload/json-bounds.ts";
import type { SignedTokens } from "../signer.ts";
import { RPC } from "./result.ts";
import { NEW_ERA } from "./server.ts";
import { readSession } from "./session.ts";

const VERSIONS: readonly string[] = [...SUPPORTED_PROTOCOL_VERSIONS, NEW_ERA];

type Params = Readonly<Record<string, unknown>>;

/** A message to be handled. */
export interface Message {
  readonly kind: "request" | "notification";
  readonly modern: boolean;
  /** False: the SDK's own handler has to check the headers. */
  readonly checked: boolean;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientInfo | null;
  /** Null in the new era, and if the client sent none. */
  readonly session: McpSession | null;
  /** True: the client repeats an unfinished call by itself (§12.4.4). */
  readonly rounds: boolean;
}

/** A rejected message, with the error number of JSON-RPC and the HTTP status. */
export interface RefusedMessage {
  readonly kind: "refused";
  readonly client: null;
  readonly rpc_code: number;
  readonly status: number;
  readonly data: object;
  /** Says what is wrong, if the number does not. */
  readonly error?: ServiceError;
}

export const refuseMessage = (
  rpc_code: number,
  status: number,
  data: unknown = {},
): RefusedMessage => ({
  kind: "refused",
  client: null,
  rpc_code,
  status,
  data: data as object,
});

/** Rejects a message that nests too deep, envelope included. It is not parsed, so its id is unknown (§1.3.8). */
export const refuseNesting = (): RefusedMessage => ({
  ...refuseMessage(RPC.invalid_request, 400),
  error: invalidFields({ body: TOO_DEEP_REASON }),
});

/** Rejects a message whose `id` is too long; the response has none. */
const refuseId = (): RefusedMessage => ({
  ...refuseMessage(RPC.invalid_request, 400),
  error: invalidFields({ id: `must be at most ${LIMITS.rpc_text} characters` }),
});

/**
 * Removes what some clients send for an absent part: null anywhere in the protocol's own parts, and an empty list as
 * `params`, which is how PHP writes an empty object (§12.1.6). The arguments of a tool stay as they are.
 */
export function withoutUnset(body: unknown): unknown {
  if (!isObject(body)) return body;
  const { params, ...rest } = body;
  if (params === null || (Array.isArray(params) && params.length === 0)) return rest;
  if (isObject(params)) dropNulls(params);
  return body;
}

function dropNulls(part: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(part)) {
    if (value === null) delete part[name];
    else if (isObject(value) && name !== "arguments") dropNulls(value);
  }
}

/** `body`: of a request of the key, as {@link withoutUnset} gives it. */
export function readMessage(
  headers: Headers,
  body: unknown,
  key_id: string,
  sessions: SignedTokens,
): Message | RefusedMessage {
  const version = headers.get("mcp-protocol-version");
  const method = headers.get("mcp-method");
  const name = headers.get("mcp-name");
  if (isObject(body) && typeof body.id === "string" && body.id.length > LIMITS.rpc_text) {
    return refuseId();
  }
  if (isObject(body) && body.params !== undefined && !isObject(body.params)) {
    return refuseMessage(RPC.invalid_params, 400);
  }
  if (isPlain(body)) {
    const { params = {} } = body;
    const claimed = (params._meta as Params | undefined)?.[PROTOCOL_VERSION_META_KEY];
    const known = version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
    if (claimed === undefined && known && body.method !== "initialize") {
      return legacyMessage(headers, body, key_id, sessions);
    }
    if (version === NEW_ERA && method === body.method && agrees(body, name)) {
      return modernMessage("request", body, true);
    }
  }
  const found = classifyInboundRequest({
    httpMethod: "POST",
    body,
    ...(version !== null && { protocolVersionHeader: version }),
    ...(method !== null && { mcpMethodHeader: method }),
    ...(name !== null && { mcpNameHeader: name }),
  });
  if (found.kind === "reject") {
    // To the SDK, an unknown version that sorts after the new one is a newer one that lacks its parameters.
    if (found.code === RPC.invalid_params && version !== null && !VERSIONS.includes(version)) {
      return refuseMessage(RPC.unsupported_version, 400, { supported: VERSIONS });
    }
    const refused = refuseMessage(found.code, found.httpStatus, found.data);
    if (found.code !== RPC.header_mismatch) return refused;
    return { ...refused, error: headerMismatch(headers, body as JsonRpcMessage) };
  }
  if (found.kind === "modern") return modernMessage(found.messageKind, body, false);
  // Relay sends no requests, so it expects no responses. It accepts no batches.
  if (found.reason === "batch" || found.reason === "response") {
    return refuseMessage(RPC.invalid_request, 400);
  }
  if (version !== null && !VERSIONS.includes(version)) {
    return refuseMessage(RPC.unsupported_version, 400, { supported: VERSIONS });
  }
  return legacyMessage(headers, body, key_id, sessions);
}

interface JsonRpcMessage {
  readonly method: string;
  readonly params?: Params;
}

function modernMessage(kind: Message["kind"], body: unknown, checked: boolean): Message {
  const { method, params = {} } = body as JsonRpcMessage;
  const meta = params._meta as Params | undefined;
  const client = clientOf(meta?.[CLIENT_INFO_META_KEY]);
  const rounds = wantsRounds(meta?.[CLIENT_CAPABILITIES_META_KEY]);
  return { kind, modern: true, checked, method, params, client, session: null, rounds };
}

/** The experimental capability of a client that repeats calls; its value is an object. */
const ROUNDS = "relay/rounds";

/**
 * A client has to say that it repeats calls that need no input: of the new era, the Go SDK gives an empty result
 * instead, and openai-agents fails.
 */
function wantsRounds(capabilities: unknown): boolean {
  const experimental = isObject(capabilities) ? capabilities.experimental : undefined;
  return isObject(experimental) && isObject(experimental[ROUNDS]);
}

const isObject = (value: unknown): value is Params =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * A quick test that nearly every request passes. The SDK's classification by schemas takes as long as a read of the
 * store, and decides only about other bodies.
 */
function isPlain(body: unknown): body is JsonRpcMessage {
  if (!isObject(body) || body.jsonrpc !== "2.0" || typeof body.method !== "string") return false;
  const { id, params } = body;
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return false;
  if (Object.keys(body).length !== (params === undefined ? 3 : 4)) return false;
  if (params === undefined) return true;
  if (!isObject(params)) return false;
  const { _meta: meta } = params;
  if (meta === undefined) return true;
  if (!isObject(meta)) return false;
  const { progressToken: token } = meta;
  return token === undefined || typeof token === "string" || Number.isSafeInteger(token);
}

/** The error of a message that the SDK refuses for a header, which it names. */
export function headerMismatch(
  headers: Headers,
  { method, params = {} }: JsonRpcMessage,
): ServiceError {
  const claimed = (params._meta as Params | undefined)?.[PROTOCOL_VERSION_META_KEY];
  const disagrees = (name: string, value: unknown) => headers.get(name) !== value;
  const name = disagrees("MCP-Protocol-Version", claimed)
    ? "MCP-Protocol-Version"
    : disagrees("Mcp-Method", method)
      ? "Mcp-Method"
      : "Mcp-Name";
  return invalidFields({ [name]: "must agree with the body" });
}

/** True if a plain request is of the new era and its `Mcp-Name` agrees with its body. */
function agrees({ method, params = {} }: JsonRpcMessage, name: string | null): boolean {
  const meta = params._meta as Params | undefined;
  if (meta?.[PROTOCOL_VERSION_META_KEY] !== NEW_ERA) return false;
  if (!isObject(meta[CLIENT_CAPABILITIES_META_KEY])) return false;
  // The SDK's handler serves streams of changes.
  if (method === "subscriptions/listen") return false;
  const named = method === "resources/read" ? params.uri : params.name;
  return named === undefined || (typeof named === "string" && named === name);
}

function legacyMessage(headers: Headers, body: unknown, key_id: string, sessions: SignedTokens) {
  const { method, params = {} } = body as JsonRpcMessage;
  const kind = Object.hasOwn(body as object, "id") ? "request" : "notification";
  const read = (client: ClientInfo | null, session: McpSession | null = null): Message => ({
    kind,
    modern: false,
    checked: true,
    method,
    params,
    client,
    session,
    rounds: false,
  });
  // It always begins a new session.
  if (method === "initialize") return read(clientOf(params.clientInfo));
  const text = headers.get("mcp-session-id");
  if (text === null) return read(null);
  const found = readSession(sessions, key_id, text);
  // The client then starts a new session.
  if (found === undefined) return refuseMessage(RPC.session_not_found, 404);
  return read(found.client, found.session);
}
