"""A small bank over stdio, in both eras of the protocol, for tests.

`balance` only reads, and says so. `pay` says nothing about itself, so it counts as dangerous; every payment
that ran leaves a line in the file named by `BANK_LOG`, so that a test can count. `close_account` asks the
user first: by `elicitation/create` in the legacy era, by an input-required result from 2026-07-28 on.
"""

import os
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("bank", version="1.0.0")


class Sure(BaseModel):
    """The answer to the question of `close_account`."""

    sure: bool


async def ask() -> Elicit[Sure]:
    """The question of `close_account`."""
    return Elicit("Close the account?", Sure)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def balance(account: str) -> str:
    """Tells how much is in an account."""
    return f"{account}: 100.00 EUR"


@server.tool()
def pay(to: str, amount: str) -> str:
    """Sends money."""
    with open(os.environ["BANK_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{to} {amount}\n")
    return f"paid {amount} to {to}"


@server.tool()
def close_account(account: str, answer: Annotated[Sure, Resolve(ask)]) -> str:
    """Closes an account, after asking."""
    return f"{account} closed" if answer.sure else f"{account} stays open"


if __name__ == "__main__":
    server.run("stdio")
