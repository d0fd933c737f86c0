"""An MCP host on the Python SDK that does what a test tells it, line by line.

    host.py MODE COMMAND [ARGUMENT …]

MODE is `auto`, `legacy` or `2026-07-28`; the command is the server's. The first line on stdout tells what was
negotiated. Then every line on stdin is an order, and every order is answered with one line:

    {"list": true}                            the names of the tools
    {"call": TOOL, "arguments": {…}}          the result, the error of the server, or why the SDK broke off
    {…, "accept": {…}}                        the same, and what the user answers when the server asks

The SDK holds results against the tools' output schemas. Everything in the environment is handed on to the
server, which the SDK would not do by itself.
"""

import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult


def plain(model):
    """What a model looks like on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(message):
    """Answers the test."""
    print(json.dumps(message), flush=True)


async def main():
    """Connects, and obeys until there are no more orders."""
    mode, *command = sys.argv[1:]
    asked, accepted = [], {}

    async def elicit(_context, params):
        asked.append(params.message)
        return ElicitResult(action="accept", content=dict(accepted))

    async def obey(order):
        if order.get("list"):
            return {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        asked.clear()
        accepted.clear()
        accepted.update(order.get("accept", {}))
        try:
            answer = {"result": plain(await client.call_tool(order["call"], order["arguments"]))}
        except MCPError as error:
            answer = {"error": plain(error.error)}
        except Exception as error:  # the test is told what the SDK could not bear
            answer = {"broken": repr(error)}
        return {**answer, "asked": list(asked)}

    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server, mode=mode, elicitation_callback=elicit, read_timeout_seconds=90) as client:
        say({"protocol_version": client.protocol_version})
        while line := await asyncio.to_thread(sys.stdin.readline):
            say(await obey(json.loads(line)))


asyncio.run(main())
