"""Whether a model that says it is done has looked at what it did.

Small models report success falsely: they write the same bug back, leave out the second file, and say that all is well.
So a claim of completion is not taken to the user at once if there are facts against it: a file that the task names and
that never came to be, or a change that was neither read nor run since. The model is shown the facts, and may claim
again; the user has the last word as always. Each missing file is named once, and what was written is shown once in a
task, so a model that insists gets through. What it is shown does not repeat the task: then it would begin again.

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


class Claims:
    """What was changed in a task and not looked at since. Made when the task begins: what exists then is not missed.

    `most` is how many characters may be shown.
    """

    def __init__(self, task: str, workspace: Path, most: int) -> None:
        self._workspace = workspace
        self._most = most
        self._unseen: dict[str, None] = {}
        self._shown = False
        named = dict.fromkeys(_FILE_NAME.findall(task))
        self._awaited = [name for name in named if not (workspace / name).exists()]

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
        missing = [name for name in self._awaited if not (self._workspace / name).exists()]
        self._awaited = []
        if missing:
            return "\n".join(_MISSING.format(name=name) for name in missing)
        changed = [] if self._shown else list(self._unseen)[:_MOST_FILES]
        self._shown = self._shown or bool(changed)
        return "\n\n".join([*map(self._file, changed), _HOW]) if changed else None

    def _file(self, path: str) -> str:
        try:
            text = read_text((self._workspace / path).read_bytes()).text
        except (OSError, NotTextError):
            return f"{path} cannot be read as text."
        problem = problem_in(path, text)
        return "\n".join([f"{path} is now:", trimmed(text, self._most // _MOST_FILES), *([problem] if problem else [])])


_MISSING = "{name} does not exist. If the task asks for it, make it now."
_HOW = "If this is right, call attempt_completion again with the same result. If not, put it right."


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
