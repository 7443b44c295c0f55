"""From a path as the model wrote it to a file on the disk, and back to what the model calls it."""

from __future__ import annotations

import os
from pathlib import Path

from joey.tools.base import ToolContext


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


def name_for(context: ToolContext, path: Path) -> str:
    """What the model calls this path: relative to the workspace if it is inside, with forward slashes."""
    root = context.workspace.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def reason(problem: BaseException) -> str:
    """Why the system refused, without the path and the number that Python puts around it."""
    return problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
