/** Recognizes the tools of Relay's own MCP server, whose use needs no permission. */

/** The tools of Relay's MCP server (§12.3.1), and `approve_action`. */
export const OWN_TOOLS: ReadonlySet<string> = new Set([
  "list_tasks",
  "create_task",
  "get_task",
  "update_task",
  "delete_task",
  "list_questions",
  "ask_question",
  "get_question",
  "cancel_question",
  "read_inbox",
  "send_message",
  "list_agents",
  "approve_action",
]);

/** The name that `relay connect` gives Relay's server in a client's settings. */
export const USUAL_SERVER = "relay";

/**
 * True if a tool is one of Relay's own. `server`: the client's name for Relay. Other servers have tools with the same
 * names, so a client puts the name of the server before, as in `mcp__relay__create_task`, with `_` for characters that
 * a tool's name may not have.
 */
export function isOwnTool(tool: string, server: string): boolean {
  const prefix = `mcp__${server.replace(/[^\w-]/g, "_")}__`;
  return tool.startsWith(prefix) && OWN_TOOLS.has(tool.slice(prefix.length));
}

/** True if a tool is one of Relay's own, for a client that sends the names of tool and server separately. */
export const isOwnToolOf = (named: string, tool: string, server = USUAL_SERVER): boolean =>
  named === server && OWN_TOOLS.has(tool);
