"""What the checkpoints of a task say was there, beside what the steps of the task did.

Before each step a checkpoint is taken, in the task or in the subtask that the step belongs to. So the file of an
earlier step was there at that moment, whole, if it is there now, and the file of this step or of a later one was not;
and of the log of the commands there was the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from chaos.scenario import LOG
from joey.checkpoints import CheckpointStore
from joey.checkpoints.store import Snapshot
from joey.errors import JoeyError
from joey.journal.journal import read_journal
from joey.journal.records import CheckpointMade

_STEP = re.compile(r"\b(?:start |write_to_file: )p(\d+)(?:c(\d+))?\b")


def false_checkpoints(tasks: Path, workspace: Path) -> list[str]:
    """Everything in the checkpoints that is not so, in words."""
    return [
        f"{path.parent.name}, {each}" for path in sorted(tasks.glob("*/journal.jsonl")) for each in _of(path, workspace)
    ]


def _of(journal: Path, workspace: Path) -> Iterator[str]:
    store = CheckpointStore(journal.parent / "checkpoints", workspace)
    made = {record.checkpoint for record in read_journal(journal) if isinstance(record, CheckpointMade)}
    if missing := made - {each.id for each in store.checkpoints}:
        yield f"checkpoints that were recorded are not there: {sorted(missing)}"
    for checkpoint in store.checkpoints:
        step = _step(checkpoint.label)
        if step is not None:
            past = store.past(checkpoint.id)
            found = (_false(store, past, path, step) for path in sorted(workspace.iterdir()))
            yield from (f"checkpoint {checkpoint.id} ({checkpoint.label[:40]}): {each}" for each in found if each)


def _step(text: str) -> tuple[int, int] | None:
    found = _STEP.search(text)
    return (int(found[1]), int(found[2] or 0)) if found else None


def _false(store: CheckpointStore, past: Snapshot, path: Path, step: tuple[int, int]) -> str | None:
    says = past.says(path.name)
    if path.name == LOG:
        ok = says is None or says.kind == "absent" or path.read_bytes().startswith(_content(store, says.content))
        return None if ok else f"{LOG} is not the beginning of what it is now"
    written = _step(f"write_to_file: {path.stem}")
    if written is None:
        return None
    was_there = written < step
    if was_there and says is not None and (says.kind != "file" or _content(store, says.content) != path.read_bytes()):
        return f"{path.name} was there, and the checkpoint has {says.kind}"
    if says is None and step[1] and not written[1]:
        return None  # another task wrote it later: the checkpoints of the subtask have nothing to say of it
    if not was_there and (says is None or says.kind != "absent"):
        return f"{path.name} was not there, and the checkpoint has {says.kind if says else 'it as it is now'}"
    return None


def _content(store: CheckpointStore, name: str) -> bytes:
    try:
        return store.contents.read(name)
    except JoeyError as error:
        return str(error).encode()
