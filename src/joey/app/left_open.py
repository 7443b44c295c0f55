"""What a task that does not run has left open for when it is resumed, with the subtasks that come back with it.

A message of the user's waits in the journal of whoever worked when it was sent, which may be a subtask. On resuming,
those of a subtask go out first, and then, to the same subtask, those that its task has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias

from joey.journal.records import Record, UserSaid, UserTookBack
from joey.journal.replay import TaskState, replay
from joey.journal.store import TaskStore
from joey.task.completion import waiting_result
from joey.task.wording import PLAN_STOPPED
from joey.tools.builtin import builtin_display

Journal: TypeAlias = Callable[[str], Iterable[Record]]
"""What is written down of a task."""


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """What continues when a task is resumed."""

    queued: tuple[UserSaid, ...] = ()
    """The messages that no model has read, as they go out."""
    is_finished: bool = False
    waits_for_user: bool = False
    """Whether it was the user's turn: a request of the task, or of a subtask, stood open, or a plan was declined."""
    waits_with_result: bool = False
    """Whether that is a result of the task, which is a plan in plan mode."""


def left_open(task_id: str, read: Journal) -> LeftOpen:
    states = [state for _, state in _open_tasks(task_id, read)]
    last, waits = states[-1], any(map(_waits_for_user, states))
    return LeftOpen(tuple(_queued(states)), last.is_finished, waits, waiting_result(last) is not None)


def take_back(task_id: str, store: TaskStore, read: Journal) -> bool:
    """Forget the last message that waits; False if none does. JournalError if somebody has the task open."""
    if not left_open(task_id, read).queued:
        return False
    with ExitStack() as opened:
        own = opened.enter_context(store.open(task_id))
        tasks = [*_open_tasks(task_id, read)]
        last = _queued([state for _, state in tasks])[-1:]
        holding = [each for each, state in tasks if last and state.queued[-1:] == last]
        for each in holding:
            journal = own if each == task_id else opened.enter_context(store.open(each))
            journal.append(UserTookBack())
        return bool(holding)


def _open_tasks(task_id: str, read: Journal, parent: str | None = None) -> Iterator[tuple[str, TaskState]]:
    """A task and the subtasks that it brings back, each with its state, before the one that it works for. One that
    belongs to another task is not brought back."""
    state = replay(read(task_id))
    if parent is not None and (state.opened is None or state.opened.parent_id != parent):
        return
    for child in state.calls.children.values():
        yield from _open_tasks(child.child_id, read, task_id)
    yield task_id, state


def _queued(states: Sequence[TaskState]) -> list[UserSaid]:
    """The messages that wait. One that is in two journals was on its way from one to the other."""
    waiting: list[UserSaid] = []
    for state in states:
        waiting = [*waiting, *(message for message in state.queued if message not in waiting)]
    return waiting


def _waits_for_user(state: TaskState) -> bool:
    """Whether the model had answered, a request stood open, or the user declined a plan and has not said what they want
    instead. The calls of a reply are made in turn, so a request is about the first one without a result."""
    if state.ended and state.ended.message.startswith(PLAN_STOPPED):
        return True
    if not state.messages or state.messages[-1].role == "user" or (state.ended and state.ended.outcome == "completed"):
        return False
    made = state.calls
    call = next((each for each in state.unanswered if each.id not in made.results), None)
    if call is None:
        return not state.unanswered
    asks = builtin_display(call.name).role in ("question", "result")
    return call.id not in made.children and (asks or call.id not in made.begun)
