/** `POST /mcp`: one message of an agent's client, in either era of the protocol (§12). */

import { createMcpHandler, type JSONRPCRequest } from "@modelcontextprotocol/server";
import type { Usage } from "../auth/authenticate.ts";
import type { Clock } from "../clock.ts";
import { fail, ServiceError } from "../errors.ts";
import type { Ids } from "../ids.ts";
import { LIMITS } from "../limits.ts";
import { Exchange, type RpcAnswer } from "../mcp/exchange.ts";
import {
  headerMismatch,
  type Message,
  readMessage,
  refuseMessage,
  refuseNesting,
  withoutUnset,
} from "../mcp/message.ts";
import { RPC, refusal, rpcError } from "../mcp/result.ts";
import { createMcpServers, type HookOptions, type McpCall, REFUSED } from "../mcp/server.ts";
import { writeSession } from "../mcp/session.ts";
import type { Tools } from "../mcp/tools.ts";
import type { ClientInfo } from "../model/client.ts";
import { parseJson, TOO_DEEP } from "../overload/json-bounds.ts";
import type { CallScope } from "../rpc/context.ts";
import { toServiceError } from "../rpc/errors.ts";
import { failWrongKind } from "../rpc/execute.ts";
import { createSignedTokens, type Signer } from "../signer.ts";
import { acceptsStream, answerStream, frame, lasts } from "./answer-stream.ts";
import { hookOptions, withExactArguments } from "./approve.ts";
import type { Bodies } from "./body.ts";
import type { CreateContext, RequestContext } from "./context.ts";
import type { RequestScope } from "./request-scope.ts";
import { API_HEADERS, chargeResponse, json, problem, STREAM_HEADERS } from "./respond.ts";
import { type Handler, logInternal } from "./rest.ts";

interface McpOptions {
  readonly tools: Tools;
  readonly createContext: CreateContext;
  readonly bodies: Bodies;
  /** Returns `403 forbidden` for a request that does not name this server, else null. */
  readonly foreignSource: (request: Request) => ServiceError | null;
  readonly recordClient: (usage: Usage, client: ClientInfo) => Promise<void> | undefined;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly version: string;
}

/** Makes the handler of the route. What it throws is rendered as a problem, as on REST. */
export function createMcp(options: McpOptions): Handler {
  const { tools, createContext, bodies, recordClient, clock, ids, signer } = options;
  const sessions = createSignedTokens(signer, "mcp-session");
  const servers = createMcpServers({
    tools,
    clock,
    version: options.version,
    rounds: createSignedTokens(signer, "mcp-round"),
    report: (error, tool, { ctx }) => logInternal(error, ctx.scope.log(), `POST /mcp ${tool}`),
  });
  const modern = createMcpHandler(
    ({ authInfo }) => servers.create(authInfo!.extra!.call as McpCall),
    { legacy: "reject" },
  );
  /** Calls under way of sessions of the old era, which their clients can cancel. */
  const running = new Map<string, () => void>();

  const exchange = async (call: McpCall, body: JSONRPCRequest, request: Request) => {
    const streams = call.modern || call.streams;
    const transport = new Exchange({ modern: call.modern, streams });
    const id = call.modern ? null : cancelId(request, body.id);
    if (id === null) return transport.serve(servers.create(call), body, request);
    const stop = () => void transport.close();
    // Of two requests with one id, only the later one can be cancelled.
    const done = () => running.get(id) === stop && running.delete(id);
    running.set(id, stop);
    try {
      return await transport.serve(servers.create(call), body, request);
    } finally {
      void (call.work ?? Promise.resolve()).then(done, done);
    }
  };

  /** Serves a request of the new era by the SDK's own handler, which also checks the headers. */
  const handleBySdk = async (call: McpCall, body: JSONRPCRequest, request: Request) => {
    const response = await modern.fetch(request, {
      authInfo: { token: "", clientId: call.key_id, scopes: [], extra: { call } },
      parsedBody: body,
    });
    const is_json = response.headers.get("content-type")?.startsWith("application/json") === true;
    return is_json ? ((await response.json()) as RpcAnswer) : response;
  };

  /** Renders an answer: refusals by the SDK get the data of a problem, `initialize` a session. */
  const render = (call: McpCall, answer: RpcAnswer, scope: RequestScope): Response => {
    const { error } = answer;
    if (!error || call.work !== undefined) {
      // A credential that ended meanwhile is refused as on every surface (§4.1.5).
      if (call.error?.code === "unauthorized")
        return problem(call.error, scope.charges.quota()?.headers);
      const response = json(answer, 200, scope);
      if (call.method === "initialize" && !call.modern) {
        const begun = { client: call.client, ids, now: clock.now() };
        const session = writeSession(sessions, call.key_id, begun);
        response.headers.set("mcp-session-id", session);
      }
      return response;
    }
    // The SDK answers so to parameters that its own schemas refuse.
    const code = error.code === RPC.internal ? RPC.invalid_params : error.code;
    call.error =
      code === RPC.header_mismatch ? headerMismatch(scope.request.headers, call) : refusal(code);
    // To a client of the old era a 404 means that its session is gone.
    const status = !call.modern ? 200 : code === RPC.method_not_found ? 404 : 400;
    const shown = rpcError(code, call.error, error.data);
    return json({ jsonrpc: "2.0", id: answer.id, error: shown }, status, scope);
  };

  /** Answers a call by a stream, so that its client knows that the call is under way (§12.4.2, §12.6.4). */
  const serveStream = (
    call: McpCall,
    given: Promise<RpcAnswer | Response | null>,
    scope: RequestScope,
  ) => {
    scope.waits();
    const messageOf = (given: RpcAnswer | Response | null) => {
      if (given === null || given instanceof Response) return "";
      const { error, id } = given;
      if (!error || call.work !== undefined) return frame("message", given);
      call.error = refusal(RPC.invalid_params);
      const shown = rpcError(RPC.invalid_params, call.error, error.data);
      return frame("message", { jsonrpc: "2.0", id, error: shown });
    };
    const answer = given.then(messageOf, (thrown) => {
      call.error = toServiceError(thrown);
      logInternal(call.error, scope.log(), `POST /mcp ${servers.actionOf(call)}`);
      return "";
    });
    const stream = answerStream({ answer, clock });
    const headers = { ...STREAM_HEADERS, ...scope.charges.quota()?.headers };
    return { response: new Response(stream, { headers }), ended: answer };
  };

  const serve = async (
    call: McpCall,
    message: Message,
    body: JSONRPCRequest,
    scope: RequestScope,
  ) => {
    const given = (message.checked ? exchange : handleBySdk)(call, body, scope.request);
    if (servers.isSilent(call) && (await lasts(given, clock)))
      return chargeResponse(serveStream(call, given, scope).response, scope);
    const answer = await given;
    // The client left or cancelled: an empty 202 ends the exchange without an error.
    if (answer === null) return new Response(null, { status: 202, headers: headersOf(scope) });
    if (!(answer instanceof Response)) return render(call, answer, scope);
    // The SDK took it for a notification, so it is not a valid request.
    if (answer.status === 202) {
      const error = { code: RPC.invalid_request, message: "" };
      return render(call, { id: body.id, error }, scope);
    }
    for (const [name, value] of Object.entries(headersOf(scope))) answer.headers.set(name, value);
    return chargeResponse(answer, scope);
  };

  /** Parses a body as a message of a key. `text` is an error when the body could not be read. */
  const read = (text: string | ServiceError | null, headers: Headers, key_id: string) => {
    try {
      if (typeof text !== "string") throw text;
      const parsed = parseJson(text);
      if (parsed === TOO_DEEP) return { body: null, message: refuseNesting() };
      const body = withoutUnset(parsed);
      return { body, message: readMessage(headers, body, key_id, sessions) };
    } catch {
      return { body: null, message: refuseMessage(RPC.parse_error, 400) };
    }
  };

  /** Answers a request whose credential may not be confirmed yet. `text` is an error when the body could not be read. */
  const answer = async (
    request: Request,
    scope: RequestScope,
    ctx: RequestContext,
    text: string | ServiceError | null,
  ): Promise<Response> => {
    const caller = ctx.caller ?? fail("unauthorized");
    if (caller.kind !== "key") {
      scope.charges.charge();
      return failWrongKind(caller, "key");
    }
    const { key_id } = caller;
    const { body, message } = read(text, request.headers, key_id);
    const { kind, client } = message;
    const early = kind === "request" && servers.readsFirst(message);
    if (!early) await ctx.confirmed();
    const enter = (action: string, error: ServiceError | null) =>
      scope.ended({ action, host: ctx.host, error }, { client });
    const record = () => {
      const usage = scope.credential.usage();
      return Promise.all([ctx.recorded, usage && client && recordClient(usage, client)]);
    };
    const recorded = early ? null : record();
    const settleUse = async (): Promise<void> => {
      if (early) await ctx.confirmed();
      await (recorded ?? record());
    };
    let hook: HookOptions | null = null;
    try {
      scope.charges.charge();
      if (kind === "request") hook = hookOptions(request, message);
    } catch (refusing) {
      await settleUse();
      // A notification is never logged (§15.1.2).
      if (kind !== "notification") enter(servers.actionOf(message), toServiceError(refusing));
      throw refusing;
    }

    if (kind === "refused") {
      const error = message.error ?? refusal(message.rpc_code);
      await recorded;
      enter(REFUSED, error);
      const answer = rpcError(message.rpc_code, error, message.data);
      return json({ jsonrpc: "2.0", id: idOf(body), error: answer }, message.status, scope);
    }
    if (kind === "notification") {
      if (message.method === "notifications/cancelled") {
        running.get(cancelId(request, message.params.requestId) ?? "")?.();
      }
      await recorded;
      return new Response(null, { status: 202, headers: headersOf(scope) });
    }
    // The request is charged above and logged below, under its MCP name.
    const part: CallScope = {
      charges: { charge() {}, limit: (name, input) => scope.charges.limit(name, input) },
      turns: scope.turns,
      log: () => scope.log(),
      answered: (answer, changed) => scope.answered(answer, changed),
      waits: () => scope.waits(),
      ended() {},
      address: scope.address,
      linkBase: () => scope.linkBase(),
    };
    const call: McpCall = {
      ...(hook ? withExactArguments(message, text as string) : message),
      hook,
      streams: acceptsStream(request),
      ctx: { ...ctx, scope: part },
      key_id,
      error: null,
      only_waited: false,
    };
    const request_body = body as JSONRPCRequest;
    const { response, ended } = call.hook?.streams
      ? serveStream(call, exchange(call, request_body, request), scope)
      : {
          response: await serve(call, message, request_body, scope).finally(settleUse),
          ended: undefined,
        };
    const settled = () => {
      if (call.only_waited) return;
      // At 400 the SDK checked only the form of the message.
      enter(response.status === 400 ? REFUSED : servers.actionOf(call), call.error);
    };
    // A streamed answer ends after this.
    const over = ended ?? call.work ?? Promise.resolve();
    void over.finally(settleUse).then(settled, settled);
    return response;
  };

  return async (request, scope) => {
    const foreign = options.foreignSource(request);
    if (foreign) return refuseSource(foreign, scope);
    // A body that is not UTF-8 is refused only after the credential (§9.4.2).
    const text = await bodies.read(scope).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "invalid_json") return error;
      throw error;
    });
    const ctx = await createContext(scope, null, false, true);
    return scope.credential.confirm(answer(request, scope, ctx, text));
  };

  /** Logs the refusal, so that the person sees why their agent fails. The address is probably wrong. */
  async function refuseSource(error: ServiceError, scope: RequestScope): Promise<never> {
    const ctx = await createContext(scope, null, false).catch(() => null);
    if (ctx?.caller?.kind === "key") {
      scope.charges.charge();
      scope.ended({ action: REFUSED, host: ctx.host, error }, { client: null });
    }
    throw error;
  }
}

/** Identifies a request of a session, so that a notification can cancel it; null without a session. */
function cancelId({ headers }: Request, request_id: unknown): string | null {
  const session = headers.get("mcp-session-id");
  return session && JSON.stringify([session, request_id]);
}

/** The id of a refused request, or null if it is unreadable or too long to repeat. */
function idOf(body: unknown): unknown {
  const id = typeof body === "object" && body !== null && "id" in body ? body.id : null;
  if (typeof id === "string") return id.length > LIMITS.rpc_text ? null : id;
  return typeof id === "number" ? id : null;
}

function headersOf(scope: RequestScope): Record<string, string> {
  return { ...API_HEADERS, ...scope.charges.quota()?.headers };
}
