/** Setup instructions for each MCP client, as docs/clients.md and docs/permissions.md have them. */

import { CLAUDE_HOOKS, CODEX_HOOK } from "./permission-hooks.ts";

export interface Step {
  /** What to do, in a sentence. */
  readonly text: string;
  /** What to run, or to add to a file. */
  readonly code?: string;
}

export interface SetUp {
  readonly client: string;
  /**
   * Steps that give the client its key, in files of the user rather than of a project, which are
   * often committed. `base`: the base address. `asks`: true if the client is to ask the person through Relay before it
   * runs something, which only those with `relay_name` can.
   */
  readonly withKey: (base: string, key: string, asks?: boolean) => readonly Step[];
  /**
   * Steps without a key: the client opens a browser, where the person approves it. Or the reason why the client
   * cannot.
   */
  readonly withoutKey: (base: string, asks?: boolean) => readonly Step[];
  /** The client's name for `relay connect`, if its permission prompts can be sent to the person. */
  readonly relay_name?: "claude" | "codex";
}

/** Shown in place of the key where that is not known. */
export const KEY_PLACEHOLDER = "YOUR_KEY";

const json = (value: unknown): string => JSON.stringify(value, null, 2);

const inTerminal = (code: string): Step => ({ text: "Run in a terminal:", code });

const HOST_HEADER = '--header "X-Agent-Host: $(hostname)"';

/** The address of the MCP server as a shell reads it. `asks`: with the tool for permission hooks. */
const addressOf = (base: string, asks: boolean): string =>
  asks ? `'${base}/mcp?tools=approve'` : `${base}/mcp`;

/**
 * Lines that a shell reads as a whole before it runs them. A program that reads the terminal, as these clients do, would
 * take the lines that were pasted after its own.
 */
const together = (...lines: readonly string[]): string => `(\n${lines.join("\n")}\n)`;

/** `login`: what lets the person approve it; none with a key. */
function claudeLines(base: string, headers: string, login: string | null, asks = false): string {
  const add = `claude mcp add --scope user --transport http relay ${addressOf(base, asks)} ${headers}`;
  if (!asks) return login === null ? add : `${add}; ${login}`;
  // An entry without the tool may be there already, and would stay.
  const remove = "claude mcp remove --scope user relay 2>/dev/null";
  return together(remove, add, CLAUDE_HOOKS, ...(login === null ? [] : [login]));
}

function codexLines(base: string, options: string, asks = false): string {
  const add = `codex mcp add relay --url ${addressOf(base, asks)}${options}`;
  return asks ? together(add, CODEX_HOOK) : add;
}

const TRUST = " It asks once whether to trust the new hook.";

const VS_CODE_WHERE = "Run the command MCP: Open User Configuration, and add:";

export const SET_UPS: readonly SetUp[] = [
  {
    client: "Claude Code",
    relay_name: "claude",
    withKey: (base, key, asks) => [
      inTerminal(
        claudeLines(base, `--header "Authorization: Bearer ${key}" ${HOST_HEADER}`, null, asks),
      ),
      { text: "Start Claude Code. A session that is already open needs a restart." },
    ],
    withoutKey: (base, asks) => [
      inTerminal(claudeLines(base, HOST_HEADER, "claude mcp login relay", asks)),
      { text: "Your browser opens: approve it there. Then start Claude Code." },
    ],
  },
  {
    client: "Codex",
    relay_name: "codex",
    withKey: (base, key, asks) => [
      inTerminal(
        `export RELAY_KEY=${key}\n${codexLines(base, " --bearer-token-env-var RELAY_KEY", asks)}`,
      ),
      {
        text: `Codex reads the key from RELAY_KEY each time it starts: add the first line to ~/.zshrc or ~/.bashrc too.${asks ? TRUST : ""}`,
      },
    ],
    withoutKey: (base, asks) => [
      inTerminal(codexLines(base, "", asks)),
      { text: `Your browser opens: approve it there. Then start Codex.${asks ? TRUST : ""}` },
    ],
  },
  {
    client: "Gemini CLI",
    withKey: (base, key) => [
      inTerminal(
        `gemini mcp add --scope user --transport http --header "Authorization: Bearer ${key}" --header "X-Agent-Host: $(hostname)" relay ${base}/mcp`,
      ),
      { text: "Start Gemini CLI in a folder that you trust: it connects only in those." },
    ],
    withoutKey: (base) => [
      inTerminal(
        `gemini mcp add --scope user --transport http --header "X-Agent-Host: $(hostname)" relay ${base}/mcp`,
      ),
      { text: "Start Gemini CLI in a folder that you trust, and run:", code: "/mcp auth relay" },
      { text: "Your browser opens: approve it there." },
    ],
  },
  {
    client: "Cursor",
    withKey: (base, key) => [
      {
        text: "Add to ~/.cursor/mcp.json:",
        code: json({
          mcpServers: {
            relay: { url: `${base}/mcp`, headers: { Authorization: `Bearer ${key}` } },
          },
        }),
      },
      { text: "In Cursor's settings, under MCP, turn on relay." },
    ],
    withoutKey: () => [
      {
        text: "Cursor needs a key: it signs in through a cursor:// address, which Relay refuses.",
      },
    ],
  },
  {
    client: "VS Code",
    withKey: (base) => [
      {
        text: VS_CODE_WHERE,
        code: json({
          inputs: [
            { type: "promptString", id: "relay-key", description: "Relay key", password: true },
          ],
          servers: {
            relay: {
              type: "http",
              url: `${base}/mcp`,
              // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code fills it in.
              headers: { Authorization: "Bearer ${input:relay-key}" },
            },
          },
        }),
      },
      { text: "VS Code asks for the key when it starts the server: paste it there." },
    ],
    withoutKey: (base) => [
      {
        text: VS_CODE_WHERE,
        code: json({ servers: { relay: { type: "http", url: `${base}/mcp` } } }),
      },
      { text: "Start the server there, and approve it in your browser." },
    ],
  },
  {
    client: "Other / curl",
    withKey: (base, key) => [
      {
        text: "A program asks a question and waits for your answer:",
        code: `curl -s '${base}/v1/questions?wait=50' -H "Authorization: Bearer ${key}" -H "X-Agent-Host: $(hostname)" -H 'Content-Type: application/json' -d '{"prompt":"Can you see this question?"}'`,
      },
      {
        text: "An MCP client needs this address (streamable HTTP) and the header:",
        code: `${base}/mcp\nAuthorization: Bearer ${key}`,
      },
    ],
    withoutKey: (base) => [
      {
        text: "Give the client this address (streamable HTTP). It opens your browser: approve it there.",
        code: `${base}/mcp`,
      },
    ],
  },
];

/** Message to an agent that makes it ask its first question. */
export const FIRST_QUESTION =
  "Ask me through Relay whether I can see this question, and wait for my answer.";
