"""The subtasks of a task as a tree, and the events of those that run at the same time as a person can follow them.

Events of subtasks that run beside each other come mixed. What they say and do step by step would be unreadable in one
conversation, so there each step is a line below the call that started the subtask, and only what needs the user is
shown whole: requests, with the call that they are about. The tree has the rest: what each does, what it took, and the
last of its steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.text import Text

from joey import events
from joey.journal.records import merge_call
from joey.system.visible import one_line
from joey.terminal.notes import subtask_label
from joey.terminal.status import added, money

_STEPS = 30
_SHOWN_WHOLE = (
    events.QuestionRequested, events.CompletionRequested, events.ContinueRequested, events.ApprovalAnswered,
    events.QuestionAnswered, events.CompletionAnswered, events.ContinueAnswered, events.CommandLeftRunning,
    events.FilesLeftBehind, events.ModelChanged, events.TaskFinished, events.TaskAborted, events.TurnFinished,
)  # fmt: skip


@dataclass(slots=True)
class Subtask:
    """One subtask, as far as it has come."""

    task_id: str
    parent_id: str
    mode: str = ""
    call_id: str = ""
    beside: bool = False
    worktree: str = ""
    model: str = ""
    text: str = ""
    doing: str = "starting"
    turns: int = 0
    cost: float | None = None
    outcome: str = ""
    """How it ended; empty while it works."""
    steps: deque[str] = field(default_factory=lambda: deque(maxlen=_STEPS))

    @property
    def label(self) -> str:
        return subtask_label(self.mode, self.task_id)


@dataclass(frozen=True, slots=True)
class RequestSource:
    """Which subtask a request is about: one that it makes, or the merge of what it changed."""

    subtask: Subtask
    is_merge: bool = False

    @property
    def heading(self) -> str:
        return f"{'Merge the changes of subtask' if self.is_merge else 'Subtask'} {self.subtask.label}"


def draw_source(source: RequestSource) -> Text:
    """The same in a line, with what the subtask is to do."""
    line = Text(no_wrap=True, overflow="ellipsis").append(f"{source.heading}: ", "bold cyan")
    return line.append(one_line(source.subtask.text), "cyan")


class SubtaskTree:
    """The subtasks of one task and theirs, in the order in which they were opened."""

    def __init__(self) -> None:
        self.subtasks: dict[str, Subtask] = {}
        self._calls: dict[tuple[str, str], events.ToolCallFinished] = {}
        self._whole: set[tuple[str, str]] = set()
        """The calls that are shown whole, since the user was asked about them."""

    # What is known

    def note(self, task_id: str, event: events.Event) -> None:
        """Take in an event."""
        if isinstance(event, events.TaskStarted) and event.parent_id is None:
            for of_the_last_task in (self.subtasks, self._calls, self._whole):
                of_the_last_task.clear()
        if isinstance(event, events.SubtaskOpened):
            place = event.mode, event.call_id, event.beside, event.worktree, event.model
            self.subtasks[event.child_id] = Subtask(event.child_id, task_id, *place)
        elif isinstance(event, events.SubtaskClosed) and event.child_id in self.subtasks:
            closed = self.subtasks[event.child_id]
            closed.outcome, closed.doing = event.outcome, ""
        elif isinstance(event, events.TaskStarted) and event.parent_id and task_id not in self.subtasks:
            # One that was interrupted, and continues with its task: its opening was reported before.
            self.subtasks[task_id] = Subtask(task_id, event.parent_id, event.mode, model=event.model, text=event.text)
        elif task_id in self.subtasks:
            _note(self.subtasks[task_id], event)

    def beside(self, task_id: str) -> Subtask | None:
        """The subtask beside others that a task is, or works for; None if it works alone."""
        found: Subtask | None = None
        each = self.subtasks.get(task_id)
        while each is not None:
            found = each if each.beside else found
            each = self.subtasks.get(each.parent_id)
        return found

    def source(self, task_id: str, request: events.Request) -> RequestSource | None:
        """Which subtask a request is about; None: it is the task's own."""
        if task_id in self.subtasks:
            return RequestSource(self.subtasks[task_id])
        call_id = request.call_id if isinstance(request, events.ApprovalRequested) else ""
        merged = (each for each in self.subtasks.values() if merge_call(each.call_id) == call_id)
        return next((RequestSource(each, is_merge=True) for each in merged), None)

    # What is shown in the conversation

    def shown(self, task_id: str, event: events.Event) -> list[tuple[str, events.Event]]:
        """Take in an event; what to show in its place, if it is of a subtask that runs beside others."""
        self.note(task_id, event)
        above = self.beside(task_id)
        if above is None:
            return [(task_id, event)]
        match event:
            case events.ToolCallFinished(call_id):
                self._calls[task_id, call_id] = event
                return []
            case events.ApprovalRequested(_, call_id):
                self._whole.add((task_id, call_id))
                call = self._calls.get((task_id, call_id))
                return [*([(task_id, call)] if call else []), (task_id, event)]
            case events.ToolRunStarted(call_id) | events.ToolRunFinished(call_id) if (task_id, call_id) in self._whole:
                return [(task_id, event)]
            case events.ToolRunStarted():
                line = f"{above.label}: {_step(event)}\n"
                return [(above.parent_id, events.ToolRunProgressed(above.call_id, line))]
            case _:
                return [(task_id, event)] if isinstance(event, _SHOWN_WHOLE) else []

    # What is listed

    def lines(self) -> list[str]:
        """The tree, a line each, with numbers."""
        return [
            f"  {at:>2}. {'   ' * (self._depth(each) - 1)}{_line(each)}"
            for at, each in enumerate(self.subtasks.values(), 1)
        ]

    def numbered(self, number: int) -> Subtask | None:
        return [*self.subtasks.values()][number - 1] if 0 < number <= len(self.subtasks) else None

    def _depth(self, subtask: Subtask) -> int:
        return 1 + sum(1 for _ in self._above(subtask))

    def _above(self, subtask: Subtask) -> Iterator[Subtask]:
        while (above := self.subtasks.get(subtask.parent_id)) is not None:
            yield above
            subtask = above


def _note(subtask: Subtask, event: events.Event) -> None:
    match event:
        case events.TaskStarted(text, mode, model):
            subtask.text, subtask.mode, subtask.model = text, mode, model
        case events.ModelChanged(model):
            subtask.model = model
        case events.TurnStarted():
            subtask.doing = "waiting for the model"
        case events.TurnFinished(_, _, cost):
            subtask.turns, subtask.cost = subtask.turns + 1, added(subtask.cost, cost)
        case events.ToolRunStarted():
            subtask.doing = _step(event)
            subtask.steps.append(subtask.doing)
        case (
            events.ApprovalRequested()
            | events.QuestionRequested()
            | events.CompletionRequested()
            | events.ContinueRequested()
        ):
            subtask.doing = "waiting for you"
        case events.TaskFinished(outcome):
            subtask.outcome, subtask.doing = outcome, ""
        case _:
            pass


def _step(event: events.ToolRunStarted) -> str:
    return one_line(f"{event.name} {event.summary}".strip())


def _line(subtask: Subtask) -> str:
    cost = f", {money(subtask.cost)}" if subtask.cost else ""
    there = subtask.worktree and Path(subtask.worktree).is_dir()  # one that was merged is gone
    where = f"  in {one_line(subtask.worktree)}" if there else ""
    what, model = subtask.outcome or subtask.doing, f"{one_line(subtask.model)}, " if subtask.model else ""
    return f"{subtask.label}  {what}  ({model}{turns(subtask.turns)}{cost})  {one_line(subtask.text)[:50]}{where}"


def turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def step_lines(subtask: Subtask) -> list[str]:
    """One subtask, looked into: what it is to do, and the last of what it did."""
    steps = [f"    {step}" for step in subtask.steps] or ["    none yet"]
    return [_line(subtask), f"  Its task: {one_line(subtask.text)}", "  Its last calls:", *steps]
