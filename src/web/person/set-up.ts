/** Setup instructions for each MCP client. */

export interface SetUp {
  readonly client: string;
  /** Where the text belongs. */
  readonly where: string;
  readonly text: (mcp_url: string, key: string) => string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

export const SET_UPS: readonly SetUp[] = [
  {
    client: "Claude Code",
    where: "Run in a terminal",
    text: (url, key) =>
      `claude mcp add --scope user --transport http relay ${url} --header "Authorization: Bearer ${key}" --header "X-Agent-Host: $(hostname)"`,
  },
  {
    client: "Codex",
    where: "Add to ~/.codex/config.toml",
    text: (url, key) =>
      `[mcp_servers.relay]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
  },
  {
    client: "Cursor",
    where: "Add to ~/.cursor/mcp.json",
    text: (url, key) =>
      json({ mcpServers: { relay: { url, headers: { Authorization: `Bearer ${key}` } } } }),
  },
  {
    client: "VS Code",
    where: "Add to .vscode/mcp.json",
    text: (url, key) =>
      json({
        servers: { relay: { type: "http", url, headers: { Authorization: `Bearer ${key}` } } },
      }),
  },
  {
    client: "Gemini CLI",
    where: "Run in a terminal",
    text: (url, key) =>
      `gemini mcp add --scope user --transport http --header "Authorization: Bearer ${key}" relay ${url}`,
  },
];

/** Base address for agents: `PUBLIC_URL` if configured, otherwise the address of this page. */
export function publicUrl(): string {
  const configured = document.querySelector<HTMLMetaElement>('meta[name="relay-url"]')?.content;
  return configured ?? new URL(".", document.baseURI).href.replace(/\/$/, "");
}
