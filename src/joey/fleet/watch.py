"""The fleet live, in the terminal: batches, workers, what waits for a person, what it cost. Answers are typed there.

What is shown is a pure function of what was read (`FleetSnapshot`); a thread reads it once a second, so that a database
that is slow or away holds up no key.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import sqlalchemy as sa
from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from joey.errors import JoeyError
from joey.fleet.embedded import counts_in_words
from joey.fleet.fleet import Fleet
from joey.fleet.ledger import BatchLine, FleetTask, WorkerLine
from joey.fleet.requests import is_question, request_text
from joey.system.visible import one_line

_EVERY = 1.0
_ACTIVE = ("running", "asks", "queued")
_SHOWN_DONE = 5
_MIN_NAME = 12
_HINTS = {True: "your answer to the marked question", False: 'yes, no, or "no, because …" to the marked request'}
"""By whether it is a question; the others are approvals."""


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """What was read of a fleet at one moment."""

    batches: Sequence[BatchLine] = ()
    workers: Sequence[WorkerLine] = ()
    running: Sequence[FleetTask] = ()
    questions: Sequence[FleetTask] = ()
    problem: str = ""
    at: float = field(default_factory=time.time)

    @classmethod
    def of(cls, fleet: Fleet) -> FleetSnapshot:
        try:
            tasks = fleet.ledger.tasks(states=("running", "asks"))
            running = [task for task in tasks if task.state == "running"]
            waiting = [task for task in tasks if task.state == "asks" and not task.answer]
            return cls(fleet.ledger.batches(), fleet.ledger.workers(), running, waiting)
        except sa.exc.SQLAlchemyError as error:
            return cls(problem=f"the database does not answer: {one_line(str(error))[:200]}")


def shown(snapshot: FleetSnapshot, width: int) -> Text:
    """A fleet in lines of this width: what does not fit is cut, not wrapped."""
    text = Text(no_wrap=True)
    if snapshot.problem:
        text.append(f"{snapshot.problem}\n", "bold red")
    some, more = _first_batches(snapshot.batches)
    text.append("Batches\n", "bold")
    text.append(_rows([_batch_cells(each) for each in some], width))
    text.append("" if some else "  none; add some with joey fleet add\n", "dim")
    text.append(f"  and {more} more that are done; joey fleet status lists them\n" if more else "", "dim")
    text.append("Workers\n", "bold")
    workers = [(each.id, f"{each.running} of {each.slots} slots", f"on {each.host}") for each in snapshot.workers]
    text.append(_rows(workers, width))
    text.append("" if workers else "  none; start one with joey fleet work\n", "dim")
    text.append(f"Running ({len(snapshot.running)})\n", "bold")
    text.append(_rows([_task_cells(each, snapshot.at) for each in snapshot.running], width))
    return text


def _first_batches(batches: Sequence[BatchLine]) -> tuple[list[BatchLine], int]:
    """Those with something to do, then some of those that are done; and how many more there are."""
    active = [batch for batch in batches if any(batch.counts.get(state) for state in _ACTIVE)]
    done = [batch for batch in batches if batch not in active]
    return [*active, *done[:_SHOWN_DONE]], max(0, len(done) - _SHOWN_DONE)


def _batch_cells(batch: BatchLine) -> tuple[str, ...]:
    limit = f" of ${batch.max_cost:g}" if batch.max_cost is not None else ""
    return batch.name, counts_in_words(batch.counts), f"${batch.spent:.4f}{limit}"


def _task_cells(task: FleetTask, now: float) -> tuple[str, ...]:
    return task.id, f"turn {task.turns + 1}", f"{max(0, int(now - task.changed))} s", task.worker, f"${task.cost:.4f}"


def _rows(rows: Sequence[tuple[str, ...]], width: int) -> str:
    """Columns; where there is no room, the first is cut."""
    columns = [[cell_len(cell) for cell in column] for column in zip(*rows, strict=True)]
    widths = [max(lengths) for lengths in columns]
    room = width - sum(each + 2 for each in widths[1:]) - 2
    widths[:1] = [min(each, max(_MIN_NAME, room)) for each in widths[:1]]
    return "".join(
        "".join(f"  {set_cell_size(_cut(cell, size), size)}" for cell, size in zip(row, widths, strict=True)) + "\n"
        for row in rows
    )


def _cut(cell: str, size: int) -> str:
    return cell if cell_len(cell) <= size else f"{set_cell_size(cell, size - 1)}…"


def _question(task: FleetTask) -> Text:
    since = time.strftime("%H:%M", time.localtime(task.changed))
    return Text.assemble((task.id, "bold"), (f"  since {since}\n", "dim"), request_text(task.question))


class WatchApp(App[None]):
    """`joey fleet watch`."""

    CSS = """
    #fleet { height: 1fr; }
    #questions { height: auto; max-height: 12; border: round $warning; display: none; }
    #questions.some { display: block; }
    #answer { display: none; height: 1; background: $surface; }
    #answer.some { display: block; }
    #note { height: auto; display: none; }
    #note.some { display: block; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "quit", priority=True),
        Binding("up", "move(-1)", "question before", priority=True),
        Binding("down", "move(1)", "next question", priority=True),
        Binding("pageup", "page(-1)", "page up", priority=True),
        Binding("pagedown", "page(1)", "page down", priority=True),
    ]

    def __init__(self, fleet: Fleet, every: float = _EVERY) -> None:
        super().__init__()
        self._fleet = fleet
        self._every = every
        self._questions: list[FleetTask] = []
        """The tasks that ask, in the order of the list."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="lines"):
            yield Static(id="fleet")
        yield OptionList(id="questions")
        yield Static(id="note")
        yield Input(id="answer", compact=True)
        yield Footer()

    def on_mount(self) -> None:
        self.title = "joey fleet"
        self.query_one("#questions", OptionList).border_title = "Waiting for you"
        self.query_one("#questions", OptionList).can_focus = False
        self.set_interval(self._every, self.read_fleet)
        self.read_fleet()

    @work(thread=True, exclusive=True, group="read")
    def read_fleet(self) -> None:
        snapshot = FleetSnapshot.of(self._fleet)
        self.call_from_thread(self.show, snapshot)

    def show(self, snapshot: FleetSnapshot) -> None:
        if not self.query("#lines"):  # the user quits, and the screen is gone already
            return
        width = self.query_one("#lines", VerticalScroll).scrollable_content_region.width
        self.query_one("#fleet", Static).update(shown(snapshot, width))
        questions, answer = self.query_one("#questions", OptionList), self.query_one("#answer", Input)
        keys = [_key(task) for task in snapshot.questions]
        if keys != [_key(task) for task in self._questions]:
            chosen = self._chosen
            self._questions = [*snapshot.questions]
            questions.clear_options()
            questions.add_options([Option(_question(task)) for task in snapshot.questions])
            questions.highlighted = keys.index(_key(chosen)) if chosen and _key(chosen) in keys else 0 if keys else None
            if chosen is not None and _key(chosen) not in keys and answer.value:
                # What is being typed was for a question that is gone: it must not answer another.
                self._note(f"{chosen.id} does not ask that any more; not sent: {answer.value}")
                answer.clear()
            self._hint()
        for widget in (questions, answer):
            widget.set_class(bool(keys), "some")
        if keys and not answer.has_focus:
            answer.focus()

    @property
    def _chosen(self) -> FleetTask | None:
        place = self.query_one("#questions", OptionList).highlighted
        return self._questions[place] if place is not None and place < len(self._questions) else None

    def _hint(self) -> None:
        if self._chosen is not None:
            self.query_one("#answer", Input).placeholder = _HINTS[is_question(self._chosen.question)]
            self.query_one("#questions", OptionList).border_subtitle = f"answering {self._chosen.id}"

    def action_move(self, by: int) -> None:
        questions = self.query_one("#questions", OptionList)
        if self._questions:
            questions.highlighted = ((questions.highlighted or 0) + by) % len(self._questions)
            self._hint()

    def action_page(self, by: int) -> None:
        self.query_one("#lines", VerticalScroll).scroll_relative(y=by * max(1, self.size.height // 2))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        words, task = event.value.strip(), self._chosen
        if words and task is not None:
            event.input.clear()
            self._send(task, words)

    @work(thread=True, group="send")
    def _send(self, task: FleetTask, words: str) -> None:
        try:
            self._fleet.answer(task.id, words, task.leg)
            note = f"answered {task.id}: {words}"
        except (JoeyError, sa.exc.SQLAlchemyError) as error:
            note = one_line(str(error))
        self.call_from_thread(self._note, note)
        self.call_from_thread(self.read_fleet)

    def _note(self, text: str) -> None:
        note = self.query_one("#note", Static)
        note.update(Text(text, "dim"))
        note.set_class(bool(text), "some")


def _key(task: FleetTask) -> tuple[str, int]:
    """A task that asks again asks something else."""
    return task.id, task.leg
