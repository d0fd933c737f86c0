"""The Python SDK's client, which signs in by OAuth where a server asks for it; see `orders.py`, and
`peers/oauth/scripted.rs` for the orders."""

import asyncio
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from orders import plain, say, serve


class Storage:
    """What the server gave: the client's own, its tokens, and every secret that there ever was."""

    def __init__(self):
        self.client, self.tokens, self.secrets = None, None, []

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens
        self.secrets += [tokens.access_token, tokens.refresh_token]

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client
        self.secrets.append(client.client_secret)


STORAGE = Storage()


@asynccontextmanager
async def connect(host, order):
    """Opens a conversation in the wanted mode."""

    async def send_to(url):
        say({"open": url})

    async def come_back():
        returned = parse_qs(urlsplit((await host.answers.get())["answer"]).query)
        if "code" not in returned:
            raise RuntimeError(f"the user said no: {returned}")
        return AuthorizationCodeResult(**{key: values[0] for key, values in returned.items()})

    method = {"token_endpoint_auth_method": order["method"]} if order.get("method") else {}
    metadata = OAuthClientMetadata(
        client_name="Python peer",
        redirect_uris=["http://127.0.0.1:7777/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        **method,
    )
    provider = OAuthClientProvider(order["connect"], metadata, STORAGE, send_to, come_back)
    async with httpx2.AsyncClient(auth=provider, timeout=90) as http:
        way = streamable_http_client(order["connect"], http_client=http)
        async with Client(way, mode=order["mode"], read_timeout_seconds=90) as client:
            client.provider = provider
            yield client


async def obey(client, order):
    """Does what one order says."""
    match order:
        case {"tools": _}:
            return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        case {"call": tool, "arguments": arguments}:
            return {"result": plain(await client.call_tool(tool, arguments))}
        case {"spoil": _}:
            # This client refreshes when the time is up, and never because of a 401.
            client.provider.context.token_expiry_time = 1
            return {"spoilt": True}
        case {"secrets": _}:
            return {"secrets": [secret for secret in STORAGE.secrets if secret]}


if __name__ == "__main__":
    asyncio.run(serve(connect, obey))
