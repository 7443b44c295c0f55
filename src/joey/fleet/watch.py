"""The fleet live, in the terminal: batches, workers, what waits for a person, what it cost. Answers are typed there.

What is shown is a pure function of what was read (`Snapshot`); a thread reads it once a second, so that a database that
is slow or away holds up no key.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import sqlalchemy as sa
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
from joey.fleet.session import request_text
from joey.system.visible import one_line

_EVERY = 1.0
_HINT = 'answer the marked question: yes, no, "no, because …", or words'


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read of a fleet at one moment."""

    batches: Sequence[BatchLine] = ()
    workers: Sequence[WorkerLine] = ()
    running: Sequence[FleetTask] = ()
    questions: Sequence[FleetTask] = ()
    problem: str = ""
    at: float = field(default_factory=time.time)

    @classmethod
    def of(cls, fleet: Fleet) -> Snapshot:
        try:
            tasks = fleet.ledger.tasks(states=("running", "asks"))
            running = [task for task in tasks if task.state == "running"]
            waiting = [task for task in tasks if task.state == "asks" and not task.answer]
            return cls(fleet.ledger.batches(), fleet.ledger.workers(), running, waiting)
        except sa.exc.SQLAlchemyError as error:
            return cls(problem=f"the database does not answer: {one_line(str(error))[:200]}")


def shown(snapshot: Snapshot) -> Text:
    """A fleet as text."""
    text = Text()
    if snapshot.problem:
        text.append(f"{snapshot.problem}\n", "bold red")
    text.append("Batches\n", "bold")
    for batch in snapshot.batches:
        limit = f" of ${batch.max_cost:g}" if batch.max_cost is not None else ""
        text.append(f"  {batch.name}  {counts_in_words(batch.counts)}  ${batch.spent:.4f}{limit}\n")
    text.append("" if snapshot.batches else "  none; add some with joey fleet add\n", "dim")
    text.append("Workers\n", "bold")
    for worker in snapshot.workers:
        text.append(f"  {worker.id}  {worker.running} of {worker.slots} slots\n")
    text.append("" if snapshot.workers else "  none; start one with joey fleet work\n", "dim")
    text.append(f"Running ({len(snapshot.running)})\n", "bold")
    for task in snapshot.running:
        seconds = max(0, int(snapshot.at - task.changed))
        text.append(f"  {task.id}  turn {task.turns + 1}, {seconds} s, on {task.worker}  ${task.cost:.4f}\n")
    return text


class WatchApp(App[None]):
    """`joey fleet watch`."""

    CSS = """
    #fleet { height: 1fr; }
    #questions { height: auto; max-height: 12; border: round $warning; display: none; }
    #questions.some { display: block; }
    #answer { display: none; }
    #answer.some { display: block; }
    #note { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "quit", priority=True),
        Binding("up", "move(-1)", "question before", priority=True),
        Binding("down", "move(1)", "next question", priority=True),
    ]

    def __init__(self, fleet: Fleet) -> None:
        super().__init__()
        self._fleet = fleet
        self._questions: list[str] = []
        """The tasks that ask, in the order of the list."""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(id="fleet")
        yield OptionList(id="questions")
        yield Static(id="note")
        yield Input(placeholder=_HINT, id="answer")
        yield Footer()

    def on_mount(self) -> None:
        self.title = "joey fleet"
        self.query_one("#questions", OptionList).border_title = "Waiting for you"
        self.query_one("#questions", OptionList).can_focus = False
        self.set_interval(_EVERY, self.read_fleet)
        self.read_fleet()

    @work(thread=True, exclusive=True, group="read")
    def read_fleet(self) -> None:
        snapshot = Snapshot.of(self._fleet)
        self.call_from_thread(self.show, snapshot)

    def show(self, snapshot: Snapshot) -> None:
        self.query_one("#fleet", Static).update(shown(snapshot))
        ids = [task.id for task in snapshot.questions]
        questions, answer = self.query_one("#questions", OptionList), self.query_one("#answer", Input)
        if ids != self._questions:
            chosen = self._chosen
            self._questions = ids
            questions.clear_options()
            questions.add_options(
                [Option(Text(f"{task.id}  {request_text(task.question)}")) for task in snapshot.questions]
            )
            questions.highlighted = ids.index(chosen) if chosen in ids else 0 if ids else None
            if chosen is not None and chosen not in ids and answer.value:
                # What is being typed was for a question that is gone: it must not answer another.
                self._note(f"{chosen} does not ask any more; not sent: {answer.value}")
                answer.clear()
        for widget in (questions, answer):
            widget.set_class(bool(ids), "some")
        if ids and not answer.has_focus:
            answer.focus()

    @property
    def _chosen(self) -> str | None:
        place = self.query_one("#questions", OptionList).highlighted
        return self._questions[place] if place is not None and place < len(self._questions) else None

    def action_move(self, by: int) -> None:
        questions = self.query_one("#questions", OptionList)
        if self._questions:
            questions.highlighted = ((questions.highlighted or 0) + by) % len(self._questions)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        words, task_id = event.value.strip(), self._chosen
        if words and task_id is not None:
            event.input.clear()
            self._send(task_id, words)

    @work(thread=True, group="send")
    def _send(self, task_id: str, words: str) -> None:
        try:
            self._fleet.answer(task_id, words)
            note = f"answered {task_id}: {words}"
        except (JoeyError, sa.exc.SQLAlchemyError) as error:
            note = one_line(str(error))
        self.call_from_thread(self._note, note)
        self.call_from_thread(self.read_fleet)

    def _note(self, text: str) -> None:
        self.query_one("#note", Static).update(Text(text, "dim"))
