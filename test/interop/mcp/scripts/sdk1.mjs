/** The official TypeScript SDK 1.x. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { flow, headers, texts, url } from "./flow.mjs";

const client = new Client({ name: "interop", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await flow(
  async () => (await client.listTools()).tools,
  async (name, args, signal) => {
    const result = await client.callTool({ name, arguments: args }, undefined, { signal });
    return { text: texts(result.content), data: result.isError ? null : result.structuredContent };
  },
);
process.exit();
