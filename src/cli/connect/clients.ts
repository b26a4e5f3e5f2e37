/** The configuration files of each MCP client, and the entries that connect it to Relay. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the clients fill them in.

import { isIP } from "node:net";
import { join } from "node:path";
import { bareName, isLoopback } from "../../loopback.ts";
import type { Io } from "../io.ts";
import { systemFolder } from "../settings.ts";
import { type Format, isObject, type Path, type Value, valueAt } from "./format.ts";
import { json } from "./json.ts";
import { toml } from "./toml.ts";

export const CLIENTS = ["claude", "codex", "gemini", "cursor", "vscode"] as const;
export type ClientName = (typeof CLIENTS)[number];

/** One entry of Relay in a configuration file. */
export interface Piece {
  /** Path of the member, or of the array that gets the element. */
  readonly path: Path;
  readonly as: "member" | "element";
  readonly value: Value;
  /** True if a value found in the file is Relay's. */
  readonly isOurs: (value: unknown) => boolean;
  /** True if another entry of the file also needs it. */
  readonly isUsed?: (root: unknown) => boolean;
}

/** A configuration file with its format, and the pieces that belong in it. */
export interface Place {
  readonly file: string;
  readonly format: Format;
  readonly pieces: readonly Piece[];
  /** Connecting removes the pieces, and never adds them: another place has them. */
  readonly is_replaced?: true;
}

/** How to connect a client. */
interface SetUp {
  readonly places: readonly Place[];
  /** Steps that are left to the person, one per line. */
  readonly next: readonly string[];
}

type Machine = Pick<Io, "env" | "platform" | "home" | "host">;

/** True if the server at this base address offers OAuth (§18.1.4). */
export function offersSignIn(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  if (isLoopback(hostname)) return true;
  return protocol === "https:" && isIP(bareName(hostname)) === 0 && !hostname.startsWith("[");
}

/** True if an entry is an HTTP server at `/mcp`. */
function isServer(value: unknown): boolean {
  if (!isObject(value) || "command" in value) return false;
  const { url = value.httpUrl } = value;
  return (
    typeof url === "string" && URL.canParse(url) && /^https?:.*\/mcp\/?$/.test(url.split("?")[0]!)
  );
}

const isOurHook = (hook: unknown): boolean =>
  isObject(hook) &&
  hook.type === "mcp_tool" &&
  hook.server === "relay" &&
  hook.tool === "approve_action";

/** True if a group of hooks contains one of Relay's. */
const hasOurHook = (group: unknown): boolean =>
  isObject(group) && Array.isArray(group.hooks) && group.hooks.some(isOurHook);

/** Indexes of Relay's hooks in a group that also has others; null if all or none are Relay's. */
export function ourHooks(group: unknown): number[] | null {
  const hooks = isObject(group) && Array.isArray(group.hooks) ? group.hooks : [];
  const ours = [...hooks.keys()].filter((n) => isOurHook(hooks[n]));
  return ours.length === 0 || ours.length === hooks.length ? null : ours;
}

const place = (file: string, format: Format, pieces: readonly Piece[]): Place => ({
  file,
  format,
  pieces,
});

const server = (section: string, value: Value): Piece => ({
  path: [section, "relay"],
  as: "member",
  value,
  isOurs: isServer,
});

/** Time limits of hooks in seconds: for the person's answer, and to report what happened. */
const [ANSWER_WITHIN, REPORT_WITHIN] = [600, 10];

/** A hook that passes the named fields of its event to Relay, over the client's own MCP connection. */
function hook(event: string, fields: readonly string[], timeout: number): Piece {
  const input = Object.fromEntries(fields.map((name) => [name, `\${${name}}`]));
  return {
    path: ["hooks", event],
    as: "element",
    value: {
      matcher: "*",
      hooks: [
        {
          type: "mcp_tool",
          server: "relay",
          tool: "approve_action",
          timeout,
          input: { event: "${hook_event_name}", ...input },
        },
      ],
    },
    isOurs: hasOurHook,
  };
}

const CLAUDE_FIELDS = ["session_id", "prompt_id", "cwd", "tool_name", "tool_input"];
const CLAUDE_HOOKS: readonly Piece[] = [
  hook(
    "PermissionRequest",
    [...CLAUDE_FIELDS, "permission_suggestions", "agent_id"],
    ANSWER_WITHIN,
  ),
  // Withdraws a question that was answered in the terminal.
  hook("PostToolUse", [...CLAUDE_FIELDS, "agent_id"], REPORT_WITHIN),
];
const CODEX_HOOKS = [
  hook(
    "PermissionRequest",
    ["session_id", "turn_id", "cwd", "tool_name", "tool_input"],
    ANSWER_WITHIN,
  ),
];

/** Reads the key from an environment variable, so that no file contains it. */
const BY_VARIABLE = { Authorization: "Bearer ${RELAY_KEY}" };
const SET_KEY =
  "Create a key on the server's web page, and set RELAY_KEY to it where the client starts";

interface ConnectOptions {
  /** Address of the MCP server. */
  readonly mcp: string;
  /** True if the client's permission prompts are sent to the person through Relay. */
  readonly approve: boolean;
  /** True if the server offers OAuth. */
  readonly has_sign_in: boolean;
}

type MakeSetUp = (machine: Machine, options: ConnectOptions) => SetUp;

const claude: MakeSetUp = ({ env, home, host }, { mcp, approve, has_sign_in }) => {
  const { CLAUDE_CONFIG_DIR: folder } = env;
  const headers = { ...(!has_sign_in && BY_VARIABLE), "X-Agent-Host": host };
  const entry = { type: "http", url: mcp, headers };
  const settings = folder || join(home, ".claude");
  const hooks = join(settings, "settings.json");
  const plugin = join(settings, "skills", "relay", ".claude-plugin", "plugin.json");
  return {
    places: [
      place(join(folder || home, ".claude.json"), json, [server("mcpServers", entry)]),
      ...(approve
        ? [
            place(hooks, json, CLAUDE_HOOKS),
            // The plugin that the page's lines write has the same hooks, which would ask a second time.
            { ...place(plugin, json, CLAUDE_HOOKS), is_replaced: true as const },
          ]
        : []),
    ],
    next: [
      has_sign_in ? "Run: claude mcp login relay" : SET_KEY,
      "Start Claude Code. A session that is already open needs a restart",
    ],
  };
};

const codex: MakeSetUp = ({ env, home }, { mcp, approve, has_sign_in }) => {
  const entry = { url: mcp, ...(!has_sign_in && { bearer_token_env_var: "RELAY_KEY" }) };
  const pieces = [server("mcp_servers", entry), ...(approve ? CODEX_HOOKS : [])];
  const trust = approve ? ". It asks whether to trust the new hook" : "";
  return {
    places: [place(join(env.CODEX_HOME || join(home, ".codex"), "config.toml"), toml, pieces)],
    next: [has_sign_in ? "Run: codex mcp login relay" : SET_KEY, `Start Codex${trust}`],
  };
};

const gemini: MakeSetUp = ({ env, home, host }, { mcp, has_sign_in }) => {
  const headers = { ...(!has_sign_in && BY_VARIABLE), "X-Agent-Host": host };
  const pieces = [server("mcpServers", { url: mcp, type: "http", headers })];
  return {
    places: [place(join(env.GEMINI_CLI_HOME || home, ".gemini", "settings.json"), json, pieces)],
    next: [
      ...(has_sign_in ? [] : [SET_KEY]),
      `Start Gemini CLI in a folder that you trust${has_sign_in ? ", and run: /mcp auth relay" : ""}`,
    ],
  };
};

/** Cursor's redirect address has a scheme of its own, which Relay refuses (§18.3.3), so it needs a key. */
const cursor: MakeSetUp = ({ home }, { mcp }) => {
  const headers = { Authorization: "Bearer ${env:RELAY_KEY}" };
  const pieces = [server("mcpServers", { url: mcp, headers })];
  return {
    places: [place(join(home, ".cursor", "mcp.json"), json, pieces)],
    next: [SET_KEY, "In Cursor's settings, under MCP, turn on relay"],
  };
};

/** VS Code asks for the key and stores it. */
const vscode: MakeSetUp = (machine, { mcp, has_sign_in }) => {
  const headers = { Authorization: "Bearer ${input:relay-key}" };
  const input: Piece = {
    path: ["inputs"],
    as: "element",
    value: { type: "promptString", id: "relay-key", description: "Relay key", password: true },
    isOurs: (value) => isObject(value) && value.id === "relay-key",
    isUsed: (root) => {
      const { relay: _, ...others } = (valueAt(root, ["servers"]) ?? {}) as object & {
        relay?: unknown;
      };
      return JSON.stringify(others).includes("${input:relay-key}");
    },
  };
  const entry = { type: "http", url: mcp, ...(!has_sign_in && { headers }) };
  const pieces = [server("servers", entry), ...(has_sign_in ? [] : [input])];
  const key = has_sign_in ? "" : ". It asks for a key, which you create on the server's web page";
  const { VSCODE_PORTABLE: portable } = machine.env;
  const folder = portable ? join(portable, "user-data") : join(systemFolder(machine), "Code");
  return {
    places: [place(join(folder, "User", "mcp.json"), json, pieces)],
    next: [`In VS Code, run MCP: List Servers, and start relay${key}`],
  };
};

const MAKE: Readonly<Record<ClientName, MakeSetUp>> = { claude, codex, gemini, cursor, vscode };

/** Clients that can send their permission prompts to the person through Relay. */
export const APPROVING: readonly ClientName[] = ["claude", "codex"];

/** How to connect a client to the server at a base address. */
export const setUpOf = (
  client: ClientName,
  machine: Machine,
  url: string,
  approve: boolean,
): SetUp =>
  MAKE[client](machine, {
    mcp: `${url}/mcp${approve ? "?tools=approve" : ""}`,
    approve,
    has_sign_in: offersSignIn(url),
  });

/** Every place where `connect` may have added something for a client; the values do not matter. */
export const placesOf = (client: ClientName, machine: Machine): readonly Place[] =>
  setUpOf(client, machine, "http://192.0.2.1", true).places;
