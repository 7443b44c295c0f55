"""Where mentions lead: files through the same tools that the model has, git, the project's own check, and MCP servers.

The user named the thing, so nobody is asked. Still only what is in the workspace and not hidden by an ignore file is
shown: people paste requests they have not read to the end. What is shown has a limit, and says what it left out.

What git knows, for `@git-changes` and `@COMMIT`, is looked at without running anything of the repository's
(`joey.system.git`), within the workspace only, and without files that an ignore file hides.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joey.bounded.files import size_of
from joey.mcp.resources import ServerResources
from joey.messages import ResultBlock, TextBlock, ToolResult
from joey.policy.paths import Workspace
from joey.system.filenames import quoted
from joey.system.git import LOOKING, SafeGit, looking_at
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
        if await asyncio.to_thread(size_of, path) > _MAX_BYTES_IN_FOLDER:
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


_SECONDS = 20.0
_MAX_HIDDEN = 500
"""Hidden files that can be left out of a diff: they are arguments of git."""


async def changes(folder: Path, hides: Callable[[Path], bool]) -> str | None:
    """What is changed and not committed; None if there is no repository."""
    async with _git_in(folder, hides) as git:
        status = None if git is None else await git.status()
        if git is None or status is None:
            return None
        # A repository without a commit has no HEAD; then what is staged is all there is to compare.
        since = "--cached" if await git.commit("HEAD") is None else "HEAD"
        diff = await git.shown("diff", since)
    return "\n".join([*status, diff or ""]).strip("\n") or "Nothing is changed."


async def commit(folder: Path, name: str, hides: Callable[[Path], bool]) -> str | None:
    """A commit with its changes; None if there is none of this name."""
    async with _git_in(folder, hides) as git:
        known = None if git is None else await git.commit(name)
        if git is None or known is None:
            return None
        shown = await git.shown("show", known)
    return None if shown is None else shown.strip()


@asynccontextmanager
async def _git_in(folder: Path, hides: Callable[[Path], bool]) -> AsyncIterator[_Looking | None]:
    with ExitStack() as stack:
        git = await asyncio.to_thread(stack.enter_context, looking_at(folder))
        yield None if git is None else _Looking(git, folder, hides)


@dataclass(frozen=True, slots=True)
class _Looking:
    git: SafeGit
    folder: Path
    hides: Callable[[Path], bool]

    async def status(self) -> list[str] | None:
        """One line a file, as `git status --short` shows them."""
        status = await self._run(
            "status", "--short", "-z", "--untracked-files=all", "--ignore-submodules=all", "--", "."
        )
        if status is None:
            return None
        found = [(state, path, old) for state, path, old in _entries(status) if not self._hidden(path)]
        return [f"{state} {self._named(old) + ' -> ' if old else ''}{self._named(path)}" for state, path, old in found]

    def _named(self, path: str) -> str:
        """A path as it is seen from the workspace, which may be a folder of the repository."""
        return quoted(os.path.relpath(self.git.top / path, self.folder))

    async def commit(self, name: str) -> str | None:
        found = await self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return None if found is None else found.strip()

    async def shown(self, command: str, what: str) -> str | None:
        """The changes that `diff` or `show` shows, without those of hidden files."""
        names = await self._run(command, *LOOKING, "--no-renames", "--format=", "--name-only", "-z", what, "--", ".")
        hidden = [name for name in (names or "").split("\0") if name and self._hidden(name)]
        if names is None or len(hidden) > _MAX_HIDDEN:
            return None
        patch = ("--stat", "--patch") if command == "show" else ("--patch",)
        return await self._run(
            command, *LOOKING, *patch, what, "--", ".", *(f":(top,literal,exclude){name}" for name in hidden)
        )

    def _hidden(self, name: str) -> bool:
        return self.hides(self.git.top / name)

    async def _run(self, *arguments: str) -> str | None:
        command = (*self.git.command, *arguments)
        code, output = await run_program(command, self.folder, self.git.environment, _SECONDS)
        return output if code == 0 else None


def _entries(status: str) -> Iterator[tuple[str, str, str]]:
    """State, path, and for what was renamed the old path: `R  new`, then `old`."""
    parts = iter(status.split("\0"))
    for part in parts:
        if len(part) > 3:
            yield part[:2], part[3:], next(parts, "") if "R" in part[:2] or "C" in part[:2] else ""


MAX_CHARACTERS = 100_000
"""Characters that one mention may bring."""


async def run_program(
    command: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    *,
    with_errors: bool = False,
) -> tuple[int | None, str]:
    """Exit code and output of a program. None: it could not be started, or took too long and was ended."""
    errors = asyncio.subprocess.STDOUT if with_errors else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=errors,
            env={**environment, "LC_ALL": "C.UTF-8"}, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return None, str(error)
    output = _Output()
    try:
        async with asyncio.timeout(seconds):
            await output.take_all(process)
    except TimeoutError:
        return None, f"{output.text}\n[ended after {seconds:g} seconds]"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode, output.text


class _Output:
    """The beginning of what a program says, however much that is; the rest is counted."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._size = 0

    async def take_all(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(65536):
            self._size += len(data)
            self._kept += data[: max(0, MAX_CHARACTERS - len(self._kept))]
        await process.wait()

    @property
    def text(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        return text if self._size == len(self._kept) else f"{text}\n[cut: {self._size - len(self._kept)} more bytes]"
