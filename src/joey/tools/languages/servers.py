"""The language servers of a task: started when first needed, a few at most, ended with the task.

They run in a sandbox of their own, held like commands that nobody approved: without network, and apart from the
commands of the task. One that fails is started once more when it is needed again, and then left alone.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from joey.system.filenames import quoted
from joey.tools.base import Permissions, ToolContext
from joey.tools.languages.connection import LanguageServerError
from joey.tools.languages.programs import LanguageSettings, ServerProgram
from joey.tools.languages.server import CodeError, CodeLocation, Finding, LanguageServer
from joey.tools.paths import name_for
from joey.tools.shell.confinement import Sandboxes, unapproved_sandbox
from joey.tools.shell.environment import command_environment
from joey.wire import JsonObject

MAX_SERVERS = 4
_MAX_STARTS = 2
_MAX_LINES = 30


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What a server finds wrong with edited files: all that it finds, and what of it is new to the model. `problem`:
    why it could not say."""

    server: str
    lines: tuple[str, ...] = ()
    is_new: bool = False
    problem: str = ""


@dataclass(eq=False)
class LanguageServers:
    """Those of one task."""

    _running: dict[ServerProgram, LanguageServer] = field(default_factory=dict)
    _starts: Counter[ServerProgram] = field(default_factory=Counter)
    _reported: dict[Path, frozenset[str]] = field(default_factory=dict)
    """The messages about each file that the model has been sent."""
    _sandboxes: Sandboxes = field(default_factory=Sandboxes)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reports(
        self, paths: Sequence[Path], settings: LanguageSettings, context: ToolContext
    ) -> list[ServerReport]:
        """What the servers find wrong with these files, from each that is for one of them."""
        by_server: dict[ServerProgram, list[Path]] = {}
        for path in paths:
            if program := settings.server_for(path):
                by_server.setdefault(program, []).append(path)
        reports = (self._report(program, files, settings, context) for program, files in by_server.items())
        return [*await asyncio.gather(*reports)]

    async def _report(
        self, program: ServerProgram, paths: Sequence[Path], settings: LanguageSettings, context: ToolContext
    ) -> ServerReport:
        try:
            server = await self._started(program, settings, context)
            found = await server.errors(paths, settings.timeout)
        except LanguageServerError as error:
            return ServerReport(program.name, problem=str(error))
        silent = [name_for(context, path) for path, errors in found.items() if errors is None]
        if silent and len(silent) == len(found):
            problem = f"it said nothing about {quoted(silent[0])} within {settings.timeout:g} s"
            return ServerReport(program.name, problem=problem)
        return self._reported_lines(program, {path: errors for path, errors in found.items() if errors}, context)

    def _reported_lines(
        self, program: ServerProgram, found: Mapping[Path, Sequence[CodeError]], context: ToolContext
    ) -> ServerReport:
        is_new, lines = False, []
        for path, errors in found.items():
            messages = frozenset(each.message for each in errors)
            is_new = is_new or not messages <= self._reported.get(path, frozenset())
            self._reported[path] = messages
            name = quoted(name_for(context, path))
            lines += [f"{name}:{each.line}:{each.column}: {each.message}" for each in errors]
        more = [f"[{len(lines) - _MAX_LINES} more errors]"] if len(lines) > _MAX_LINES else []
        return ServerReport(program.name, (*lines[:_MAX_LINES], *more), is_new)

    async def find(
        self, what: Finding, path: Path, position: JsonObject, settings: LanguageSettings, context: ToolContext
    ) -> list[CodeLocation]:
        """Where the symbol at a position is defined or used. Raises LanguageServerError."""
        program = settings.server_for(path)
        if program is None:
            raise LanguageServerError(f"there is none for files like {path.name}")
        server = await self._started(program, settings, context)
        return await server.find(what, path, position, settings.timeout)

    async def _started(
        self, program: ServerProgram, settings: LanguageSettings, context: ToolContext
    ) -> LanguageServer:
        async with self._starting:
            server = self._running.get(program)
            if server is not None and server.is_running:
                return server
            if server is not None:
                await server.close()
            return await self._start(program, settings, context)

    async def _start(self, program: ServerProgram, settings: LanguageSettings, context: ToolContext) -> LanguageServer:
        if self._starts[program] >= _MAX_STARTS:
            raise LanguageServerError("it failed before, and is not started again in this task")
        if len({*self._running, program}) > MAX_SERVERS:
            raise LanguageServerError(f"{MAX_SERVERS} language servers run already")
        self._starts[program] += 1
        server = self._running[program] = LanguageServer(program, context.workspace.resolve())
        variables = command_environment(os.environ, settings.environment.keep, settings.environment.withhold).variables
        # Nobody approved it, whoever approved the call that needs it.
        unapproved = replace(context, permissions=Permissions(guarded=context.permissions.guarded))
        try:
            sandbox = await unapproved_sandbox(settings.sandbox, unapproved, self._sandboxes)
            await server.start(variables, sandbox)
        except OSError as error:
            raise LanguageServerError(str(error.strerror or error)) from None
        except LanguageServerError as error:
            await server.settle()
            reason = str(error) if server.is_running else server.why_not or str(error)
            await server.close()
            raise LanguageServerError(reason) from None
        except BaseException:
            await server.close()
            raise
        return server

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._running.values()), return_exceptions=True)
        await self._sandboxes.close()
