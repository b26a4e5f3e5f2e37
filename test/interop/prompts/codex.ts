/** Codex, in a terminal. */

import { join } from "node:path";
import type { Client } from "../client.ts";
import { startOpenAi } from "../models/openai.ts";
import {
  type CodingAgent,
  connectAgent,
  hookCommand,
  type Place,
  runPageLines,
  tryPrompts,
  waitQuery,
} from "../prompt-cases.ts";
import { startInTerminal } from "../terminal.ts";

const VERSION = "0.169.0";

const configOf = ({ project, model_url }: Place): string => `
model = "gpt-5.1-codex"
model_provider = "standin"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[model_providers.standin]
name = "standin"
base_url = "${model_url}/v1"
wire_api = "responses"
env_key = "STANDIN_KEY"
[projects."${project}"]
trust_level = "trusted"
[tui]
screen_reader_detection_done = true
`;

/** Its input names the event. */
const hooksOf = (command: string): string =>
  ["PermissionRequest", "PostToolUse"]
    .map(
      (event) => `
[[hooks.${event}]]
matcher = "*"
[[hooks.${event}.hooks]]
type = "command"
command = "${command}"
timeout = 600
`,
    )
    .join("");

/** How it is set up: by `relay connect`, by the hook command, or by the lines of the page. */
type SetUpBy = "connect" | "command" | "page";

const agentOf = (by: SetUpBy): CodingAgent => ({
  client: "codex",
  asks_meanwhile: false,
  startModel: startOpenAi,
  callOf: (cmd) => ({
    name: "exec_command",
    input: { cmd, sandbox_permissions: "require_escalated", justification: "Make a file" },
  }),
  inBackground: (call) => call,
  prompt: "Would you like to run the following command?",
  yes: "y",
  no: "\u001b",
  async start(place: Place, prompt: string) {
    const { bin, home, project } = place;
    const path = join(home, ".codex/config.toml");
    const hooks = by === "command" ? hooksOf(hookCommand("codex", place)) : "";
    await Bun.write(path, configOf(place) + hooks);
    if (by !== "command") {
      if (by === "page") await runPageLines("Codex", place);
      else await connectAgent("codex", place);
      const written = await Bun.file(path).text();
      const key = by === "page" ? "" : 'bearer_token_env_var = "RELAY_KEY"';
      const end = '/mcp?tools=approve"';
      await Bun.write(
        path,
        written.replace(end, `${end.slice(0, -1)}${waitQuery(place)}"\n${key}`),
      );
    }
    const env = { ...place.env, STANDIN_KEY: "none" };
    const flags = ["--no-daemon", "--no-alt-screen", "--dangerously-bypass-hook-trust"];
    return startInTerminal([join(bin, "codex"), ...flags, prompt], { cwd: project, env });
  },
});

const clientOf = (name: string, by: SetUpBy): Client => ({
  name,
  surface: "prompts",
  needs: ["npm", "chromium"],
  async run(context) {
    await context.exec(["npm", "install", "--no-audit", "--no-fund", `@openai/codex@${VERSION}`]);
    return { version: VERSION, checks: await tryPrompts(context, agentOf(by)) };
  },
});

export const clients = [
  clientOf("Codex", "connect"),
  clientOf("Codex with the page's lines", "page"),
  clientOf("Codex with `relay hook`", "command"),
];
