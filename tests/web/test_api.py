"""The API and the stream of events: everything the page does, without a browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from joey.journal.records import ChildOpened, MessageAdded
from joey.journal.replay import replay
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock
from joey.testing.script import Faults, reply
from joey.web.history import piece_before
from joey.web.index import JournalIndex, read_between
from joey_process import call, done
from web_kit import Stream, WebKit, WebKits, listening, long_task, until

WRITE = reply("I write **it**.", call("w", "write_to_file", path="a.txt", file_text="hello\n"))
QUESTION = reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "red"}, {"text": "blue"}]))


async def test_a_task_is_started_approved_answered_and_continued(kits: WebKits) -> None:
    kit = await kits.start([WRITE, QUESTION, done("First."), done("Second.")])
    task_id = await kit.start("Write a file")
    _, request = await kit.request(task_id)
    assert request["type"] == "approval_requested" and request["reason"] and request["shown"]
    await kit.answer(task_id, yes=True)
    _, question = await until_request(kit, task_id, "question_requested")
    assert [each["text"] for each in question["suggestions"]] == ["red", "blue"]
    await kit.answer(task_id, yes=True, text="blue")
    assert (kit.workspace / "a.txt").read_text() == "hello\n"
    await kit.status(task_id, "completed")
    await kit.post(f"/tasks/{task_id}/resume", text="now nicer")
    await until(lambda: len(kit.model.requests) == 4)
    task = await kit.status(task_id, "completed")
    assert task["turns"] == 4
    shown = (await kit.get(f"/tasks/{task_id}"))["events"]
    words = [event["text"] for event in shown if event["type"] == "user_words"]
    assert words == ["Write a file", "blue", "now nicer"]


async def test_what_a_subtask_hands_back_waits_for_the_user(kits: WebKits) -> None:
    start = reply(call("s", "new_task", mode="code", message="Look at it"))
    kit = await kits.start([start, done("Looked."), done("All done.")])
    task_id = await kit.start()
    await kit.answer(task_id, yes=True)
    _, request = await until_request(kit, task_id, "completion_requested")
    assert request["task"] != task_id and request["result"] == "Looked."
    await kit.answer(task_id, yes=True)
    assert (await kit.status(task_id, "completed"))["turns"] == 2
    shown = (await kit.get(f"/tasks/{task_id}"))["events"]
    child = next(event["child_id"] for event in shown if event["type"] == "subtask_opened")
    within = (await kit.get(f"/tasks/{child}"))["events"]
    assert [event["text"] for event in within if event["type"] == "user_words"] == ["Look at it"]
    assert [each["id"] for each in (await kit.get("/tasks"))["tasks"]] == [task_id]


async def until_request(kit: WebKit, task_id: str, kind: str) -> tuple[str, dict[str, Any]]:
    for _ in range(1000):
        found = await kit.request(task_id)
        if found[1]["type"] == kind:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"{kind} never came")


async def test_a_denial_with_a_comment_reaches_the_model_and_a_second_answer_is_refused(kits: WebKits) -> None:
    kit = await kits.start([WRITE, done()])
    task_id = await kit.start()
    run, request = await kit.request(task_id)
    await kit.answer(task_id, text="use b.txt")
    answer = {"type": "answer", "request_id": request["request_id"], "yes": True}
    late = await kit.client.post(f"/api/v1/tasks/{task_id}/commands", json={"run": run, "command": answer})
    assert late.status_code == 409
    await kit.status(task_id, "completed")
    assert "use b.txt" in json.dumps(kit.model.requests[-1].body)
    assert not (kit.workspace / "a.txt").exists()


async def test_an_answer_for_another_run_is_refused(kits: WebKits) -> None:
    kit = await kits.start([WRITE, done()])
    task_id = await kit.start()
    _, request = await kit.request(task_id)
    answer = {"type": "answer", "request_id": request["request_id"], "yes": True}
    await kit.post(f"/tasks/{task_id}/commands", 409, run="another", command=answer)
    missing = await kit.post(f"/tasks/{task_id}/commands", 400, command=answer)
    assert missing["error"].startswith("run is missing")
    assert (await kit.status(task_id, "waiting"))["waits_for"] == "approval_requested"


async def test_a_reconnecting_watcher_misses_nothing_and_sees_nothing_twice(kits: WebKits) -> None:
    words = "".join(f"word {n} " for n in range(300))
    kit = await kits.start([reply(words, faults=Faults(pause=0.004))])
    task_id = await kit.start()
    place = (await kit.get(f"/tasks/{task_id}"))["place"]
    before = (await kit.get(f"/tasks/{task_id}"))["events"]
    seen = sum(len(event["text"]) for event in before if event["type"] == "text_delta")
    stream = Stream(place=place)
    for part in (0.2, 0.5, 0.8):
        async with listening(kit, task_id, stream=stream):
            await until(lambda part=part: len(stream.text) + seen > part * len(words))  # type: ignore[misc]
    async with listening(kit, task_id, stream=stream):
        await until(lambda: any(kind == "idle" for kind, _, _ in stream.frames))
    first = "".join(event["text"] for event in before if event["type"] == "text_delta")
    assert first + stream.text == words
    assert not any(kind == "reset" for kind, _, _ in stream.frames)
    assert [event["type"] for event in stream.events][-1] == "task_finished"


async def test_whoever_comes_after_the_end_or_from_nowhere_is_reset(kits: WebKits) -> None:
    kit = await kits.start([done()])
    task_id = await kit.start()
    await kit.status(task_id, "completed")
    place = (await kit.get(f"/tasks/{task_id}"))["place"]
    for wrong in ("made-up.12", "j1", ""):
        async with listening(kit, task_id, wrong) as stream:
            await until(lambda: any(kind == "reset" for kind, _, _ in stream.frames))
    async with listening(kit, task_id, place) as stream:
        await until(lambda: stream.frames)
        assert not any(kind == "reset" for kind, _, _ in stream.frames)


async def test_a_watcher_of_a_finished_task_sees_it_continue(kits: WebKits) -> None:
    kit = await kits.start([done("One."), reply("Two.")])
    task_id = await kit.start()
    await kit.status(task_id, "completed")
    place = (await kit.get(f"/tasks/{task_id}"))["place"]
    async with listening(kit, task_id, place) as stream:
        await until(lambda: stream.frames)
        await kit.post(f"/tasks/{task_id}/resume", text="and then?")
        await until(lambda: stream.text == "Two.")
        assert [each["text"] for each in stream.events if each["type"] == "user_message_queued"] == ["and then?"]
        assert not any(kind == "reset" for kind, _, _ in stream.frames)


async def test_forking_searching_undoing_and_deleting(kits: WebKits) -> None:
    kit = await kits.start([WRITE, done("The end of it.")], **{"approvals.profile": "edits"})
    task_id = await kit.start("Write a file about kangaroos")
    await kit.status(task_id, "completed")
    assert [each["id"] for each in (await kit.get("/tasks?search=kangaroos"))["tasks"]] == [task_id]
    assert (await kit.get("/tasks?search=wombats"))["tasks"] == []
    assert [each["turn"] for each in (await kit.get(f"/tasks/{task_id}/checkpoints"))["checkpoints"]] == [1]
    assert "-hello" in (await kit.get(f"/tasks/{task_id}/undo"))["diff"]
    (kit.workspace / "a.txt").write_text("somebody else's\n")
    refused = await kit.post(f"/tasks/{task_id}/undo", 409)
    assert "somebody else changed a.txt" in refused["error"] and (kit.workspace / "a.txt").exists()
    await kit.post(f"/tasks/{task_id}/undo", 200, anyway=True)
    assert not (kit.workspace / "a.txt").exists()
    copy = (await kit.post(f"/tasks/{task_id}/fork"))["id"]
    assert {each["id"] for each in (await kit.get("/tasks"))["tasks"]} == {task_id, copy}
    assert (await kit.client.delete(f"/api/v1/tasks/{task_id}")).status_code == 200
    assert {each["id"] for each in (await kit.get("/tasks"))["tasks"]} == {copy}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/tasks/nothing-here", None, 404),
        ("GET", "/tasks/..%2f..%2fetc", None, 404),
        ("POST", "/tasks", {"text": " "}, 400),
        ("POST", "/tasks", {"text": "x", "folder": "/no/such/folder"}, 400),
        ("POST", "/tasks", {"text": "x", "profile": "all"}, 400),
        ("POST", "/tasks", {"text": 7}, 400),
        ("POST", "/tasks", [1], 400),
        (
            "POST",
            "/tasks",
            {"text": "x", "images": [{"type": "image", "media_type": "image/svg+xml", "data": "PHN2"}]},
            400,
        ),
        ("POST", "/tasks", {"text": "x", "images": 3}, 400),
        ("POST", "/parse", {"text": "x", "protocol": "made up"}, 404),
        ("POST", "/parse", {"text": "x" * 300_000}, 400),
        ("GET", "/options?folder=relative", None, 400),
        ("GET", "/tasks/TASK/history?before=zzz", None, 400),
        ("GET", "/tasks/TASK/checkpoints/abc", None, 404),
        ("GET", "/tasks/TASK/checkpoints/7", None, 404),
        ("GET", "/nothing", None, 404),
        ("PUT", "/tasks", {}, 405),
        ("GET", "/parse", None, 404),
        ("POST", "/tasks/TASK/fork", {"turn": "x"}, 400),
        ("POST", "/tasks/TASK/fork", {"turn": -5}, 400),
        ("POST", "/tasks/TASK/fork", {"turn": True}, 400),
        ("POST", "/tasks/TASK/undo", {"anyway": "no"}, 400),
        ("POST", "/parse", {"text": "x", "size": "a"}, 400),
        ("POST", "/parse", {"text": "x", "size": -1}, 400),
    ],
)
async def test_what_is_wrong_is_an_answer_in_words(
    kits: WebKits, method: str, path: str, body: Any, status: int
) -> None:
    kit = await kits.start([])
    long_task(kit.folder / "home/.local/state/joey/tasks", 1)
    answer = await kit.client.request(method, f"/api/v1{path.replace('TASK', 'long')}", json=body)
    assert answer.status_code == status, answer.text
    assert [*answer.json()] == ["error"] and "Traceback" not in answer.text


async def test_a_reply_is_parsed_step_by_step(kits: WebKits) -> None:
    kit = await kits.start([])
    text = 'Hi <tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_call>'
    found = await kit.post("/parse", 200, text=text, protocol="auto", size=1)
    assert found["protocol"] == "hermes"
    kinds = {event["type"]: step["end"] for step in reversed(found["steps"]) for event in step["events"]}
    assert kinds["text_started"] < kinds["tool_call_started"] < kinds["tool_call_finished"] == len(text)
    assert found["reply"]["content"][-1]["input"] == {"path": "a.py"}
    choice = {"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}
    chunk = {"choices": [choice], "object": "chat.completion.chunk"}
    recorded = await kit.post("/parse", 200, text=f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", protocol="auto")
    assert recorded["reply"]["content"] == [{"type": "text", "text": "Hello"}]


# History


def test_an_index_says_what_the_whole_journal_says(tmp_path: Path) -> None:
    path = long_task(tmp_path, 7)
    index = JournalIndex(path)
    assert index.update() and not index.update()
    state = replay(record for _, record in read_between(path, 0, index.size))
    assert index.opened == state.opened and index.ended == state.ended
    assert (index.turns, index.usage, index.mode, index.todos) == (
        state.spending.turns,
        state.spending.usage,
        state.mode,
        state.todos,
    )
    assert index.cost == pytest.approx(state.spending.cost)


def test_an_index_reads_on_where_it_was(tmp_path: Path) -> None:
    path = long_task(tmp_path, 2)
    index = JournalIndex(path)
    index.update()
    with TaskStore(tmp_path).open("long") as written:
        written.append(ChildOpened("child", "c1"))
        written.append(MessageAdded(Message("user", (TextBlock("more"),))))
    assert index.update()
    again = JournalIndex(path)
    again.update()
    assert index.children == ["child"] and index.ended is None
    assert index.starts == again.starts and len(index.starts) == 2


def test_the_pieces_of_a_history_are_the_whole_of_it(tmp_path: Path) -> None:
    index = JournalIndex(long_task(tmp_path, 100))
    index.update()
    found: list[dict[str, Any]] = []
    place: int | None = index.size
    while place is not None:
        piece = piece_before(index, "long", place)
        found, place = piece.events + found, piece.older
    whole = piece_before(index, "long", index.size, 1_000_000).events
    assert found == whole
    assert [event["number"] for event in whole if event["type"] == "turn_finished"] == [*range(1, 101)]


async def test_a_task_of_5000_messages_opens_like_an_empty_one(kits: WebKits) -> None:
    """Counted: how much is sent to the page, and how much of the journal is decoded for it."""
    kit = await kits.start([done()])
    small = await kit.start()
    await kit.status(small, "completed")
    long_task(kit.folder / "home/.local/state/joey/tasks", 2_500)
    few = len((await kit.client.get(f"/api/v1/tasks/{small}")).content)
    answer = (await kit.client.get("/api/v1/tasks/long")).json()
    assert answer["task"]["turns"] == 2_500 and answer["older"]
    assert len(answer["events"]) < 400
    assert len(json.dumps(answer)) < 100_000 + 5 * few


def test_long_results_are_cut_in_the_middle(tmp_path: Path) -> None:
    index = JournalIndex(long_task(tmp_path, 1, size=50_000))
    index.update()
    events = piece_before(index, "long", index.size).events
    block = next(event for event in events if event["type"] == "tool_run_finished")["result"]["content"][0]
    assert len(block["text"]) + len(block["end"]) + block["cut"] == 50_000 and block["cut"] > 30_000


async def test_a_line_for_agents_md_is_added_only_with_the_diff_that_was_shown(kits: WebKits) -> None:
    kit = await kits.start([])
    rules = kit.workspace / "AGENTS.md"
    plan = await kit.post("/notes", 200, text="# use tabs")
    assert "+- use tabs" in plan["diff"] and plan["message"] is None and not rules.exists()
    rules.write_text("Other rules.\n")
    await kit.post("/notes", 409, text="# use tabs", diff=plan["diff"])
    assert rules.read_text() == "Other rules.\n"
    plan = await kit.post("/notes", 200, text="# use tabs")
    added = await kit.post("/notes", 200, text="# use tabs", diff=plan["diff"])
    assert added["message"].startswith("Added to AGENTS.md") and rules.read_text().endswith("- use tabs\n")
    assert await kit.post("/notes", 200, text="## A title") == {"diff": None}
    await kit.post("/notes", 400, text="# key sk-ant-api03-" + "a" * 40)
