"""An MCP host on FastMCP's client that does over HTTP what a test tells it; see `orders.py`."""

import asyncio
from contextlib import asynccontextmanager

from fastmcp import Client
from orders import plain, serve


@asynccontextmanager
async def connect(host, order):
    """Opens a conversation in the wanted mode."""

    async def elicit(message, _response_type, _params, _context):
        return host.ask(message)

    client = Client(
        order["connect"],
        auth=order.get("key"),
        mode=order["mode"],
        elicitation_handler=elicit,
        progress_handler=host.report,
        timeout=90,
        init_timeout=90,
    )
    async with client:
        yield client


async def obey(client, order):
    """Does what one order says."""
    match order:
        case {"tools": _}:
            return {"tools": [tool.name for tool in await client.list_tools()]}
        case {"call": tool, "arguments": arguments}:
            return {"result": plain(await client.call_tool_mcp(tool, arguments))}
        case {"resources": _}:
            return {"resources": [str(item.uri) for item in await client.list_resources()]}
        case {"read": uri}:
            return {"result": plain(await client.read_resource_mcp(uri))}
        case {"prompts": _}:
            return {"prompts": [prompt.name for prompt in await client.list_prompts()]}
        case {"prompt": name, "arguments": arguments}:
            return {"result": plain(await client.get_prompt_mcp(name, arguments))}


asyncio.run(serve(connect, obey))
