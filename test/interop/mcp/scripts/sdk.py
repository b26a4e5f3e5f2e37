"""The official Python SDK 2.x."""

import asyncio

import httpx2
from flow import HEADERS, URL, flow, texts
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    async with httpx2.AsyncClient(headers=HEADERS, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:

            async def tools():
                return [tool.name for tool in (await client.list_tools()).tools]

            async def call(name, arguments):
                result = await client.call_tool(name, arguments)
                return texts(result.content), result.structured_content

            await flow(tools, call)


asyncio.run(main())
