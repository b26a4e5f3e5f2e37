/** The AI SDK: a stub of a model calls the tool, and generateText does the rest. */

import { createMCPClient } from "@ai-sdk/mcp";
import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { flow, headers, texts, url } from "./flow.mjs";

const client = await createMCPClient({ transport: { type: "http", url, headers } });
const tools = await client.tools();
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

await flow(
  async () => Object.keys(tools),
  async (name, args, signal) => {
    const model = new MockLanguageModelV4({
      doGenerate: async () => ({
        content: [
          { type: "tool-call", toolCallId: "1", toolName: name, input: JSON.stringify(args) },
        ],
        finishReason: { unified: "tool-calls", raw: undefined },
        usage,
        warnings: [],
      }),
    });
    const { content } = await generateText({
      model,
      tools,
      prompt: "go",
      stopWhen: stepCountIs(1),
      abortSignal: signal,
    });
    const part = content.find(({ type }) => type === "tool-result" || type === "tool-error");
    if (part.type === "tool-error") throw part.error;
    const { output } = part;
    if (output.content === undefined) return { text: "", data: output };
    return { text: texts(output.content), data: output.isError ? null : output.structuredContent };
  },
);
process.exit();
