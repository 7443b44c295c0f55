"""Where mentions lead: files through the same tools that the model has, git, the project's own check, and MCP servers.

The user named the thing, so nobody is asked. Still only what is in the workspace and not hidden by an ignore file is
shown: people paste requests they have not read to the end. What is shown has a limit, and says what it left out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joey.mcp.resources import ServerResources
from joey.messages import ResultBlock, TextBlock, ToolResult
from joey.policy.paths import Workspace
from joey.system.filenames import quoted
from joey.task.changes import MAX_CHARACTERS, changes, commit, run_program
from joey.tools.base import EditorFiles, ParamsT, Tool, ToolContext, failed
from joey.tools.builtin.list_files import ListFiles, ListFilesParams
from joey.tools.builtin.read_file import ReadFile, ReadFileParams
from joey.tools.searching.listing import list_folder
from joey.tools.shell.environment import command_environment

_MAX_FILES = 200
_MAX_BYTES_IN_FOLDER = 1024 * 1024
_NAMED = 50
_NO_CHECK = (
    "There is no check to ask: the setting `check` names the command that finds problems, such as `ruff check`. "
    "A project's own setting counts only where the workspace is trusted."
)


@dataclass(frozen=True, slots=True)
class WorkspaceSources:
    """What the workspace has. `check` is the command whose output `@problems` stands for, if there is one."""

    paths: Workspace
    sees_images: bool = False
    check: str | None = None
    check_seconds: float = 120.0
    editor: EditorFiles | None = None
    resources: ServerResources | None = None
    """Those of MCP servers."""

    @property
    def _folder(self) -> Path:
        return Path(self.paths.root)

    async def path(self, path: str) -> tuple[ResultBlock, ...] | None:
        located = self.paths.locate(path)
        if located.problem or not located.inside:
            return (TextBlock(f"Not shown: {located.problem or 'it is outside the workspace'}."),)
        if located.hidden_by:
            return (TextBlock(f"Not shown: {located.hidden_by} hides it."),)
        kind = await asyncio.to_thread(_kind, located.resolved)
        if kind is None:
            return None
        if kind == "folder":
            listing = await self._run(ListFiles(), ListFilesParams(path=path))
            return (*listing.content, TextBlock(await self._contents(path, Path(located.resolved))))
        return (await self._run(ReadFile(sees_images=self.sees_images), ReadFileParams(path=path))).content

    async def resource(self, name: str) -> tuple[ResultBlock, ...] | None:
        return None if self.resources is None else await self.resources.read(name)

    async def _run(self, tool: Tool[ParamsT], params: ParamsT) -> ToolResult:
        """What a tool reads, if the files that it resolved are the workspace's: a path may lead elsewhere by then."""
        plan = await tool.plan(params, self._context())
        for source in plan.sources:
            located = self.paths.locate(str(source))
            if located.problem or not located.inside or located.hidden_by:
                return failed("Not shown: it was replaced while it was read; try again.")
        return await plan.execute()

    def _context(self) -> ToolContext:
        return ToolContext(
            self._folder,
            self._folder,
            ignored=self.paths.hides,
            editor=self.editor,
        )

    # Folders

    async def _contents(self, shown: str, folder: Path) -> str:
        """The text files of a folder itself, not of those below it, as far as there is room."""
        texts, left, room = list[str](), list[str](), MAX_CHARACTERS
        above = "" if shown == "." else f"{shown.rstrip('/')}/"
        for name in await asyncio.to_thread(self._files, folder):
            text, why = await self._text(f"{above}{name}", folder / name, room, full=room <= 0)
            if why:
                left.append(f"{quoted(name)} ({why})")
            else:
                texts.append(text)
                room -= len(text)
        return "\n\n".join([*texts, *_left_out(left)])

    def _files(self, folder: Path) -> list[str]:
        listing = list_folder(folder, recursive=False, limit=_MAX_FILES, hidden=self._context().ignored)
        return [entry for entry in listing.entries if not entry.endswith("/")]

    async def _text(self, shown: str, path: Path, room: int, *, full: bool) -> tuple[str, str]:
        """What a file says, or why it is left out."""
        located = self.paths.locate(str(path))
        if located.problem or not located.inside or located.hidden_by:
            return "", located.problem or "it leads out of the workspace"
        if full:
            return "", _NO_ROOM
        if await asyncio.to_thread(_size, path) > _MAX_BYTES_IN_FOLDER:
            return "", "larger than 1 MB"
        result = await self._run(ReadFile(), ReadFileParams(path=shown))
        if result.is_error or result.text.partition("\n")[2].startswith("Image file"):
            return "", "not text"
        return (result.text, "") if len(result.text) <= room else ("", _NO_ROOM)

    # Git and the check

    async def git_changes(self) -> str | None:
        return await changes(self._folder, self.paths.hides)

    async def commit(self, name: str) -> str | None:
        return await commit(self._folder, name, self.paths.hides)

    async def problems(self) -> str:
        if self.check is None:
            return _NO_CHECK
        variables = command_environment(os.environ).variables
        code, output = await run_program(
            ("/bin/sh", "-c", self.check), self._folder, variables, self.check_seconds, with_errors=True
        )
        ended = f"exit code: {code}" if code is not None else "no exit code"
        return f"$ {self.check}\n{ended}\n{output.strip()}"


_NO_ROOM = "no room"


def _left_out(left: Sequence[str]) -> list[str]:
    if not left:
        return []
    more = [f"and {len(left) - _NAMED} more"] if len(left) > _NAMED else []
    return [f"(Not attached: {', '.join([*left[:_NAMED], *more])}. Read those that are needed.)"]


def _kind(path: str) -> Literal["file", "folder"] | None:
    if not Path(path).exists():
        return None
    return "folder" if Path(path).is_dir() else "file"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
