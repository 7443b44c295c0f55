"""The fleet on the page: an answer given there reaches a task wherever it runs next."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

from fleet_kit import FleetKit, all_done, by_turn, done, repository, run_command, states, write
from joey.cli.web_fleet import connect_fleet
from joey.fleet.fleet import Fleet
from pages_kit import needs_browser
from web_kit import Stream, WebKit, WebKits, listening, until
from web_visitor import AXE, serious, visit

MODEL = by_turn(write(1, "a.txt", "one\n"), run_command(2, "echo two >> b.txt"), done("It is <b>done</b>."))
ASKS = {
    "type": "approval_requested", "request_id": "r1", "call_id": "c", "name": "execute_command",
    "arguments": {"command": "make <b>deploy</b>"}, "reason": "not on the list", "shown": [], "always": ["make"],
}  # fmt: skip


def fleet_of(kit: WebKit) -> FleetKit:
    """The fleet of the user whose page this is."""
    return FleetKit(kit.folder / "home/.local/state/joey", server=kit.model, machine="fleet")


def park(fleet: Fleet, task_id: str, request: dict[str, Any]) -> None:
    """A worker has come to a question."""
    task = fleet.task(task_id)
    assert fleet.ledger.own(task_id, task.workflow, "worker-1") is not None
    fleet.ledger.park(task_id, task.workflow, json.dumps(request), fleet.queue.enqueue)


async def test_the_fleet_is_on_the_page_as_soon_as_there_is_one(kits: WebKits) -> None:
    kit = await kits.start([], connect_fleet)
    assert await kit.get("/fleet") == {"fleet": None}
    assert not (kit.folder / "home/.local/state/joey/fleet").exists()
    own = fleet_of(kit)
    with own.open() as fleet:
        fleet.add("b", [own.spec(name, kit.workspace) for name in ("x", "y")], budget=5)
        stream = Stream()
        async with listening(kit, "", stream=stream):
            await until(lambda: [data for kind, _, data in stream.frames if kind == "fleet" and data["fleet"]])
            park(fleet, "b.x", ASKS)
            shown = await until(lambda: [each for each in newest(stream)["waiting"] if each["id"] == "b.x"])
    assert newest(stream)["batches"][0]["counts"] == {"asks": 1, "queued": 1}
    assert newest(stream)["batches"][0]["budget"] == 5
    assert "make <b>deploy</b>" in shown[0]["asks"]["text"] and "question" not in shown[0]
    assert {each["id"]: each["state"] for each in (await kit.get("/fleet/batches/b"))["tasks"]} == {
        "b.x": "asks",
        "b.y": "queued",
    }


def newest(stream: Stream) -> Any:
    return [data["fleet"] for kind, _, data in stream.frames if kind == "fleet"][-1]


async def test_an_answer_is_for_the_question_that_was_seen_and_the_first_counts(kits: WebKits) -> None:
    kit = await kits.start([], connect_fleet)
    own = fleet_of(kit)
    with own.open() as fleet:
        fleet.add("b", [own.spec("x", kit.workspace)])
        path = "/fleet/tasks/b.x/answer"
        await kit.post(path, 409, part=1, yes=True)  # it asks nothing
        park(fleet, "b.x", ASKS)
        task = (await kit.get("/fleet/tasks/b.x"))["task"]
        assert task["question"]["arguments"] == ASKS["arguments"] and task["part"] == 2
        await kit.post(path, 400, yes=True)
        await kit.post(path, 400, part=2, yes="no")
        await kit.post(path, 409, part=1, yes=True)  # of another question
        await kit.post(path, 202, part=2, yes=False, text="not on a Friday")
        await kit.post(path, 409, part=2, yes=True)
        assert json.loads(fleet.task("b.x").answer) == {"yes": False, "text": "not on a Friday"}
        assert (await kit.get("/fleet/tasks/b.x"))["task"]["question"] is None


async def test_cancelling_and_retrying_need_a_name(kits: WebKits) -> None:
    kit = await kits.start([], connect_fleet)
    own = fleet_of(kit)
    with own.open() as fleet:
        fleet.add("b", [own.spec("x", kit.workspace), own.spec("y", kit.workspace)])
        await kit.post("/fleet/cancel", 400)
        await kit.post("/fleet/cancel", 404, name="nothing")
        assert await kit.post("/fleet/cancel", 200, name="b.x") == {"tasks": 1}
        assert states(fleet) == {"b.x": "cancelled", "b.y": "queued"}
        assert await kit.post("/fleet/retry", 200, name="b") == {"tasks": 1}
        assert states(fleet) == {"b.x": "queued", "b.y": "queued"}


async def beside(work: Coroutine[Any, Any, int]) -> int:
    """In a loop of its own: the engine of a worker takes the threads of its loop with it when it ends."""
    return await asyncio.to_thread(asyncio.run, work)


@needs_browser
async def test_a_fleet_in_the_browser(kits: WebKits, browser: Any) -> None:
    """Approve one task in the list and deny another on its own page; another worker continues both."""
    kit = await kits.start(MODEL, connect_fleet)
    own = fleet_of(kit)
    source = repository(kit.folder / "source", {"a.txt": "zero\n"})
    found: list[str] = []
    with own.open() as fleet:
        settings = {"approvals.profile": "edits"}
        fleet.add("b", [own.spec(name, source, settings=settings) for name in ("x", "y")])
        await beside(own.work_until(fleet, lambda: set(states(fleet).values()) == {"asks"}))
        person = await visit(browser, kit, color_scheme="dark")
        await person.says(".sidebar footer", "Fleet")
        assert (await person.page.title()).startswith("(2) ")
        await person.page.get_by_role("link", name="Fleet").click()
        await person.says(".needs-you .subject", "echo two >> b.txt")
        await person.page.locator(".needs-you summary", has_text="b.x").click()
        await person.says(".needs-you .request", "echo two >> b.txt")
        found += await serious(person, "the fleet") if AXE.exists() else []
        await person.button("Yes").click()
        await until(lambda: fleet.task("b.x").answer)
        await person.page.goto(f"{kit.url}/#/fleet/task/b.y")
        await person.says(".request", "echo two >> b.txt")
        await person.says(".recorded .call", "a.txt")
        await person.page.get_by_label("Comment").fill("not here")
        found += await serious(person, "a task of the fleet") if AXE.exists() else []
        await person.button("No").click()
        await until(lambda: fleet.task("b.y").answer)
        await beside(own.work_until(fleet, lambda: all_done(fleet)))
        await person.says(".chip.completed", "completed")
        await person.says(".recorded .outcome", "It is <b>done</b>.")
        assert "not here" in await person.text(".recorded")
        await person.page.goto(f"{kit.url}/#/fleet/batch/b")
        await person.says(".batch", "2 completed")
        assert await person.page.locator(".tasks tbody tr").count() == 2
        found += await serious(person, "a batch") if AXE.exists() else []
    assert found == [] and not person.problems
