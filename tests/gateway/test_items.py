"""Items and blocks of a conversation that other servers made, or that ask for what cannot be done here."""

from __future__ import annotations

from typing import Any

import pytest

from gateway_kit import PATHS, RESPONSES_TOOLS, call_text, client_of, request_body, requests_of, upstream, whole
from joey.gateway.replies import KeptReplies
from joey.messages import ReasoningBlock

PIXEL = "data:image/png;base64,AAAA"


async def conversation(*given: Any, wire: str = "responses") -> str:
    """What the model is shown of these items, as text."""
    model = upstream("Ok.")
    body = request_body(wire)
    body |= {"input": [*given, {"role": "user", "content": "Go on."}]} if wire == "responses" else {"messages": given}
    async with client_of(model) as client:
        got = await client.post(PATHS[wire], json=body)
    assert got.status_code == 200, got.text
    blocks = [block for message in requests_of(model)[0].messages for block in message.content]
    return "\n".join(getattr(block, "text", f"<{type(block).__name__}>") for block in blocks)


async def test_results_are_shown_whatever_shape_they_have() -> None:
    shell = {"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    shown = await conversation(
        {"type": "local_shell_call", "call_id": "c1", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "c1", "output": "b.py"},
        {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "c2", "output": [shell]},
        {"type": "program", "id": "p", "call_id": "c3", "code": "tools.list()", "fingerprint": "f"},
        {"type": "program_output", "id": "p2", "call_id": "c3", "result": "c.py", "status": "completed"},
        {"type": "function_call", "call_id": "c4", "name": "list_files", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c4", "output": {"type": "files", "names": ["d.py"]}},
        {"type": "computer_call", "call_id": "c5", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "c5",
            "output": {"type": "computer_screenshot", "image_url": PIXEL},
        },
    )
    for words in ("a.py", "b.py", "c.py", "d.py", '"command": ["ls"]', "tools.list()", "<ImageBlock>", "Go on."):
        assert words in shown.replace('":["', '": ["'), words
    assert "left out" not in shown


async def test_tools_that_a_search_found_can_be_called() -> None:
    found = {"type": "tool_search_output", "call_id": "s1", "tools": RESPONSES_TOOLS[1:]}
    body = request_body("responses", tools=RESPONSES_TOOLS[:1])
    body["input"] = [
        {"role": "user", "content": "List."},
        {"type": "tool_search_call", "call_id": "s1", "arguments": {"query": "list"}},
        found,
    ]
    async with client_of(upstream(call_text("list_files"))) as client:
        got = await client.post(PATHS["responses"], json=body)
    assert whole("responses", got.json()).calls == [("list_files", {})]


@pytest.mark.parametrize("kind", ["bash_20250124", "text_editor_20250728", "memory_20250818"])
async def test_tools_of_anthropics_that_the_client_runs_can_be_called(kind: str) -> None:
    body = request_body("messages", tools=[{"type": kind, "name": "it"}])
    async with client_of(upstream(call_text("it", command="view"))) as client:
        got = await client.post(PATHS["messages"], json=body)
    assert whole("messages", got.json()).calls == [("it", {"command": "view"})]


async def test_what_another_server_compacted_is_mentioned_or_read() -> None:
    shown = await conversation({"type": "compaction", "encrypted_content": "gAAAA"})
    assert "gAAAA" not in shown
    summary = {"role": "user", "content": [{"type": "compaction", "content": "We wrote a.py."}]}
    assert "We wrote a.py." in await conversation(summary, {"role": "user", "content": "On."}, wire="messages")


async def test_a_compacted_beginning_is_part_of_the_system_prompt() -> None:
    model = upstream("Ok.")
    given = [{"type": "compaction", "encrypted_content": "gAAAA"}, {"role": "user", "content": "On."}]
    async with client_of(model) as client:
        await client.post(PATHS["responses"], json={"model": "m", "input": given})
    assert "was compacted by another server" in requests_of(model)[0].system


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"type": "compaction_trigger"}, "compaction is not supported"),
        ({"type": "item_reference", "id": "x"}, "was not found; send the whole item"),
        ({"type": "configuration_update", "text": {"format": {"type": "json_object"}}}, "send `text`"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
async def test_an_item_that_would_change_the_answer_is_refused(item: Any, words: str) -> None:
    async with client_of(upstream("Ok.")) as client:
        got = await client.post(
            PATHS["responses"], json={"model": "m", "input": [{"role": "user", "content": "x"}, item]}
        )
    error = got.json()["error"]
    assert (got.status_code, error["param"]) == (400, "input") and words in error["message"]


async def test_an_effort_for_later_changes_nothing_here() -> None:
    assert "Go on." in await conversation({"type": "configuration_update", "reasoning": {"effort": "low"}})


async def test_an_item_of_a_kept_response_can_be_referred_to() -> None:
    """The AI SDK sends its own text and reasoning back this way."""
    model = upstream(f"<think>Hm.</think>I look. {call_text('list_files')}", "Done.", "Ok.")
    question = {"role": "user", "content": "List."}
    async with client_of(model) as client:
        first = (await client.post(PATHS["responses"], json=request_body("responses", input=[question]))).json()
        reasoning, text, call = first["output"]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
        given = [question, *({"type": "item_reference", "id": item["id"]} for item in (reasoning, text)), call, result]
        second = (await client.post(PATHS["responses"], json=request_body("responses", input=given))).json()
        later = {"previous_response_id": second["id"], "input": "On."}
        third = await client.post(PATHS["responses"], json=request_body("responses", **later))
    assert third.status_code == 200
    for request in requests_of(model)[1:]:
        reply = request.messages[1].content
        assert "I look." in reply[1].text and reply[0] == ReasoningBlock("Hm.")


def test_an_item_is_kept_as_long_as_a_conversation_has_it() -> None:
    replies = KeptReplies(max_replies=2)
    item = {"type": "message", "id": "msg_1"}
    replies.keep("resp_1", [], [item])
    replies.keep("resp_2", [item, {"id": "of the client"}], [])
    replies.keep("resp_3", [], [])
    assert (replies.find("resp_1"), replies.item("msg_1")) == (None, item)
    assert replies.item("of the client") is None
    replies.keep("resp_4", [], [])
    assert replies.item("msg_1") is None
