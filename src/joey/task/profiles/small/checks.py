"""The commands that ran for a request, and what they show of its changes.

A command counts for the files as they are: each change makes what ran before it a thing of the past, and what ran
before the first change is what later runs are held against.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from joey.task.profiles.small.command_runs import CommandRun, checking_commands, runs_program
from joey.task.profiles.small.demands import is_repair
from joey.task.profiles.small.evidence import fault_in, missing_evidence, missing_output
from joey.task.profiles.small.examples import example_command, examples_in
from joey.task.profiles.small.request_files import RequestFiles

_MAX_OUTPUT = 600
_EACH = "Print each of them, in a loop. "
AGAIN = "Put it right: write the file again."


@dataclass(slots=True)
class Checks:
    """`runs` are all commands of a request that ran."""

    runs: list[CommandRun] = field(default_factory=list)
    _since: list[CommandRun] = field(default_factory=list)
    """Those that ran since the last change,"""
    _tried: set[str] = field(default_factory=set)
    """and those that were called since, whatever came of it;"""
    _last: str = ""
    """the last of all that were called."""
    _unwanted: set[str] = field(default_factory=set)
    """Checks that the user does not approve."""
    _before: dict[str, CommandRun] = field(default_factory=dict)
    """How programs went before anything was changed."""

    # What happened

    def tries(self, command: str) -> None:
        self._last = command.strip()
        self._tried.add(self._last)

    def ran(self, run: CommandRun, *, changed: bool) -> None:
        """A command ended; `changed` says whether any file is other than it was."""
        self.runs.append(run)
        self._since.append(run)
        self._tried.add(run.command)
        if not changed and runs_program(run.command):
            self._before[run.command] = run

    def changed(self) -> None:
        """A file was written."""
        self._since.clear()
        self._tried.clear()

    def waive(self, files: RequestFiles) -> bool:
        """The last command was not approved. Whether it was a check of our own, of which this says nothing more."""
        is_own = bool(self._last) and self._last == example_command(examples_in(files.request), files.shown)
        if is_own:
            self._unwanted.add(self._last)
        return is_own

    @property
    def is_current(self) -> bool:
        """Whether something was run since the last change, or at least called."""
        return bool(self._tried)

    # What it shows

    def commands(self, files: RequestFiles) -> list[str]:
        """The commands that show whether it works."""
        found = checking_commands(files.request, files.written, files.shown, files.now, self._unwanted)
        return found or ([*self._before][-1:] if is_repair(files.request) and files.written else [])

    def next(self, files: RequestFiles) -> str | None:
        """The next of them that was not run since the last change."""
        return next((command for command in self.commands(files) if command not in self._tried), None)

    def faulty(self, files: RequestFiles) -> tuple[CommandRun, str] | None:
        """What a command shows to be wrong since the last change, and which; None if none shows anything wrong."""
        commands = self.commands(files)
        for run in (*(each for each in self._since if each.command in commands), *self._since[-1:]):
            if fault := self._fault_of(run, files):
                return run, fault
        return None

    def _fault_of(self, run: CommandRun, files: RequestFiles) -> str | None:
        if run.failed:
            return None if run.lacks_module(each.text for each in files.shown) else "fails"
        if not self.shows(run, files) or "test" in run.command:
            return None
        before = self._before.get(run.command)
        fault = fault_in(run, None if before is run else before, files.request, files.shown)
        if fault is None and self.next(files) is None:
            fault = missing_output([each for each in self._since if self.shows(each, files)], files.request)
        return fault

    def shows(self, run: CommandRun, files: RequestFiles) -> bool:
        """Whether a command is one that shows whether it works, or runs what was written."""
        return run.command in self.commands(files) or any(path in run.command for path in files.written)

    @property
    def is_silent(self) -> bool:
        """Whether the last command printed nothing."""
        return bool(self.runs) and not self.runs[-1].output.strip()

    def missing(self, files: RequestFiles, code: list[str]) -> str | None:
        """Why it is not known whether these files of code work, in words for the user; None if a command shows it."""
        runs = [run for run in self._since if not run.code]
        return missing_evidence(code, runs, self._before, files.now, files.request)


def failure(run: CommandRun, fault: str) -> str:
    """What goes wrong, in words for the model, with the end of what was printed."""
    return f"{run.command} {fault}:\n{run.output[-_MAX_OUTPUT:]}\n{how(fault)}"


def how(fault: str) -> str:
    """What is to be done about it."""
    return f"{_EACH if fault.startswith('does not print all') else ''}{AGAIN}"
