"""What a person does with a fleet: add tasks, look, answer, cancel, try again.

with open_fleet(settings) as fleet:
    fleet.add("migration", tasks, budget=50)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from joey.config import Config
from joey.errors import UsageError
from joey.fleet.database import Database, FleetError, open_database
from joey.fleet.engine import QueueClient, make_tables
from joey.fleet.ledger import FleetTask, Ledger
from joey.fleet.requests import parsed_answer
from joey.fleet.spec import TaskSpec, check_batch, check_name
from joey.system.folders import clones_folder, state_folder

FINISHED = "completed"
MAX_TASK_ID = 160


@dataclass(frozen=True, slots=True)
class Added:
    """What came of adding tasks: those that are new, and how many were there already."""

    new: list[str]
    known: int


class Fleet:
    """An open fleet."""

    def __init__(self, database: Database, queue: QueueClient) -> None:
        self.database = database
        self.queue = queue
        self.ledger = Ledger(database)

    def add(self, batch: str, tasks: Sequence[TaskSpec], budget: float | None = None) -> Added:
        """Put tasks into the queue. One whose id is in the batch already is left as it is."""
        named = _named(batch, tasks)
        self.queue.make_queue()
        new = self.ledger.add(batch, named, budget, self.queue.enqueue)
        return Added(new, len(named) - len(new))

    def named(self, name: str) -> list[FleetTask]:
        """The tasks of a batch, or the one task of this id."""
        if found := self.ledger.tasks(name):
            return found
        return [self.task(name)]

    def task(self, task_id: str) -> FleetTask:
        task = self.ledger.task(task_id)
        if task is None:
            raise UsageError(f"there is no batch and no task {task_id!r}; `joey fleet status` lists them")
        return task

    def answer(self, task_id: str, words: str, number: int | None = None) -> FleetTask:
        """Answer what a task asks: yes or no to an approval, perhaps with words after it, or words to a question.

        With the number of a request, only that one: another may have come since somebody looked."""
        task = self.task(task_id)
        if task.state != "asks":
            raise UsageError(f"{task_id} asks nothing; it is {task.outcome or task.state}")
        if task.answer:
            raise UsageError(f"{task_id} was answered already; `joey fleet status {task_id}` shows what it does")
        if number is not None and number != task.leg:
            raise UsageError(f"{task_id} asks something else by now; `joey fleet status {task_id}` shows what")
        if not self.ledger.answer(task, json.dumps(parsed_answer(task.question, words))):
            raise UsageError(f"{task_id} does not wait any more; `joey fleet status` shows what it does")
        self.queue.wake(task.workflow)
        return task

    def cancel(self, name: str) -> tuple[int, int]:
        """Cancel the tasks of a batch, or one; how many have ended, and how many their workers are about to end."""
        ended = ending = 0
        for task in self.named(name):
            if task.state == "done":
                continue
            if self.ledger.cancel(task):
                self.queue.cancel(task.workflow)
                ended += 1
            else:
                ending += 1
        return ended, ending

    def retry(
        self, name: str, *, settings: Mapping[str, Any], budget: float | None = None, again: bool = False
    ) -> list[str]:
        """Put tasks that ended without being completed into the queue again."""
        tasks = self.named(name)
        if budget is not None:
            self.ledger.set_max_cost(tasks[0].batch, budget)
        done: list[str] = []
        for task in tasks:
            if task.state != "done" or task.outcome == FINISHED:
                continue
            spec = replace(task.spec, settings={**task.spec.settings, **settings})
            if self.ledger.retry(task, spec, again=again, enqueue=self.queue.enqueue):
                done.append(task.id)
        return done

    # Schedules

    def schedule(
        self, name: str, times: str, tasks: Sequence[TaskSpec], budget: float | None, *, catch_up: bool = False
    ) -> None:
        """Add the tasks as a new batch at these times, as long as a worker runs."""
        check_name(name, "name of a schedule")
        now = datetime.now(UTC)
        _named(_batch_at(name, now), tasks)  # what is too long then is too long now
        context = {"name": name, "budget": budget, "catch_up": catch_up, "since": now.isoformat()}
        self.queue.make_queue()
        self.queue.schedules.add(name, times, json.dumps({**context, "tasks": [task.text for task in tasks]}))

    def add_scheduled(self, at: str, context: str) -> Added:
        """The batch of a schedule for one time. Its name has the time in it, so that each time is added once."""
        data = json.loads(context)
        tasks = [TaskSpec.read(text) for text in data["tasks"]]
        return self.add(_batch_at(data["name"], datetime.fromisoformat(at)), tasks, data["budget"])


def _batch_at(schedule: str, at: datetime) -> str:
    return f"{schedule}-{at:%Y%m%d-%H%M%S}"


def _named(batch: str, tasks: Sequence[TaskSpec]) -> list[tuple[str, TaskSpec]]:
    """The tasks with the ids that they have in the whole fleet."""
    check_batch(batch)
    named = [(f"{batch}.{task.id}", task) for task in tasks]
    for task_id, _ in named:
        if len(task_id) > MAX_TASK_ID:
            raise UsageError(f"{task_id!r} is longer than {MAX_TASK_ID} characters; use shorter ids")
    return named


@contextmanager
def open_fleet(config: Config) -> Iterator[Fleet]:
    """The fleet that the settings name. What is wrong with its database comes out in words."""
    folder, clones = fleet_folders(config)
    database = open_database(config.value("fleet.url"), folder, clones, make_tables)
    queue = QueueClient(database)
    try:
        yield Fleet(database, queue)
    except sa.exc.OperationalError as error:
        words = str(error.orig).strip().split("\n")[0]
        raise FleetError(f"the fleet's database failed: {words}; check that it runs, then try again") from None
    finally:
        queue.close()
        database.close()


def fleet_folders(config: Config) -> tuple[Path, Path]:
    """Where this machine keeps what belongs to its fleet, and the clones."""
    if named := config.value("fleet.folder"):
        folder = Path(named).expanduser().absolute()
        return folder, folder / "clones"
    return state_folder() / "fleet", clones_folder()
