"""Pydantic AI: a function stands for the model and calls the tool."""

import asyncio

from flow import HEADERS, URL, flow
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


async def main():
    toolset = MCPToolset(URL, headers=HEADERS)
    async with toolset:

        async def tools():
            return [tool.name for tool in await toolset.list_tools()]

        async def call(name, arguments):
            results = []

            def model(messages, _):
                parts = [p for p in messages[-1].parts if isinstance(p, (ToolReturnPart, RetryPromptPart))]
                if not parts:
                    return ModelResponse(parts=[ToolCallPart(name, arguments)])
                results.append(parts[0].content)
                return ModelResponse(parts=[TextPart("done")])

            await Agent(FunctionModel(model), toolsets=[toolset]).run("go")
            [result] = results
            if isinstance(result, dict):
                return "", result
            return (result if isinstance(result, str) else "\n".join(map(str, result))), None

        await flow(tools, call)


asyncio.run(main())
