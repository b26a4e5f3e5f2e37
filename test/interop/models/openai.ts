/** A stand-in for OpenAI's Responses API, as far as Codex uses it. */

import { callsIn, eventStream, type Model, randomId, startModel } from "./model.ts";

interface Item {
  readonly type: string;
  readonly role?: string;
  readonly content?: readonly { readonly text?: string }[];
  readonly call_id?: string;
  readonly output?: unknown;
}

interface ResponsesRequest {
  readonly input: readonly Item[];
  readonly tools?: readonly object[];
}

export function startOpenAi(): Model {
  const results = new Map<string, string>();

  const answerTo = ({ input, tools = [] }: ResponsesRequest): object[] => {
    const found = input.filter(({ type }) => type.endsWith("_call_output"));
    for (const { call_id, output } of found) results.set(call_id!, JSON.stringify(output));
    const told = input.filter(({ role }) => role === "user").flatMap(({ content = [] }) => content);
    const calls = told.flatMap(({ text = "" }) => callsIn(text));
    if (calls.length === 0 || found.length > 0 || tools.length === 0) {
      const content = [{ type: "output_text", text: "Done" }];
      return [{ type: "message", role: "assistant", id: randomId("msg"), content }];
    }
    return calls.map(({ name, input }) => {
      const call = { name, call_id: randomId("call"), id: randomId("fc") };
      return { type: "function_call", ...call, arguments: JSON.stringify(input) };
    });
  };

  const service = startModel("/responses", (body) => {
    const output = answerTo(body as ResponsesRequest);
    const response = { id: randomId("resp"), object: "response" };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    const created = { type: "response.created", response };
    const items = output.map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    }));
    const end = { type: "response.completed", response: { ...response, output, usage } };
    return eventStream([created, ...items, end]);
  });
  return {
    ...service,
    get results() {
      return [...results.values()];
    },
  };
}
