"""Where mentions lead: files through the same tools that the model has, git, and the project's own check.

The user named the thing, so nobody is asked. Still only what is in the workspace and not hidden by an ignore file is
shown: people paste requests they have not read to the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joey.messages import ResultBlock, TextBlock
from joey.policy.paths import Workspace
from joey.tools.base import ToolContext
from joey.tools.builtin.list_files import ListFiles, ListFilesParams
from joey.tools.builtin.read_file import ReadFile, ReadFileParams

MOST = 100_000
_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false")
_GIT_SECONDS = 20.0
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv", "--no-color")
"""A repository can name programs that show its changes; looking must not run them."""


@dataclass(frozen=True, slots=True)
class WorkspaceSources:
    """What the workspace has. `check` is the command whose output `@problems` stands for, if there is one."""

    paths: Workspace
    sees_images: bool = False
    check: str | None = None
    check_seconds: float = 120.0

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
            return (await ListFiles().run(ListFilesParams(path=path), self._context())).content
        return (await ReadFile(sees_images=self.sees_images).run(ReadFileParams(path=path), self._context())).content

    def _context(self) -> ToolContext:
        return ToolContext(
            self._folder,
            self._folder,
            ignored=lambda path: self.paths.locate(str(path)).hidden_by is not None,
        )

    async def git_changes(self) -> str | None:
        status = await self._git("status", "--short", "--untracked-files=all")
        if status is None:
            return None
        # A repository without a commit has no HEAD; then what is staged is all there is to compare.
        diff = await self._git("diff", *_NO_PROGRAMS, "HEAD") or await self._git("diff", *_NO_PROGRAMS, "--cached")
        return _shortened(f"{status}\n{diff or ''}".strip() or "Nothing is changed.")

    async def commit(self, name: str) -> str | None:
        known = await self._git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if known is None:
            return None
        shown = await self._git("show", *_NO_PROGRAMS, "--stat", "--patch", known.strip())
        return None if shown is None else _shortened(shown.strip())

    async def problems(self) -> str | None:
        if self.check is None:
            return None
        code, output = await _run(("/bin/sh", "-c", self.check), self._folder, self.check_seconds, with_errors=True)
        return f"$ {self.check}\nexit code: {code}\n{_shortened(output.strip())}"

    async def _git(self, *arguments: str) -> str | None:
        code, output = await _run((*_GIT, *arguments), self._folder, _GIT_SECONDS)
        return output if code == 0 else None


def _kind(path: str) -> Literal["file", "folder"] | None:
    if not Path(path).exists():
        return None
    return "folder" if Path(path).is_dir() else "file"


async def _run(
    command: tuple[str, ...], folder: Path, seconds: float, *, with_errors: bool = False
) -> tuple[int | None, str]:
    """Exit code and output of a program. None: it could not be started, or took too long and was ended."""
    errors = asyncio.subprocess.STDOUT if with_errors else asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=errors,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return None, str(error)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        return None, f"ended after {seconds:.0f} seconds"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode, output.decode("utf-8", "replace")


def _shortened(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}\n[cut: {len(text) - MOST} more characters]"
