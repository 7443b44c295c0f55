"""A server made with the SDK, for tests: `sdk_server.py` speaks over its pipes, `sdk_server.py PORT` over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

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
async def slow(seconds: float, marker: str, ctx: Context) -> str:
    """Takes its time, and leaves a file when it is told to stop."""
    await ctx.report_progress(1, 2, "half of it")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        with open(marker, "w") as file:  # noqa: ASYNC230, PTH123
            file.write("cancelled")
        raise
    return "done"


@server.tool()
def die() -> str:
    """Ends the server."""
    print("farewell from the server", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def environment(name: str) -> str:
    """A variable of the server's environment."""
    return os.environ.get(name, "(not set)")


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    server.add_tool(lambda: "grown", name="grown", description="A tool that was not there before.")
    notify: Any = getattr(ctx, "notify_tools_changed", None) or ctx.session.send_tool_list_changed
    await notify()
    return "there is one more"


@server.resource("kit://notes/first")
def first_note() -> str:
    return "the first note"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run(transport=sys.argv[2], port=int(sys.argv[1]))  # type: ignore[call-overload]
    else:
        server.run()
