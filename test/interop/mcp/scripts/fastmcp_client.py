"""FastMCP."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from flow import HEADERS, URL, flow, texts


async def main():
    async with Client(StreamableHttpTransport(URL, headers=HEADERS)) as client:

        async def tools():
            return [tool.name for tool in await client.list_tools()]

        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            # What its users read is made of the output schema.
            typed = result.data
            if name == "ask_question":
                assert typed.status == result.structured_content["status"], typed
            return texts(result.content), result.structured_content

        await flow(tools, call)


asyncio.run(main())
