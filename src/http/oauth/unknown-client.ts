/** What a person reads when a program uses a registration that this server does not know (docs/interface.md §18.4.5). */

/** How each program forgets its registration and signs in again; most do so by themselves after `invalid_client`. */
const STEPS = [
  [
    "Claude Code",
    "Enter /mcp, choose relay, then Clear authentication, then Authenticate. If that is not offered: claude mcp remove relay, and add it again.",
  ],
  ["Codex", "codex mcp logout relay, then codex mcp login relay."],
  ["Gemini CLI", "Enter /mcp auth relay."],
  [
    "Cursor",
    "In the settings under MCP, log relay out, or remove it and add it again. Then connect.",
  ],
  [
    "VS Code",
    "Run the command Authentication: Remove Dynamic Authentication Providers, choose this address, and start the server again.",
  ],
  ["mcp-remote", "Delete the folder .mcp-auth in your home directory, and start it again."],
  ["relay", "relay login with this address."],
  ["Any other", "Remove the server there, and add it again."],
] as const;

export const UNKNOWN_CLIENT = {
  title: "This program must register again",
  text: "The client_id of the program is not known here. That is so after Relay's data was replaced, or if another server had this address. Have the program forget its sign-in, and start again:",
  steps: STEPS,
  back: null,
  status: 400,
};
