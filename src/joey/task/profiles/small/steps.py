"""What is to be done next for a request, from what it demands and what happened so far.

    write what is named and missing ─► change what is there ─► put right what is broken ─► run what is to be run
         ─► run what shows whether it works ─► (failed: write again, and run again) ─► say what was done

A step says which tools can do it, with which paths or commands, and what to tell a model that wants to be done before.
Under a grammar the model can make no other call: it does not choose what to do next, only how. What is only a check has
a limit; a change that is demanded and did not happen has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from joey.actions import Action, RunCommand, WritePath
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.task.profiles.small.beside import Beside
from joey.task.profiles.small.checks import Checks, failure, how
from joey.task.profiles.small.command_runs import CommandRun, output_of, running_commands, silent_module
from joey.task.profiles.small.deletions import unwanted_deletion
from joey.task.profiles.small.demands import (
    converted_files,
    has_number,
    is_repair,
    named_files,
    needs_command,
    removed_files,
    renamed,
    speaks_of_tests,
    wants_script,
)
from joey.task.profiles.small.intent import Intent, intent_of
from joey.task.profiles.small.request_files import RequestFiles

_RUNNABLE = (".py", ".sh", ".bash", ".js", ".rb", ".pl")
_OWN_SCRIPT = "calculate.py"
_MAX_FIXES, _MAX_ROUNDS, _MAX_REPAIRS = 3, 2, 4
_BY_COMMAND = "Run a command that makes the change."
_SILENT = "It printed nothing. Have it print what is to be shown, and run it again."
_UNPRINTED = "It printed nothing. Write it again, with a last line that prints what is to be shown."
READ, WRITE, EDIT = "read_file", "write_to_file", "edit_file"
RUN, DONE, ASK = "execute_command", "attempt_completion", "ask_followup_question"
WRITERS = frozenset({WRITE, EDIT})
Calls: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Tools that may be called, each with the values that some of its arguments are limited to."""


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next. `text` is for a model that claims to be done."""

    calls: Calls
    text: str = ""
    note: str = ""
    """The same for a model that has just seen why."""
    optional: bool = False
    """Whether a model that insists may leave it out."""

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do."""
        return DONE not in self.calls


@dataclass(slots=True)
class Steps:
    """The steps of one request. `text_of` reads a file that may be shown."""

    request: str
    folder: Path
    text_of: Callable[[str], str | None] = lambda _path: None
    underway: bool = False
    """A task that was interrupted: what was done before is not known, so nothing is demanded."""
    beside: Beside = field(default_factory=Beside)
    checks: Checks = field(default_factory=Checks)
    intent: Intent = field(default_factory=Intent, init=False)
    written: dict[str, None] = field(default_factory=dict, init=False)
    _there: list[str] = field(default_factory=list, init=False)
    _awaited: list[str] = field(default_factory=list, init=False)
    _gone: list[str] = field(default_factory=list, init=False)
    _waived: set[str] = field(default_factory=set, init=False)
    _settled: set[str] = field(default_factory=set, init=False)
    _unlikely: set[str] = field(default_factory=set, init=False)
    """Files in which the model found nothing to change, before anything was changed."""
    _reopened: bool = field(default=False, init=False)
    _fixes: int = field(default=0, init=False)
    _rounds: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.intent = Intent() if self.underway else intent_of(self.request)
        named = named_files(self.request)
        self._there = [name for name in named if (self.folder / name).exists()]
        self._awaited = [name for name in named if name not in (*self._there, *self.intent.outputs)]
        if self.intent.writes and not self._awaited:
            self._awaited = converted_files(self.request)
        self._gone = [name for name in removed_files(self.request) if name in self._there]

    # What happened

    def release(self) -> None:
        """Nothing is demanded any more, and what was not spoken of may be since."""
        self.intent = Intent()
        self.underway = True

    def unwanted(self, command: str) -> str | None:
        """Why a command is not to be run: it deletes what nobody spoke of."""
        return None if self.underway else unwanted_deletion(command, self.request, self.written)

    def shows_nothing(self, command: str) -> str | None:
        """Why a command does not answer a question: it only runs a module that was shown and prints nothing."""
        return silent_module(command, self.beside.files) if self.intent.is_question else None

    def waive(self, tool: str) -> bool:
        """The user does not approve what this tool would do: it is no longer demanded. Of a check that we made up
        ourselves, only this is to be said: False if nothing else is waived."""
        if tool == RUN and self.checks.waive(self._files):
            return False
        self._waived.add(tool)
        return True

    def is_waived(self, tool: str) -> bool:
        return tool in self._waived

    def tries(self, tool: str, command: str = "") -> None:
        """A call of this tool is made, whatever comes of it."""
        if tool == RUN:
            self.checks.tries(command)

    def ran(self, actions: Sequence[Action], result: ToolResult) -> None:
        """A call was carried out and went well."""
        for action in actions:
            match action:
                case WritePath(path):
                    self._rounds += self._faulty is not None
                    self._fixes += path in self.written
                    self.written[path] = None
                    self.checks.changed()
                    self._waived -= {RUN} if path == self._own_script else set()
                case RunCommand(command):
                    code = result.exit.code if result.exit is not None else None
                    self.checks.ran(CommandRun(command, output_of(result.text), code), changed=self._changed)

    @property
    def runs(self) -> list[CommandRun]:
        """The commands that ran."""
        return self.checks.runs

    @property
    def did_something(self) -> bool:
        return bool(self.written or self.runs)

    # What comes next

    @property
    def next(self) -> Step | None:
        """The next step; None where the model decides."""
        intent = self.intent
        if self.is_answered_by_files:
            return Step({DONE: {}})
        if intent.writes and WRITE not in self._waived:
            return self._writing() or self._moving() or self._running() or self._ending()
        if intent.moves:
            return self._moving()
        return self._by_script() or self._running()

    @property
    def is_answered_by_files(self) -> bool:
        """Whether a question is about what stands in files, and all of these were shown with it."""
        if self.intent.explains:
            return bool(self.beside.files)
        shows_all = {each.path for each in self.beside.files} >= set(self.beside.entries)
        is_about = self.intent.is_question and shows_all and self.beside.is_about(self.request)
        return is_about and not needs_command(self.request)

    def _by_script(self) -> Step | None:
        """What may not be run as a command may be written as a script and run, where there is nothing to be spoilt."""
        calculates = self.intent.runs or has_number(self.request)
        if RUN not in self._waived or self.written or not calculates or not self._may_write_script:
            return None
        text = f"Write {_OWN_SCRIPT}, which prints the result, and run it."
        return Step({WRITE: {"path": (_OWN_SCRIPT,)}}, text, optional=True)

    @property
    def _own_script(self) -> str | None:
        """The script that was written in place of a command."""
        return next((path for path in self.written if path.endswith(".py")), None) if self.intent.keeps_files else None

    @property
    def _may_write_script(self) -> bool:
        return (
            self.intent.keeps_files and not self.intent.moves and not self.beside.entries and WRITE not in self._waived
        )

    @property
    def forbidden(self) -> frozenset[str]:
        """Tools that this request has no use for: those that write, where nothing is to be written, and those that read
        or ask the user, as long as the model has seen all files there are."""
        by_script = RUN in self._waived and self._may_write_script
        seen = {each.path for each in self.beside.files}
        knows_all = bool(seen) and not self.runs and seen >= set(self.beside.entries)
        writers = WRITERS if self.intent.keeps_files and not by_script else frozenset[str]()
        needless = {READ, *((ASK,) if self.intent.asks else ())} if knows_all else frozenset[str]()
        return writers | needless

    def _writing(self) -> Step | None:
        moving: Calls = {RUN: {}} if self.intent.moves and not self._moved else {}
        if missing := [name for name in self._awaited if not (self.folder / name).exists()]:
            text = "\n".join(f"{name} does not exist yet. Write it now." for name in missing)
            return Step({WRITE: {"path": tuple(missing)}, **moving}, text)
        if left := next((each for each in self._files.with_old_name() if each[0] not in self._settled), None):
            path, old, new = left
            return Step(
                {**self._editable(path), **moving}, f"{path} still has {old}. Write it with {new} in its place."
            )
        if broken := list(self._files.broken()) if self._fixes < _MAX_FIXES else []:
            files = self._editable(broken[0][0])
            return Step(files, "\n".join(problem for _, problem in broken) + "\nPut it right.")
        if not self._changed:
            return self._first_change(moving)
        if self._lacks_script:
            return Step({WRITE: {}}, "There is no script yet. Write it now.")
        if test := self._files.missing_test():
            return Step({WRITE: {"path": (test,)}}, f"There is no test yet. Write {test} with unittest now.")
        if rest := self._required():
            return Step(self._editable(rest[0]), f"{rest[0]} is as it was. Change it as well, as the request says.")
        return None

    @property
    def _files(self) -> RequestFiles:
        renames = renamed(self.request) if self.intent.writes else []
        return RequestFiles(
            self.request, self.beside.files, self.written, self.text_of, renames, self.intent.changes,
            self.beside.entries,
        )  # fmt: skip

    @property
    def _lacks_script(self) -> bool:
        """Whether a script is to be written and run, and only other files were written."""
        files = (*self.written, *(each.path for each in self.beside.files))
        wanted = self.intent.runs and wants_script(self.intent.changes)
        return wanted and not any(path.endswith(_RUNNABLE) for path in files)

    def _required(self) -> list[str]:
        """Files that are to be changed by the words of the request, and were not."""
        words = self.intent.edits if self._awaited else self.intent.changes
        return [path for path in self._files.untouched(words) if path not in self._settled]

    def reopen(self) -> None:
        """What was written does not do what the model expected of it: it may be written again."""
        self._reopened = True

    def settle(self, path: str) -> None:
        """There is nothing to change in this file, by the model's own word."""
        if self._changed:
            self._settled.add(path)

    def unchanged(self, path: str) -> None:
        """The model wrote this file back as it was: it does not see what is wrong, and gets to see what goes wrong."""
        if not self._changed:
            self._unlikely.add(path)

    @property
    def _changed(self) -> bool:
        """Whether any file is new or other than it was, whatever did it."""
        return bool(self._awaited) or self._files.have_changed

    def _first_change(self, moving: Calls) -> Step | None:
        if look := self._first_look():
            return Step({RUN: {"command": (look,)}, **moving}, f"That is not done: nothing was changed. Run {look}.")
        if self.needs_command:
            return Step({RUN: {}}, _BY_COMMAND)
        files = self._editable(*self._suspects)
        text = "That is not done: nothing was changed. Write the new file now."
        if files:
            return Step({**files, **moving}, text)
        looking: Calls = {READ: {}, "search_files": {}} if self.beside.entries or self._there else {}
        writing: Calls = {} if self._there else {WRITE: {}}
        return Step({**writing, **looking, **moving, **({EDIT: {}} if self._there else {})}, text)

    def _first_look(self) -> str | None:
        """The command that shows what goes wrong, before anything is changed: what it shows afterwards is held against
        it. Tests that the request does not speak of may well pass, and then they mislead; and what a call returns that
        the request states is known already."""
        checks = [command for command in self.checks.commands(self._files) if " -c " not in command]
        look = None if self.runs or self.checks.is_current or RUN in self._waived else next(iter(checks), None)
        if look is None or self._unlikely:
            return look
        is_shown = "test" not in look or speaks_of_tests(self.request)
        return look if is_shown and is_repair(self.request) else None

    @property
    def needs_command(self) -> bool:
        """Whether the model wrote back what there was and ran nothing yet: a command shows what goes wrong, or, if it
        was all there is, makes the change."""
        stuck = self._unlikely and not self.runs and not self._changed and RUN not in self._waived
        return bool(stuck) and (self._unlikely.issuperset(self._suspects) or bool(self.checks.commands(self._files)))

    @property
    def _suspects(self) -> list[str]:
        """The shown files that may have to be changed, without those in which the model found nothing to change."""
        found = self._files.suspects
        return [path for path in found if path not in self._unlikely] or found

    def _moving(self) -> Step | None:
        if not self.intent.moves or RUN in self._waived:
            return None
        if left := [name for name in self._gone if (self.folder / name).exists()]:
            return Step({RUN: {}}, f"{left[0]} is still there. Run the command now.")
        if not self.did_something:
            return Step({RUN: {}}, "That is not done: nothing was changed and no command was run. Run it now.")
        return None

    @property
    def _moved(self) -> bool:
        return bool(self.runs)

    def _running(self) -> Step | None:
        if RUN in self._waived:
            return None
        if (self.intent.runs or self._own_script) and not self.checks.is_current:
            return Step({RUN: self._commands()}, "It was not run. Run it now, then say what it printed.")
        if self.intent.writes and (found := self._faulty) and self._rounds < self._max_rounds:
            run, fault = found
            files = self._editable(*self.written, *self._suspects)
            return Step(files, failure(run, fault), f"It {fault}. {how(fault)}")
        if self.intent.writes and not self._faulty and (check := self.checks.next(self._files)):
            return Step({RUN: {"command": (check,)}}, f"Run {check} first.")
        return self._printing()

    @property
    def _max_rounds(self) -> int:
        return _MAX_REPAIRS if is_repair(self.request) and self._shows_it else _MAX_ROUNDS

    @property
    def _faulty(self) -> tuple[CommandRun, str] | None:
        """What a command shows to be wrong since the last change, and which."""
        return self.checks.faulty(self._files) if self.intent.writes else None

    @property
    def failure(self) -> str | None:
        """What goes wrong with the files as they are, in words for the model; None if nothing is known to."""
        return None if self._faulty is None else failure(*self._faulty)

    @property
    def beside_now(self) -> str:
        """What was shown with the request, as it is now."""
        files = (replace(each, text=self.text_of(each.path) or each.text) for each in self.beside.files)
        return replace(self.beside, files=tuple(files)).text

    @property
    def _shows_it(self) -> bool:
        return bool(self.runs) and self.checks.shows(self.runs[-1], self._files)

    @property
    def left(self) -> str | None:
        """What is known to be wrong to the last, in words for the user; None if nothing is."""
        if not self.intent.writes or not WRITERS.isdisjoint(self._waived):
            return None
        if wrong := next(self._files.wrong(), None):
            return wrong
        found = self._faulty if RUN not in self._waived else None
        return f"`{found[0].command}` {found[1]}." if found and self.checks.shows(found[0], self._files) else None

    @property
    def unverified(self) -> str | None:
        """Why it is not known whether code that was written works: nothing ran that would show it."""
        code = [path for path in self.written if path.endswith(_RUNNABLE) and self.text_of(path) is not None]
        if self._is_unchanged:
            return "no file was changed."
        missing = self.checks.missing(self._files, code)
        return missing or (next(self._files.mentions(), None) if self.written else None)

    @property
    def _is_unchanged(self) -> bool:
        """Whether it is not known what is wanted of the files that a request names, and they are as they were."""
        unknown = self.intent == Intent() and not self.underway and any(each.named for each in self.beside.files)
        return unknown and not self._files.have_changed

    def _printing(self) -> Step | None:
        """What was to be shown, and was not printed: a line more in what was written, or else another command. A model
        that may do either runs the same again."""
        silent = self.intent.shows and self.checks.is_silent and not self.intent.outputs
        if not silent or not self.checks.is_current or len(self.runs) > _MAX_ROUNDS:
            return None
        files = self._editable(*self.written) if self.intent.writes else {}
        return Step(files, _UNPRINTED) if files else Step({RUN: {}}, _SILENT)

    def _ending(self) -> Step | None:
        """What may still be written, if files that the request names are as they were; else only the result is left."""
        rest = [each.path for each in self.beside.files if each.named and each.path not in self.written]
        if self._reopened and self.checks.is_current:
            rest = [*self.written]
        files = self._editable(*rest)
        return Step({DONE: {}, **files})

    def _editable(self, *paths: str) -> Calls:
        """How these files may be written: whole, or in parts where they are long."""
        whole, parts = self._files.split(*paths)
        return {**({WRITE: {"path": whole}} if whole else {}), **({EDIT: {"path": parts}} if parts else {})}

    # Commands

    def _commands(self) -> Mapping[str, tuple[str, ...]]:
        """The commands that run what was just written; no limit where that is not clear."""
        if self._own_script:
            return {"command": (f"python3 {quoted(self._own_script)}",)}
        found = running_commands(self.request, self.intent, self.written, self.beside.files)
        return {"command": tuple(found)} if found else {}
