"""When a task changed files: what changed at another time is the user's."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from joey.app.checkpoints import own_times
from joey.checkpoints import CheckpointStore
from joey.journal.records import CheckpointMade, Record, RunBegan, RunEnded, TaskEnded, TaskOpened, merge_call
from joey.journal.store import TaskStore
from joey.messages import ToolResult

DONE = ToolResult(())
BEGUN = [CheckpointMade(1, "c"), RunBegan("c", "new_task")]
ENDED = TaskEnded("completed", "Done.")


@pytest.mark.parametrize(
    ("records", "spans"),
    [
        ([*BEGUN, RunEnded("c", "new_task", DONE), ENDED], [(1, 3)]),
        ([*BEGUN, ENDED], [(1, 3)]),
        ([*BEGUN, CheckpointMade(2, merge_call("c")), RunEnded("c", "new_task", DONE), ENDED], [(1, 4), (3, 4)]),
        ([*BEGUN, RunEnded("c", "new_task", DONE), CheckpointMade(2, ""), ENDED], [(1, 3), (4, 4)]),
    ],
    ids=["a call", "a call that ended with the task", "changes of a subtask merged", "an undo"],
)
def test_a_task_may_change_files_from_a_checkpoint_to_the_end_of_its_call(
    tmp_path: Path, records: list[Record], spans: list[tuple[int, int]]
) -> None:
    store, times = TaskStore(tmp_path), itertools.count()
    with store.open("t", clock=lambda: float(next(times))) as journal:
        journal.append(TaskOpened("t", "A task", str(tmp_path), "code", "m", "native"))
        for record in records:
            journal.append(record)
    assert [*own_times(store, "t", CheckpointStore(tmp_path / "c", tmp_path)).spans] == spans
