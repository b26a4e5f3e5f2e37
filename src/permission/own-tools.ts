/** Which tools are those of Relay's own MCP server: the person is not asked to permit their use. */

/** The tools of Relay's MCP server (docs/interface.md §12.3.1), and `approve_action`. */
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
 * Whether a tool is one of Relay's own. `server`: the name that the client has for Relay. Other
 * servers have tools with the same names, so the server's name decides: a client puts it before the
 * tool's, as in `mcp__relay__create_task`, with `_` for characters that a tool's name may not have.
 */
export function isOwnTool(tool: string, server: string): boolean {
  const prefix = `mcp__${server.replace(/[^\w-]/g, "_")}__`;
  return tool.startsWith(prefix) && OWN_TOOLS.has(tool.slice(prefix.length));
}

/** The same for a client that sends the names of a tool and its server apart. */
export const isOwnToolOf = (named: string, tool: string, server = USUAL_SERVER): boolean =>
  named === server && OWN_TOOLS.has(tool);
