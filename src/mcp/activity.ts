/** The `action` of an MCP request in the activity log (docs/interface.md 15). */

import type { Message, Refused } from "./message.ts";
import type { McpServers } from "./server.ts";
import type { Tools } from "./tools.ts";

/** The `action` of a request that was refused before its method was read. */
export const REFUSED = "POST /mcp";

/** The `action` of a request: one of our own names, never text that was sent. */
export function actionOf(
  message: Pick<Message, "method" | "modern" | "params"> | Refused,
  servers: McpServers,
  tools: Tools,
): string {
  if (!("method" in message)) return REFUSED;
  if (!servers.has(message)) return "unknown method";
  const { method, params } = message;
  const name = params.name as string;
  return method === "tools/call" && tools.has(name) ? name : method;
}
