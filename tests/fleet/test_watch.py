"""The live view: what it shows, and answers that are typed there."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Input, Static

from fleet_kit import FleetKit
from joey.fleet.fleet import Fleet
from joey.fleet.watch import Snapshot, WatchApp, shown

QUESTION = {"type": "question_requested", "request_id": "1", "question": "Which port?", "suggestions": []}
APPROVAL = {"type": "approval_requested", "name": "execute_command", "arguments": {"command": "make"}, "reason": "r"}


def ask(fleet: Fleet, task_id: str, question: object) -> None:
    """As a worker does when its task needs a person."""
    workflow = fleet.task(task_id).workflow
    assert fleet.ledger.own(task_id, workflow, "worker") is not None
    fleet.ledger.park(
        task_id, workflow, json.dumps(question), lambda at, name, spec: fleet.queue.enqueue(at, name, spec, delay=3600)
    )


def filled(kit: FleetKit, fleet: Fleet) -> None:
    fleet.add("b", [kit.spec(name, Path("/srv/x")) for name in ("one", "two", "three")], budget=5)
    ask(fleet, "b.one", APPROVAL)
    ask(fleet, "b.two", QUESTION)


def test_a_fleet_as_text(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        filled(kit, fleet)
        fleet.ledger.own("b.three", fleet.task("b.three").workflow, "worker-1")
        text = shown(Snapshot.of(fleet)).plain
    assert "b  1 running, 2 asks  $0.0000 of $5" in text
    assert "b.three  turn 1" in text and "on worker-1" in text
    assert "none; start one with joey fleet work" in text


async def test_an_answer_goes_to_the_marked_question(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        filled(kit, fleet)
        app = WatchApp(fleet)
        async with app.run_test() as pilot:
            await app.workers.wait_for_complete()
            await pilot.press("down", *"8080", "enter")
            await app.workers.wait_for_complete()
            await pilot.press(*"perhaps", "enter")
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert "answer yes or no" in str(app.query_one("#note", Static).render())
            assert app.query_one("#answer", Input).value == ""
        assert json.loads(fleet.task("b.two").answer) == {"yes": True, "text": "8080"}
        assert fleet.task("b.one").answer == ""


async def test_words_for_a_question_that_is_gone_answer_no_other(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        filled(kit, fleet)
        app = WatchApp(fleet)
        async with app.run_test() as pilot:
            await app.workers.wait_for_complete()
            await pilot.press(*"yes")
            fleet.answer("b.one", "no")
            app.read_fleet()
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert app.query_one("#answer", Input).value == ""
            await pilot.press("enter")
            await app.workers.wait_for_complete()
        assert fleet.task("b.two").answer == ""
