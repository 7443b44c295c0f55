"""Records of a new task, made from those of another: a clean copy of a damaged journal, or a branch at an earlier turn.

A repaired journal holds what is whole, made to fit together again. A reply whose record of what ran is missing may have
run anything: its calls count as begun, so that none is made again unnoticed. Where the first record is missing, what
the task was about is taken from its first message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from joey.errors import UsageError
from joey.journal.foreign import protocol_of
from joey.journal.records import (
    CheckpointMade,
    LeftOut,
    MessageAdded,
    PermissionGranted,
    PermissionRevoked,
    ProfileSet,
    Record,
    RunBegan,
    TaskEnded,
    TaskOpened,
    path_text,
)
from joey.journal.replay import TaskState, replay
from joey.messages import TextBlock

Timed: TypeAlias = tuple[float, Record]


_NOT_KEPT = (LeftOut, TaskOpened, PermissionGranted, PermissionRevoked, ProfileSet)
"""A record that is lost may have taken back what the user allowed: a repaired task asks about everything again."""


def repaired(found: Iterable[tuple[float, Record | LeftOut]], task_id: str, workspace: Path) -> list[Timed]:
    """The records of a new task that resumes where the damaged one was; `workspace` is for one that lost its own."""
    entries = [*found]
    state = replay(record for _at, record in entries)
    kept = [(at, record) for at, record in entries if not isinstance(record, _NOT_KEPT)]
    opened = replace(state.opened or _opened(state, workspace), task_id=task_id, parent_id=None, parent_call_id=None)
    times = [at for at, _record in entries if at] or [0.0]  # what cannot be read has none
    known = {*state.calls.begun, *state.calls.results}
    uncertain = [call for call in state.unanswered if state.calls.uncertain and call.id not in known]
    return [(times[0], opened), *kept, *((times[-1], RunBegan(call.id, call.name)) for call in uncertain)]


def _opened(state: TaskState, workspace: Path) -> TaskOpened:
    texts = (block.text for message in state.messages for block in message.content if isinstance(block, TextBlock))
    text = next(texts, None)
    if text is None:
        raise UsageError("nothing of this task can be read; there is nothing to repair")
    protocol = protocol_of(state.messages)
    return TaskOpened("", text, path_text(workspace), state.mode or "code", "", protocol)


def branch(records: Iterable[Record], turn: int, task_id: str) -> list[Record]:
    """The records of a new task that has taken the first `turn` turns of this one, and no more.

    The last message of the beginning is the user's, so the new task continues with the model's turn; the answers to the
    last calls are in it.
    """
    kept: list[Record] = []
    turns = 0
    for record in records:
        is_reply = isinstance(record, MessageAdded) and record.message.role == "assistant"
        if is_reply and turns == turn:
            return kept
        turns += is_reply
        if isinstance(record, TaskOpened):
            record = replace(record, task_id=task_id, parent_id=None, parent_call_id=None)
        # Checkpoints stay with the task that made them, and so does what the user allowed in it.
        if not isinstance(record, (TaskEnded, CheckpointMade, PermissionGranted, PermissionRevoked, ProfileSet)):
            kept.append(record)
    if turns < turn:
        raise UsageError(f"the task has only {turns} turn{'s' * (turns != 1)}")
    return kept
