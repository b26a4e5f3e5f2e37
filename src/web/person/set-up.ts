/** How each MCP client is told of this server and of a key. */

export interface SetUp {
  readonly client: string;
  /** Where the text goes. */
  readonly where: string;
  readonly text: (mcp_url: string, key: string) => string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

export const SET_UPS: readonly SetUp[] = [
  {
    client: "Claude Code",
    where: "In a terminal",
    text: (url, key) =>
      `claude mcp add --scope user --transport http relay ${url} --header "Authorization: Bearer ${key}" --header "X-Agent-Host: $(hostname)"`,
  },
  {
    client: "Codex",
    where: "In ~/.codex/config.toml",
    text: (url, key) =>
      `[mcp_servers.relay]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
  },
  {
    client: "Cursor",
    where: "In ~/.cursor/mcp.json",
    text: (url, key) =>
      json({ mcpServers: { relay: { url, headers: { Authorization: `Bearer ${key}` } } } }),
  },
  {
    client: "VS Code",
    where: "In .vscode/mcp.json",
    text: (url, key) =>
      json({
        servers: { relay: { type: "http", url, headers: { Authorization: `Bearer ${key}` } } },
      }),
  },
  {
    client: "Gemini CLI",
    where: "In a terminal",
    text: (url, key) =>
      `gemini mcp add --scope user --transport http --header "Authorization: Bearer ${key}" relay ${url}`,
  },
];

/** What agents reach this server by: as it was configured, else where this page came from. */
export function publicUrl(): string {
  const told = document.querySelector<HTMLMetaElement>('meta[name="relay-url"]')?.content;
  return told ?? new URL(".", document.baseURI).href.replace(/\/$/, "");
}
