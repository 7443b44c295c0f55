"""Tool calls that work: choices enforced, mistakes never handed on as calls, and every kind of tool a client offers."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from gateway_kit import (
    CHAT_TOOLS,
    PATHS,
    RESPONSES_TOOLS,
    call_text,
    client_of,
    request_body,
    requests_of,
    streamed,
    upstream,
    whole,
)
from gbnf import Grammar
from joey.chunks import StopChunk, ToolCallChunk
from joey.gateway import Upstream
from joey.messages import ReasoningBlock, TextBlock, ToolUseBlock
from joey.providers import Abilities
from joey.testing import ScriptedReply, reply

LIST, WRITE = call_text("list_files"), call_text("write_file", path="a.py")
WIRES = tuple(PATHS)


async def post(model: Upstream, wire: str = "chat", *, stream: bool = False, **fields: Any) -> Any:
    async with client_of(model) as client:
        return await client.post(PATHS[wire], json=request_body(wire, stream=stream, **fields))


async def collected(model: Upstream, wire: str = "chat", *, stream: bool = False, **fields: Any) -> Any:
    got = await post(model, wire, stream=stream, **fields)
    assert got.status_code == 200, got.text
    return streamed(wire, got.content) if stream else whole(wire, got.json())


# Choices


CHOICES: dict[str, dict[str, Any]] = {
    "chat": {
        "required": {"tool_choice": "required"},
        "one": {"tool_choice": {"type": "function", "function": {"name": "list_files"}}},
        "none": {"tool_choice": "none"},
        "allowed": {
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "list_files"}}],
                },
            }
        },
        "single": {"parallel_tool_calls": False},
    },
    "responses": {
        "required": {"tool_choice": "required"},
        "one": {"tool_choice": {"type": "function", "name": "list_files"}},
        "none": {"tool_choice": "none"},
        "allowed": {
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "list_files"}],
            }
        },
        "single": {"parallel_tool_calls": False},
    },
    "messages": {
        "required": {"tool_choice": {"type": "any"}},
        "one": {"tool_choice": {"type": "tool", "name": "list_files"}},
        "none": {"tool_choice": {"type": "none"}},
        "single": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    },
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("choice", ["required", "one", "allowed"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_makes_no_call_where_one_is_required_is_asked_again(
    wire: str, choice: str, stream: bool
) -> None:
    if choice not in CHOICES[wire]:
        return
    model = upstream("I would rather talk.", LIST)
    got = await collected(model, wire, stream=stream, **CHOICES[wire][choice])
    assert (got.calls, got.text) == ([("list_files", {})], "")
    first, second = requests_of(model)
    assert "Call" in first.messages[-1].content[-1].text
    assert "I would rather talk." in second.messages[-2].content[0].text


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_never_makes_the_required_call_is_an_error(wire: str) -> None:
    got = await post(upstream("No.", "No."), wire, **CHOICES[wire]["required"])
    assert got.status_code == 502
    assert "made no tool call" in got.json()["error"]["message"]


async def test_a_model_that_calls_another_tool_than_the_required_one_is_an_error_with_its_name() -> None:
    got = await post(upstream(WRITE, WRITE), "chat", **CHOICES["chat"]["one"])
    assert got.status_code == 502
    assert "did not call the tool 'list_files'" in got.json()["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_calls_a_tool_where_none_is_allowed_is_not_reminded_how(wire: str) -> None:
    model = upstream(LIST, "There are two files.")
    none: Any = {"type": "none"} if wire == "messages" else "none"
    got = await collected(model, wire, tool_choice=none)
    assert (got.calls, got.text) == ([], "There are two files.")
    note = requests_of(model)[1].messages[-1].content[0].text
    assert note == "there is no tool 'list_files'. Answer without a tool call."


@pytest.mark.parametrize("choice", ["one", "allowed"])
async def test_a_call_of_another_tool_than_the_one_that_is_allowed_is_none(choice: str) -> None:
    model = upstream(WRITE, LIST)
    assert (await collected(model, **CHOICES["chat"][choice])).calls == [("list_files", {})]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_takes_grammars_gets_one_for_the_choice(wire: str) -> None:
    grammars = {}
    for choice in (*CHOICES[wire], "auto"):
        model = upstream(LIST, LIST, grammar=True)
        await post(model, wire, **CHOICES[wire].get(choice, {}))
        grammars[choice] = requests_of(model)[0].grammar
    assert "write" in grammars["auto"] and "write" in grammars["required"]
    assert "write" not in grammars["one"]
    assert grammars["required"] != grammars["auto"] != grammars["single"]
    assert grammars["none"] is None


@pytest.mark.parametrize("wire", WIRES)
async def test_without_parallel_calls_the_reply_ends_with_the_first(wire: str) -> None:
    got = await collected(upstream(LIST + WRITE), wire, stream=True, **CHOICES[wire]["single"])
    assert got.calls == [("list_files", {})]


async def test_with_the_choice_none_no_tool_is_taught_and_no_call_is_made() -> None:
    model = upstream(LIST, retries=0)
    got = await collected(model, **CHOICES["chat"]["none"])
    assert (got.calls, got.text, got.stop) == ([], LIST, "stop")
    assert "list_files" not in requests_of(model)[0].system


async def test_a_choice_of_a_tool_that_is_not_there_is_refused() -> None:
    got = await post(upstream(), tool_choice={"type": "function", "function": {"name": "nope"}})
    assert (got.status_code, got.json()["error"]["param"]) == (400, "tool_choice")


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ("chat", {"type": "nothing"}),
        ("responses", {}),
        ("messages", {"type": "nothing"}),
        ("chat", {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"name": "nope"}]}}),
        ("responses", {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "nope"}]}),
    ],
)
async def test_a_choice_that_nobody_can_keep_is_refused(wire: str, choice: Any) -> None:
    got = await post(upstream("never used"), wire, tool_choice=choice)
    assert got.status_code == 400 and "tool_choice" in got.json()["error"]["message"]


async def test_a_call_cannot_be_required_where_there_are_no_tools() -> None:
    got = await post(upstream("never used"), tools=[], tool_choice="required")
    assert got.status_code == 400 and "no tools" in got.json()["error"]["message"]


async def test_a_choice_of_a_tool_that_only_other_servers_run_leaves_the_model_its_own() -> None:
    tools = [*RESPONSES_TOOLS, {"type": "web_search"}]
    got = await collected(upstream("Hello."), "responses", tools=tools, tool_choice={"type": "web_search"})
    assert got.text == "Hello."


# Mistakes of the model


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_native_call_of_a_server_that_was_taught_the_tools_in_text_is_a_call(wire: str, stream: bool) -> None:
    model = upstream(reply("I will.", ToolUseBlock("x1", "write_file", {"path": "a.py"})))
    got = await collected(model, wire, stream=stream)
    assert (got.text, got.calls) == ("I will.", [("write_file", {"path": "a.py"})])


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_half_of_a_surrogate_pair_does_not_reach_the_client(wire: str, stream: bool) -> None:
    got = await post(upstream("half \ud800 pair"), wire, stream=stream)
    assert b"\\ud800" not in got.content and "half \ufffd pair" in got.content.decode()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_after_a_call_of_an_unknown_tool_the_model_is_asked_again_and_nothing_of_it_is_seen(
    wire: str, stream: bool
) -> None:
    model = upstream("Let me see.\n" + call_text("ls"), LIST)
    got = await collected(model, wire, stream=stream)
    assert (got.calls, got.text.strip()) == ([("list_files", {})], "Let me see.")
    assert "no tool 'ls'" in requests_of(model)[1].messages[-1].content[0].text


async def test_without_another_attempt_an_unknown_call_is_the_text_it_was() -> None:
    text = "Let me see.\n" + call_text("ls") + " Done."
    got = await collected(upstream(text, retries=0), stream=True)
    assert (got.calls, got.text, got.stop) == ([], text, "stop")


@pytest.mark.parametrize("name", ["List_Files", "functions.list_files", "list-files"])
async def test_a_name_written_a_little_differently_is_the_tool_it_can_only_be(name: str) -> None:
    assert (await collected(upstream(call_text(name)))).calls == [("list_files", {})]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_cut_by_length_is_never_a_whole_call(wire: str) -> None:
    cut = reply(WRITE.removesuffix("</tool_call>").removesuffix("}}"), stop="length")
    for stream in (True, False):
        got = await collected(upstream(cut), wire, stream=stream)
        assert got.calls == []
        assert got.stop in ("length", "max_tokens", "incomplete")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_native_call_cut_before_its_arguments_is_no_call_without_arguments(wire: str) -> None:
    begun = ScriptedReply((ToolCallChunk(0, "x1", "list_files", ""), StopChunk("length")))
    for stream in (True, False):
        got = await collected(upstream(begun), wire, stream=stream)
        assert got.stop in ("length", "max_tokens", "incomplete")


async def test_of_its_native_calls_too_only_the_first_counts_without_parallel_calls() -> None:
    blocks = (ToolUseBlock("x1", "list_files", {}), ToolUseBlock("x2", "list_files", {}))
    for stream in (True, False):
        got = await collected(upstream(reply(*blocks)), stream=stream, parallel_tool_calls=False)
        assert (got.calls, got.text) == ([("list_files", {})], "")


async def test_what_a_model_makes_up_as_the_result_of_its_call_is_left_out() -> None:
    made_up = LIST + '\n<tool_response>{"result": "a.py"}</tool_response>\nThere is a.py.'
    got = await collected(upstream(made_up), stream=True)
    assert (got.calls, got.text) == ([("list_files", {})], "")


BARE = '{"name": "write_file", "arguments": {"path": "a.py", "lines": 3}}'


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        f"```json\n{BARE}\n```",
        "<write_file><path>a.py</path><lines>3</lines></write_file>",
        '[TOOL_CALLS][{"name": "write_file", "arguments": {"path": "a.py", "lines": 3}}]',
    ],
)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_reply_that_is_nothing_but_a_call_without_its_markers_is_that_call(wire: str, text: str) -> None:
    for stream in (True, False):
        got = await collected(upstream(text), wire, stream=stream)
        assert (got.calls, got.text) == ([("write_file", {"path": "a.py", "lines": 3})], "")


@pytest.mark.parametrize(
    "text", ['{"name": "Joey"}', "```sh\nls\n```", f"This is how:\n{BARE}", f"{BARE}\nis how it is written.", "[1] See"]
)
async def test_a_reply_that_only_looks_like_a_call_stays_the_text_it_is(text: str) -> None:
    for stream in (True, False):
        got = await collected(upstream(text), stream=stream)
        assert (got.calls, got.text, got.stop) == ([], text, "stop")


async def test_a_model_that_makes_up_a_result_instead_of_a_call_is_asked_again() -> None:
    for stream in (True, False):
        model = upstream("<tool_response>There is a.py.</tool_response>", LIST)
        got = await collected(model, stream=stream)
        assert (got.calls, got.text) == ([("list_files", {})], "")
        assert "in place of a call" in requests_of(model)[1].messages[-1].content[0].text


@pytest.mark.parametrize("parallel", [True, False])
async def test_the_second_attempt_of_a_model_held_to_a_grammar_can_only_be_calls(parallel: bool) -> None:
    """As many as the client takes."""
    model = upstream(call_text("ls"), LIST + WRITE, grammar=True)
    got = await collected(model, parallel_tool_calls=parallel)
    assert [name for name, _ in got.calls] == (["list_files", "write_file"] if parallel else ["list_files"])
    required = upstream(LIST, grammar=True)
    await collected(required, tool_choice="required", parallel_tool_calls=parallel)
    first, second = requests_of(model)
    assert first.grammar != second.grammar == requests_of(required)[0].grammar
    assert Grammar(second.grammar).admits(LIST + LIST) == parallel


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "{}", "[{}]"])
async def test_a_model_that_begins_a_call_without_markers_is_held_to_calls_from_the_start(fence: str) -> None:
    """It would stop behind the first one, and the client would never see the others."""
    bare = fence.replace("{}", '{"name": "list_files", "arguments": {}}')
    model = upstream(bare, LIST + WRITE, grammar=True)
    got = await collected(model, stream=True)
    assert [name for name, _ in got.calls] == ["list_files", "write_file"] and got.text == ""
    first, second = requests_of(model)
    assert second.messages == first.messages and Grammar(second.grammar).admits(LIST + WRITE)


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        ("llama3_json", BARE.replace("arguments", "parameters")),
        ("xlam", f"[{BARE}]"),
        ("tool_choice", BARE),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_a_call_of_a_protocol_that_has_no_markers_is_read_at_once(protocol: str, text: str, stream: bool) -> None:
    model = upstream(text, protocol=protocol, grammar=True)
    got = await collected(model, stream=stream)
    assert (got.calls, got.text) == ([("write_file", {"path": "a.py", "lines": 3})], "")
    assert len(requests_of(model)) == 1


@pytest.mark.parametrize("text", ['```json\n{"name": "Ada", "age": 36}\n```', "```json\n[1]\n```"])
async def test_json_that_is_no_call_is_the_answer(text: str) -> None:
    model = upstream(text, grammar=True)
    got = await collected(model)
    assert (got.text, got.calls, len(requests_of(model))) == (text, [], 1)


async def test_usage_is_that_of_all_attempts() -> None:
    got = await post(upstream(call_text("ls"), LIST))
    assert got.json()["usage"]["prompt_tokens"] == 200


# Tools of every kind


CUSTOM = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Patch files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" /(.|\\n)+/'},
}
NAMESPACE = {"type": "namespace", "name": "agents", "description": "Agents.", "tools": [RESPONSES_TOOLS[0], CUSTOM]}
PATCH = "*** Begin Patch\n+hé\n*** End Patch"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_custom_tool_gets_its_text_as_it_is_and_its_namespace_back(stream: bool) -> None:
    tools = [RESPONSES_TOOLS[1], NAMESPACE, {"type": "web_search"}]
    model = upstream(call_text("apply_patch", input=PATCH))
    got = await post(model, "responses", stream=stream, tools=tools)
    found = streamed("responses", got.content) if stream else whole("responses", got.json())
    assert found.calls == [("apply_patch", PATCH)]
    assert '"namespace":"agents"' in got.text
    assert "Begin Patch" in requests_of(model)[0].system


async def test_a_custom_tool_of_chat_completions_gets_its_text() -> None:
    tools = [{"type": "custom", "custom": {"name": "run", "description": "Runs Python."}}]
    got = await post(upstream(call_text("run", input="1+1")), tools=tools)
    assert got.json()["choices"][0]["message"]["tool_calls"][0]["custom"] == {"name": "run", "input": "1+1"}


async def test_two_tools_of_one_name_in_two_namespaces_stay_apart() -> None:
    other = {"type": "namespace", "name": "files", "tools": [RESPONSES_TOOLS[0]]}
    got = await post(upstream(call_text("files__write_file", path="a")), "responses", tools=[NAMESPACE, other])
    (call,) = got.json()["output"]
    assert (call["name"], call["namespace"]) == ("write_file", "files")


async def test_tools_that_come_as_an_item_of_the_conversation_are_offered() -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [NAMESPACE]}
    given = [item, {"role": "user", "content": "Write it."}]
    got = await collected(upstream(WRITE), "responses", tools=None, input=given)
    assert got.calls == [("write_file", {"path": "a.py"})]


async def test_a_deferred_tool_is_hidden_until_a_search_found_it_and_then_described_there() -> None:
    tools = [
        {"name": "ToolSearch", "input_schema": {"type": "object"}},
        {"name": "Placeholder", "input_schema": {"type": "object"}, "defer_loading": True},
        {"name": "Exit", "description": "Leaves.", "input_schema": {"type": "object"}, "defer_loading": True},
    ]
    history: list[Any] = [{"role": "user", "content": "Exit."}]
    searched = [
        *history,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ToolSearch", "input": {}}]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "tool_reference", "tool_name": "Exit"}],
                }
            ],
        },
    ]
    model = upstream(call_text("ToolSearch"), call_text("Exit"))
    await collected(model, "messages", tools=tools, messages=history)
    got = await collected(model, "messages", tools=tools, messages=searched)
    first, second = requests_of(model)
    assert got.calls == [("Exit", {})]
    assert first.system == second.system and "Exit" not in first.system and "Placeholder" not in first.system
    assert "Leaves." in second.messages[-1].content[0].text


async def test_a_system_message_in_the_middle_becomes_marked_text_of_the_user() -> None:
    model = upstream("Ok.")
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello."},
        {"role": "system", "content": "It is Monday."},
    ]
    await collected(model, messages=messages)
    (request,) = requests_of(model)
    assert request.system.startswith("Be kind.")
    (message,) = request.messages
    assert [block.text for block in message.content if isinstance(block, TextBlock)] == [
        "Hello.",
        "<system_message>\nIt is Monday.\n</system_message>",
    ]


async def test_malformed_arguments_in_the_history_do_not_end_the_conversation() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "list_files", "arguments": '{"path": "a'}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "error"},
    ]
    assert (await collected(upstream("Ok."), messages=messages)).text == "Ok."


# Reasoning


async def test_reasoning_comes_back_sealed_and_a_forged_seal_is_not_believed() -> None:
    thinking = reply(ReasoningBlock("I know.", "signature of the provider"), "Ok.")
    model = upstream(thinking, "Ok.", "Ok.")
    async with client_of(model) as client:
        first = await client.post(PATHS["messages"], json=request_body("messages"))
        content = first.json()["content"]
        again = [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "And?"},
        ]
        await client.post(PATHS["messages"], json=request_body("messages", messages=again))
        content[0]["signature"] = content[0]["signature"][:-6] + "AAAAA="
        await client.post(PATHS["messages"], json=request_body("messages", messages=again))
    _, honest, forged = requests_of(model)
    assert ReasoningBlock("I know.", "signature of the provider") in honest.messages[1].content
    assert ReasoningBlock("I know.") in forged.messages[1].content


async def test_sealed_reasoning_of_a_response_is_handed_back() -> None:
    model = upstream(reply(ReasoningBlock("I know.", "s"), LIST), "Ok.")
    async with client_of(model) as client:
        fields: Any = {"include": ["reasoning.encrypted_content"], "store": False}
        first = await client.post(PATHS["responses"], json=request_body("responses", **fields))
        output = first.json()["output"]
        result = {"type": "function_call_output", "call_id": output[1]["call_id"], "output": "a.py"}
        given = [{"role": "user", "content": "x"}, *output, result]
        await client.post(PATHS["responses"], json=request_body("responses", input=given, **fields))
    assert ReasoningBlock("I know.", "s") in requests_of(model)[1].messages[1].content


async def test_a_response_is_kept_for_the_one_that_refers_to_it() -> None:
    model = upstream(LIST, "There is a.py.")
    async with client_of(model) as client:
        first = (await client.post(PATHS["responses"], json=request_body("responses"))).json()
        result = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "a.py"}
        fields = {"previous_response_id": first["id"], "input": [result]}
        second = await client.post(PATHS["responses"], json=request_body("responses", **fields))
        lost = await client.post(PATHS["responses"], json=request_body("responses", previous_response_id="resp_0"))
    assert second.status_code == 200
    assert [message.role for message in requests_of(model)[1].messages] == ["user", "assistant", "user"]
    assert lost.status_code == 400


# Formats


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORMATS: dict[str, dict[str, Any]] = {
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
}


@pytest.mark.parametrize("wire", WIRES)
async def test_a_reply_that_must_be_json_is_held_to_it_by_a_grammar(wire: str) -> None:
    model = upstream('{"city": "Paris"}', grammar=True)
    got = await collected(model, wire, tools=None, stream=True, **FORMATS[wire])
    assert json.loads(got.text) == {"city": "Paris"}
    assert "city" in requests_of(model)[0].grammar


@pytest.mark.parametrize("wire", WIRES)
async def test_without_a_grammar_the_json_is_cut_out_or_asked_for_again(wire: str) -> None:
    model = upstream("Paris, I think.", 'Sure:\n```json\n{"city": "Paris"}\n```\nAnything else?')
    got = await collected(model, wire, tools=None, stream=True, **FORMATS[wire])
    assert json.loads(got.text) == {"city": "Paris"}
    assert len(requests_of(model)) == 2


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_leaves_out_the_grammar_is_not_believed(wire: str) -> None:
    model = upstream("No.", 'Sure:\n```json\n{"city": "Paris"}\n```', grammar=True)
    got = await collected(model, wire, tools=None, stream=True, **FORMATS[wire])
    assert json.loads(got.text) == {"city": "Paris"}
    assert all("city" in request.grammar for request in requests_of(model))


@pytest.mark.parametrize("wire", WIRES)
async def test_json_that_breaks_its_schema_is_asked_for_again(wire: str) -> None:
    model = upstream('{"town": "Paris"}', '{"city": "Paris"}')
    got = await collected(model, wire, tools=None, stream=True, **FORMATS[wire])
    assert json.loads(got.text) == {"city": "Paris"}
    note = requests_of(model)[1].messages[-1].content[0].text
    assert "does not match the schema" in note and "city" in note
    assert "tool" not in note, "there are none"


async def test_a_schema_that_nobody_can_check_does_not_cost_the_reply() -> None:
    lost = {"type": "object", "properties": {"city": {"$ref": "#/nowhere"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": lost}}
    model = upstream('{"city": "Paris"}')
    assert json.loads((await collected(model, tools=None, response_format=wanted)).text) == {"city": "Paris"}


async def test_a_schema_that_takes_long_to_check_keeps_nobody_else_waiting() -> None:
    slow = {"type": "object", "properties": {"city": {"type": "string", "pattern": "^(a+)+b$"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "a", "schema": slow}}
    answer = json.dumps({"city": "a" * 40})
    pauses = [0.0]

    async def others() -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            pauses.append((now := time.monotonic()) - last)
            last = now

    await collected(upstream('{"city": "Paris"}'), tools=None, **FORMATS["chat"])  # loads the validator
    waiting, start = asyncio.create_task(others()), time.monotonic()
    assert (await collected(upstream(answer), tools=None, response_format=wanted)).text == answer
    taken = time.monotonic() - start
    waiting.cancel()
    assert max(pauses) < taken / 2 and taken > 0.2


# Windows and limits


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_request_beyond_the_window_is_refused_in_the_words_that_clients_know(wire: str, stream: bool) -> None:
    model = upstream(abilities=Abilities(tools=False, context_window=1000))
    got = await post(model, wire, stream=stream, words="word " * 5000)
    assert got.status_code == 400
    error = got.json()["error"]
    assert error["message"].startswith("prompt is too long: ") and " tokens > 1000 maximum" in error["message"]
    assert wire == "messages" or error["code"] == "context_length_exceeded"


async def test_a_longer_answer_than_the_window_has_room_for_is_shortened() -> None:
    model = upstream("Ok.", abilities=Abilities(tools=False, context_window=4000))
    await collected(model, "messages", max_tokens=32000)
    assert 0 < requests_of(model)[0].max_tokens < 4000


async def test_images_of_any_wire_reach_a_model_that_sees() -> None:
    pixel = "iVBORw0KGgo="
    model = upstream("Ok.", "Ok.", "Ok.")
    source = {"type": "base64", "media_type": "image/png", "data": pixel}
    url = f"data:image/png;base64,{pixel}"
    await collected(model, messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}])
    await collected(model, "messages", messages=[{"role": "user", "content": [{"type": "image", "source": source}]}])
    given = [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]
    await collected(model, "responses", input=given)
    blocks = [request.messages[0].content[0] for request in requests_of(model)]
    assert len(set(blocks)) == 1 and blocks[0].data == pixel


def test_the_tools_of_the_kit_are_the_same_on_every_wire() -> None:
    assert [tool["function"]["name"] for tool in CHAT_TOOLS] == [tool["name"] for tool in RESPONSES_TOOLS]
