"""FastMCP's client, which signs in by OAuth by itself: it opens a browser, and listens for what comes back."""

import asyncio
import webbrowser
from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.auth import OAuth
from key_value.aio.stores.memory import MemoryStore
from orders import plain, say, serve

STORE = MemoryStore()
SECRETS = []
webbrowser.open = lambda url: say({"open": url})


@asynccontextmanager
async def connect(_host, order):
    """Opens a conversation in the wanted mode."""
    oauth = OAuth(order["connect"], client_name="FastMCP peer", token_storage=STORE)
    async with Client(order["connect"], auth=oauth, mode=order["mode"], timeout=90, init_timeout=90) as client:
        client.oauth = oauth
        yield client


async def obey(client, order):
    """Does what one order says."""
    SECRETS.extend(vars(client.oauth.context.current_tokens).values())
    match order:
        case {"tools": _}:
            return {"tools": [tool.name for tool in await client.list_tools()]}
        case {"call": tool, "arguments": arguments}:
            return {"result": plain(await client.call_tool_mcp(tool, arguments))}
        case {"spoil": _}:
            # This client refreshes when the time is up, and never because of a 401.
            client.oauth.context.token_expiry_time = 1
            return {"spoilt": True}
        case {"secrets": _}:
            return {"secrets": sorted({word for word in SECRETS if str(word).startswith("yg")})}


asyncio.run(serve(connect, obey))
