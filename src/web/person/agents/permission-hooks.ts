/** Lines with which Claude Code and Codex also ask through Relay before they run something, as docs/permissions.md has them. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the clients fill them in.

/** Seconds that a hook waits for the person's answer, and for Relay to note that a tool was used. */
const [ANSWER_WITHIN, REPORT_WITHIN] = [600, 10];

/** The hook of an event, which passes these fields to Relay over the client's own MCP connection. */
const hookOf = (fields: readonly string[], timeout: number) => ({
  type: "mcp_tool",
  server: "relay",
  tool: "approve_action",
  timeout,
  input: Object.fromEntries([
    ["event", "${hook_event_name}"],
    ...fields.map((name) => [name, `\${${name}}`]),
  ]) as Record<string, string>,
});

const CLAUDE_FIELDS = ["session_id", "prompt_id", "cwd", "tool_name", "tool_input"];

const claudeHook = (fields: readonly string[], timeout: number): string =>
  JSON.stringify([{ matcher: "*", hooks: [hookOf([...fields, "agent_id"], timeout)] }]);

/**
 * The lines that write a plugin into the folder whose plugins Claude Code loads by itself. It has only the hooks, as
 * `relay connect` writes them: they use the MCP server that the person has added. Where the settings have such hooks, the
 * plugin would ask a second time.
 */
export const CLAUDE_HOOKS = `folder=\${CLAUDE_CONFIG_DIR:-$HOME/.claude}
mkdir -p "$folder/skills/relay/.claude-plugin"
grep -qs approve_action "$folder/settings.json" ||
cat > "$folder/skills/relay/.claude-plugin/plugin.json" <<'END'
{"name": "relay", "description": "Asks through Relay before Claude Code runs something", "hooks": {
"PermissionRequest": ${claudeHook([...CLAUDE_FIELDS, "permission_suggestions"], ANSWER_WITHIN)},
"PostToolUse": ${claudeHook(CLAUDE_FIELDS, REPORT_WITHIN)}
}}
END`;

const codexInput = Object.entries(
  hookOf(["session_id", "turn_id", "cwd", "tool_name", "tool_input"], ANSWER_WITHIN).input,
)
  .map(([name, value]) => `${name} = "${value}"`)
  .join(", ");

/** The lines that add the hook to Codex's configuration, unless it is there. */
export const CODEX_HOOK = `file=\${CODEX_HOME:-$HOME/.codex}/config.toml
grep -qs approve_action "$file" || cat >> "$file" <<'END'

[[hooks.PermissionRequest]]
matcher = "*"

[[hooks.PermissionRequest.hooks]]
type = "mcp_tool"
server = "relay"
tool = "approve_action"
timeout = ${ANSWER_WITHIN}
input = { ${codexInput} }
END`;
