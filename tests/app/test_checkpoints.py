"""When a task last changed files: what changed later is the user's."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from joey.app.checkpoints import last_step
from joey.journal.records import CheckpointMade, Record, RunBegan, RunEnded, TaskEnded, TaskOpened, merge_call
from joey.journal.store import TaskStore
from joey.messages import ToolResult

DONE = ToolResult(())
BEGUN = [CheckpointMade(1, "c"), RunBegan("c", "new_task")]
ENDED = TaskEnded("completed", "Done.")


@pytest.mark.parametrize(
    ("records", "last"),
    [
        ([*BEGUN, RunEnded("c", "new_task", DONE), ENDED], 3),
        ([*BEGUN, ENDED], 3),
        ([*BEGUN, CheckpointMade(2, merge_call("c")), RunEnded("c", "new_task", DONE), ENDED], 4),
        ([*BEGUN, RunEnded("c", "new_task", DONE), CheckpointMade(2, ""), ENDED], 4),
    ],
    ids=["a call", "a call that ended with the task", "changes of a subtask merged", "an undo"],
)
def test_the_last_step_is_the_end_of_a_call_that_may_change_files(
    tmp_path: Path, records: list[Record], last: int
) -> None:
    store, times = TaskStore(tmp_path), itertools.count()
    with store.open("t", clock=lambda: float(next(times))) as journal:
        journal.append(TaskOpened("t", "A task", str(tmp_path), "code", "m", "native"))
        for record in records:
            journal.append(record)
    assert last_step(store, "t") == pytest.approx(last, abs=0.01)
