"""What the model was told, beside what really happened.

Told of a step, the model may have heard one of three things: its own output, so it ran to its end, once; that it was
interrupted and may or may not have happened; or that it was not made, so there is no trace of it. Anything else is a
false answer. A step that happened twice, or did not and was called a success, is the fault this program looks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chaos.scenario import FINISHED, LOG, Model, file_name, file_text, output
from joey.task.wording import INTERRUPTED, NOT_RUN


@dataclass(frozen=True, slots=True)
class Happened:
    """The log of the commands and the files that were written: the world, not Joey's word for it."""

    log: Counter[str]
    files: frozenset[str]

    @classmethod
    def in_folder(cls, workspace: Path) -> Happened:
        log = workspace / LOG
        lines = log.read_text().splitlines() if log.exists() else []
        whole = {path.stem for path in workspace.glob("p*.txt") if path.read_text() == file_text(path.stem)}
        return cls(Counter(lines), frozenset(whole))

    def traces_of(self, label: str) -> bool:
        return bool(self.log[f"start {label}"]) or label in self.files


def faults(model: Model, workspace: Path) -> list[str]:
    """Everything that is not true, in words."""
    happened = Happened.in_folder(workspace)
    found = [f"{line!r} happened {count} times" for line, count in happened.log.items() if count > 1]
    found += [f"{path.name} is half-written" for path in _half_written(workspace)]
    for conversation in model.reported.values():
        for label, answer in conversation.answers.items():
            found += (f"{label}, {model.kinds[label]}: {each}" for each in _false(label, answer, happened, model))
    return found


def _half_written(workspace: Path) -> Iterator[Path]:
    for path in workspace.iterdir():
        if path.name != LOG and (path.name != file_name(path.stem) or path.read_text() != file_text(path.stem)):
            yield path


def _false(label: str, answer: str, happened: Happened, model: Model) -> Iterator[str]:
    if not answer:
        yield "never answered"
    elif NOT_RUN in answer:
        if happened.traces_of(label) or f"{label}c" in model.reported:
            yield "said not to have been made, and it was"
    elif INTERRUPTED not in answer and not _succeeded(label, answer, happened, model):
        yield f"the model was told what is not so: {answer[:300]!r}"


def _succeeded(label: str, answer: str, happened: Happened, model: Model) -> bool:
    """Whether it is true, and this step's own, what the model was told of its success."""
    match model.kinds[label]:
        case "write":
            return label in happened.files and "Subtask" not in answer
        case "subtask":
            return FINISHED in answer and f"{label}c" in model.reported
        case "background":
            return bool(happened.log[f"start {label}"]) and "Subtask" not in answer
        case _:
            return output(label) in answer and bool(happened.log[f"end {label}"])
