"""What tools remember during a task: one object for each type, made when it is first needed, closed with the task.

A tool asks for its own type, `context.memory[Jobs]`, and gets the same object in every call of the task. The type is
made without arguments. One that holds something open has `async def close(self)`; one that looks at what the others
left behind has `async def after_close(self)`, which is called when everything is closed.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


class ToolMemory:
    """The objects of one task, by type."""

    def __init__(self) -> None:
        self._objects: dict[type[Any], Any] = {}

    def __getitem__(self, kind: type[T]) -> T:
        if kind not in self._objects:
            self._objects[kind] = kind()
        found: T = self._objects[kind]
        return found

    async def close(self) -> None:
        """Close everything, side by side, and forget it; a failure of one does not keep the others open."""
        objects = tuple(self._objects.values())
        self._objects.clear()
        for step in ("close", "after_close"):
            steps = [getattr(each, step) for each in objects if hasattr(each, step)]
            await asyncio.gather(*(each() for each in steps), return_exceptions=True)
