"""What the next request holds besides the conversation: tools, choice and grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.events import TextDelta
from joey.messages import ToolResult
from joey.providers import ModelRequest
from joey.task.settings import Calls
from joey.testing import ScriptedProvider, reply
from joey.tools.base import Plan, failed
from joey.toolspec import ToolChoice
from task_kit import Kit, done

ONE_CALL = ToolChoice("required", parallel=False)
DONE = "<attempt_completion>\n<result>done</result>\n</attempt_completion>"


async def _first_request(
    folder: Path, protocol: str, *, takes_grammar: bool, tool_choice: Calls = "auto"
) -> ModelRequest:
    kit = Kit(folder, [], protocol=protocol, tool_choice=tool_choice)
    answer = done() if protocol == "native" else reply(DONE)
    provider = ScriptedProvider([answer], takes_grammar=takes_grammar)
    kit.change(provider=provider)
    assert (await kit.run()).outcome == "completed"
    return provider.requests[0]


async def test_a_provider_that_takes_a_grammar_is_given_that_of_the_protocol(tmp_path: Path) -> None:
    request = await _first_request(tmp_path, "xml", takes_grammar=True)
    assert request.grammar is not None and "attempt_completion" in request.grammar
    assert request.tool_choice == ToolChoice()


async def test_a_required_call_changes_the_grammar(tmp_path: Path) -> None:
    free = await _first_request(tmp_path / "1", "xml", takes_grammar=True)
    one = await _first_request(tmp_path / "2", "xml", takes_grammar=True, tool_choice="required")
    assert one.grammar is not None and one.grammar != free.grammar
    assert one.tool_choice == ONE_CALL


async def test_no_grammar_is_made_where_none_is_taken(tmp_path: Path) -> None:
    request = await _first_request(tmp_path, "xml", takes_grammar=False, tool_choice="required")
    assert request.grammar is None


@pytest.mark.parametrize("takes_grammar", [True, False])
async def test_native_calls_are_required_by_the_provider_itself(tmp_path: Path, takes_grammar: bool) -> None:
    request = await _first_request(tmp_path, "native", takes_grammar=takes_grammar, tool_choice="required")
    assert request.grammar is None and request.tools
    assert request.tool_choice == ONE_CALL


async def test_tools_that_were_called_without_success_are_left_out_until_a_call_goes_well(tmp_path: Path) -> None:
    read = reply("<read_file>\n<path>a.txt</path>\n</read_file>")
    write = reply("<write_to_file>\n<path>b.txt</path>\n<content>new</content>\n</write_to_file>")
    look = reply("<list_files>\n<path>.</path>\n</list_files>")
    kit = Kit(tmp_path, [], protocol="xml", prompt="small", tool_choice="auto", mistake_limit=9)
    provider = ScriptedProvider([read, read, write, write, look, reply(DONE), reply(DONE)], takes_grammar=True)
    kit.change(provider=provider)
    (kit.workspace / "a.txt").write_text("hello\n")
    (kit.workspace / "b.txt").write_text("new")
    (kit.workspace / "c.bin").write_bytes(b"\0")  # not shown: a model that was shown all there is cannot read
    assert (await kit.run()).outcome == "completed"
    assert [_left_out(request) for request in provider.requests[:6]] == [
        set(), set(), {"read_file"}, set(), {"write_to_file"}, set(),
    ]  # fmt: skip


def _left_out(request: ModelRequest) -> set[str]:
    return {name for name in ("read_file", "write_to_file") if name not in (request.grammar or "")}


async def test_where_a_reply_should_be_one_call_it_ends_with_the_first(tmp_path: Path) -> None:
    """What a small model makes up behind it, the answer and the next call, is not even read."""
    look = "<list_files>\n<path>.</path>\n</list_files>"
    made_up = f"{look}\n[list_files] Result:\nNo files.\n{DONE}"
    kit = Kit(tmp_path, [reply(made_up), reply(DONE)], protocol="xml", tool_choice="required")
    assert (await kit.run()).outcome == "completed"
    assert len(kit.provider.requests) == 2
    assert not any("No files" in event.text for event in kit.of(TextDelta))
    assert [block.text for message in kit.sent if message.role == "assistant" for block in message.content] == [look]


def test_the_next_reply_is_held_to_what_can_help(tmp_path: Path) -> None:
    """Files that are there are looked at before they are written; after a refusal, the tools it names are left."""
    kit = Kit(tmp_path, [], protocol="xml", prompt="small")
    (kit.workspace / "a.py").write_text("x = 1\n")
    kit.change(provider=ScriptedProvider([], takes_grammar=True))
    task = kit.assemble("Fix a.py")
    first = task.builder.build().grammar or ""
    assert "<read_file>" in first and "<write_to_file>" not in first
    refused = failed("Nothing was written.")
    plan = Plan((), unreached, refusal=refused, suggested=("read_file",))
    task.supervisor.on_refusal("write_to_file", "write_to_file", {}, plan, refused)
    second = task.builder.build().grammar or ""
    assert "<read_file>" in second and "<execute_command>" not in second
    task.log.close()


async def unreached() -> ToolResult:
    raise AssertionError("a plan that refuses is not carried out")


@pytest.mark.parametrize("arguments", ['["a.py"]', '"a.py"', "null", "3", '"{\\"path\\": \\"a.py\\"}"'])
@pytest.mark.parametrize("protocol", ["hermes", "ernie45", "qwen3_coder"])
async def test_arguments_that_are_no_object_are_answered_and_the_task_goes_on_and_resumes(
    tmp_path: Path, protocol: str, arguments: str
) -> None:
    """Whatever a model writes there: history is sent and read again with objects only."""
    odd = f'<tool_call>\n{{"name": "read_file", "arguments": {arguments}}}\n</tool_call>'
    completion = '<tool_call>\n{"name": "attempt_completion", "arguments": {"result": "Done."}}\n</tool_call>'
    kit = Kit(tmp_path, [reply(odd), reply(completion)], protocol=protocol)
    assert (await kit.run()).outcome == "completed"
    assert kit.task is not None
    assert (await kit.resume(kit.task.id, [reply(completion)], "Once more.")).outcome == "completed"
