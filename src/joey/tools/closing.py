"""What a tool opens and must not outlive the task it runs in: closed when the task ends, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from joey.tools.base import ToolContext

_KEY, _LAST = "closed_with_the_task", "done_when_all_is_closed"

Closer: TypeAlias = Callable[[], Awaitable[object]]


def close_with_task(context: ToolContext, close: Closer, *, last: bool = False) -> None:
    """Have this called at the end; with `last`, after everything else is closed. It must be harmless where there is
    nothing left to close."""
    closers: list[Closer] = context.state.setdefault(_LAST if last else _KEY, [])
    closers.append(close)


async def close_tools(context: ToolContext) -> None:
    """Close everything, side by side; what goes wrong with one does not keep the others open."""
    for key in (_KEY, _LAST):
        closers: list[Closer] = context.state.pop(key, [])
        await asyncio.gather(*(close() for close in closers), return_exceptions=True)
