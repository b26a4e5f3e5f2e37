"""LangChain's adapters for Python, a new session for each call."""

import asyncio

from flow import HEADERS, URL, flow
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    connection = {"transport": "streamable_http", "url": URL, "headers": HEADERS}
    client = MultiServerMCPClient({"relay": connection})
    found = {tool.name: tool for tool in await client.get_tools()}

    async def tools():
        return list(found)

    async def call(name, arguments):
        result = await found[name].ainvoke(arguments)
        parts = [result] if isinstance(result, str) else result
        return "\n".join(p if isinstance(p, str) else p.get("text", "") for p in parts), None

    await flow(tools, call)


asyncio.run(main())
