/** Claude Code, in a terminal. */

import { join } from "node:path";
import type { Client } from "../client.ts";
import { startAnthropic } from "../models/anthropic.ts";
import { promptFor } from "../models/model.ts";
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

const VERSION = "2.1.330";

/** It asks once whether to use a key; its settings identify keys by their last characters. */
const MODEL_KEY = "standin-00000000000000000000";

/** As docs/cli.md shows it. */
const hooksOf = (command: string) =>
  Object.fromEntries(
    ["PermissionRequest", "PostToolUse"].map((event) => [
      event,
      [{ matcher: "*", hooks: [{ type: "command", command, timeout: 600 }] }],
    ]),
  );

/** How it is set up: by `relay connect`, by the hook command, or by the lines of the page. */
type SetUpBy = "connect" | "command" | "page";

const agentOf = (by: SetUpBy): CodingAgent => ({
  client: "claude_code",
  asks_meanwhile: true,
  startModel: startAnthropic,
  callOf: (command) => ({ name: "Bash", input: { command, description: "Make a file" } }),
  inBackground: (call) => ({
    name: "Agent",
    input: {
      description: "Make a file",
      prompt: promptFor([call]),
      subagent_type: "general-purpose",
    },
  }),
  prompt: "Do you want to proceed?",
  yes: "\r",
  no: "\u001b",
  async start(place: Place, prompt: string) {
    const { bin, home, project, key, model_url } = place;
    const path = join(home, ".claude.json");
    const state = {
      hasCompletedOnboarding: true,
      customApiKeyResponses: { approved: [MODEL_KEY.slice(-20)], rejected: [] },
      projects: { [project]: { hasTrustDialogAccepted: true } },
    };
    await Bun.write(path, JSON.stringify(state));
    if (by === "command") {
      const settings = JSON.stringify({ hooks: hooksOf(hookCommand("claude", place)) });
      await Bun.write(join(home, ".claude/settings.json"), settings);
    } else {
      if (by === "page") await runPageLines("Claude Code", place);
      else await connectAgent("claude", place);
      const written = await Bun.file(path).json();
      const { relay } = written.mcpServers;
      relay.url += waitQuery(place);
      relay.headers.Authorization = `Bearer ${key}`;
      await Bun.write(path, JSON.stringify(written));
    }
    const env = {
      ...place.env,
      ANTHROPIC_BASE_URL: model_url,
      ANTHROPIC_API_KEY: MODEL_KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    };
    // Otherwise it decides by itself in most cases.
    const command = [join(bin, "claude"), "--permission-mode", "default", prompt];
    return startInTerminal(command, { cwd: project, env });
  },
});

const clientOf = (name: string, by: SetUpBy): Client => ({
  name,
  surface: "prompts",
  needs: ["npm", "chromium"],
  async run(context) {
    await context.exec(["npm", "install", ...NPM_FLAGS, `@anthropic-ai/claude-code@${VERSION}`]);
    return { version: VERSION, checks: await tryPrompts(context, agentOf(by)) };
  },
});

const NPM_FLAGS = ["--no-audit", "--no-fund"];

export const clients = [
  clientOf("Claude Code", "connect"),
  clientOf("Claude Code with the page's lines", "page"),
  clientOf("Claude Code with `relay hook`", "command"),
];
