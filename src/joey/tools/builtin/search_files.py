"""Search the contents of files with a regular expression."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

from pydantic import Field

from joey.actions import Action, ReadPath
from joey.filenames import quoted
from joey.messages import ToolResult
from joey.tools.base import Params, PathText, Tool, ToolContext, failed, ok
from joey.tools.paths import UnusablePathError, locate, name_for
from joey.tools.searching.listing import IGNORE_FILES
from joey.tools.searching.results import Results, write
from joey.tools.searching.ripgrep import SearchError, search

LIMIT = 300
_MAX_FILE = "50M"
"""A line is held whole, and such a file may be one line."""


class SearchFilesParams(Params):
    path: PathText = Field(description="The folder (or the one file) to search, relative to the workspace.")
    regex: str = Field(min_length=1, description="What to search for: a regular expression in Rust syntax.")
    file_pattern: str | None = Field(
        default=None, description="Only files whose names fit this glob, such as `*.py` or `src/**/*.{ts,tsx}`."
    )


class SearchFiles(Tool[SearchFilesParams]):
    name = "search_files"
    group = "read"
    params = SearchFilesParams
    field_aliases = {"pattern": "regex", "query": "regex", "glob": "file_pattern", "directory": "path"}
    example = {"path": "src", "regex": r"def \w+_token\(", "file_pattern": "*.py"}

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit

    def actions(self, params: SearchFilesParams, context: ToolContext) -> tuple[Action, ...]:
        return (ReadPath(params.path),)

    async def run(self, params: SearchFilesParams, context: ToolContext) -> ToolResult:
        try:
            where = locate(context, params.path)
        except UnusablePathError as problem:
            return failed(f"Error: {problem}")
        if not (where.is_file() or where.is_dir()) or context.ignored(where):
            return failed(f"Error: there is no file or folder {quoted(params.path)} to search.")
        if "\0" in params.regex + (params.file_pattern or ""):
            return failed("Error: a NUL character cannot be searched for; to find it in binary files use \\x00.")
        if blocking := _ignore_file_that_blocks(where):
            named = f"{quoted(blocking.name)} in {quoted(str(blocking.parent))}"
            return failed(f"Error: {named} is a pipe or a device, for which a search would wait. Remove it first.")
        try:
            return ok(await self._search(params, where, context))
        except SearchError as problem:
            return failed(f"Error: the search could not be made.\n{problem}")

    async def _search(self, params: SearchFilesParams, where: Path, context: ToolContext) -> str:
        results, visible = Results(self._limit), dict[str, bool]()
        async with aclosing(search(_arguments(params, where), _folder(where))) as lines:
            async for line in lines:
                if line.path not in visible:
                    visible[line.path] = not context.ignored((_folder(where) / line.path).resolve())
                if visible[line.path]:
                    results.add(line)
                if results.is_full:
                    break
        return write(results, {path: quoted(name_for(context, _folder(where) / path)) for path in results.files})


def _ignore_file_that_blocks(where: Path) -> Path | None:
    """ripgrep would wait for a pipe of that name, here or above. (Below, it runs into its limits.)"""
    paths = (folder / name for folder in (_folder(where), *_folder(where).parents) for name in IGNORE_FILES)
    return next((path for path in paths if path.exists() and not path.is_file() and not path.is_dir()), None)


def _folder(where: Path) -> Path:
    return where.parent if where.is_file() else where


def _arguments(params: SearchFilesParams, where: Path) -> list[str]:
    # A pattern with a line break can only match across lines, which ripgrep does not do unasked.
    across = ["--multiline"] if "\n" in params.regex or "\\n" in params.regex else []
    glob = ["--glob", params.file_pattern] if params.file_pattern else []
    target = where.name if where.is_file() else "./"
    # --no-require-git: .gitignore holds in a folder that is no repository (yet), too.
    options = ["--context", "1", "--no-messages", "--no-require-git", "--max-filesize", _MAX_FILE]
    return [*options, *across, *glob, "-e", params.regex, "--", target]
