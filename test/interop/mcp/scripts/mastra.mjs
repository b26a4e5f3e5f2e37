/** Mastra. */

import { MCPClient } from "@mastra/mcp";
import { flow, headers, texts, url } from "./flow.mjs";

const client = new MCPClient({
  servers: { relay: { url: new URL(url), requestInit: { headers } } },
});
const tools = await client.listTools();
await flow(
  async () => Object.keys(tools),
  async (name, args, signal) => {
    const result = await tools[`relay_${name}`].execute(args, { abortSignal: signal });
    if (result.error || result.isError) {
      return { text: result.message ?? texts(result.content ?? []), data: null };
    }
    return { text: "", data: result.structuredContent ?? result };
  },
);
process.exit();
