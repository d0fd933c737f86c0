"""An MCP host on the Python SDK that does what a test tells it; see `orders.py`.

The SDK holds results against the tools' output schemas.
"""

import asyncio
import os
from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult, Implementation
from orders import plain, serve


@asynccontextmanager
async def connect(host, order):
    """Opens a conversation in the wanted mode."""

    async def elicit(_context, params):
        return ElicitResult(**await host.elicit(params))

    async with transport(order["connect"], order.get("key")) as way:
        client = Client(
            way,
            mode=order["mode"],
            client_info=Implementation(name=order.get("name") or "python", version="1.0.0"),
            elicitation_callback=elicit,
            read_timeout_seconds=90,
        )
        async with client:
            client.host = host
            yield client


@asynccontextmanager
async def transport(target, key):
    """The way to a server: an address, or the command with which a host starts it."""
    if isinstance(target, dict):
        target["env"] = dict(os.environ) | target["env"]
        yield stdio_client(StdioServerParameters(**target))
        return
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        yield streamable_http_client(target, http_client=http)


async def obey(client, order):
    """Does what one order says."""
    match order:
        case {"tools": _}:
            return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        case {"call": tool, "arguments": arguments}:
            patience = order["timeout"] / 1000 if order.get("timeout") else None
            report = client.host.report
            return {"result": plain(await client.call_tool(tool, arguments, patience, report))}
        case {"resources": _}:
            return {"resources": [str(item.uri) for item in (await client.list_resources()).resources]}
        case {"read": uri}:
            return {"result": plain(await client.read_resource(uri))}
        case {"prompts": _}:
            return {"prompts": [prompt.name for prompt in (await client.list_prompts()).prompts]}
        case {"prompt": name, "arguments": arguments}:
            return {"result": plain(await client.get_prompt(name, arguments))}


asyncio.run(serve(connect, obey))
