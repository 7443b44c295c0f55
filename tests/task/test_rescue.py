"""Calls in the text of a model that should have made them natively."""

from __future__ import annotations

import json

import pytest

from joey.task.rescue import calls_in_text
from joey.tools.builtin import builtin_tools

TOOLS = tuple(tool.spec for tool in builtin_tools())
README = "# Joey\n\n```bash\nmake <all>\n```\n\nThat is it."


@pytest.mark.parametrize(
    ("text", "around"),
    [
        (
            f"First.\n<write_to_file>\n<path>README.md</path>\n<content>\n{README}\n</content>\n</write_to_file>",
            "First.",
        ),
        ('<tool_call>{"name": "write_to_file", "arguments": {"path": "README.md", "file_text": %s}}</tool_call>', ""),
    ],
    ids=["xml", "json_mix"],
)
def test_a_fence_inside_a_call_is_part_of_it(text: str, around: str) -> None:
    rescued = calls_in_text(text.replace("%s", json.dumps(README)), TOOLS)
    assert rescued is not None
    (call,) = rescued.calls
    assert call.name == "write_to_file"
    written = {**call.arguments}
    assert (written.get("file_text") or written.get("content")) == README
    assert rescued.around == around


def test_a_fence_beside_a_call_stays_in_the_text() -> None:
    fence = "```xml\n<read_file>\n<path>example</path>\n</read_file>\n```"
    rescued = calls_in_text(f"Like this:\n{fence}\n\n<read_file>\n<path>real</path>\n</read_file>", TOOLS)
    assert rescued is not None
    assert [call.arguments["path"] for call in rescued.calls] == ["real"]
    assert rescued.around == f"Like this:\n{fence}"


@pytest.mark.parametrize(
    "text",
    [
        "```\n<read_file>\n<path>a</path>\n</read_file>\n```",
        "~~~\n<read_file>\n<path>a</path>\n</read_file>",
        "<read_file>\n<path>a",
        "<unknown_tool>\n<path>a</path>\n</unknown_tool>",
        "1 < 2",
        "plain",
    ],
)
def test_what_is_no_whole_call_of_a_known_tool_is_left_alone(text: str) -> None:
    assert calls_in_text(text, TOOLS) is None


@pytest.mark.parametrize(
    "text",
    [
        'I look.[TOOL_CALLS]read_file[ARGS]{"path": "real"}',
        "I look.<tool_call>read_file<arg_key>path</arg_key><arg_value>real</arg_value></tool_call>",
        '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "real"}<|call|>',
        '{"name": "read_file", "parameters": {"path": "real"}}',
    ],
)
def test_a_call_in_another_dialect_is_found(text: str) -> None:
    rescued = calls_in_text(text, TOOLS)
    assert rescued is not None
    assert [(call.name, call.arguments) for call in rescued.calls] == [("read_file", {"path": "real"})]


def test_a_call_without_markers_counts_only_as_the_whole_reply() -> None:
    assert (
        calls_in_text('{"name": "read_file", "parameters": {"path": "x"}} is how one writes it <here>', TOOLS) is None
    )
