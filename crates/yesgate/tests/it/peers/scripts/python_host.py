"""An MCP host on the Python SDK that does over HTTP what a test tells it; see `orders.py`.

The SDK holds results against the tools' output schemas.
"""

import asyncio
from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from orders import plain, serve


@asynccontextmanager
async def connect(host, order):
    """Opens a conversation in the wanted mode."""

    async def elicit(_context, params):
        return ElicitResult(action="accept", content=host.ask(params.message))

    headers = {"Authorization": f"Bearer {order['key']}"} if order.get("key") else {}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        transport = streamable_http_client(order["connect"], http_client=http)
        client = Client(transport, mode=order["mode"], elicitation_callback=elicit, read_timeout_seconds=90)
        async with client:
            client.host = host
            yield client


async def obey(client, order):
    """Does what one order says."""
    match order:
        case {"tools": _}:
            return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        case {"call": tool, "arguments": arguments}:
            report = client.host.report
            return {"result": plain(await client.call_tool(tool, arguments, progress_callback=report))}
        case {"resources": _}:
            return {"resources": [str(item.uri) for item in (await client.list_resources()).resources]}
        case {"read": uri}:
            return {"result": plain(await client.read_resource(uri))}
        case {"prompts": _}:
            return {"prompts": [prompt.name for prompt in (await client.list_prompts()).prompts]}
        case {"prompt": name, "arguments": arguments}:
            return {"result": plain(await client.get_prompt(name, arguments))}


asyncio.run(serve(connect, obey))
