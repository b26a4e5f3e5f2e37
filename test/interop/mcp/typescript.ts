/** MCP clients in JavaScript: the official SDKs, and agent frameworks. */

import type { Client } from "../client.ts";
import { copyScripts, tryClient } from "../mcp-client.ts";

interface Script {
  readonly name: string;
  /** What npm installs; the first version is shown. */
  readonly packages: readonly string[];
  readonly script: string;
  readonly mode?: string;
}

const toClient = ({ name, packages, script, mode }: Script): Client => ({
  name,
  surface: "mcp",
  needs: ["npm", "node"],
  async run(context) {
    await context.write("package.json", '{ "type": "module" }');
    await context.exec(["npm", "install", "--no-audit", "--no-fund", ...packages]);
    await copyScripts(context, "flow.mjs", script);
    const checks = await tryClient(context, ["node", script, ...(mode ? [mode] : [])]);
    return { version: packages[0]!.replace(/^.*@/, ""), checks };
  },
});

const SDK_2 = ["@modelcontextprotocol/client@2.4.0"];

export const clients: readonly Client[] = [
  {
    name: "TypeScript SDK 1.x",
    packages: ["@modelcontextprotocol/sdk@1.32.2"],
    script: "sdk1.mjs",
  },
  {
    name: "TypeScript SDK 2.x, older versions",
    packages: SDK_2,
    script: "sdk2.mjs",
    mode: "legacy",
  },
  { name: "TypeScript SDK 2.x, negotiating", packages: SDK_2, script: "sdk2.mjs", mode: "auto" },
  { name: "TypeScript SDK 2.x, 2026-07-28", packages: SDK_2, script: "sdk2.mjs", mode: "pinned" },
  { name: "AI SDK", packages: ["ai@7.0.173", "@ai-sdk/mcp@2.0.99"], script: "ai-sdk.mjs" },
  {
    name: "LangChain adapters (JavaScript)",
    packages: ["@langchain/mcp-adapters@1.1.4", "@langchain/core@1"],
    script: "langchain.mjs",
  },
  {
    name: "OpenAI Agents (JavaScript)",
    packages: ["@openai/agents@0.20.0", "@modelcontextprotocol/client@2", "zod@4"],
    script: "openai-agents.mjs",
  },
  {
    name: "Mastra",
    packages: ["@mastra/mcp@2.0.0", "@mastra/core@1", "zod@4"],
    script: "mastra.mjs",
  },
].map(toClient);
