"""Work that is done at the same time, and of which nothing is left when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results, in order, when every one has ended. If one fails, the others go on to their end before that is
    raised. If the caller is cancelled, all of them are, and each has ended when the cancellation goes on: none is left
    to run by itself."""
    tasks = [asyncio.ensure_future(each) for each in works]
    cancelled: asyncio.CancelledError | None = None
    while pending := [each for each in tasks if not each.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancelled = error
            for each in pending:
                each.cancel()
    errors = [each.exception() for each in tasks if not each.cancelled()]
    if cancelled is not None:
        raise cancelled
    if first := next(filter(None, errors), None):
        raise first
    return [each.result() for each in tasks]
