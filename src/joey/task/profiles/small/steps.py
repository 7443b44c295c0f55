"""What is to be done next for a request, from what it demands and what happened so far.

    write what is named and missing ─► change what is there ─► put right what is broken ─► run what is to be run
         ─► run what shows whether it works ─► (failed: write again, and run again) ─► say what was done

A step says which tools can do it, with which paths or commands, and what to tell a model that wants to be done before.
Under a grammar the model can make no other call: it does not choose what to do next, only how. What is only a check has
a limit; a change that is demanded and did not happen has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from joey.actions import Action, RunCommand, WritePath
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.task.profiles.small.beside import Beside
from joey.task.profiles.small.deletions import unwanted_deletion
from joey.task.profiles.small.intent import Intent, intent_of
from joey.task.profiles.small.problems import (
    collateral,
    is_script,
    is_test,
    missing_colour,
    missing_imports,
    problem_in,
    weakened,
)

_SUFFIXES = "py|txt|md|json|toml|ya?ml|ini|cfg|csv|html?|css|jsx?|tsx?|sh|log|xml|sql|[ch]pp|rs|go|java|rb"
_FILE_NAME = re.compile(rf"(?<![\w/.:-])(?:[\w-][\w./-]*\.(?:{_SUFFIXES})|\.gitignore|Makefile|Dockerfile)(?![\w/])")
"""Only what is certainly meant as a file: to be told that `e.g` does not exist would mislead."""
_COMMAND = re.compile(r"\bpython3?(?: -m \w+)?(?: [\w./-]+\.py)(?: (?:\d+|--?\w[\w-]*))*")
_RUNNING = re.compile(r"\b(run\w*|prints?|printed|works?|fails?|python3?|crash\w*|raises?)\b", re.IGNORECASE)
_GONE = re.compile(
    r"\b(?:delete|remove|rename|move)\s+(?:the\s+)?(?:file\s+|module\s+|script\s+)?([\w./-]+\.\w+)", re.IGNORECASE
)
_FORMATS = {
    "csv": "csv", "html": "html", "json": "json", "markdown": "md", "toml": "toml", "tsv": "tsv", "xml": "xml",
    "yaml": "yaml",
}  # fmt: skip
_CONVERTED = re.compile(
    r"\b(?:convert|translate|turn) (?:the )?(?:file )?([\w./-]+)\.\w+ (?:in)?to (?:an? )?"
    rf"({'|'.join(_FORMATS)})\b(?!\.\w)",
    re.IGNORECASE,
)
"""A file that is to be had in another format, under a name that is not given."""
_RENAMED = re.compile(
    r"\brename\s+(?:the\s+)?(?:\w+\s+)?[`'\"]?(?!(?:it|this|that|them|file|folder)\b)([A-Za-z_]\w*)(?:\(\))?[`'\"]?\s+"
    r"(?:to|into|as)\s+[`'\"]?([A-Za-z_]\w*)(?![\w.]*\.\w)",
    re.IGNORECASE,
)
"""A name in code, and its new one."""
_NO_TESTS = re.compile(r"\b(do not|don't|without)\b[^.]*\btests?\b", re.IGNORECASE)
_NEW_TESTS = re.compile(r"\b(add|write|extend|create)\b[^.]*\btests?\b", re.IGNORECASE)
_WITH_TESTS = re.compile(r"\bunit ?tests?\b|\b(?:with|and|add|write) (?:an? |some |its |the )?tests?\b", re.IGNORECASE)
_SCRIPT = re.compile(r"\b(script|program)\b", re.IGNORECASE)
_CODE = (".py", ".js", ".ts", ".sh", ".rb", ".go", ".rs", ".java", ".c", ".cpp")
_DATA = (".txt", ".csv", ".tsv", ".log", ".md")
_RUNNABLE = (".py", ".sh", ".bash", ".js", ".rb", ".pl")
_RUN_IT = re.compile(r"\b(run|execute|start) (it|them|the tests?|the script|the program)\b", re.IGNORECASE)
_TESTS = re.compile(r"\btests?\b", re.IGNORECASE)
_TEST_FUNCTION = re.compile(r"^(?:async )?def test", re.MULTILINE)
_RUN_TESTS = re.compile(r"\brun (?:the |all |my |its |our )*(?:unit ?)?tests\b", re.IGNORECASE)
_NO_TEST_RAN = re.compile(r"^Ran 0 tests|^NO TESTS RAN|No module named '?pytest", re.MULTILINE)
"""Says nothing about the code."""
_REPAIR = re.compile(r"\b(fix|repair|put right|fails?|failing|crash\w*|bug|broken)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_OWN_SCRIPT = "calculate.py"
_MAX_WHOLE = 6_000
"""Characters of a file that is written again as a whole; in longer ones parts are replaced."""
_MAX_ROUNDS, _MAX_REPAIRS = 2, 4
_MAX_OUTPUT = 600
_AGAIN = "It fails. Put it right: write the file again."
_BY_COMMAND = "Run a command that makes the change."
_SILENT = "It printed nothing. Have it print what is to be shown, and run it again."
READ, WRITE, EDIT = "read_file", "write_to_file", "edit_file"
RUN, DONE = "execute_command", "attempt_completion"
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


@dataclass(frozen=True, slots=True)
class CommandRun:
    command: str
    output: str
    code: int | None

    @property
    def failed(self) -> bool:
        return bool(self.code) and not _NO_TEST_RAN.search(self.output)


@dataclass(slots=True)
class Steps:
    """The steps of one request. `text_of` reads a file that may be shown."""

    request: str
    folder: Path
    text_of: Callable[[str], str | None] = lambda _path: None
    underway: bool = False
    """A task that was interrupted: what was done before is not known, so nothing is demanded."""
    beside: Beside = field(default_factory=Beside)
    runs: list[CommandRun] = field(default_factory=list)
    intent: Intent = field(default_factory=Intent, init=False)
    written: dict[str, None] = field(default_factory=dict, init=False)
    _there: list[str] = field(default_factory=list, init=False)
    _awaited: list[str] = field(default_factory=list, init=False)
    _gone: list[str] = field(default_factory=list, init=False)
    _waived: set[str] = field(default_factory=set, init=False)
    _settled: set[str] = field(default_factory=set, init=False)
    _unlikely: set[str] = field(default_factory=set, init=False)
    """Files in which the model found nothing to change, before anything was changed."""
    _checked: bool = field(default=False, init=False)
    """Whether something ran since the last change."""
    _reopened: bool = field(default=False, init=False)
    _fixes: int = field(default=0, init=False)
    _rounds: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.intent = Intent() if self.underway else intent_of(self.request)
        named = dict.fromkeys(_FILE_NAME.findall(self.request))
        self._there = [name for name in named if (self.folder / name).exists()]
        self._awaited = [name for name in named if name not in (*self._there, *self.intent.outputs)]
        if self.intent.writes and not self._awaited:
            self._awaited = [f"{stem}.{_FORMATS[name.lower()]}" for stem, name in _CONVERTED.findall(self.request)]
        self._gone = [name for name in _GONE.findall(self.request) if name in self._there]

    # What happened

    def release(self) -> None:
        """Nothing is demanded any more, and what was not spoken of may be since."""
        self.intent = Intent()
        self.underway = True

    def unwanted(self, command: str) -> str | None:
        """Why a command is not to be run: it deletes what nobody spoke of."""
        return None if self.underway else unwanted_deletion(command, self.request, self.written)

    def waive(self, tool: str) -> None:
        """The user does not approve what this tool would do: it is no longer demanded."""
        self._waived.add(tool)

    def is_waived(self, tool: str) -> bool:
        return tool in self._waived

    def tries(self, tool: str) -> None:
        """A call of this tool is made, whatever comes of it."""
        if tool == RUN:
            self._checked = True

    def ran(self, actions: Sequence[Action], result: ToolResult) -> None:
        """A call was carried out and went well."""
        for action in actions:
            match action:
                case WritePath(path):
                    self._rounds += bool(self.runs) and self._checked and self.runs[-1].failed
                    self._fixes += path in self.written
                    self.written[path] = None
                    self._checked = False
                    self._waived -= {RUN} if path == self._own_script else set()
                case RunCommand(command):
                    code = result.exit.code if result.exit is not None else None
                    self.runs.append(CommandRun(command, _output(result.text), code))
                    self._checked = True

    @property
    def did_something(self) -> bool:
        return bool(self.written or self.runs)

    # What comes next

    @property
    def next(self) -> Step | None:
        """The next step; None where the model decides."""
        intent = self.intent
        if intent.explains and self.beside.files:
            return Step({DONE: {}})
        if intent.writes and WRITE not in self._waived:
            return self._writing() or self._moving() or self._running() or self._ending()
        if intent.moves:
            return self._moving()
        return self._by_script() or self._running()

    def _by_script(self) -> Step | None:
        """What may not be run as a command may be written as a script and run, where there is nothing to be spoilt."""
        calculates = self.intent.runs or _DIGIT.search(self.request)
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
        """Tools that this request has no use for: those that write, where nothing is to be written, and the one that
        reads, as long as the model has seen all files there are."""
        by_script = RUN in self._waived and self._may_write_script
        seen = {each.path for each in self.beside.files}
        knows_all = bool(seen) and not self.runs and seen >= set(self.beside.entries)
        writers = WRITERS if self.intent.keeps_files and not by_script else frozenset[str]()
        return writers | ({READ} if knows_all else frozenset())

    def _writing(self) -> Step | None:
        moving: Calls = {RUN: {}} if self.intent.moves and not self._moved else {}
        if missing := [name for name in self._awaited if not (self.folder / name).exists()]:
            text = "\n".join(f"{name} does not exist yet. Write it now." for name in missing)
            return Step({WRITE: {"path": tuple(missing)}, **moving}, text)
        if left := next(self._with_old_name(), None):
            path, old, new = left
            return Step(
                {**self._editable(path), **moving}, f"{path} still has {old}. Write it with {new} in its place."
            )
        if broken := list(self._broken()):
            files = self._editable(broken[0][0])
            return Step(files, "\n".join(problem for _, problem in broken) + "\nPut it right.")
        if not self._changed:
            return self._first_change(moving)
        if self._lacks_script:
            return Step({WRITE: {}}, "There is no script yet. Write it now.")
        if test := self._missing_test():
            return Step({WRITE: {"path": (test,)}}, f"There is no test yet. Write {test} with unittest now.")
        if rest := self._required():
            return Step(self._editable(rest[0]), f"{rest[0]} is as it was. Change it as well, as the request says.")
        return None

    def _with_old_name(self) -> Iterator[tuple[str, str, str]]:
        """Files in which a name still stands that is to be another: the one that defines it first. Where the request
        names files, only these are meant; what else imports the name is found as broken."""
        named = any(each.named for each in self.beside.files)
        for old, new in self._renames:
            files = [each for each in self.beside.files if each.named or not named]
            for each in sorted(files, key=lambda file: f" {old}(" not in file.text and f"class {old}" not in file.text):
                now = self.text_of(each.path)
                if now and each.path not in self._settled and re.search(rf"\b{old}\b", now):
                    yield each.path, old, new

    @property
    def _renames(self) -> list[tuple[str, str]]:
        return _RENAMED.findall(self.request) if self.intent.writes else []

    @property
    def _lacks_script(self) -> bool:
        """Whether a script is to be written and run, and only other files were written."""
        files = (*self.written, *(each.path for each in self.beside.files))
        wanted = self.intent.runs and _SCRIPT.search(self.intent.changes)
        return bool(wanted) and not any(path.endswith(_RUNNABLE) for path in files)

    def _missing_test(self) -> str | None:
        """The file for tests that the request wants without naming one, if there are none yet."""
        modules = [path for path in self.written if path.endswith(".py") and not is_test(path)]
        if not modules or not _WITH_TESTS.search(self.request) or _NO_TESTS.search(self.request):
            return None
        files = [*self.written, *(each.path for each in self.beside.files)]
        if any(is_test(path) or "unittest" in (self.text_of(path) or "") for path in files):
            return None
        folder, _, name = modules[-1].rpartition("/")
        return f"{folder}/test_{name}" if folder else f"test_{name}"

    def _required(self) -> list[str]:
        """Files that are to be changed by the words of the request, and were not."""
        words = self.intent.edits if self._awaited else self.intent.changes
        files = [
            each for each in self.beside.files if each.named and re.search(rf"(?<![\w/]){re.escape(each.path)}", words)
        ]
        tests = self._tests_wanted
        rest = [each.path for each in files if each.path not in self._settled and (tests or not is_test(each.path))]
        return [path for path in rest if path not in self.written and self._is_unchanged(path)]

    def _is_unchanged(self, path: str) -> bool:
        return any(each.path == path and self.text_of(path) == each.text for each in self.beside.files)

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
        return bool(self.written or self._awaited) or any(
            self.text_of(each.path) != each.text for each in self.beside.files
        )

    def _first_change(self, moving: Calls) -> Step | None:
        if self.needs_command:
            look = self._check(anything=True)
            return Step({RUN: {"command": (look,)}}, f"Run {look}.") if look else Step({RUN: {}}, _BY_COMMAND)
        files = self._editable(*self._suspects)
        text = "That is not done: nothing was changed. Write the new file now."
        if files:
            return Step({**files, **moving}, text)
        looking: Calls = {READ: {}, "search_files": {}} if self.beside.entries or self._there else {}
        writing: Calls = {} if self._there else {WRITE: {}}
        return Step({**writing, **looking, **moving, **({EDIT: {}} if self._there else {})}, text)

    @property
    def needs_command(self) -> bool:
        """Whether the model wrote back what there was and ran nothing yet: a command shows what goes wrong, or, if it
        was all there is, makes the change."""
        stuck = self._unlikely and not self.runs and not self._changed and RUN not in self._waived
        return bool(stuck) and (self._unlikely.issuperset(self._suspects) or self._check(anything=True) is not None)

    @property
    def _suspects(self) -> list[str]:
        """The shown files that may have to be changed. What a program does wrong is put right in its code, not in the
        texts and tables that it reads, unless these are named."""
        files = self.beside.files
        with_code = any(each.path.endswith(_CODE) and not is_test(each.path) for each in files)
        spared = _DATA if with_code and _REPAIR.search(self.request) else ()
        found = [each.path for each in files if each.named or not each.path.endswith(spared)]
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
        if (self.intent.runs or self._own_script) and not self._checked:
            return Step({RUN: self._commands()}, "It was not run. Run it now, then say what it printed.")
        if self.intent.writes and not self._checked and (check := self._check()):
            return Step({RUN: {"command": (check,)}}, f"Run {check} first.")
        if (
            self.intent.writes
            and self.runs
            and self.runs[-1].failed
            and self._rounds < self._max_rounds
            and self._checked
        ):
            return Step(
                self._editable(*self.written, *(each.path for each in self.beside.files)), self._failure(), _AGAIN
            )
        return self._printing()

    @property
    def _max_rounds(self) -> int:
        return _MAX_REPAIRS if self.still_fails else _MAX_ROUNDS

    @property
    def still_fails(self) -> bool:
        """Whether something is to be put right, and the command that shows it failed to the last."""
        shows = self.intent.writes and self._checked and bool(self.runs) and self.runs[-1].failed
        return shows and bool(_REPAIR.search(self.request)) and self.runs[-1].command == self._check()

    def _printing(self) -> Step | None:
        """What was to be shown, and was not printed: another command, or a line more in what was written."""
        silent = self.intent.shows and self.runs and not self.runs[-1].output.strip() and not self.intent.outputs
        if not silent or not self._checked or len(self.runs) > _MAX_ROUNDS:
            return None
        return Step({RUN: {}, **(self._editable(*self.written) if self.intent.writes else {})}, _SILENT)

    def _ending(self) -> Step | None:
        """What may still be written, if files that the request names are as they were; else only the result is left."""
        rest = [each.path for each in self.beside.files if each.named and each.path not in self.written]
        if self._reopened and self._checked:
            rest = [*self.written]
        files = self._editable(*rest)
        return Step({DONE: {}, **files})

    # Files

    def _editable(self, *paths: str) -> Calls:
        """How these files may be written: whole, or in parts where they are long. Tests only if they are the task."""
        texts = {path: text for path in dict.fromkeys(paths) if (text := self.text_of(path)) is not None}
        tests = {path for path in texts if is_test(path)}
        if not self._tests_wanted and len(tests) < len(texts):
            texts = {path: text for path, text in texts.items() if path not in tests}
        whole = tuple(path for path, text in texts.items() if len(text) <= _MAX_WHOLE)
        parts = tuple(path for path in texts if path not in whole)
        return {**({WRITE: {"path": whole}} if whole else {}), **({EDIT: {"path": parts}} if parts else {})}

    @property
    def _tests_wanted(self) -> bool:
        """Whether tests are among what is to be written."""
        return bool(_NEW_TESTS.search(self.request)) and not _NO_TESTS.search(self.request)

    def _broken(self) -> Iterator[tuple[str, str]]:
        if self._fixes >= _MAX_ROUNDS:
            return
        texts = {path: text for path in self.written if (text := self.text_of(path)) is not None}
        before = {each.path: each.text for each in self.beside.files}
        for path, text in texts.items():
            if problem := problem_in(path, text) or self._spoilt(path, before.get(path, ""), text):
                yield path, problem
        now = {**before, **texts}
        known = {problem for _, _, problem in missing_imports(before)}
        for importer, source, problem in missing_imports(now):
            if problem not in known and texts:
                yield (source if importer in texts and source not in texts else importer), problem

    def _spoilt(self, path: str, before: str, text: str) -> str | None:
        for old, new in self._renames:
            before = re.sub(rf"\b{old}\b", new, before)
        spoilt = weakened(path, before, text) or collateral(path, before, text, self.request)
        return spoilt or missing_colour(path, text, self.request)

    # Commands

    def _commands(self) -> Mapping[str, tuple[str, ...]]:
        """The commands that run what was just written; no limit where that is not clear."""
        if self._own_script:
            return {"command": (f"python3 {quoted(self._own_script)}",)}
        if not self.intent.writes and _RUN_TESTS.search(self.request) and (every := self._tests_command):
            return {"command": (every,)}
        if not self.intent.writes or re.search(r"\bargument|\bwith\b \S+ as\b", self.request):
            return {}
        found = [command for path in reversed(self.written) if (command := _command_for(path))]
        tests = [command for command in found if "unittest" in command]
        found = tests if tests and _TESTS.search(self.request) else found
        named = _COMMAND.findall(self.request)
        found = [*named, *found]
        if self.intent.outputs and found:
            found = [f"{command} > {self.intent.outputs[0]}" for command in found]
        clear = named or _RUN_IT.search(self.request)
        return {"command": tuple(dict.fromkeys(found))} if found and clear else {}

    def _check(self, *, anything: bool = False) -> str | None:
        """The command that shows whether a change works: the one that the request names, tests, or the script that is
        said to fail. `anything`: before a change, to see what goes wrong, the only script will do."""
        if named := _COMMAND.findall(self.request):
            return str(named[0])
        if not anything and not any(path.endswith(".py") for path in self.written):
            return None
        if tests := self._tests_command:
            return tests
        scripts = [
            each.path for each in self.beside.files if (each.named or anything) and is_script(each.path, each.text)
        ]
        is_clear = len(scripts) == 1 and (anything or _RUNNING.search(self.request))
        return f"python3 {quoted(scripts[0])}" if is_clear else None

    @property
    def _tests_command(self) -> str | None:
        """Runs the tests that were shown, whatever they are written for."""
        tests = {each.path: each.text for each in self.beside.files if is_test(each.path)}
        functions = all("unittest" not in text and _TEST_FUNCTION.search(text) for text in tests.values())
        module = "pytest -q" if functions else "unittest"
        return f"python3 -m {module} {' '.join(map(quoted, tests))}" if tests else None

    def _failure(self) -> str:
        run = self.runs[-1]
        return f"{run.command} fails:\n{run.output[-_MAX_OUTPUT:]}\n{_AGAIN}"


def _command_for(path: str) -> str | None:
    if is_test(path):
        return f"python3 -m unittest {quoted(path)}"
    return {"py": f"python3 {quoted(path)}", "sh": f"bash {quoted(path)}"}.get(path.rpartition(".")[2])


def _output(text: str) -> str:
    """What a command printed, out of the words of its result."""
    output = text.partition("\nOutput:\n")[2] or text.partition("Output:\n")[2]
    return "" if output.strip() == "(none)" else output.strip("\n")
