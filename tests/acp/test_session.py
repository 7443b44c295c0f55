"""`joey acp` as an editor meets it: a process, a scripted model, and every message checked against the schema."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from acp_kit import AsProcess, Desks, choose, shape
from joey.acp.options import permissions
from joey.commands import Answer
from joey.events import ApprovalRequested
from joey.journal.live import LIVE, LiveReader, send_command
from joey.testing.script import Faults, reply
from joey_process import call
from process_kit import all_ended_in

EDIT = reply("I write.", call("a", "write_to_file", path="x.txt", file_text="one\ntwo\n"))
DONE = reply(call("d", "attempt_completion", result="All done."))


async def test_an_edit_is_shown_approved_and_done(desks: Desks) -> None:
    read = reply(call("r", "read_file", path="x.txt"))
    desk = await desks.set_up(read, EDIT, DONE)
    (desk.workspace / "x.txt").write_text("old\n")
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    assert await editor.prompt(session, "Write it") == {"stopReason": "end_turn"}
    assert (desk.workspace / "x.txt").read_text() == "one\ntwo\n"
    request = editor.requests()[-1]
    assert request["toolCall"]["title"] == "Edit x.txt"
    diff = {"type": "diff", "path": str(desk.workspace / "x.txt"), "oldText": "old\n", "newText": "one\ntwo\n"}
    assert diff in request["toolCall"]["content"]
    assert request["toolCall"]["content"][-1]["content"]["text"], "the reason is missing"
    last = editor.updates("tool_call_update")[-1]
    assert (last["status"], last["content"]) == ("completed", [diff])
    assert editor.text() == "I write.All done."
    assert await editor.close() == 0


async def test_what_is_rejected_is_not_done(desks: Desks) -> None:
    desk = await desks.set_up(EDIT, DONE)
    editor = desk.open(choose("reject_once"))
    session = await desk.session(editor)
    await editor.prompt(session, "Write it")
    assert not (desk.workspace / "x.txt").exists()
    assert editor.updates("tool_call_update")[-1]["status"] == "failed"
    await editor.close()


async def test_cancelling_ends_the_command_and_the_turn_and_the_next_message_goes_on(desks: Desks) -> None:
    desk = await desks.set_up(reply(call("a", "execute_command", command="sleep 60")), reply("Here I am."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    words = [{"type": "text", "text": "Wait"}]
    answer = editor.begin_request("session/prompt", sessionId=session, prompt=words)
    await editor.until(lambda: any(each.get("status") == "in_progress" for each in editor.updates("tool_call_update")))
    editor.notify("session/cancel", sessionId=session)
    editor.notify("session/cancel", sessionId=session)
    assert (await answer)["result"] == {"stopReason": "cancelled"}
    assert editor.updates("tool_call_update")[-1]["status"] == "failed"
    assert all_ended_in(desk.workspace)
    assert await editor.prompt(session, "Go on") == {"stopReason": "end_turn"}
    await editor.close()


async def test_a_session_is_loaded_as_it_looked(desks: Desks) -> None:
    desk = await desks.set_up(EDIT, DONE, reply("That was it."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    await editor.prompt(session, "Write it")
    await editor.prompt(session, "And then?")
    live = shape(editor.updates())
    await editor.close()
    again = desk.open()
    await again.initialize()
    listed = await again.request("session/list", cwd=str(desk.workspace))
    assert [each["sessionId"] for each in listed["sessions"]] == [session]
    await again.request("session/load", sessionId=session, cwd=str(desk.workspace), mcpServers=[])
    assert [each["content"]["text"] for each in again.updates("user_message_chunk")] == ["Write it", "And then?"]
    assert shape(again.updates()) == live
    await again.close()


async def test_a_question_ends_the_turn_and_the_next_prompt_answers_it(desks: Desks) -> None:
    question = call(
        "q", "ask_followup_question", question="Which colour?", follow_up=[{"text": "Red"}, {"text": "Blue"}]
    )
    desk = await desks.set_up(reply(question), reply("Green it is."))
    editor = desk.open()
    session = await desk.session(editor)
    assert await editor.prompt(session, "Ask me") == {"stopReason": "end_turn"}
    assert "Which colour?" in editor.text()
    await editor.prompt(session, "Green")
    assert "Green" in json.dumps(desk.server.requests[-1].body)
    await editor.close()


async def test_a_second_prompt_while_one_runs_waits_for_the_model(desks: Desks) -> None:
    slow = reply("Working, working.", call("a", "execute_command", command="sleep 0.5"), faults=Faults(pause=0.05))
    desk = await desks.set_up(slow, reply("Both done."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    first = editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "One"}])
    await editor.until(lambda: bool(editor.updates("agent_message_chunk")))
    second = editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Two"}])
    assert (await first)["result"] == (await second)["result"] == {"stopReason": "end_turn"}
    assert "Two" in json.dumps(desk.server.requests[-1].body)
    await editor.close()


async def test_the_result_of_a_subtask_is_shown_and_goes_back_to_its_task(desks: Desks) -> None:
    child = call("n", "new_task", mode="code", message="Do a part.")
    desk = await desks.set_up(
        reply(child), reply(call("c", "attempt_completion", result="The part.")), reply("All of it.")
    )
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    assert await editor.prompt(session, "Go") == {"stopReason": "end_turn"}
    assert editor.text() == "The part.All of it."
    assert editor.updates("tool_call_update")[-1]["status"] == "completed"
    assert "The part." in json.dumps(desk.server.requests[-1].body)
    await editor.close()


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_subtask_that_was_interrupted_is_continued_and_ends_as_a_call(desks: Desks, method: str) -> None:
    child = call("n", "new_task", mode="code", message="Do a part.")
    done = reply("Nearly.", call("c", "attempt_completion", result="The part."))
    desk = await desks.set_up(reply(child), reply("Slowly, " * 400, faults=Faults(pause=0.05)), done, reply("All."))
    editor = await desk.start(choose("allow_once"))
    session = await desk.session(editor)
    editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go"}])
    while len(desk.server.requests) < 2:  # noqa: ASYNC110 - the server is not asked to say so
        await asyncio.sleep(0.01)
    assert isinstance(editor.agent, AsProcess)
    editor.agent.process.kill()
    await editor.agent.process.wait()
    again = desk.open(choose("allow_once"))
    await again.initialize()
    await again.request(method, sessionId=session, cwd=str(desk.workspace), mcpServers=[])
    loaded = len(again.seen)
    assert await again.prompt(session, "Go on") == {"stopReason": "end_turn"}
    updates = [each["params"]["update"] for each in again.seen[loaded:] if each.get("method") == "session/update"]
    (announced,) = [each for each in updates if each["sessionUpdate"] == "tool_call"]
    assert announced["title"] == "new_task code, Do a part."
    assert [each["status"] for each in updates if "status" in each] == ["pending", "in_progress", "completed"]
    assert "".join(each["content"]["text"] for each in updates if "chunk" in each["sessionUpdate"]) == "The part.All."
    await again.close()


async def test_a_hostile_client_gets_errors_and_the_session_lives_on(desks: Desks) -> None:
    desk = await desks.set_up(reply("Hello to you."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    for line in (b"no json", b"[]", b'"text"', b"{}", b'{"jsonrpc":"2.0","id":99,"result":{}}', b"\xff\xfe", b""):
        editor.send_line(line)
    editor.send({"jsonrpc": "2.0", "id": 7.5, "method": "session/new", "params": {}})
    editor.notify("nobody/knows")
    assert (await editor.request("no/such"))["error"]["code"] == -32601
    assert (await editor.request("session/new", cwd="relative"))["error"]["code"] == -32602
    assert (await editor.request("session/new", cwd="/no/such/folder"))["error"]["code"] == -32602
    assert (await editor.request("session/prompt", sessionId="x", prompt=[]))["error"]["code"] == -32002
    assert (await editor.request("session/prompt", sessionId=session, prompt="text"))["error"]["code"] == -32602
    assert (await editor.request("session/set_mode", sessionId=session, modeId="zzz"))["error"]["code"] == -32602
    assert await editor.prompt(session, "Hello") == {"stopReason": "end_turn"}
    codes = [each["error"]["code"] for each in editor.seen if "error" in each and each.get("id") is None]
    assert codes[:4] == [-32700, -32600, -32600, -32600]
    await editor.close()


def test_a_request_of_a_subtask_in_a_worktree_says_that_the_answer_holds_for_the_subtask() -> None:
    request = ApprovalRequested("r", "c", "execute_command", {}, "", always=("exactly `date`",))
    alone, both = replace(request, scopes=("task",)), replace(request, scopes=("task", "project"))
    for requested, where in ((alone, ["subtask"]), (both, ["task", "project"])):
        names = [each["name"] for each in permissions(requested)]
        assert names[1:-1] == [f"Don't ask again for exactly `date`, in this {each}" for each in where]


async def test_what_is_allowed_for_the_task_is_not_asked_again_and_can_be_revoked(desks: Desks) -> None:
    run = [reply(call(each, "execute_command", command="date")) for each in "ab"]
    desk = await desks.set_up(*run, DONE)
    editor = desk.open(choose("allow_task"))
    session = await desk.session(editor)
    await editor.prompt(session, "Run it twice")
    requests = editor.requests()
    assert len(requests) == 1
    assert [each["kind"] for each in requests[0]["options"]] == [
        "allow_once", "allow_always", "allow_always", "reject_once",
    ]  # fmt: skip
    assert "exactly `date`" in requests[0]["options"][1]["name"]
    await editor.prompt(session, "/permissions")
    assert "1. exactly `date` (this task)" in editor.text()
    await editor.prompt(session, "/permissions revoke 1")
    await editor.prompt(session, "/permissions")
    assert editor.text().endswith("You are asked about everything.")
    await editor.close()


async def test_a_plan_is_offered_and_carried_out_as_the_user_chooses(desks: Desks) -> None:
    plan = reply(call("p", "attempt_completion", result="Write x.txt with two lines."))
    desk = await desks.set_up(plan, EDIT, DONE)
    editor = desk.open(choose("edits"))
    session = await desk.session(editor)
    await editor.prompt(session, "/plan")
    assert await editor.prompt(session, "Write x.txt") == {"stopReason": "end_turn"}
    assert (desk.workspace / "x.txt").exists()
    offer = editor.requests()[0]
    assert offer["toolCall"]["content"][0]["content"]["text"] == "Write x.txt with two lines."
    assert [each["optionId"] for each in offer["options"]][:2] == ["ask", "edits"]
    values = {each["id"]: each["currentValue"] for each in editor.updates("config_option_update")[-1]["configOptions"]}
    assert values["approvals"] == "edits"
    await editor.close()


async def test_a_session_that_has_not_begun_is_resumed_by_another_process(desks: Desks) -> None:
    desk = await desks.set_up(reply("Hello to you."))
    editor = desk.open()
    session = await desk.session(editor)
    await editor.close()
    again = desk.open()
    await again.initialize()
    resumed = await again.request("session/resume", sessionId=session, cwd=str(desk.workspace), mcpServers=[])
    assert resumed["modes"]["currentModeId"] == "code"
    unknown = await again.request("session/load", sessionId="../../etc", cwd=str(desk.workspace), mcpServers=[])
    assert unknown["error"]["code"] == -32002
    assert await again.prompt(session, "Hello") == {"stopReason": "end_turn"}
    await again.close()


async def test_twenty_sessions_work_at_once_each_in_its_folder(desks: Desks) -> None:
    desk = await desks.set_up(*([EDIT] * 20), *([DONE] * 20))
    editor = desk.open()  # which keeps all waiting for an answer
    await editor.initialize()
    sessions = []
    for number in range(20):
        folder = desk.workspace / str(number)
        folder.mkdir()
        sessions.append((await editor.request("session/new", cwd=str(folder), mcpServers=[]))["sessionId"])
    words = [{"type": "text", "text": "Write it"}]
    answers = [editor.begin_request("session/prompt", sessionId=each, prompt=words) for each in sessions]
    await editor.until(lambda: len(editor.requests()) == 20)
    chosen = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    for each in [each for each in editor.seen if each.get("method") == "session/request_permission"]:
        editor.send({"jsonrpc": "2.0", "id": each["id"], "result": chosen})
    assert {(await each)["result"]["stopReason"] for each in answers} == {"end_turn"}
    assert [(desk.workspace / str(number) / "x.txt").read_text() for number in range(20)] == ["one\ntwo\n"] * 20
    await editor.close()


STRANGE_ANSWERS: list[Any] = [
    None, [], "yes", 7, {}, {"outcome": "selected"}, {"outcome": {"outcome": "selected"}},
    {"outcome": {"outcome": "selected", "optionId": ["allow_once"]}},
    {"outcome": {"outcome": "selected", "optionId": "allow_project_and_more"}},
]  # fmt: skip


async def test_whatever_is_no_clear_yes_is_a_no(desks: Desks) -> None:
    desk = await desks.set_up(*([EDIT, reply("Then not.")] * len(STRANGE_ANSWERS)))
    editor = desk.open()
    await editor.initialize()
    for count, answer in enumerate(STRANGE_ANSWERS, 1):
        session = (await editor.request("session/new", cwd=str(desk.workspace), mcpServers=[]))["sessionId"]
        turn = editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Write"}])
        await editor.until(lambda count=count: len(editor.requests()) == count)  # type: ignore[misc]
        number = [each["id"] for each in editor.seen if each.get("method") == "session/request_permission"][-1]
        for _ in range(2):  # twice: the second answers nothing
            editor.send({"jsonrpc": "2.0", "id": number, "result": answer})
        assert (await turn)["result"] == {"stopReason": "end_turn"}
        assert not (desk.workspace / "x.txt").exists(), answer
    await editor.close()


async def test_hostile_lines_are_answered_or_dropped(desks: Desks) -> None:
    desk = await desks.set_up(reply("Hello to you."))
    editor = desk.open()
    for line in (b"garbage before anything", b"[" * 100_000, b'{"a":' * 50_000, b"x" * 2_000_000, b"\x00", b"nul\x00l"):
        editor.send_line(line)
    session = await desk.session(editor)
    for number in (1.5, True, {"a": 1}, [1]):
        editor.send({"jsonrpc": "2.0", "id": number, "method": "session/list", "params": {}})
    no_objects: list[Any] = [[], "x", 7]
    for params in no_objects:
        assert (await editor.request_with("session/list", params))["error"]["code"] == -32602
    for about in ({"requestId": 10**30}, {"requestId": {"a": 1}}, {"requestId": [1]}, {}, {"requestId": None}):
        editor.notify("$/cancel_request", **about)
    for wrong in ({}, {"sessionId": 7}, {"sessionId": ["x"]}, {"sessionId": "../../etc/passwd"}):
        editor.notify("session/cancel", **wrong)
        assert "error" in await editor.request("session/load", cwd=str(desk.workspace), **wrong)
        assert "error" in await editor.request("session/delete", **wrong)
    assert "error" in await editor.request("session/delete", sessionId=session[:8])
    assert "error" in await editor.request("session/list", cursor="-1")
    loading = editor.begin_request("session/load", sessionId=session, cwd=str(desk.workspace), mcpServers=[])
    assert await editor.prompt(session, "Hello") == {"stopReason": "end_turn"}
    assert "result" in await loading
    await editor.close()


async def test_an_answer_from_elsewhere_counts_and_the_editors_late_one_does_not(desks: Desks) -> None:
    desk = await desks.set_up(EDIT, DONE)
    editor = desk.open()
    session = await desk.session(editor)
    turn = editor.begin_request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Write"}])
    await editor.until(lambda: len(editor.requests()) == 1)
    folder = desk.home / ".local" / "state" / "joey" / "tasks" / session
    reader = LiveReader(folder / LIVE)
    requests = [json.loads(line) for _, line in reader.read(reader.start) if b'"approval_requested"' in line]
    send_command(folder, reader.run, Answer(requests[0]["request_id"], yes=True))
    reader.close()
    assert (await turn)["result"] == {"stopReason": "end_turn"}
    assert (desk.workspace / "x.txt").read_text() == "one\ntwo\n"
    number = [each["id"] for each in editor.seen if each.get("method") == "session/request_permission"][-1]
    editor.send({"jsonrpc": "2.0", "id": number, "result": {"outcome": {"outcome": "cancelled"}}})
    await editor.close()
