"""Search the contents of files with a regular expression.

The model reads files, and in them groups of neighbouring lines:

    # src/main.py
      11 | def main() -> None:
    > 12 |     print(greeting())
      13 |
    ----

A line that matched is marked. A group is one result; there may be at most so many.

ripgrep opens files by their paths, so a file or a folder that is replaced by a link while it searches leads it
anywhere. What it found is shown only if each line stands in the file as it is now, opened by its resolved path without
following a link. Lines are compared as bytes, one after the other: a file costs no more memory than its longest line.
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Self

from pydantic import Field

from joey.bounded.files import open_resolved
from joey.bounded.folders import LinkInPathError, opened_folder, place_of, reason
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.paths import LocatedPaths, ReadingTool, UnusablePathError, name_for
from joey.tools.searching.listing import IGNORE_FILES
from joey.tools.searching.ripgrep import FoundLine, SearchError, search

MAX_LINE = 500
MAX_LINES = 1_500
"""In all: where every line of a file matches, a single result is the whole file."""
_CUT = "[truncated...]"
_BEFORE_MATCH = 100


@dataclass(slots=True)
class Results:
    """Groups of lines by file, as they come in."""

    limit: int
    count: int = 0
    is_full: bool = False
    """A further group was found and left out."""
    files: dict[str, list[list[FoundLine]]] = field(default_factory=dict)
    _lines: int = 0
    _last: FoundLine | None = None

    def add(self, line: FoundLine) -> None:
        """Take in the next line. After `is_full` there is nothing to be gained by going on."""
        continues = self._continues(line)
        if self._lines >= MAX_LINES or (not continues and self.count == self.limit):
            self.is_full = True
            return
        if continues:
            self.files[line.path][-1].append(line)
        else:
            self.count += 1
            self.files.setdefault(line.path, []).append([line])
        self._lines += 1 + line.text.count("\n", 0, -1)
        self._last = line

    def drop(self, path: str) -> None:
        """Forget what was found in a file."""
        self.count -= len(self.files.pop(path))

    def _continues(self, line: FoundLine) -> bool:
        last = self._last
        if last is None or last.path != line.path or last.number is None or line.number is None:
            return False
        return line.number <= last.number + max(1, last.text.count("\n"))


def write(results: Results, names: dict[str, str]) -> str:
    """The results in words. `names` says what the model calls each path."""
    if not results.count:
        return "No results found."
    counted = "1 result" if results.count == 1 else f"{results.count} results"
    head = f"Found {counted}."
    if results.is_full:
        head = f"Showing the first {counted}; there are more. Narrow the search to see the rest."
    ordered = sorted(results.files.items(), key=lambda item: names[item[0]])
    return "\n\n".join([head, *(_file(names[path], groups) for path, groups in ordered)])


def _file(name: str, groups: Iterable[list[FoundLine]]) -> str:
    return "\n".join([f"# {name}", *("\n".join([*map(_line, group), "----"]) for group in groups)])


def _line(line: FoundLine) -> str:
    mark = ">" if line.matched else " "
    number = "?" if line.number is None else str(line.number)
    text = _window(line)
    if "\n" not in text:
        return f"{mark} {number:>3} | {text}".rstrip() if not text else f"{mark} {number:>3} | {text}"
    first = line.number or 0
    return "\n".join(f"{mark} {first + index:>3} | {part}" for index, part in enumerate(text.split("\n")))


def _window(line: FoundLine) -> str:
    """The line, cut to what may be shown, so that the match is in it."""
    text = line.text.rstrip("\r\n").replace("\r\n", "\n")
    if len(text) <= MAX_LINE:
        return text
    start = 0 if line.columns[1] <= MAX_LINE else max(0, min(line.columns[0] - _BEFORE_MATCH, len(text) - MAX_LINE))
    end = start + MAX_LINE
    return f"{_CUT + ' ' if start else ''}{text[start:end]}{' ' + _CUT if end < len(text) else ''}"


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def stands_in(path: Path, found: Iterable[FoundLine]) -> bool:
    """Whether the file, given by its resolved path, has all these lines. One that cannot be opened has none. Blocks."""
    whole, starts = set[bytes](), set[bytes]()
    for each in found:
        if each.cut:
            starts.add(each.raw)
        else:
            whole.update(each.raw.removesuffix(b"\n").split(b"\n"))
    try:
        with open_resolved(path) as descriptor, closing(_lines(descriptor)) as lines:
            for line in lines:
                whole.discard(line)
                starts = {start for start in starts if not line.startswith(start)} if starts else starts
                if not whole and not starts:
                    return True
    except OSError:
        pass
    return False


def _lines(descriptor: int) -> Generator[bytes, None, None]:
    """The lines of a file as ripgrep takes them: UTF-16 as UTF-8, without a byte order mark, cut at NUL bytes, too."""
    start = os.pread(descriptor, 3, 0)
    if start.startswith(_UTF_16):
        with open(descriptor, encoding="utf-16", errors="replace", newline="\n", closefd=False) as text:
            yield from (line.removesuffix("\n").encode("utf-8", "replace") for line in text)
        return
    with open(descriptor, "rb", closefd=False) as file:
        if start == codecs.BOM_UTF8:
            yield file.readline().removesuffix(b"\n").removeprefix(start)
            file.seek(0)
        for line in file:
            yield line.removesuffix(b"\n")
            if b"\0" in line:
                yield from line.removesuffix(b"\n").split(b"\0")


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
