/** The tools of Relay's own MCP server: the person is not asked to permit their use. */
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
