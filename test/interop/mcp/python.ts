/** MCP clients in Python: the official SDK, and agent frameworks. */

import type { Client } from "../client.ts";
import { copyScripts, tryClient } from "../mcp-client.ts";

const toClient = ([name, requirement, script]: readonly [string, string, string]): Client => ({
  name,
  surface: "mcp",
  needs: ["python3"],
  async run(context) {
    await context.exec(["python3", "-m", "venv", "."]);
    const quiet = ["--quiet", "--disable-pip-version-check"];
    await context.exec(["bin/pip", "install", ...quiet, requirement]);
    await copyScripts(context, "flow.py", script);
    const checks = await tryClient(context, ["bin/python", script]);
    return { version: requirement.replace(/^.*==/, ""), checks };
  },
});

export const clients: readonly Client[] = (
  [
    ["Python SDK", "mcp==2.3.0", "sdk.py"],
    ["FastMCP", "fastmcp-slim[client]==4.2.1", "fastmcp_client.py"],
    ["LangChain adapters (Python)", "langchain-mcp-adapters==0.3.2", "langchain_client.py"],
    ["OpenAI Agents (Python)", "openai-agents==0.24.0", "openai_agents.py"],
    ["Pydantic AI", "pydantic-ai-slim[mcp]==2.68.0", "pydantic_ai_client.py"],
  ] as const
).map(toClient);
