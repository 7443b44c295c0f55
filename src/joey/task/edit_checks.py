"""Checks after edits: the project's own formatter, linter, type checker or tests, once for the edits of a turn.

The model reads what they complain about together with its results, before it goes on and before it can end its turn. A
round is a run with complaints; after so many rounds in a row the checks are left alone until the user has something to
say, so that a model that cannot please them does not go on for ever.

A command may name the changed files: `{files}`, or `{*.py,*.pyi}` for those of a kind; it does not run where there are
none. Of other output, the lines that name a changed file are sent, or the end where none does.

Where nothing is set, what the project's files suggest is offered to the user once. Checks run in the sandbox like a
command that nobody approved, and what a rule of the user's denies does not run.

Language servers (`joey.tools.languages`) look at the same files before the checks do. Errors that the model has been
sent count as complaints only once: a file may have had them before it was edited.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joey.actions import RunCommand
from joey.events import ApprovalAnswered, ApprovalRequested, CheckFinished, CheckStarted
from joey.frames import neutral
from joey.messages import ShownText
from joey.system.filenames import quoted
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.own_commands import OwnCommandEnded, run_own_command
from joey.task.requests import Requests
from joey.task.toolbox import Toolbox
from joey.tools.languages.servers import LanguageServers, ServerReport
from joey.tools.seen_files import digest
from joey.tools.shell.confinement import unapproved_sandbox
from joey.tools.shell.environment import command_environment

_MAX_LINES = 60
_MAX_LINE = 400
_TAIL = 15
_FILES = re.compile(r"\{(files|[^{}\s]*\*[^{}\s]*)\}")


@dataclass(slots=True, eq=False)
class EditChecks:
    """The checks of one task."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _requests: Requests
    _changed: dict[Path, None] = field(default_factory=dict)
    _rounds: int = 0
    _commands: tuple[str, ...] | None = None
    """Those to run, once that is known."""
    _problems: set[ServerReport] = field(default_factory=set)
    """What kept language servers from answering, as far as the user was informed."""

    def note_edit(self, paths: Sequence[Path]) -> None:
        """These files were changed."""
        self._changed |= dict.fromkeys(paths)

    def new_message(self) -> None:
        """The user has something to say: the rounds are counted from the start."""
        self._rounds = 0

    async def complaints(self) -> str | None:
        """What the checks have against the files that were changed since they ran last; None: nothing."""
        changed, self._changed = [path for path in self._changed if path.is_file()], {}
        settings = self._config.hooks.checks
        if not changed or self._rounds >= settings.rounds:
            return None
        found = await self._errors(changed)
        found += [text for command in await self._chosen() if (text := await self._run(command, changed))]
        if not found:
            self._rounds = 0
            return None
        self._rounds += 1
        return wording.complaints(found, last=self._rounds == settings.rounds)

    async def _errors(self, changed: Sequence[Path]) -> list[str]:
        """What language servers find wrong with the changed files, as far as it is new."""
        settings = self._config.hooks.checks.languages
        names = {program.name: None for path in changed if (program := settings.server_for(path))}
        for name in names:
            self._log.emit(CheckStarted(name))
        context = self._toolbox.context()
        found = await context.memory[LanguageServers].reports(changed, settings, context) if names else []
        for report in found:
            self._show(report)
        return [wording.language_errors(each.server, neutral("\n".join(each.lines))) for each in found if each.is_new]

    def _show(self, report: ServerReport) -> None:
        if report not in self._problems:
            text, code = report.problem or "\n".join(report.lines), 1 if report.lines else 0
            self._log.emit(CheckFinished(report.server, None if report.problem else code, text[-2000:]))
        if report.problem:
            self._problems.add(report)

    async def _chosen(self) -> tuple[str, ...]:
        if self._commands is None:
            settings = self._config.hooks.checks
            self._commands = settings.commands or (await self._offered() if settings.found else ())
        return self._commands

    async def _offered(self) -> tuple[str, ...]:
        """What was found, if the user wants it. With nobody there, nothing is offered."""
        settings = self._config.hooks.checks
        if self._config.hooks.headless:
            return ()
        request_id, shown = self._requests.new_id("checks"), (ShownText("\n".join(settings.found)),)
        answer = await self._requests.ask(
            ApprovalRequested(
                request_id, "", "checks_after_edits", {}, wording.CHECKS_OFFERED, shown, ("these checks after edits",)
            )
        )
        self._log.emit(ApprovalAnswered(request_id, answer.yes, answer.text))
        chosen = settings.found if answer.yes else ()
        if not answer.yes or (answer.always and answer.scope == "project"):
            settings.remember(chosen)
        return chosen

    async def _run(self, command: str, changed: Sequence[Path]) -> str | None:
        """One command: what is sent to the model of it, if anything."""
        folder = self._config.workspace.folder.resolve()
        line = with_files(command, _names(changed, folder))
        if line is None:
            return None
        rules = self._toolbox.rules
        if rules.verdict((RunCommand(line),)).decision == "deny" and not rules.headless:
            self._log.emit(CheckFinished(line, None, "your rules do not allow it"))
            return None
        before = [_version(path) for path in changed]
        self._log.emit(CheckStarted(line))
        try:
            ended = await self._ended(line)
        except OSError as error:
            self._log.emit(CheckFinished(line, None, str(error.strerror or error)))
            return None
        formatted = [path for path, version in zip(changed, before, strict=True) if _version(path) != version]
        return self._report(line, ended, changed, formatted)

    async def _ended(self, line: str) -> OwnCommandEnded:
        settings, folder = self._config.hooks.checks, self._config.workspace.folder
        rules = self._config.hooks.user_hooks.environment
        variables = command_environment(os.environ, rules.keep, rules.withhold).variables
        sandbox = await unapproved_sandbox(settings.sandbox, self._toolbox.context())
        return await run_own_command(line, folder, variables, settings.timeout, sandbox=sandbox)

    def _report(
        self, line: str, ended: OwnCommandEnded, changed: Sequence[Path], formatted: Sequence[Path]
    ) -> str | None:
        output = f"{ended.output}\n{ended.errors}".strip()
        self._log.emit(CheckFinished(line, ended.code, output[-2000:]))
        names = _names(formatted, self._config.workspace.folder.resolve())
        notes = [f"`{line}` changed {', '.join(map(quoted, names))}; read before you edit again."] if names else []
        if ended.code is None:
            notes.append(f"`{line}` took too long and was ended.")
        elif ended.code:
            notes.append(f"`{line}` failed (exit code {ended.code}):\n{neutral(about(output, changed))}")
        return "\n".join(notes) or None


def with_files(command: str, changed: Sequence[str]) -> str | None:
    """The command with the changed files that it names; None where it names some, and none of that kind changed."""
    missing = False

    def named(found: re.Match[str]) -> str:
        nonlocal missing
        patterns = ["*"] if found[1] == "files" else found[1].split(",")
        files = [each for each in changed if any(fnmatch.fnmatch(os.path.basename(each), one) for one in patterns)]  # noqa: PTH119 - a name
        missing = missing or not files
        return shlex.join(each if not each.startswith("-") else f"./{each}" for each in files)

    line = _FILES.sub(named, command)
    return None if missing else line


def about(output: str, changed: Sequence[Path]) -> str:
    """The lines of an output that are about the changed files, or its end where none names one."""
    lines = [line[:_MAX_LINE] for line in output.splitlines()]
    names = {path.name for path in changed}
    found = [line for line in lines if any(name in line for name in names)]
    if not found:
        return "\n".join(["(it names none of the files that you changed; its last lines:)", *lines[-_TAIL:]])
    more = [f"[{len(found) - _MAX_LINES} more lines]"] if len(found) > _MAX_LINES else []
    return "\n".join([*found[:_MAX_LINES], *more])


def _names(paths: Sequence[Path], folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in paths]


def _version(path: Path) -> str | None:
    try:
        return digest(path.read_bytes())
    except OSError:
        return None
