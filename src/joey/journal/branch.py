"""Another way from an earlier turn: a new task that shares the beginning of an old one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from joey.errors import UsageError
from joey.journal.records import (
    CheckpointMade,
    MessageAdded,
    PermissionGranted,
    PermissionRevoked,
    ProfileSet,
    Record,
    TaskEnded,
    TaskOpened,
)


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
        raise UsageError(f"the task has only {turns} turns")
    return kept
