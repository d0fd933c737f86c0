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


class Host:
    """One user: what it is asked, what it answers, and how far the server says that it is."""

    def __init__(self):
        self.orders, self.answers = asyncio.Queue(), asyncio.Queue()
        self.accepted, self.human, self.asked, self.progress = {}, None, [], []

    async def listen(self):
        """Hears the test until it has no more to say."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            order = json.loads(line)
            heard = self.answers if "answer" in order else self.orders
            heard.put_nowait(order)
        self.orders.put_nowait(None)

    def ask(self, message):
        """Puts a question of the server to the user, who accepts it."""
        self.asked.append(message)
        return dict(self.accepted)

    async def elicit(self, params):
        """Puts a form to the user, who is the test itself where that says so."""
        content = self.ask(params.message)
        if self.human == "test":
            say({"form": plain(params)})
            return (await self.answers.get())["answer"]
        return self.human or {"action": "accept", "content": content}

    async def report(self, progress, _total, _message):
        """Takes note of progress."""
        self.progress.append(progress)

    async def carry_out(self, client, obey, order):
        """Does what one order says, and answers it."""
        self.accepted, self.human = order.get("accept", {}), order.get("human")
        self.asked, self.progress = [], []
        try:
            answer = await obey(client, order)
        except MCPError as error:
            answer = {"error": plain(error.error)}
        except Exception as error:  # the test is told what the client could not bear
            answer = {"broken": repr(error)}
        if "call" in order:
            answer |= {"asked": self.asked, "progress": self.progress}
        say(answer | {"order": order["order"]})

    async def converse(self, client, obey):
        """Obeys until the test wants another conversation or none; that order is given back."""
        doing = set()
        while (order := await self.orders.get()) and not order.keys() & {"connect", "hang_up"}:
            doing.add(asyncio.create_task(self.carry_out(client, obey, order)))
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, return_exceptions=True)
        return order


async def serve(connect, obey):
    """Opens one conversation after the other, until there are no more orders."""
    host = Host()
    listening = asyncio.create_task(host.listen())
    order = await host.orders.get()
    while order:
        if "hang_up" in order:
            say({"ended": None, "order": order["order"]})
            order = await host.orders.get()
            continue
        is_open = False
        try:
            async with connect(host, order) as client:
                is_open = True
                host.answers = asyncio.Queue()
                say({"version": client.protocol_version, "order": order["order"]})
                order = await host.converse(client, obey)
        except Exception as error:
            if is_open:
                raise
            say({"broken": repr(error), "order": order["order"]})
            order = await host.orders.get()
    await listening
