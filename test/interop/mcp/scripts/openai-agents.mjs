/** The OpenAI Agents SDK for JavaScript: a stub of a model calls the tool, and its runner does the rest. */

import { Agent, MCPServerStreamableHttp, Runner, Usage } from "@openai/agents";
import { flow, headers, url } from "./flow.mjs";

const server = new MCPServerStreamableHttp({
  url,
  requestInit: { headers },
  clientSessionTimeoutSeconds: 60,
});
await server.connect();
const runner = new Runner({ tracingDisabled: true });

await flow(
  async () => server.listTools(),
  async (name, args, signal) => {
    let result;
    const model = {
      async getResponse({ input }) {
        const last = Array.isArray(input) ? input.at(-1) : null;
        if (last?.type !== "function_call_result") {
          const call = { type: "function_call", callId: "1", name, status: "completed" };
          return { usage: new Usage(), output: [{ ...call, arguments: JSON.stringify(args) }] };
        }
        result = last.output;
        const content = [{ type: "output_text", text: "done" }];
        const output = [{ type: "message", role: "assistant", status: "completed", content }];
        return { usage: new Usage(), output };
      },
    };
    const agent = new Agent({ name: "agent", model, mcpServers: [server] });
    await runner.run(agent, "go", { signal });
    const parts = [result].flat();
    const text = parts.map((part) => part.text ?? String(part)).join("\n");
    // One text of a result comes as a part in JSON.
    if (/^\[?\{"type":"text"/.test(text)) {
      return {
        text: [JSON.parse(text)]
          .flat()
          .map((part) => part.text)
          .join("\n"),
        data: null,
      };
    }
    return { text, data: null };
  },
);
process.exit();
