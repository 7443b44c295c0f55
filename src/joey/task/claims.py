"""Whether a model that says it is done has looked at what it did.

Small models report success falsely: they write the same bug back, leave out the second file, never run what they were
told to run, and say that all is well. So the first claim of completion after a change that was neither read nor run
is not taken to the user. Instead the model is shown the facts: the task once more, the files as they are now, whether
they can be read as what they are, which files the task names that do not exist. Then it may claim again, and the user
has the last word as always. It is told once for the same state of things, so a model that insists gets through.

Not judged here is whether the work is right: that would need another model. Facts only.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path

from joey.actions import Action, ReadPath, RunCommand, WritePath
from joey.task.trim import trimmed
from joey.tools.textfile import NotTextError, read_text

_SUFFIXES = "py|txt|md|json|toml|ya?ml|ini|cfg|csv|html?|css|jsx?|tsx?|sh|log|xml|sql|[ch]pp|rs|go|java|rb"
_FILE_NAME = re.compile(rf"(?<![\w/.:-])[\w-][\w./-]*\.(?:{_SUFFIXES})(?![\w/])")
"""Only what is certainly meant as a file: to be told that `e.g` does not exist would mislead."""
_MOST_FILES = 4
_MOST_OF_THE_TASK = 1_000


class Claims:
    """What was changed in a task and not looked at since. `most` is how many characters may be shown."""

    def __init__(self, task: str, workspace: Path, most: int) -> None:
        self._task = task
        self._workspace = workspace
        self._most = most
        self._unseen: dict[str, None] = {}
        self._missing_told: set[str] = set()

    def ran(self, actions: Sequence[Action]) -> None:
        """A call was carried out and went well."""
        for action in actions:
            match action:
                case WritePath(path):
                    self._unseen[path] = None
                case ReadPath(path):
                    self._unseen.pop(path, None)
                case RunCommand():
                    self._unseen.clear()

    def doubt(self) -> str | None:
        """What to look at before the task is called complete; None if there is nothing new to say."""
        changed, missing = list(self._unseen), self._missing()
        if not changed and not missing:
            return None
        self._unseen.clear()
        self._missing_told.update(missing)
        shown = [self._file(path) for path in changed[:_MOST_FILES]]
        lost = [f"{name} does not exist." for name in missing]
        task = f"Check before you complete. The task was:\n{trimmed(self._task, _MOST_OF_THE_TASK)}"
        return "\n\n".join([task, *shown, *lost, _HOW])

    def _missing(self) -> list[str]:
        named = dict.fromkeys(_FILE_NAME.findall(self._task))
        return [name for name in named if name not in self._missing_told and not (self._workspace / name).exists()]

    def _file(self, path: str) -> str:
        try:
            text = read_text((self._workspace / path).read_bytes()).text
        except (OSError, NotTextError):
            return f"{path} cannot be read as text."
        problem = problem_in(path, text)
        return "\n".join([f"{path} is now:", trimmed(text, self._most // _MOST_FILES), *([problem] if problem else [])])


_HOW = "Is all of it done? What is missing or wrong, do now. If all is well, call attempt_completion again."


def problem_in(path: str, text: str) -> str | None:
    """Why a file cannot be read as what its name says; None if it can, or nothing is known about such files."""
    try:
        if path.endswith(".py"):
            ast.parse(text)
        elif path.endswith(".json"):
            json.loads(text)
    except SyntaxError as error:
        return f"{path} has a syntax error in line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        return f"{path} is not valid: {error}"
    return None
