/** LangChain's adapters for JavaScript. */

import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { flow, headers, url } from "./flow.mjs";

const client = new MultiServerMCPClient({
  mcpServers: { relay: { transport: "http", url, headers } },
});
const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
await flow(
  async () => [...tools.keys()],
  async (name, args, signal) => {
    const result = await tools.get(name).invoke(args, { signal });
    const parts = [result].flat();
    return { text: parts.map((part) => part.text ?? String(part)).join("\n"), data: null };
  },
);
process.exit();
