"""What the hosts in Python have in common: orders of a test come in line by line, answers go out the same way.

`serve/scripted.rs` says which orders there are.
"""

import asyncio
import json
import sys

from mcp import MCPError


def plain(model):
    """What a model looks like on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(answer):
    """Answers the test."""
    print(json.dumps(answer), flush=True)


async def next_order():
    """The next order, or `None` at the end."""
    line = await asyncio.to_thread(sys.stdin.readline)
    return json.loads(line) if line else None


class Host:
    """One user: what it is asked, what it answers, and how far the server says that it is."""

    def __init__(self):
        self.accepted, self.asked, self.progress = {}, [], []

    def ask(self, message):
        """Puts a question of the server to the user."""
        self.asked.append(message)
        return dict(self.accepted)

    async def report(self, progress, _total, _message):
        """Takes note of progress."""
        self.progress.append(progress)

    async def converse(self, client, obey):
        """Obeys until the test wants another conversation, whose order is given back, or none."""
        while (order := await next_order()) and "connect" not in order:
            self.accepted, self.asked, self.progress = order.get("accept", {}), [], []
            try:
                answer = await obey(client, order)
            except MCPError as error:
                answer = {"error": plain(error.error)}
            except Exception as error:  # the test is told what the client could not bear
                answer = {"broken": repr(error)}
            if "call" in order:
                answer |= {"asked": self.asked, "progress": self.progress}
            say(answer)
        return order


async def serve(connect, obey):
    """Opens one conversation after the other, until there are no more orders."""
    host = Host()
    order = await next_order()
    while order:
        is_open = False
        try:
            async with connect(host, order) as client:
                is_open = True
                say({"version": client.protocol_version})
                order = await host.converse(client, obey)
        except Exception as error:
            if is_open:
                raise
            say({"broken": repr(error)})
            order = await next_order()
