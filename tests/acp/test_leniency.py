"""What clients send besides the usual, and what they are shown in cases that peers get wrong."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from acp_kit import Desks, choose
from joey.acp.prompt import read_prompt
from joey.messages import ReasoningBlock
from joey.testing.script import reply
from joey_process import call

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
KIT = Path(__file__).parents[1] / "mcp_kit_server.py"
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


def test_content_that_nobody_can_use_is_named_and_the_rest_counts() -> None:
    blocks: list[Any] = [
        {"type": "text", "text": None},
        {"text": "Hear ", "type": "text", "annotations": {"audience": ["assistant"]}, "_meta": {"x": 1}},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "hologram"},
        {"type": "resource", "resource": {"uri": "x://1", "mimeType": "image/png", "blob": PIXEL}},
        {"type": "resource", "resource": {"uri": "x://2", "blob": "AAAA", "mimeType": None}},
    ]
    prompt = read_prompt(blocks, "/w")
    assert prompt.text == (
        "Hear [content of type audio is not supported, and was left out] "
        "[content of type hologram is not supported, and was left out] [x://2: this is not text, and was left out]"
    )
    assert [base64.b64decode(each.data)[:4] for each in prompt.images] == [b"\x89PNG"]


async def test_a_client_that_leaves_out_what_is_optional_is_served(desks: Desks) -> None:
    desk = await desks.set_up(reply("Hello."))
    editor = desk.open()
    hello = await editor.send_request({"method": "initialize", "id": "a-1", "jsonrpc": "2.0", "params": None})
    assert (hello["id"], hello["result"]["protocolVersion"]) == ("a-1", 1)
    editor.notify("initialized", anything=[1])
    absent = {"mcpServers": None, "additionalDirectories": None, "_meta": None, "more": 1}
    session = (await editor.request("session/new", cwd=f"{desk.workspace}/", **absent))["sessionId"]
    listed = await editor.request("session/list", cwd=None, cursor=None)
    assert listed["sessions"] == []
    assert await editor.prompt(session, "Hello") == {"stopReason": "end_turn"}
    assert await editor.request("session/close", sessionId=session) == {}
    assert await editor.request("session/close", sessionId=session) == {}, "it is closed already"
    assert (await editor.request("session/close", sessionId="20260101-none"))["error"]["code"] == -32002
    loaded = await editor.request("session/load", sessionId=session, cwd=str(desk.workspace))
    assert loaded["modes"]["currentModeId"] == "code"
    await editor.close()


async def test_a_request_about_a_servers_tool_shows_all_that_it_is_given(desks: Desks) -> None:
    desk = await desks.set_up(reply(call("m", "mcp--kit--add", a=2, b=40)), reply("Done."))
    editor = desk.open(choose("allow_once"))
    await editor.initialize()
    server = {"name": "kit", "command": sys.executable, "args": [str(KIT)], "env": []}
    session = (await editor.request("session/new", cwd=str(desk.workspace), mcpServers=[server]))["sessionId"]
    await editor.until(lambda: "mcp--kit--review" in json.dumps(editor.updates("available_commands_update")))
    await editor.prompt(session, "Add them")
    shown = editor.requests()[0]["toolCall"]
    assert shown["content"][0]["content"]["text"] == '```\n{\n  "a": 2,\n  "b": 40\n}\n```'
    assert [each["name"] for each in editor.updates("tool_call")] == ["mcp--kit--add"]
    last = editor.updates("tool_call_update")[-1]
    assert (last["status"], last["rawOutput"]["text"]) == ("completed", "42")
    await editor.close()


async def test_a_command_ends_with_its_output_and_its_exit_code(desks: Desks) -> None:
    desk = await desks.set_up(reply(call("c", "execute_command", command="echo hi; exit 3")), reply("Done."))
    editor = desk.open(choose("allow_once"))
    session = await desk.session(editor)
    await editor.prompt(session, "Run it")
    last = editor.updates("tool_call_update")[-1]
    assert (last["status"], last["rawOutput"]["exitCode"]) == ("failed", 3)
    assert "hi" in last["content"][0]["content"]["text"]
    await editor.close()


@pytest.mark.parametrize("answer", [{"action": "accept", "content": {}}, {"action": "decline"}, {"action": "cancel"}])
async def test_at_a_limit_the_user_is_asked_by_a_form(desks: Desks, answer: Mapping[str, Any]) -> None:
    run = [reply(call(each, "execute_command", command="date")) for each in "ab"]
    desk = await desks.set_up(*run, reply("All done."))

    def user(method: str, params: Mapping[str, Any]) -> Any:
        return answer if method == "elicitation/create" else choose("allow_once")(method, params)

    editor = desk.open(user, **{"approvals.max_requests": 1})
    session = await desk.session(editor, **FORMS)
    goes_on = answer["action"] == "accept"
    reason = "end_turn" if goes_on else "max_turn_requests"
    assert await editor.prompt(session, "Run it twice") == {"stopReason": reason}
    assert "Continue?" in editor.requests("elicitation/create")[0]["message"]
    assert editor.text().endswith("All done." if goes_on else "Send a message to continue.")
    await editor.close()


async def test_a_question_is_a_form_and_a_form_that_is_closed_leaves_it_to_the_next_prompt(desks: Desks) -> None:
    question = call("q", "ask_followup_question", question="Colour?", follow_up=[{"text": "Red"}, {"text": "Blue"}])
    desk = await desks.set_up(reply(question), reply("Green it is."))
    editor = desk.open(lambda method, _: {"action": "cancel"} if method == "elicitation/create" else None)
    session = await desk.session(editor, **FORMS)
    assert await editor.prompt(session, "Ask me") == {"stopReason": "end_turn"}
    fields = editor.requests("elicitation/create")[0]["requestedSchema"]["properties"]
    assert fields["choice"]["enum"] == ["Red", "Blue"]
    await editor.prompt(session, "Green")
    assert "Green" in json.dumps(desk.server.requests[-1].body)
    await editor.close()


@pytest.mark.parametrize("empty", [reply(), reply(ReasoningBlock("Let me think."))], ids=["nothing", "only reasoning"])
async def test_replies_without_words_end_the_turn(desks: Desks, empty: Any) -> None:
    desk = await desks.set_up(*([empty] * 12))
    editor = desk.open()
    session = await desk.session(editor)
    assert (await editor.prompt(session, "Hello"))["stopReason"] in ("end_turn", "max_turn_requests")
    await editor.close()
