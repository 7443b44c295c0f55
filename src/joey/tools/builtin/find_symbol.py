"""Find where a symbol is defined or used, by asking a language server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import Field

from joey.bounded.files import plain_text, read_resolved
from joey.bounded.folders import reason
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.languages.connection import LanguageServerError
from joey.tools.languages.programs import NO_SERVERS, LanguageSettings
from joey.tools.languages.server import MAX_FILE, CodeLocation, Finding, find_symbol
from joey.tools.languages.servers import LanguageServers
from joey.tools.options import BuiltinOptions
from joey.tools.paths import LocatedPaths, ReadingTool, UnusablePathError, name_for

_MAX_SHOWN = 100
_MAX_LINE = 200
_FIND: dict[str, Finding] = {"definitions": "definition", "references": "references"}


class FindSymbolParams(Params):
    path: PathText = Field(description="The file in which the name stands, relative to the workspace.")
    symbol: str = Field(min_length=1, max_length=200, description="The name, as it is written there.")
    line: int | None = Field(default=None, ge=1, description="The line of the name. Default: the first in the file.")
    find: Literal["definitions", "references"] = Field(
        default="definitions", description="Where it is defined, or every place where it is used."
    )


class FindSymbol(ReadingTool[FindSymbolParams]):
    name = "find_symbol"
    display = Display(("symbol", "path"), kind="search")
    group = "read"
    params = FindSymbolParams
    feature = "language_servers"
    field_aliases = {"file": "path", "file_path": "path", "name": "symbol"}
    example = {"path": "src/app.py", "symbol": "load_config", "find": "references"}

    def __init__(self, settings: LanguageSettings = NO_SERVERS) -> None:
        self._settings = settings

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(options.languages)

    def paths(self, params: FindSymbolParams) -> list[str]:
        return [params.path]

    async def answer(self, params: FindSymbolParams, context: ToolContext, found: LocatedPaths) -> ToolResult:
        try:
            path = found.path(params.path)
            text = plain_text(await asyncio.to_thread(read_resolved, path, MAX_FILE))
        except (UnusablePathError, OSError, UnicodeDecodeError) as problem:
            return failed(f"Error: {quoted(params.path)} cannot be looked at: {reason(problem)}.")
        position = find_symbol(text, params.symbol, params.line)
        if position is None:
            where = f"line {params.line} of {quoted(params.path)}" if params.line else quoted(params.path)
            return failed(f"Error: {params.symbol!r} is not in {where}. Read the file, or use search_files.")
        try:
            servers = context.memory[LanguageServers]
            places = await servers.find(_FIND[params.find], path, position, self._settings, context)
        except LanguageServerError as error:
            return failed(f"The language server cannot say: {error}. Use search_files instead.")
        return ok(await asyncio.to_thread(_text, places, params, context))


def _text(found: Sequence[CodeLocation], params: FindSymbolParams, context: ToolContext) -> str:
    """The places, each with its line. What an ignore file hides is not named, and nothing outside is read: a server
    may name any file of this machine."""
    seen = [each for each in found if not context.ignored(each.path)]
    lines = [*_lines(seen[:_MAX_SHOWN], context)]
    if len(seen) > _MAX_SHOWN:
        lines.append(f"({len(seen) - _MAX_SHOWN} more)")
    return "\n".join(lines) or f"No {params.find} of {params.symbol!r} were found."


def _lines(places: Sequence[CodeLocation], context: ToolContext) -> Iterator[str]:
    root, texts = context.workspace.resolve(), dict[Path, list[str]]()
    for place in places:
        if place.path not in texts:
            texts[place.path] = _file_lines(place.path) if place.path.is_relative_to(root) else []
        lines = texts[place.path]
        code = f": {lines[place.line - 1].strip()[:_MAX_LINE]}" if place.line <= len(lines) else ""
        yield f"{quoted(name_for(context, place.path))}:{place.line}{code}"


def _file_lines(path: Path) -> list[str]:
    try:
        return plain_text(read_resolved(path, MAX_FILE)).splitlines()
    except (OSError, UnicodeDecodeError):
        return []
