"""Find code by what it does, in an index of the workspace that is brought up to date before each search."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from joey.actions import Action, ReadPath
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.system.folders import index_folder
from joey.tools.base import Params, PathText, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.index import model
from joey.tools.index.report import report
from joey.tools.index.search import CodebaseIndex, LoadModel, SearchRequest, too_wide
from joey.tools.index.store import IndexProblemError
from joey.tools.index.update import Allowance
from joey.tools.paths import UnusablePathError, locate, name_for

LIMIT = 10
_FILES = 2_000
_TEXTS = 128
"""How many files are read and how many pieces are embedded before a search at most: some seconds of work each."""


class CodebaseSearchParams(Params):
    query: str = Field(min_length=1, description="What to find, in plain words: what the code does or is about.")
    path: PathText | None = Field(default=None, description="Only this folder or file, relative to the workspace.")


@dataclass(slots=True)
class OpenedIndex:
    """The index of the workspace, once it was searched."""

    index: CodebaseIndex | None = None


class CodebaseSearch(Tool[CodebaseSearchParams]):
    name = "codebase_search"
    display = Display(("query", "path"), kind="search")
    group = "read"
    params = CodebaseSearchParams
    feature = "codebase_index"
    field_aliases = {"question": "query", "search_query": "query", "directory": "path", "directory_prefix": "path"}
    example = {"query": "where are expired tokens refreshed", "path": "src/auth"}

    def __init__(self, *, limit: int = LIMIT, load_model: LoadModel = model.load) -> None:
        self._limit = limit
        self._load_model = load_model

    def actions(self, params: CodebaseSearchParams, context: ToolContext) -> tuple[Action, ...]:
        return (ReadPath(params.path or "."),)

    async def run(self, params: CodebaseSearchParams, context: ToolContext) -> ToolResult:
        try:
            where = locate(context, params.path or ".")
        except UnusablePathError as problem:
            return failed(f"Error: {problem}")
        if refusal := _why_not(where, params, context):
            return failed(f"Error: {refusal}")
        under = "" if where == context.workspace.resolve() else name_for(context, where)
        try:
            return ok(await self._search(params.query, under, context))
        except IndexProblemError as problem:
            return failed(f"Error: the codebase cannot be searched: {problem}. Use search_files instead.")

    async def _search(self, query: str, under: str, context: ToolContext) -> str:
        loop, stop = asyncio.get_running_loop(), threading.Event()

        def progress(what: str, done: int, of: int) -> None:
            if what == "files" and done % 250 == 0:
                loop.call_soon_threadsafe(context.progress, f"Indexed {done:,}{f' of {of:,}' if of else ''} {what}.\n")

        request = SearchRequest(query, under, self._limit, Allowance(_FILES, _TEXTS, stop.is_set), progress)
        try:
            answer = await asyncio.to_thread(self._index(context).search, request)
        finally:
            stop.set()  # a task that is cancelled does not wait for the thread
        return report(request, answer)

    def _index(self, context: ToolContext) -> CodebaseIndex:
        """The same for the whole task, as it keeps the vectors in memory."""
        memory, workspace = context.memory[OpenedIndex], context.workspace
        if memory.index is None:
            memory.index = CodebaseIndex(workspace, index_folder(workspace), self._load_model, context.ignored)
        return memory.index


def _why_not(where: Path, params: CodebaseSearchParams, context: ToolContext) -> str:
    if not params.query.strip():
        return "the query is empty. Say in plain words what the code does that you look for."
    if reason := too_wide(context.workspace):
        return reason
    if not where.is_relative_to(context.workspace.resolve()):
        outside = f"{quoted(params.path or '')} is outside the workspace"
        return f"{outside}, and only the workspace is indexed. Use search_files there."
    if not where.exists() or context.ignored(where):
        return f"there is no file or folder {quoted(params.path or '')} to search."
    return ""
