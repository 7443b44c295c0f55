"""Search the contents of files with a regular expression."""

from __future__ import annotations

import asyncio
import errno
import stat
from contextlib import aclosing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

from pydantic import Field

from joey.bounded.folders import LinkInPathError, opened_folder, place_of
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.paths import LocatedPaths, ReadingTool, UnusablePathError, name_for, reason
from joey.tools.searching.listing import IGNORE_FILES
from joey.tools.searching.results import Results, stands_in, write
from joey.tools.searching.ripgrep import SearchError, search

LIMIT = 300
_MAX_FILE = "50M"
"""A line is held whole, and such a file may be one line."""
_THROUGH_DESCRIPTOR = Path("/proc/self/fd")
"""Where ripgrep starts: in the folder that is held open, whatever its path leads to meanwhile. Linux only."""
_REPLACED = "(Some results are left out: their files were changed or replaced while they were searched. Search again.)"


class SearchFilesParams(Params):
    path: PathText = Field(description="The folder (or the one file) to search, relative to the workspace.")
    regex: str = Field(min_length=1, description="What to search for: a regular expression in Rust syntax.")
    file_pattern: str | None = Field(
        default=None, description="Only files whose names fit this glob, such as `*.py` or `src/**/*.{ts,tsx}`."
    )


class SearchFiles(ReadingTool[SearchFilesParams]):
    name = "search_files"
    display = Display(("regex", "path"), kind="search")
    group = "read"
    params = SearchFilesParams
    field_aliases = {"pattern": "regex", "query": "regex", "glob": "file_pattern", "directory": "path"}
    example = {"path": "src", "regex": r"def \w+_token\(", "file_pattern": "*.py"}

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit

    def paths(self, params: SearchFilesParams) -> list[str]:
        return [params.path]

    async def answer(self, params: SearchFilesParams, context: ToolContext, found: LocatedPaths) -> ToolResult:
        try:
            where = _Where.look(found.path(params.path))
        except UnusablePathError as problem:
            return failed(f"Error: {problem}")
        except LinkInPathError as problem:
            return failed(f"Error: {quoted(params.path)} cannot be searched: {reason(problem)}.")
        except OSError:
            where = None
        if where is None or context.ignored(found.path(params.path)):
            return failed(f"Error: there is no file or folder {quoted(params.path)} to search.")
        if "\0" in params.regex + (params.file_pattern or ""):
            return failed("Error: a NUL character cannot be searched for; to find it in binary files use \\x00.")
        if blocking := _ignore_file_that_blocks(where.folder):
            named = f"{quoted(blocking.name)} in {quoted(str(blocking.parent))}"
            return failed(f"Error: {named} is a pipe or a device, for which a search would wait. Remove it first.")
        try:
            return ok(await self._search(params, where, context))
        except SearchError as problem:
            return failed(f"Error: the search could not be made.\n{problem}")
        except OSError as problem:
            return failed(f"Error: {quoted(params.path)} cannot be searched: {reason(problem)}.")

    async def _search(self, params: SearchFilesParams, where: _Where, context: ToolContext) -> str:
        results, visible = Results(self._limit), dict[str, bool]()
        with opened_folder(where.folder) as descriptor:
            async with aclosing(search(_arguments(params, where), _start(where.folder, descriptor))) as lines:
                async for line in lines:
                    if line.path not in visible:
                        visible[line.path] = not context.ignored(where.folder / line.path)
                    if visible[line.path]:
                        results.add(line)
                    if results.is_full:
                        break
        replaced = await asyncio.to_thread(_drop_replaced, results, where.folder)
        text = write(results, {path: quoted(name_for(context, where.folder / path)) for path in results.files})
        return f"{text}\n\n{_REPLACED}" if replaced else text


@dataclass(frozen=True, slots=True)
class _Where:
    """The folder that is searched, by its resolved path, and the one file in it, if it is only that."""

    folder: Path
    file: str | None = None

    @classmethod
    def look(cls, path: Path) -> Self | None:
        """None for what is neither a file nor a folder. Raises OSError if there is nothing, or a link."""
        with place_of(path) as place:
            mode = place.status().st_mode
        if stat.S_ISLNK(mode):
            raise LinkInPathError(errno.ELOOP, f"{path.name} is a symbolic link", str(path))
        if stat.S_ISREG(mode):
            return cls(path.parent, path.name)
        return cls(path) if stat.S_ISDIR(mode) else None


def _start(folder: Path, descriptor: int) -> Path:
    return _THROUGH_DESCRIPTOR / str(descriptor) if _THROUGH_DESCRIPTOR.is_dir() else folder


def _drop_replaced(results: Results, folder: Path) -> bool:
    """Drop what was found in files that are no longer what was searched, and say whether there was any."""
    replaced = [
        path for path, groups in results.files.items() if not stands_in(folder / path, chain.from_iterable(groups))
    ]
    for path in replaced:
        results.drop(path)
    return bool(replaced)


def _ignore_file_that_blocks(where: Path) -> Path | None:
    """ripgrep would wait for a pipe of that name, here or above. (Below, it runs into its limits.)"""
    paths = (folder / name for folder in (where, *where.parents) for name in IGNORE_FILES)
    return next((path for path in paths if path.exists() and not path.is_file() and not path.is_dir()), None)


def _arguments(params: SearchFilesParams, where: _Where) -> list[str]:
    # A pattern with a line break can only match across lines, which ripgrep does not do unasked.
    across = ["--multiline"] if "\n" in params.regex or "\\n" in params.regex else []
    glob = ["--glob", params.file_pattern] if params.file_pattern else []
    target = where.file or "./"
    # --no-require-git: .gitignore holds in a folder that is no repository (yet), too.
    options = ["--context", "1", "--no-messages", "--no-require-git", "--max-filesize", _MAX_FILE]
    return [*options, *across, *glob, "-e", params.regex, "--", target]
