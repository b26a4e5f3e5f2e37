/** The official TypeScript SDK 2.x, in the mode of the first argument. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { flow, headers, texts, url } from "./flow.mjs";

const modes = { legacy: "legacy", auto: "auto", pinned: { pin: "2026-07-28" }, rounds: "auto" };
const mode = process.argv[2];
const client = new Client(
  { name: "interop", version: "1" },
  {
    versionNegotiation: { mode: modes[mode] },
    ...(mode === "rounds" && { capabilities: { experimental: { "relay/rounds": {} } } }),
  },
);
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
await flow(
  async () => (await client.listTools()).tools,
  async (name, args, signal) => {
    const result = await client.callTool({ name, arguments: args }, { signal });
    return { text: texts(result.content), data: result.isError ? null : result.structuredContent };
  },
);
process.exit();
