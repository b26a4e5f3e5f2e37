"""The OpenAI Agents SDK: a stub of a model calls the tool, and its runner does the rest."""

import asyncio
import json

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStreamableHttp
from flow import HEADERS, URL, flow
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)


class Stub(Model):
    """Calls one tool, and then gives its result as the answer."""

    def __init__(self, name, arguments):
        self.name, self.arguments, self.result = name, arguments, None

    async def get_response(self, system_instructions, input, *_, **__):
        results = [] if isinstance(input, str) else [i for i in input if i.get("type") == "function_call_output"]
        if not results:
            output = ResponseFunctionToolCall(
                type="function_call", call_id="1", name=self.name, arguments=json.dumps(self.arguments)
            )
        else:
            self.result = results[-1]["output"]
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                type="message", id="1", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def main():
    params = {"url": URL, "headers": HEADERS}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=60) as server:

        async def tools():
            return [tool.name for tool in await server.list_tools()]

        async def call(name, arguments):
            model = Stub(name, arguments)
            agent = Agent(name="agent", model=model, mcp_servers=[server])
            await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
            result = model.result
            parts = [result] if isinstance(result, str) else result
            text = "\n".join(p if isinstance(p, str) else p.get("text", "") for p in parts)
            try:
                # One text of a result comes as a part in JSON.
                part = json.loads(text)
                text = part["text"] if isinstance(part, dict) and part.get("type") == "text" else text
                if isinstance(part, list):
                    text = "\n".join(p.get("text", "") for p in part)
            except ValueError:
                pass
            return text, None

        await flow(tools, call)


asyncio.run(main())
