/** A permission hook: a call of `approve_action` over a real socket, whose response is read as it arrives. */

import { openStore } from "../../db/store/open.ts";
import { p, sql } from "../../db/store/sql.ts";
import { rowOf, statement } from "../../db/store/statement.ts";
import { systemClock } from "../../src/clock.ts";
import type { Person } from "./client.ts";
import { CLIENT, envelope, NEW_ERA } from "./mcp.ts";
import { until } from "./until.ts";

interface HookOptions {
  readonly era?: "old" | "new";
  /** The address's query, after `?tools=approve`. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: number;
}

/** What a client sends for a command, as Claude Code's hook fills it in. */
export const commandOf = (command: string, more: object = {}) => ({
  event: "PermissionRequest",
  session_id: "session-1",
  prompt_id: "prompt-1",
  cwd: "/home/ann/app",
  tool_name: "Bash",
  tool_input: JSON.stringify({ command }),
  permission_suggestions: "",
  ...more,
});

/** Begins a call; resolves once the headers of its response have arrived. */
export async function callHook(
  url: string,
  secret: string,
  args: object,
  { era = "old", query = "", headers = {}, id = 1 }: HookOptions = {},
) {
  const gone = new AbortController();
  const params = { name: "approve_action", arguments: args };
  const modern = era === "new";
  const response = await fetch(`${url}/mcp?tools=approve${query}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": modern ? NEW_ERA : "2025-11-25",
      ...(modern && { "mcp-method": "tools/call", "mcp-name": params.name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: modern ? { ...params, _meta: envelope(CLIENT) } : params,
    }),
    signal: gone.signal,
  });
  let received = "";
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const chunk of response.body ?? []) received += decoder.decode(chunk);
    const streamed = response.headers.get("content-type") === "text/event-stream";
    const data = streamed ? /^data: (.+)$/m.exec(received)?.[1] : received;
    return data ? JSON.parse(data) : null;
  };
  const message: Promise<any> = read().catch(() => null);
  return {
    response,
    /** Bytes of the response so far. */
    received: () => received,
    /** The JSON-RPC message; null if there is none. */
    message,
    /** The text of the result. */
    text: message.then((given): string => given?.result?.content[0].text ?? `none: ${received}`),
    leave: () => gone.abort(),
  };
}

const readCalls = statement(
  sql`select action_calls || ' ' || (action_left & 7) from questions where id = ${p("id")}`,
  { returns: rowOf<[calls: string]>() },
);

/**
 * Returns a function that reads how many calls have asked a question of this store, and how many of them have
 * gone: sums such as `3 1` for two calls of which the first has gone. No request shows them.
 */
export async function openCallSums(database_url: string) {
  const store = await openStore({ url: database_url, auth_token: undefined }, systemClock);
  return async (id: string) => (await store.read(readCalls({ id })))[0]?.[0];
}

interface Asked {
  readonly person: Pick<Person, "send">;
}

/** The account's questions with this status. */
export const list = async ({ person }: Asked, status = "pending"): Promise<any[]> =>
  (await person.send(`GET /v1/questions?status=${status}`)).body.questions;

/** The account's pending questions, once there are this many. */
export const pending = (asked: Asked, count: number): Promise<any[]> =>
  until(async () => {
    const found = await list(asked);
    return found.length === count && found;
  });

/** Answers a question as the person. */
export const answer = ({ person }: Asked, id: string, body: object) =>
  person.send(`POST /v1/questions/${id}/answer`, body);
