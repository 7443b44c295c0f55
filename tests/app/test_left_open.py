"""What a task that does not run has left open, with its subtasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joey.app.left_open import left_open, take_back
from joey.effects import SubtaskStarted
from joey.journal.journal import read_journal
from joey.journal.records import ChildOpened, MessageAdded, Record, TaskEnded, TaskOpened, UserSaid
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.task import wording


class Tasks:
    """A task `t` that handed work to a subtask `c`."""

    def __init__(self, folder: Path, parent: str = "t") -> None:
        self.store = TaskStore(folder)
        handed = ToolUseBlock("n", "new_task", {"mode": "code", "message": "A part."})
        self.write("t", TaskOpened("t", "Do it.", "/", "code", "m", "native"))
        self.write("t", MessageAdded(Message("user", (TextBlock("Do it."),))))
        self.write("t", MessageAdded(Message("assistant", (handed,))))
        self.write("t", ChildOpened("c", "n", SubtaskStarted("code", "A part.")))
        self.write("c", TaskOpened("c", "A part.", "/", "code", "m", "native", parent))
        self.write("c", MessageAdded(Message("user", (TextBlock("A part."),))))

    def write(self, task_id: str, record: Record) -> None:
        with self.store.open(task_id) as journal:
            journal.append(record)

    def read(self, task_id: str) -> Iterator[Record]:
        yield from read_journal(self.store.journal_path(task_id))

    @property
    def queued(self) -> list[str]:
        return [message.text for message in left_open("t", self.read).queued]

    def take_back(self) -> bool:
        return take_back("t", self.store, self.read)


def test_a_message_on_its_way_between_two_journals_counts_once_and_is_taken_back_from_both(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    for task_id, text in (("c", "first"), ("c", "moved"), ("t", "moved"), ("t", "last")):
        tasks.write(task_id, UserSaid(text))
    assert tasks.queued == ["first", "moved", "last"]
    assert tasks.take_back() and tasks.queued == ["first", "moved"]
    assert tasks.take_back() and tasks.queued == ["first"]
    assert tasks.take_back() and not tasks.take_back() and tasks.queued == []


def test_the_same_words_sent_twice_are_two_messages(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    tasks.write("c", UserSaid("again"))
    tasks.write("c", UserSaid("again"))
    assert tasks.queued == ["again", "again"]
    assert tasks.take_back() and tasks.queued == ["again"]


def test_a_task_of_somebody_else_is_not_looked_into(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path, parent="another")
    tasks.write("c", UserSaid("for another"))
    assert tasks.queued == [] and not tasks.take_back()


def test_a_request_of_a_subtask_waits_for_the_user_until_the_subtask_has_ended(tmp_path: Path) -> None:
    tasks = Tasks(tmp_path)
    assert not left_open("t", tasks.read).waits_for_user
    result = ToolUseBlock("d", "attempt_completion", {"result": "Part."})
    tasks.write("c", MessageAdded(Message("assistant", (result,))))
    assert left_open("t", tasks.read).waits_for_user
    tasks.write("c", TaskEnded("completed", "Part."))
    assert not left_open("t", tasks.read).waits_for_user


@pytest.mark.parametrize(
    "stopped", [wording.plan_stopped("plan"), "the plan was declined. Nothing of it is carried out"]
)
def test_a_plan_that_was_declined_waits_for_what_the_user_wants_instead(tmp_path: Path, stopped: str) -> None:
    tasks = Tasks(tmp_path)
    plan = ToolUseBlock("d", "attempt_completion", {"result": "A plan."})
    declined = ToolResultBlock("d", (TextBlock(wording.plan_declined("plan")),))
    tasks.write("c", MessageAdded(Message("assistant", (plan,))))
    tasks.write("c", MessageAdded(Message("user", (declined,))))
    assert not left_open("c", tasks.read).waits_for_user
    tasks.write("c", TaskEnded("cancelled", stopped))
    assert left_open("c", tasks.read).waits_for_user
    tasks.write("c", MessageAdded(Message("user", (TextBlock(wording.user_message("Only a test.")),))))
    assert not left_open("c", tasks.read).waits_for_user
