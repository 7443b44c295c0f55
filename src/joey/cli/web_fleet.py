"""The fleet for the page of `joey web`: the two front ends do not know each other, so they are connected here."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from joey.app.sources import settings_in_force
from joey.config import Config
from joey.journal.store import TaskStore
from joey.system.folders import state_folder
from joey.system.visible import one_line

if TYPE_CHECKING:
    from joey.fleet.fleet import Fleet
    from joey.fleet.ledger import FleetTask

_MAX_LISTED = 200
_MAX_LINE = 300
_WORKSPACE = Path("/workspace")
"""Where the files of a task are is another place on every machine."""


def connect_fleet(folder: Path) -> ConnectedFleet | None:
    """The fleet of the settings, if there is one already. What it needs is loaded only then."""
    config = settings_in_force(folder)
    if find_spec("dbos") is None or not _exists(config):
        return None
    return ConnectedFleet(config)


def _exists(config: Config) -> bool:
    named = config.value("fleet.folder")
    place = Path(named).expanduser() if named else state_folder() / "fleet"
    return bool(config.value("fleet.url")) or (place / "fleet.sqlite").exists()


class ConnectedFleet:
    """A fleet as `joey.web.fleets.FleetPort` wants it."""

    def __init__(self, config: Config) -> None:
        from joey.fleet.fleet import open_fleet

        self._stack = ExitStack()
        self._fleet: Fleet = self._stack.enter_context(open_fleet(config))
        self._writing = Lock()
        self._recorded = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="joey-web-fleet-")))

    def close(self) -> None:
        self._stack.close()

    def overview(self) -> dict[str, Any]:
        with _in_words():
            ledger = self._fleet.ledger
            tasks = ledger.tasks(states=("running", "asks"))
            running = [task for task in tasks if task.state == "running"]
            waiting = sorted((task for task in tasks if _waits(task)), key=lambda task: task.changed)
            return {
                "batches": [
                    {"name": each.name, "counts": dict(each.counts), "cost": each.spent, "budget": each.max_cost,
                     "created": each.created}
                    for each in ledger.batches()
                ],
                "workers": [
                    {"id": each.id, "host": each.host, "slots": each.slots, "running": each.running,
                     "started": each.started}
                    for each in ledger.workers()
                ],
                "running": [_line(task) for task in running[:_MAX_LISTED]],
                "waiting": [{**_line(task), "asks": _asks(task)} for task in waiting[:_MAX_LISTED]],
                "waiting_count": len(waiting),
            }  # fmt: skip

    def tasks(self, batch: str) -> list[dict[str, Any]]:
        with _in_words():
            return [_line(task) for task in self._fleet.named(batch)]

    def task(self, task_id: str) -> dict[str, Any]:
        from joey.fleet.results import as_json

        with _in_words():
            task = self._fleet.task(task_id)
        request = json.loads(task.question) if _waits(task) else None
        own = {"prompt": task.spec.prompt, "journal": task.journal, "part": task.leg, "tenant": task.spec.tenant}
        return {**as_json(task), "question": request, **own}

    def journals(self, task_id: str) -> TaskStore:
        from joey.fleet.recorded import JournalFiles, joined

        with _in_words():
            task = self._fleet.task(task_id)
            turns = self._fleet.queue.turns(task.id, task.attempt, task.leg)
        store = TaskStore(self._recorded / task.journal)
        with self._writing:
            JournalFiles(store, _WORKSPACE).restore(joined(turns))
        return store

    def answer(self, task_id: str, part: int, *, yes: bool, text: str) -> bool:
        with _in_words():
            task = self._fleet.task(task_id)
            if not _waits(task) or task.leg != part:
                return False
            given = self._fleet.ledger.answer(task, json.dumps({"yes": yes, "text": text}))
            if given:
                self._fleet.queue.wake(task.workflow)
            return given

    def cancel(self, name: str) -> int:
        with _in_words():
            return sum(self._fleet.cancel(name))

    def retry(self, name: str) -> int:
        with _in_words():
            return len(self._fleet.retry(name, settings={}))


@contextmanager
def _in_words() -> Iterator[None]:
    """What is wrong with the database, as an error that people can read."""
    import sqlalchemy as sa

    from joey.fleet.database import FleetError

    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        raise FleetError(
            f"the fleet's database does not answer: {one_line(str(error))[:200]}; check fleet.url"
        ) from None


def _waits(task: FleetTask) -> bool:
    """For a person: one that has an answer waits for a worker."""
    return task.state == "asks" and not task.answer


def _line(task: FleetTask) -> dict[str, Any]:
    state = "queued" if task.answer and task.state == "asks" else task.state
    return {
        "id": task.id, "batch": task.batch, "state": state, "outcome": task.outcome,
        "message": one_line(task.message)[:_MAX_LINE], "prompt": one_line(task.spec.prompt)[:_MAX_LINE],
        "turns": task.turns, "cost": round(task.cost, 6), "worker": task.worker, "changed": task.changed,
        "place": task.spec.repository or task.spec.folder, "part": task.leg,
    }  # fmt: skip


def _asks(task: FleetTask) -> dict[str, str]:
    """What a task asks, in a line."""
    from joey.fleet.requests import request_text

    request = json.loads(task.question)
    return {"type": str(request.get("type", "")), "text": one_line(request_text(task.question))[:_MAX_LINE]}
