"""A server made with the SDK, for tests: as a program it speaks over its pipes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel


class Booking(BaseModel):
    guests: int
    terrace: bool = False
    seat: Literal["bar", "table"] = "table"


async def how_many() -> Elicit[Booking]:
    return Elicit("How many are you?", Booking)


def make_server() -> MCPServer:
    server = MCPServer("kit")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def long_text(size: int) -> str:
        """A long text."""
        return "".join(f"line {number}\n" for number in range(size // 8))

    @server.tool()
    async def slow(marker: str, ctx: Context) -> str:
        """Takes its time, and leaves a file when it is told to stop."""
        await ctx.report_progress(1, 2, "half of it")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            Path(marker).write_text("cancelled")  # noqa: ASYNC240
            raise
        return "done"

    @server.tool()
    def environment(name: str) -> str:
        """A variable of the server's environment."""
        return os.environ.get(name, "(not set)")

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Adds a tool."""
        server.add_tool(lambda: "grown", name="grown", description="A tool that was not there before.")
        await (getattr(ctx, "notify_tools_changed", None) or ctx.session.send_tool_list_changed)()
        return "there is one more"

    @server.tool()
    async def book(found: Annotated[ElicitationResult[Booking], Resolve(how_many)]) -> str:
        """Books a table, and asks the user for how many."""
        return f"{found.action}: {found.data.model_dump_json() if isinstance(found, AcceptedElicitation) else ''}"

    @server.resource("kit://notes/first")
    def first_note() -> str:
        return "the first note"

    @server.prompt()
    def review(path: str, focus: str = "style") -> str:
        """Review a file."""
        return f"Review {path} with an eye on {focus}."

    return server


if __name__ == "__main__":
    make_server().run()
