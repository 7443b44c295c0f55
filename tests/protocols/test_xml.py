"""The xml protocol: reading replies, telling the model, writing history."""

from __future__ import annotations

from typing import Any

import pytest

from joey.chunks import StopChunk
from joey.errors import UsageError
from joey.events import (
    StreamEvent,
    TextDelta,
    TextFinished,
    TextStarted,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
)
from joey.messages import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import ParseError, Reply, collect, get, parse
from joey.protocols.xml.parser import XmlParser
from joey.protocols.xml.protocol import XmlProtocol
from joey.testing import check_laws, cut_at, cut_everywhere, cuttings, read
from joey.toolspec import ToolSpec

STRING = {"type": "string"}
WRITE = ToolSpec(
    "write_to_file",
    "Write a whole file.",
    {
        "type": "object",
        "properties": {"path": {**STRING, "description": "Where."}, "file_text": STRING},
        "required": ["path", "file_text"],
    },
    {"content": "file_text"},
)
RUN = ToolSpec(
    "execute_command",
    "Run a command.",
    {"properties": {"command": STRING, "timeout": {"type": "integer"}}, "required": ["command"]},
)
DIFF = ToolSpec("apply_diff", "", {"properties": {"path": STRING, "diff": STRING}})
DONE = ToolSpec(
    "attempt_completion", "Say that it is done.", {"properties": {"result": STRING}, "required": ["result"]}
)
TOOLS = [WRITE, RUN, DIFF, DONE]


def _parse(text: str, tools: list[ToolSpec] | None = None) -> Reply:
    """Read a reply in every cutting, check that they agree, and return what it holds."""
    expected = parse(text, protocol="xml", tools=TOOLS if tools is None else tools)
    for pieces in [*cuttings(text, seed=len(text)), *cut_everywhere(text)]:
        events = read(XmlParser(TOOLS if tools is None else tools), pieces)
        check_laws(events, text)
        assert collect(events) == expected
    return expected


def _argument(name: str, text: str, tool: ToolSpec) -> Any:
    [call] = _parse(text, [tool]).calls
    return call.arguments[name]


def _typed(schema: Any, value: str, **defs: Any) -> Any:
    tool = ToolSpec("tool", "", {"properties": {"value": schema}, "$defs": defs})
    return _argument("value", f"<tool><value>{value}</value></tool>", tool)


# What is a call


def test_text_and_calls_come_in_order() -> None:
    reply = _parse("First.\n<execute_command>\n<command>ls</command>\n</execute_command>\nThen.")
    assert reply.text == "First.\n\nThen."
    assert [(call.name, call.arguments) for call in reply.calls] == [("execute_command", {"command": "ls"})]


def test_without_tools_every_tag_is_text() -> None:
    text = "<execute_command><command>ls</command></execute_command>"
    assert _parse(text, []) == Reply((TextBlock(text),))


def test_a_tag_of_an_unknown_tool_is_text() -> None:
    assert not _parse("<rm_rf><path>/</path></rm_rf>").calls


@pytest.mark.parametrize("text", ["```\n{}\n```", "~~~xml\n{}\n~~~", "Write `{}`.", "> ```\n> {}\n"])
def test_a_call_in_code_is_prose(text: str) -> None:
    shown = text.format("<execute_command><command>ls</command></execute_command>")
    assert _parse(shown).text == shown


def test_a_call_after_a_code_block_is_a_call() -> None:
    text = "```sh\nls\n```\n<execute_command><command>ls</command></execute_command>"
    assert len(_parse(text).calls) == 1


def test_an_alias_gives_the_argument_its_own_name() -> None:
    text = "<write_to_file><path>a</path><content>x</content></write_to_file>"
    assert _parse(text).calls[0].arguments == {"path": "a", "file_text": "x"}


def test_the_last_of_two_values_wins() -> None:
    assert (
        _argument("command", "<execute_command><command>a</command><command>b</command></execute_command>", RUN) == "b"
    )


def test_what_stands_outside_the_parameters_is_left_out_and_named() -> None:
    [call] = _parse("<execute_command>so <command>ls</command> <why>x</why></execute_command>").calls
    assert call.arguments == {"command": "ls"}
    assert call.repairs == ("left out what stood outside the parameters: 'so  <why>x</why>'",)


# Values


@pytest.mark.parametrize(
    "value",
    [
        "print('</file_text>')",
        "</write_to_file>",
        "</file_text> </write_to_file",
        "a</file_text>b</file_text>c",
        "<file_text>nested</file_text>",
        "<file_text>a</file_text>\n<file_text>b</file_text>",
        "<write_to_file>\n<path>x</path>\n</write_to_file>",
        "\n\n  indented\n\n",
        "</file_tex",
        "<",
        "\ufeffbom",
        "```xml\n<read_file>",
        "& &amp; &lt;",
        "<![CDATA[x]]>",
    ],
)
def test_a_file_may_hold_anything(value: str) -> None:
    text = f"<write_to_file>\n<path>a</path>\n<file_text>\n{value}\n</file_text>\n</write_to_file>"
    assert _argument("file_text", text, WRITE) == value


@pytest.mark.parametrize(
    "value", ["echo '</command>'", "echo '</execute_command>'", "a</command>b</command>c", "null", "007", "<command>"]
)
def test_a_closing_tag_inside_any_value_is_part_of_it(value: str) -> None:
    text = f"<execute_command><command>{value}</command>\n<timeout>3</timeout></execute_command>"
    assert _argument("command", text, RUN) == value


def test_values_lose_the_white_space_around_them_but_files_only_one_newline() -> None:
    text = "<apply_diff><path> \ufeffa\n</path><diff>\n\n  x \n\n</diff></apply_diff>"
    assert _parse(text).calls[0].arguments == {"path": "a", "diff": "x"}
    text = "<write_to_file><path>\u0085</path><file_text>\n\n  x \n\n</file_text></write_to_file>"
    assert _parse(text).calls[0].arguments == {"path": "\u0085", "file_text": "\n  x \n"}


def test_what_is_searched_and_put_in_its_place_keeps_its_indentation() -> None:
    tool = ToolSpec("edit", "", {"properties": {"old_string": STRING, "new_string": STRING}})
    text = "<edit>\n<old_string>\n    a\n</old_string>\n<new_string>  a</new_string>\n</edit>"
    assert _parse(text, [tool]).calls[0].arguments == {"old_string": "    a", "new_string": "  a"}


def test_a_media_type_in_the_schema_makes_a_string_verbatim() -> None:
    assert _typed({**STRING, "contentMediaType": "text/plain"}, "\n  x</value> \n") == "  x</value> "


def test_a_file_followed_by_an_unknown_parameter_is_still_written() -> None:
    text = "<write_to_file><path>a</path><content>\nx\n</content>\n<line_count>1</line_count>\n</write_to_file>\n"
    [call] = _parse(text).calls
    assert call.arguments == {"path": "a", "file_text": "x"}
    assert "line_count" in call.repairs[0]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, " 7\n", 7),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "boolean"}, "True", True),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": "integer"}, "many", "many"),
        ({"type": ["string", "integer"]}, "7", "7"),
        ({}, "7", "7"),
        ({"type": "object"}, '{"a": [1, "<b>"]}', {"a": [1, "<b>"]}),
        ({"type": "object"}, "<a>1</a>", {"a": "1"}),
        ({"type": "object"}, "", {}),
        ({"type": "array", "items": STRING}, "<p>a</p><p>b &amp; c</p>", ["a", "b & c"]),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "<n>1</n><n>2</n>", [1, 2]),
        ({"$ref": "#/$defs/Count"}, "3", 3),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Count"}]}, "3", 3),
        ({"type": "array", "items": STRING}, "<", ["<"]),
        ({"type": "object"}, "<a", "<a"),
        ({"type": "object"}, "<a>x</b><![CDATA[<c>]]></a>", {"a": "x</b><c>"}),
        ({"type": "object"}, "<a><b/><b>2</b></a>", {"a": {"b": ["", "2"]}}),
    ],
)
def test_the_schema_decides_what_a_value_is(schema: Any, text: str, value: Any) -> None:
    assert _typed(schema, text, Count={"type": "integer"}) == value


FILE = {"type": "object", "properties": {"path": STRING, "line_range": {"type": "array", "items": STRING}}}
FILES = "<file><path>a.py</path><line_range>1-5</line_range></file><file><path>b.py</path></file>"
TWO_FILES = [{"path": "a.py", "line_range": ["1-5"]}, {"path": "b.py"}]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "array", "items": FILE}, TWO_FILES),
        ({"type": "object", "properties": {"file": {"type": "array", "items": FILE}}}, {"file": TWO_FILES}),
        ({"type": "object", "properties": {"files": {"type": "array", "items": FILE}}}, {"files": TWO_FILES}),
        (STRING, FILES),
    ],
)
def test_elements_become_what_the_schema_asks_for(schema: Any, value: Any) -> None:
    assert _typed(schema, FILES) == value


@pytest.mark.parametrize("key", ["text", "answer"])
def test_attributes_and_text_become_properties(key: str) -> None:
    item = {"type": "object", "properties": {"mode": STRING, key: STRING}, "required": [key]}
    text = '\n<suggest mode="code">Do &quot;it&quot;</suggest>\n<suggest>Or not</suggest>\n'
    value = [{"mode": "code", key: 'Do "it"'}, {key: "Or not"}]
    assert _typed({"type": "array", "items": item}, text) == value


def test_one_file_in_a_list_is_a_list_of_one() -> None:
    schema = {"type": "object", "properties": {"file": {"type": "array", "items": FILE}}}
    assert _typed(schema, "<file><path>a</path></file>") == {"file": [{"path": "a"}]}
    ranged = "<file><path>a</path><line_range>1-2</line_range></file>"
    assert _typed(schema, ranged) == {"file": [{"path": "a", "line_range": ["1-2"]}]}
    wrapped = {"type": "object", "properties": {"files": {"type": "array", "items": FILE}}}
    assert _typed(wrapped, "<files><file><path>a</path></file></files>") == {"files": [{"path": "a"}]}


# While it streams


def test_a_call_starts_with_its_tag_and_grows_with_every_piece() -> None:
    parser = XmlParser(TOOLS)
    assert parser.feed("Hi <execute_com") == [TextStarted(), TextDelta("Hi ")]
    assert parser.feed("mand>") == [
        TextFinished(),
        ToolCallStarted("call_1", "execute_command"),
        ToolCallDelta("call_1", (), "", "<execute_command>"),
    ]
    assert parser.feed("<command> l") == [
        ToolCallDelta("call_1", (), "", "<command>"),
        ToolCallDelta("call_1", ("command",), "l", " l"),
    ]
    assert parser.feed("s -la </com") == [ToolCallDelta("call_1", ("command",), "s -la", "s -la ")]
    assert parser.arguments("call_1") == {"command": "ls -la"}
    assert parser.feed("mand>\n") == [
        ToolCallDelta("call_1", (), "", "</command>"),
        ToolCallDelta("call_1", (), "", "\n"),
    ]


def test_what_only_looked_like_a_closing_tag_is_shown_as_soon_as_that_is_clear() -> None:
    parser = XmlParser(TOOLS)
    parser.feed("<write_to_file><file_text>a</file")
    assert parser.feed("s>") == [ToolCallDelta("call_1", ("file_text",), "</files>", "</files>")]


def test_what_only_looked_like_a_tool_is_shown_as_soon_as_that_is_clear() -> None:
    parser = XmlParser(TOOLS)
    assert parser.feed("<exec") == []
    assert parser.feed("u") == []
    assert parser.feed("tor>") == [TextStarted(), TextDelta("<executor>")]


@pytest.mark.parametrize("value", ["echo '</command>' x", "a</command> b </command>c", "x  y\n\nz", "<b> </comman"])
def test_the_deltas_put_together_are_the_value(value: str) -> None:
    text = f"<execute_command><command>\n {value} \n</command></execute_command>"
    for pieces in cuttings(text, seed=3):
        events = read(XmlParser(TOOLS), pieces)
        deltas = [event for event in events if isinstance(event, ToolCallDelta) and event.path == ("command",)]
        assert "".join(delta.text for delta in deltas) == value


def test_typed_arguments_are_shown_when_they_are_complete() -> None:
    parser = XmlParser(TOOLS)
    parser.feed("<execute_command><timeout>1")
    assert parser.arguments("call_1") == {}
    events = parser.feed("0</timeout></execute_command>")
    assert ToolCallDelta("call_1", ("timeout",), "10", "", literal=True) in events
    assert parser.arguments("call_1") == {"timeout": 10}


def test_arguments_of_a_call_that_is_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="call_7"):
        XmlParser(TOOLS).arguments("call_7")


# Calls that must not run


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("<write_to_file>", "</write_to_file> is missing"),
        ("<write_to_file><path>a", "</path> and </write_to_file> is missing"),
        ("<write_to_file><path>a</path>", "</write_to_file> is missing"),
        ("<write_to_file><path>a</path><file_text>x</write_to_file>", "of write_to_file: </file_text> is missing"),
        ("<write_to_file><path>a</path></write_to_fil", "</write_to_file> is missing"),
        ("<write_to_file><content>x</content>y", "</content> and </write_to_file> is missing"),
        ("<write_to_file><json_parameter name=", "</write_to_file> is missing"),
    ],
)
def test_an_unclosed_call_is_reported_not_lost(text: str, missing: str) -> None:
    heard: list[ParseError] = []
    reply = parse(text, protocol="xml", tools=TOOLS, on_error=heard.append)
    assert not _parse(text).calls
    assert reply.text == text
    assert [error.message for error in reply.malformed] == [error.message for error in heard]
    assert missing in heard[0].message
    assert heard[0].name == "write_to_file"


def test_a_call_cut_off_at_the_length_limit_is_reported_as_such() -> None:
    events = read(XmlParser(TOOLS), ["<write_to_file><content>\nx", StopChunk("length")])
    [malformed] = [event for event in events if isinstance(event, ToolCallMalformed)]
    assert "length limit" in malformed.message
    assert "smaller steps" in malformed.message


def test_a_file_cut_off_behind_a_closing_tag_inside_it_is_not_written() -> None:
    text = "<write_to_file><path>a</path><content>\n'</content>' and </write_to_file>"
    events = read(XmlParser(TOOLS), [text, StopChunk("length")])
    assert not collect(events).calls


def test_a_reply_that_ends_inside_a_tool_tag_is_a_failed_call() -> None:
    reply = _parse("Let me run that.\n<execute_c")
    assert reply.text == "Let me run that.\n<execute_c"
    assert reply.malformed[0].name is None
    assert not _parse("a <").malformed


def test_a_bad_json_parameter_is_a_failed_call() -> None:
    text = '<execute_command>\n<json_parameter name="command">{"a</json_parameter>\n</execute_command>'
    reply = _parse(text)
    assert not reply.calls
    assert reply.text == text
    assert "json_parameter" in reply.malformed[0].message


# The cases on which serving engines fail when a stream comes in coarse pieces

LS = "<execute_command>\n<command>ls</command>\n</execute_command>"
COARSE = {
    "one call with prose": (f"I look.\n{LS}", [{"command": "ls"}], "I look.\n"),
    "two calls": (f"{LS}\n{LS}", [{"command": "ls"}, {"command": "ls"}], "\n"),
    "text after the call": (f"{LS}\nand more", [{"command": "ls"}], "\nand more"),
    "no arguments": ("<execute_command></execute_command>", [{}], ""),
    "unicode": (LS.replace("ls", "echo é🎉𝒳\u202e日本"), [{"command": "echo é🎉𝒳\u202e日本"}], ""),
    "blank lines": (
        "<write_to_file><path>a</path><content>\n\n\nx\n\n\n</content></write_to_file>",
        [{"path": "a", "file_text": "\n\nx\n\n"}],
        "",
    ),
    "its closing tag in a value": (LS.replace("ls", "echo </command>"), [{"command": "echo </command>"}], ""),
    "the tool's closing tag in a value": (
        LS.replace("ls", "echo </execute_command>"),
        [{"command": "echo </execute_command>"}],
        "",
    ),
    "a whole call in a value": (
        f"<write_to_file><path>a</path><content>{LS}</content></write_to_file>",
        [{"path": "a", "file_text": LS}],
        "",
    ),
    "a string that looks like null": (LS.replace("ls", "null"), [{"command": "null"}], ""),
    "a string that looks like a number": (LS.replace("ls", "007"), [{"command": "007"}], ""),
}


@pytest.mark.parametrize("case", COARSE)
def test_coarse_pieces_change_nothing(case: str) -> None:
    text, arguments, prose = COARSE[case]
    for pieces in cuttings(text, seed=7, count=200):
        reply = collect(read(XmlParser(TOOLS), pieces))
        assert [call.arguments for call in reply.calls] == arguments
        assert reply.text == prose
        assert not reply.malformed


# Cost


def _scanned(text: str, size: int) -> int:
    parser = XmlParser(TOOLS)
    read(parser, cut_at(text, range(0, len(text), size)))
    return len(text) + parser.rescanned


@pytest.mark.parametrize(
    "line",
    [
        "x = [1, 2]\n",
        "</file_text> ",
        "<b>bold</b> & </file_tex",
        "   \n",
        "</path>\n<path>",
        "```\n",
        "<execute_comman",
    ],
)
@pytest.mark.parametrize(
    "frame", ["{}", "<write_to_file><file_text>{}", "<write_to_file><path>{}</path></write_to_file>"]
)
@pytest.mark.parametrize("size", [1, 4, 1_000_000])
def test_twice_the_text_is_at_most_twice_the_work(frame: str, line: str, size: int) -> None:
    once, twice = (_scanned(frame.format(line * count), size) for count in (200, 400))
    assert twice <= 2 * once + 200


# What the model is told, and its history


def test_the_description_shows_every_tool_with_an_example_that_can_be_read() -> None:
    words = get("xml").describe(TOOLS)
    for tool in TOOLS:
        assert f"## {tool.name}" in words
        assert tool.description in words
    tools_part = words.split("# Tools", 1)[1]
    names = [call.name for call in parse(tools_part, protocol="xml", tools=TOOLS).calls]
    assert names == [tool.name for tool in TOOLS]
    assert "path (required, string): Where." in words


def test_no_tools_need_no_description() -> None:
    assert get("xml").describe([]) == ""


def test_the_reminder_shows_how_to_finish() -> None:
    reminder = get("xml").reminder(TOOLS)
    assert parse(reminder, protocol="xml", tools=TOOLS).calls[0].name == "attempt_completion"
    assert "tool_name" in get("xml").reminder([])


def _encode(arguments: dict[str, Any], *tools: ToolSpec, name: str = "execute_command") -> str:
    block = XmlProtocol().encode_call(ToolUseBlock("", name, arguments), tools)
    assert isinstance(block, TextBlock)
    return block.text


def test_history_is_written_in_the_models_own_words() -> None:
    text = "<execute_command>\n<command>ls</command>\n<timeout>3</timeout>\n</execute_command>"
    assert _encode({"command": "ls", "timeout": 3}, RUN) == text
    file = "<write_to_file>\n<path>a</path>\n<file_text>\nx\n</file_text>\n</write_to_file>"
    assert _encode({"path": "a", "file_text": "x"}, WRITE, name="write_to_file") == file


@pytest.mark.parametrize("value", [" ls", "x</command>\n<timeout>3</timeout>", "7", None, 7, {"a": "<b>"}])
def test_what_plain_tags_cannot_carry_is_written_as_json(value: Any) -> None:
    text = _encode({"command": value})
    assert "<json_parameter" in text
    assert parse(text, protocol="xml", tools=[RUN]).calls[0].arguments == {"command": value}


def test_an_argument_whose_name_is_no_tag_is_carried_too() -> None:
    arguments = {"<x>": 1, "/path": "a", 'quo"te': "b"}
    assert parse(_encode(arguments, RUN), protocol="xml", tools=[RUN]).calls[0].arguments == arguments


def test_results_name_the_calls_they_answer() -> None:
    xml = XmlProtocol()
    image = ImageBlock("image/png", "aGk=")
    results = [
        ToolResultBlock("", (TextBlock("1 | x"),)),
        ToolResultBlock("", (TextBlock("no such file"), image), is_error=True),
        ToolResultBlock("", ()),
    ]
    calls = [
        ToolUseBlock("", "read_file", {"path": "a.py"}),
        ToolUseBlock("", "execute_command", {"command": "cat b\nls"}),
        ToolUseBlock("", "noop", {}),
    ]
    assert xml.encode_results(results, calls) == (
        TextBlock("[read_file for 'a.py'] Result:"),
        TextBlock("1 | x"),
        TextBlock("[execute_command for 'cat b'] Result:"),
        TextBlock("The tool failed:\n<error>\nno such file\n</error>"),
        image,
        TextBlock("[noop] Result:"),
        TextBlock("(the tool answered nothing)"),
    )


def test_results_find_their_calls_by_id() -> None:
    calls = [ToolUseBlock("one", "a", {}), ToolUseBlock("two", "b", {})]
    results = [ToolResultBlock("two", (TextBlock("x"),))]
    assert XmlProtocol().encode_results(results, calls)[0] == TextBlock("[b] Result:")
    assert XmlProtocol().encode_results(results)[0] == TextBlock("[two] Result:")


def _finished(events: list[StreamEvent]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCallFinished)]


def test_a_tool_named_like_its_parameter_needs_both_closing_tags() -> None:
    tool = ToolSpec("task", "", {"properties": {"task": STRING}})
    assert _finished(read(XmlParser([tool]), ["<task><task>x</task></task>"])) == ["task"]
    assert _finished(read(XmlParser([tool]), ["<task><task>x</task>"])) == []
