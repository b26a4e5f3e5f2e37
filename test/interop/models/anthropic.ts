/** A stand-in for Anthropic's Messages API, as far as Claude Code uses it. */

import { callsIn, eventStream, type Model, randomId, startModel } from "./model.ts";

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly tool_use_id?: string;
  readonly content?: unknown;
  readonly input?: object;
}

interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly { readonly role: string; readonly content: string | Block[] }[];
}

const USAGE = { input_tokens: 1, output_tokens: 1 };

export function startAnthropic(): Model {
  const results = new Map<string, string>();

  const answerTo = ({ tools = [], messages }: MessagesRequest): Block[] => {
    const content = messages.findLast(({ role }) => role === "user")?.content ?? [];
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const found = blocks.filter(({ type }) => type === "tool_result");
    for (const { tool_use_id, content } of found) {
      results.set(tool_use_id!, JSON.stringify(content));
    }
    const calls = blocks.flatMap(({ text = "" }) => callsIn(text));
    // Claude Code also has the model name the session, without tools.
    const is_offered = calls.every(({ name }) => tools.some((tool) => tool.name === name));
    if (calls.length === 0 || found.length > 0 || !is_offered) {
      return [{ type: "text", text: "Done" }];
    }
    return calls.map((call) => ({ type: "tool_use", id: randomId("toolu"), ...call }));
  };

  const service = startModel("/v1/messages", (body) => {
    const asked = body as MessagesRequest;
    const content = answerTo(asked);
    const message = {
      id: randomId("msg"),
      type: "message",
      role: "assistant",
      model: asked.model,
      content,
      stop_reason: content[0]!.type === "tool_use" ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: USAGE,
    };
    return asked.stream ? streamOf(message) : Response.json(message);
  });
  return {
    ...service,
    get results() {
      return [...results.values()];
    },
  };
}

function streamOf(message: { readonly content: readonly Block[]; readonly stop_reason: string }) {
  const { content, stop_reason } = message;
  const blocks = content.flatMap((block, index) => {
    const [content_block, delta] =
      block.input === undefined
        ? [
            { ...block, text: "" },
            { type: "text_delta", text: block.text },
          ]
        : [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
          ];
    return [
      { type: "content_block_start", index, content_block },
      { type: "content_block_delta", index, delta },
      { type: "content_block_stop", index },
    ];
  });
  const start = { type: "message_start", message: { ...message, content: [], stop_reason: null } };
  const end = { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: USAGE };
  return eventStream([start, ...blocks, end, { type: "message_stop" }]);
}
