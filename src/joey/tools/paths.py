"""From a path as the model wrote it to a file on the disk, and back to what the model calls it."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from joey.actions import Action, ReadPath
from joey.bounded.folders import reason
from joey.messages import ToolResult
from joey.tools.base import ParamsT, Plan, PlannedTool, ToolContext


class UnusablePathError(ValueError):
    """What was given cannot be the path of anything. The text says why, for the model."""


def locate(context: ToolContext, given: str) -> Path:
    """The file meant: relative to the workspace, symbolic links followed. It need not exist."""
    if not given.strip():
        raise UnusablePathError("the path is empty; give one relative to the workspace, such as src/main.py")
    if "\0" in given:
        raise UnusablePathError("the path holds a NUL character, which no file name can")
    try:
        os.fsencode(given)
        return (context.workspace / given).resolve()
    except UnicodeError:
        raise UnusablePathError("the path holds half a surrogate pair, which no file name can") from None
    except (OSError, RuntimeError) as problem:
        raise UnusablePathError(f"the path cannot be followed: {reason(problem)}") from None


@dataclass(frozen=True, slots=True)
class LocatedPaths:
    """The paths of a call, each resolved once, while it is planned: those are judged, and those are opened."""

    places: Mapping[str, Path | UnusablePathError]

    @classmethod
    def locate(cls, context: ToolContext, given: Iterable[str]) -> Self:
        return cls({path: _located(context, path) for path in given})

    @property
    def resolved(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(place for place in self.places.values() if isinstance(place, Path)))

    def path(self, given: str) -> Path:
        """The resolved path. Raises UnusablePathError if what was given is none."""
        place = self.places[given]
        if isinstance(place, Path):
            return place
        raise place


def _located(context: ToolContext, given: str) -> Path | UnusablePathError:
    try:
        return locate(context, given)
    except UnusablePathError as problem:
        return problem


class ReadingTool(PlannedTool[ParamsT]):
    """Reads the paths that a call names: declared, resolved once, and opened as they were judged."""

    @abstractmethod
    def paths(self, params: ParamsT) -> Iterable[str]:
        """The paths, as the model wrote them."""

    @abstractmethod
    async def answer(self, params: ParamsT, context: ToolContext, found: LocatedPaths) -> ToolResult: ...

    def actions(self, params: ParamsT, context: ToolContext) -> tuple[Action, ...]:
        return tuple(map(ReadPath, dict.fromkeys(self.paths(params))))

    async def plan(self, params: ParamsT, context: ToolContext) -> Plan:
        found = LocatedPaths.locate(context, self.paths(params))
        return Plan((), lambda: self.answer(params, context, found), sources=found.resolved)


def name_for(context: ToolContext, path: Path) -> str:
    """What the model calls this path: relative to the workspace if it is inside, with forward slashes."""
    root = context.workspace.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
