/** MCP messages as plain HTTP, in both eras, for tests that examine every byte of a response. */

import { expect } from "bun:test";
import type { App } from "../../src/app.ts";
import type { ActivityEntry } from "../../src/model/request-log.ts";
import type { Agent, Person } from "./client.ts";
import type { TestClock } from "./clock.ts";
import { apart, expand } from "./entries.ts";
import { until } from "./until.ts";

export interface McpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON-RPC response; null if there is none. */
  readonly body: any;
  /** Notifications that arrived before it. */
  readonly notes: any[];
  readonly text: string;
}

interface McpOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly id?: string | number;
  /** The address's query, with its question mark. */
  readonly query?: string;
}

interface Pair {
  readonly person: Person;
  readonly agent: Agent;
}

export const CLIENT = { name: "test-client", version: "1.2.3" };
export const NEW_ERA = "2026-07-28";

/** What every request of the new era carries. */
export const envelope = (client: object | null = CLIENT, capabilities: object = {}) => ({
  "io.modelcontextprotocol/protocolVersion": NEW_ERA,
  "io.modelcontextprotocol/clientCapabilities": capabilities,
  ...(client && { "io.modelcontextprotocol/clientInfo": client }),
});

/** Posts a body as it is. */
export async function post(
  url: string,
  credential: string | null,
  body: string | Uint8Array<ArrayBuffer>,
  { headers, signal, query = "" }: McpOptions = {},
): Promise<McpAnswer> {
  const response = await fetch(`${url}/mcp${query}`, {
    method: "POST",
    headers: {
      ...(credential !== null && { authorization: `Bearer ${credential}` }),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body,
    ...(signal && { signal }),
  });
  const text = await response.text();
  const streamed = response.headers.get("content-type")?.startsWith("text/event-stream");
  const frames = streamed
    ? text
        .split("\n\n")
        .map((frame) => /^data: (.+)$/m.exec(frame)?.[1])
        .filter((data) => data !== undefined)
        .map((data) => JSON.parse(data))
    : [];
  return {
    status: response.status,
    headers: response.headers,
    body: streamed ? (frames.find((frame) => "id" in frame) ?? null) : text && JSON.parse(text),
    notes: frames.filter((frame) => !("id" in frame)),
    text,
  };
}

export type Rpc = ReturnType<typeof oldEra>;

/** Requests of the old era, without a session unless a header names one. */
export const oldEra =
  (url: string, credential: string) =>
  (method: string, params?: object, options: McpOptions = {}): Promise<McpAnswer> =>
    post(
      url,
      credential,
      JSON.stringify({ jsonrpc: "2.0", id: options.id ?? 1, method, ...(params && { params }) }),
      { ...options, headers: { "mcp-protocol-version": "2025-11-25", ...options.headers } },
    );

/** Requests of the new era. */
export const newEra =
  (url: string, credential: string, client: object | null = CLIENT, capabilities: object = {}) =>
  (method: string, params: any = {}, options: McpOptions = {}): Promise<McpAnswer> => {
    const name = params.name ?? params.uri;
    const full = { ...params, _meta: { ...envelope(client, capabilities), ...params._meta } };
    return post(
      url,
      credential,
      JSON.stringify({ jsonrpc: "2.0", id: options.id ?? 1, method, params: full }),
      {
        ...options,
        headers: {
          "mcp-protocol-version": NEW_ERA,
          "mcp-method": method,
          ...(typeof name === "string" && { "mcp-name": encodeURI(name) }),
          ...options.headers,
        },
      },
    );
  };

/** Begins a session; returns its id, and a caller that sends the id. */
export async function openSession(url: string, credential: string, client: object = CLIENT) {
  const send = oldEra(url, credential);
  const answer = await send("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: client,
  });
  const id = answer.headers.get("mcp-session-id")!;
  const rpc: Rpc = (method, params, options = {}) =>
    send(method, params, { ...options, headers: { "mcp-session-id": id, ...options.headers } });
  return { id, answer, rpc };
}

/** Calls a tool and returns its result. */
export async function callTool(rpc: Rpc, name: string, args: object = {}, more: object = {}) {
  const { body } = await rpc("tools/call", { name, arguments: args, ...more });
  if (!body.result) throw new Error(`no result: ${JSON.stringify(body)}`);
  return body.result;
}

/** Moves time until the only waiting request has ended, and its client has not begun another. */
export async function advanceUntilEnded(
  { waits }: Pick<App, "waits">,
  clock: TestClock,
  seconds: number,
): Promise<void> {
  await until(() => waits.count() === 1);
  await until(async () => {
    await clock.advance(seconds);
    return waits.count() === 0;
  });
}

/**
 * Returns a function that reads the entries of a key's request log since its last call, oldest first. It sends
 * its own request after them, so an entry missing by then never comes.
 */
export function requestLogReader(clock: TestClock, { person, agent }: Pair) {
  /** How many requests each entry had counted. */
  const seen = new Map<string, number>();
  return async (): Promise<Omit<ActivityEntry, "count" | "last_at">[]> => {
    await clock.advance(0.001);
    const at = clock.now();
    await agent.send("GET /v1/tasks/last-one", undefined, apart());
    await clock.advance(0.1);
    const all = await until(async () => {
      const { body } = await person.send(`GET /v1/keys/${agent.key.id}/activity?limit=100`);
      return body.items[0]?.at === at && (body.items.reverse() as ActivityEntry[]);
    });
    seen.set(all.at(-1)!.id, 1);
    return all.flatMap((entry) => {
      const counted = seen.get(entry.id);
      seen.set(entry.id, entry.count);
      return expand(entry, counted);
    });
  };
}

/** Sends the first message of Claude Code on this host, as an MCP client of the key. */
export async function initializeOn(url: string, key: string, host: string) {
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "claude-code", version: "2.1.197" },
  };
  const answer = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-agent-host": host,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
}
