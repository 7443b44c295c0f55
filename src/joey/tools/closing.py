"""What a tool opens and must not outlive the task it runs in: closed when the task ends, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from joey.tools.base import ToolContext

_KEY = "closed_with_the_task"

Closer: TypeAlias = Callable[[], Awaitable[object]]


def close_with_task(context: ToolContext, close: Closer) -> None:
    """Have this called at the end. It must be harmless where there is nothing left to close."""
    closers: list[Closer] = context.state.setdefault(_KEY, [])
    closers.append(close)


async def close_tools(context: ToolContext) -> None:
    """Close everything, side by side; what goes wrong with one does not keep the others open."""
    closers: list[Closer] = context.state.pop(_KEY, [])
    await asyncio.gather(*(close() for close in closers), return_exceptions=True)
