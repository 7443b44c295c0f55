"""What git knows of a workspace, for `@git-changes` and `@COMMIT`: looked at without running anything of the
repository's (`joey.system.git`), within the workspace only, and without files that an ignore file hides."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from joey.system.filenames import quoted
from joey.system.git import LOOKING, SafeGit, looking_at

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
