"""The live view: what it shows, and answers that are typed there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from fleet_kit import FleetKit
from joey.errors import UsageError
from joey.fleet.fleet import Fleet
from joey.fleet.requests import request_text
from joey.fleet.watch import FleetSnapshot, WatchApp, shown

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
        text = shown(FleetSnapshot.of(fleet), 80).plain
    assert "  b  1 running, 2 waiting for an answer  $0.0000 of $5" in text
    assert "  b.three  turn 1  0 s  worker-1  $0.0000" in text
    assert "none; start one with joey fleet work" in text


def test_long_names_are_cut_and_finished_batches_come_last(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        for number in range(8):
            fleet.add(f"old-{number}", [kit.spec("x", Path("/srv/x"))])
            fleet.cancel(f"old-{number}")
        fleet.add("b", [kit.spec("a-name-that-is-longer-than-the-line" + "-and-longer" * 4, Path("/srv/x"))])
        (task,) = fleet.ledger.tasks("b")
        fleet.ledger.own(task.id, task.workflow, "worker-1")
        lines = shown(FleetSnapshot.of(fleet), 80).plain.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[:3]] == ["Batches", "b", "old-7"]
    assert "and 3 more that are done" in "".join(lines)
    assert "…" in lines[-1] and "turn 1" in lines[-1]


def test_what_a_model_asks_cannot_steer_a_terminal() -> None:
    for data in ({**QUESTION, "question": "\x1b[2J?"}, {**APPROVAL, "reason": "\x1b]0;t\x07"}):
        assert "\x1b" not in request_text(json.dumps(data))


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


async def test_a_task_that_asks_again_gets_no_answer_to_what_it_asked_before(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        filled(kit, fleet)
        app = WatchApp(fleet, every=3600)
        async with app.run_test() as pilot:
            await app.workers.wait_for_complete()
            await pilot.press(*"yes")
            fleet.answer("b.one", "no")
            ask(fleet, "b.one", {**APPROVAL, "arguments": {"command": "rm -rf build"}})
            await pilot.press("enter")
            await app.workers.wait_for_complete()
            await pilot.pause()
            assert "asks something else by now" in str(app.query_one("#note", Static).render())
        assert fleet.task("b.one").answer == ""


def test_the_first_answer_counts(tmp_path: Path) -> None:
    kit = FleetKit(tmp_path)
    with kit.open() as fleet:
        filled(kit, fleet)
        stale = fleet.task("b.one")
        fleet.answer("b.one", "no")
        assert not fleet.ledger.answer(stale, json.dumps({"yes": True, "text": ""}))
        with pytest.raises(UsageError, match="was answered already"):
            fleet.answer("b.one", "yes")
        assert json.loads(fleet.task("b.one").answer) == {"yes": False, "text": ""}
