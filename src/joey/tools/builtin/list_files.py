"""List what is in a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pydantic import Field

from joey.bounded.folders import LinkInPathError, reason
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.paths import LocatedPaths, ReadingTool, UnusablePathError
from joey.tools.searching.listing import FolderListing, list_folder

LIMIT = 200


class ListFilesParams(Params):
    path: PathText = Field(description="The folder to list, relative to the workspace; `.` is the workspace itself.")
    recursive: bool = Field(default=False, description="Also list what is in the folders below.")


class ListFiles(ReadingTool[ListFilesParams]):
    name = "list_files"
    display = Display(("path",), kind="read")
    group = "read"
    params = ListFilesParams
    field_aliases = {"directory": "path", "dir": "path", "dir_path": "path"}
    example = {"path": "src", "recursive": True}

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit

    def paths(self, params: ListFilesParams) -> list[str]:
        return [params.path]

    async def answer(self, params: ListFilesParams, context: ToolContext, found: LocatedPaths) -> ToolResult:
        try:
            folder = found.path(params.path)
        except UnusablePathError as problem:
            return failed(f"Error: {problem}")
        if refusal := _why_not(folder, params, context):
            return failed(f"Error: {refusal}")
        try:
            listing = await asyncio.to_thread(
                list_folder, folder, recursive=params.recursive, limit=self._limit, hidden=context.ignored
            )
        except LinkInPathError as problem:
            return failed(f"Error: {quoted(params.path)} cannot be listed: {reason(problem)}.")
        return ok(_text(listing, self._limit))


def _why_not(folder: Path, params: ListFilesParams, context: ToolContext) -> str:
    if context.ignored(folder):
        return f"an ignore file hides {quoted(params.path)}."
    if folder.is_file():
        return f"{quoted(params.path)} is a file, not a folder. Use read_file."
    if not folder.is_dir():
        return f"there is no folder {quoted(params.path)}. List the folder above it to see what is there."
    is_workspace = folder == context.workspace.resolve()
    if folder in (Path(folder.anchor), Path.home().resolve()) and (params.recursive or not is_workspace):
        whole = "recursively" if is_workspace else "as a whole"
        return f"{quoted(str(folder))} is {_kind(folder)} and is not listed {whole}. Name a folder below it."
    return ""


def _kind(folder: Path) -> str:
    return "the root of the file system" if folder == Path(folder.anchor) else "the home directory"


def _text(listing: FolderListing, limit: int) -> str:
    notes = []
    if listing.cut:
        notes.append(f"(The list was cut at {limit} entries, deeper ones are missing. List a folder below for more.)")
    if listing.timed_out:
        notes.append("(The list is not complete: it took too long. List a folder below to see more.)")
    if listing.not_entered:
        notes.append(f"(Not entered, list them by name: {', '.join(map(quoted, listing.not_entered[:10]))})")
    if listing.unreadable:
        notes.append(f"(Not readable: {', '.join(listing.unreadable[:10])})")
    entries = "\n".join(map(quoted, listing.entries)) or "No files found."
    return "\n\n".join([entries, *notes])
