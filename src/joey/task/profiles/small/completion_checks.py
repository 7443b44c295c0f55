"""Whether a model that says it is done has done and looked at what there was to do.

Small models report success falsely: they read a file and say that it is deleted, write the same bug back, leave out the
second file, and say that all is well. So a claim of completion is not taken to the user at once if there are facts
against it:

- a file that the task names never came to be, or was never looked at,
- a file that was written is not valid Python or JSON,
- it is said that something was done, and nothing was changed or run,
- something was changed, and neither read nor run since.

The model is shown the facts, and may claim again; the user has the last word as always. Each objection is raised once
in a task, so a model that insists gets through. What it is shown does not repeat the task: then it would begin again.

Not judged here is whether the work is right: that would need another model. Facts only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from joey.actions import Action, ReadPath, RunCommand, WritePath
from joey.bounded.files import read_resolved
from joey.system.filenames import quoted
from joey.task.profiles.base import Objection
from joey.task.profiles.small.intent import Intent, intent_of
from joey.task.profiles.small.problems import problem_in
from joey.task.profiles.small.trim import trimmed
from joey.tools.textfile import NotTextError, read_text

_SUFFIXES = "py|txt|md|json|toml|ya?ml|ini|cfg|csv|html?|css|jsx?|tsx?|sh|log|xml|sql|[ch]pp|rs|go|java|rb"
_FILE_NAME = re.compile(rf"(?<![\w/.:-])[\w-][\w./-]*\.(?:{_SUFFIXES})(?![\w/])")
"""Only what is certainly meant as a file: to be told that `e.g` does not exist would mislead."""
_DEED = re.compile(
    r"\b(add|chang|copi|creat|delet|edit|execut|fix|mov|remov|renam|replac|ran|run|sav|updat|writ|wrote)", re.IGNORECASE
)
_CHANGING = frozenset({"write_to_file", "edit_file"})
_MAX_FILES = 4


class CompletionChecks:
    """What was done for a request, and not looked at since. Made when it comes: what exists then is not missed.

    `max_shown` counts characters. `underway` is a task that was interrupted: what was done is unknown.
    `hidden` says which (resolved) paths are not to be shown: a path may lead elsewhere than when it was written to.
    """

    def __init__(
        self,
        task: str,
        workspace: Path,
        max_shown: int,
        *,
        touched: Collection[str] = (),
        underway: bool = False,
        hidden: Callable[[Path], bool] = lambda _path: False,
        intent: Intent | None = None,
    ) -> None:
        self._hidden = hidden
        self._workspace = workspace
        self._max_shown = max_shown
        intent = intent_of(task) if intent is None else intent
        self._confirms = not underway and intent == Intent()
        """Whether the model is to look at what it changed: only where nothing else is known of the request."""
        self.is_question = intent.is_question
        """Whether it is a question."""
        self._named = list(dict.fromkeys(_FILE_NAME.findall(task)))
        self._awaited = [name for name in self._named if not (workspace / name).exists()]
        self.touched = set(touched)
        """The files that were read or written, for this request or one before."""
        self._commands = ""
        self._did_something = underway
        self._written: dict[str, None] = {}
        self._unseen: dict[str, None] = {}
        self._raised: set[str] = set()
        self._claim, self._answer = "", ""
        self.reminder = "" if self.is_question else f" It is still to be done: {task.strip()}"
        """For a model that tried to do it and changed nothing."""

    @property
    def too_early(self) -> frozenset[str]:
        """Tools that can do no good yet: the task is about files that are there, and none has been looked at."""
        knows = self.touched or self._commands or self._awaited or not self._named
        return frozenset() if knows else _CHANGING

    def ran(self, actions: Sequence[Action]) -> None:
        """A call was carried out and went well."""
        for action in actions:
            match action:
                case WritePath(path):
                    self._did_something = True
                    self.touched.add(path)
                    self._written[path] = None
                    self._unseen[path] = None
                case ReadPath(path):
                    self.touched.add(path)
                    self._unseen.pop(path, None)
                case RunCommand(command):
                    self._did_something = True
                    self._commands += f" {command}"
                    self._unseen.clear()

    def objection(self, claim: str) -> Objection | None:
        """What speaks against the claim; None if there is nothing, or nothing new."""
        for kind, objection in self._objections(claim):
            if kind not in self._raised:
                self._raised.add(kind)
                self._claim, self._answer = claim, objection.text
                return objection
        return None

    def claimed(self, claim: str) -> str:
        """The claim; or the one before, if the model only repeats what it was shown, as small ones do."""
        return self._claim if self._claim and claim.strip() in self._answer else claim

    def _objections(self, claim: str) -> Iterator[tuple[str, Objection]]:
        if missing := [name for name in self._awaited if not (self._workspace / name).exists()]:
            yield "missing", Objection("\n".join(_MISSING.format(name=name) for name in missing))
        if broken := [problem for path in self._written if (problem := self._problem(path))]:
            yield "broken", Objection("\n".join([*broken, _BROKEN]), ("write_to_file", "edit_file"))
        if ignored := [name for name in self._named if self._is_ignored(name)]:
            yield "ignored", Objection(_IGNORED.format(name=ignored[0]), ("read_file",))
        if not self._did_something and not self.is_question and _DEED.search(claim):
            yield "nothing", Objection(_NOTHING, ("execute_command",))
        if self._confirms and (changed := list(self._unseen)[:_MAX_FILES]):
            yield "changed", Objection("\n\n".join([*map(self._file, changed), _HOW]))

    def _is_ignored(self, name: str) -> bool:
        return name not in self.touched and name not in self._commands and (self._workspace / name).is_file()

    def _file(self, path: str) -> str:
        text = self._text(path)
        if text is None:
            return f"{quoted(path)} cannot be read as text."
        return f"{quoted(path)} is now:\n{trimmed(text, self._max_shown // _MAX_FILES)}"

    def _problem(self, path: str) -> str | None:
        text = self._text(path)
        return None if text is None else problem_in(path, text)

    def _text(self, path: str) -> str | None:
        try:
            found = (self._workspace / path).resolve()
            return None if self._hidden(found) else read_text(read_resolved(found)).text
        except (OSError, RuntimeError, NotTextError):
            return None


_MISSING = "{name} does not exist. If the task asks for it, make it now."
_BROKEN = "Put it right."
_IGNORED = "You have not looked at {name}. Read it, then call attempt_completion with the whole answer."
_NOTHING = "That is not done: nothing was changed and no command was run. Do it now."
_HOW = "If this is right, call attempt_completion again with the same result. If not, put it right."
