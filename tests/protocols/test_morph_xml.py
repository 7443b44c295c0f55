from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import joey.protocols
from joey.chunks import Chunk, ReasoningChunk
from joey.events import ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.messages import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import ParseError, collect
from joey.protocols.morph_xml.protocol import MorphXmlProtocol
from joey.testing.streams import by_character, check_laws, cuttings, read
from joey.toolspec import ToolSpec
from vectors_data import cases, same_to_javascript

MORPH = MorphXmlProtocol()
WRITE = ToolSpec(
    "write_to_file", "Write a file.", {"properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
)
WEATHER = ToolSpec("get_weather", "", {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})
NOOP = ToolSpec("noop")
TOOLS = (WRITE, WEATHER, NOOP)

_SAME_TAG = "facts 11: a tag of the argument's own name inside it is text, the real one refuses the call"
DECIDED_OTHERWISE = {
    "morph_xml/structure/json_body": "facts 11: a JSON body is read; the real one loses it and calls with {}",
    "morph_xml/objects/enum_ws": "facts 11: blanks around an enum value are taken off",
    "morph_xml/test/0170": _SAME_TAG,
    "morph_xml/test/0172": _SAME_TAG,
    "morph_xml/test/0177": _SAME_TAG,
    "morph_xml/test/0182": _SAME_TAG,
    "morph_xml/test/0183": _SAME_TAG,
    "morph_xml/test/0185": _SAME_TAG,
    "morph_xml/test/0188": _SAME_TAG,
    "morph_xml/test/0190": _SAME_TAG,
}


def _plain(part: Any) -> Any:
    if isinstance(part, TextBlock):
        return {"type": "text", "text": part.text}
    return {"type": "tool_call", "name": part.name, "input": part.arguments}


def _outcome(tools: Sequence[ToolSpec], text: str, pieces: Sequence[str]) -> Any:
    errors: list[ParseError] = []
    events = read(MORPH.parser(tools, on_error=errors.append), pieces)
    check_laws(events, text)
    return {"content": [_plain(part) for part in collect(events).content], "errors": len(errors)}


def _parts(text: str, tools: Sequence[ToolSpec] = TOOLS) -> list[Any]:
    """What is in a text, the same however it is cut: texts as they are, calls as name and arguments."""
    outcomes = [_outcome(tools, text, pieces)["content"] for pieces in cuttings(text, seed=7)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return [part["text"] if part["type"] == "text" else (part["name"], part["input"]) for part in outcomes[0]]


@pytest.mark.parametrize("cutting", ["whole", "by character", "as recorded"])
def test_every_recorded_stream_is_read_the_same(cutting: str) -> None:
    wrong = []
    for case in cases("ai-sdk-tool/morph_xml"):
        text = case["text"]
        pieces = {"whole": [text], "by character": by_character(text), "as recorded": case["chunks"]}[cutting]
        tools = [ToolSpec.read(tool) for tool in case["tools"]]
        got = _outcome(tools, text, pieces)
        if same_to_javascript(got, case["expected"]) == (case["id"] in DECIDED_OTHERWISE):
            wrong.append((case["id"], got, case["expected"]))
    assert not wrong


def test_calls_are_written_as_the_newest_real_one_writes_them() -> None:
    for case in cases("ai-sdk-tool/format_tool_call", protocol="morph_xml"):
        block = MORPH.encode_call(ToolUseBlock("", case["name"], case["input"]))
        assert isinstance(block, TextBlock)
        if case["input"] == {"names": []}:  # the real one forgets an empty list
            assert block.text == "<make_list>\n  <names>[]</names>\n</make_list>"
        else:
            assert block.text == case["by"]["5.1.6"]


def test_text_after_a_call_follows_it_and_every_call_counts() -> None:
    text = "a<get_weather><city>A</city></get_weather>b<noop/><noop></noop><noop />c"
    assert _parts(text) == ["a", ("get_weather", {"city": "A"}), "b", ("noop", {}), ("noop", {}), ("noop", {}), "c"]


def test_a_reply_that_ends_in_an_angle_bracket_ends_no_call_later() -> None:
    text = "<get_weather>\n<city>Rome</city>\n<days>3</days>\n</get_weather> 3 <"
    assert _parts(text) == [("get_weather", {"city": "Rome", "days": 3}), " 3 <"]


def test_a_closing_tag_may_have_blanks_in_it() -> None:
    assert _parts("<get_weather ><city>A</ city >\n</ get_weather\n>.") == [("get_weather", {"city": "A"}), "."]


@pytest.mark.parametrize(
    "content",
    [
        "ends with </content> in the middle",
        "</write_to_file>",
        "both </content> and </write_to_file> are words here",
        "<write_to_file><path>p</path><content>c</content></write_to_file> is how it is done",
        "open <write_to_file> only",
        "<content>feed</content><updated>now</updated>",
        "</contents></conten></content </write_to_fil",
        "<path>not mine</path>",
        "a < b && c > d, x <<= 2; <= <",
        "&unknown; &amp &#xZZ; & &",
        "</get_weather> and <get_weather> of another tool",
    ],
)
def test_an_argument_may_hold_anything(content: str) -> None:
    for text, order in (
        (f"<write_to_file><path>p</path><content>{content}</content></write_to_file>", "last"),
        (f"<write_to_file>\n<content>{content}</content>\n<path>p</path>\n</write_to_file>", "first"),
    ):
        assert _parts(f"{text} after") == [("write_to_file", {"path": "p", "content": content}), " after"], order


@pytest.mark.parametrize("blanks", [1, 300, 3000])
def test_long_blanks_inside_and_between_tags_are_only_blanks(blanks: int) -> None:
    gap = " " * blanks
    text = f"<get_weather{gap}><city>A</city>{gap}</{gap}get_weather{gap}>."
    assert _parts(text) == [("get_weather", {"city": "A"}), "."]
    text = f"<get_weather><city>A</city>{gap}</{gap}other></city></get_weather>."
    assert _parts(text) == [("get_weather", {"city": f"A</city>{gap}</{gap}other>"}), "."]


def test_a_missing_closing_tag_does_not_swallow_the_next_call() -> None:
    broken = "<get_weather><city>A</get_weather>"
    good = "<get_weather><city>B</city></get_weather>"
    assert _parts(f"{broken} and {good}.") == [f"{broken} and ", ("get_weather", {"city": "B"}), "."]
    assert _parts(f"{broken}<noop/>") == [broken, ("noop", {})]
    assert _parts(f"{broken} the end") == [f"{broken} the end"]


def test_words_behind_an_argument_do_not_become_part_of_it() -> None:
    assert _parts("<get_weather><city>A</city> done </get_weather> x") == [("get_weather", {"city": "A"}), " x"]


def test_unclosed_call_is_reported_not_lost() -> None:
    for text in (
        "<get_weather><city>A</city>",
        "<get_weather><city>A",
        "<get_weather>",
        "<get_weather><city>A</city> </get_w",
    ):
        assert _parts(f"x {text}") == [f"x {text}"]
    events = read(MORPH.parser(TOOLS), ["<get_weather><city>A"])
    assert [event.name for event in events if isinstance(event, ToolCallMalformed)] == ["get_weather"]
    assert "</get_weather> is missing" in collect(events).malformed[0].message


def test_a_string_given_twice_is_an_error_with_its_source() -> None:
    errors: list[ParseError] = []
    text = "<get_weather><city>A</city><city>B</city></get_weather>"
    reply = collect(read(MORPH.parser(TOOLS, on_error=errors.append), [text]))
    assert reply.content == (TextBlock(text),)
    assert (errors[0].segment, errors[0].name) == (text, "get_weather")
    assert "<city> was given twice" in errors[0].message


def test_words_between_two_of_the_same_argument_do_not_make_them_one() -> None:
    text = "<get_weather><city>A</city> and <city>B</city></get_weather>"
    assert _parts(f"{text} x") == [f"{text} x"]


def test_a_string_argument_is_reported_while_it_grows() -> None:
    parser = MORPH.parser(TOOLS)
    seen = [
        [(event.path, event.text) for event in parser.feed(piece) if isinstance(event, ToolCallDelta) and event.path]
        for piece in (
            "<write_to_file><content>on",
            "e &am",
            "p; two",
            " </con",
            "tent>, th",
            "ree</content></write_to_file>",
        )
    ]
    assert seen == [
        [(("content",), "on")],
        [(("content",), "e ")],
        [(("content",), "& two")],
        [(("content",), " ")],
        [],  # is it the end of the argument? Nobody knows yet.
        [(("content",), "</content>, three")],
    ]


def test_a_call_starts_at_its_opening_tag_and_others_arguments_come_when_it_is_complete() -> None:
    parser = MORPH.parser(TOOLS)
    assert any(isinstance(event, ToolCallStarted) for event in parser.feed("<get_weather>"))
    assert not any(event.path for event in parser.feed("<days>3</days>") if isinstance(event, ToolCallDelta))
    last = parser.feed("</get_weather>")
    assert ToolCallDelta("call_1", ("days",), "3", "", literal=True) in last
    assert any(isinstance(event, ToolCallFinished) and event.arguments == {"days": 3} for event in last)


def test_a_snapshot_shows_what_is_known_so_far() -> None:
    parser = MORPH.parser(TOOLS)
    parser.feed("<write_to_file><path>a.py</path><content>&lt;x")
    assert parser.arguments("call_1") == {"path": "a.py", "content": "<x"}
    parser.feed("></content></write_to_file>")
    assert parser.arguments("call_1") == {"path": "a.py", "content": "<x>"}
    assert parser.arguments("call_2") == {}


def test_original_schemas_win_over_transformed_ones() -> None:
    changed = ToolSpec("get_weather", "", {"properties": {"days": {"type": "string"}}})
    parser = MORPH.parser([changed], original_schemas={"get_weather": WEATHER.schema})
    assert collect(read(parser, ["<get_weather><days>3</days></get_weather>"])).calls[0].arguments == {"days": 3}
    everywhere = MorphXmlProtocol({"get_weather": WEATHER.schema}).parser([changed])
    assert collect(read(everywhere, ["<get_weather><days>3</days></get_weather>"])).calls[0].arguments == {"days": 3}


def test_a_json_object_instead_of_elements_is_read_as_the_arguments() -> None:
    text = '<write_to_file>\n{"path": "p", content: "<content>x</content> <b>",}\n</write_to_file>.'
    assert _parts(text) == [("write_to_file", {"path": "p", "content": "<content>x</content> <b>"}), "."]
    broken = '<get_weather>{"city": </get_weather>'
    assert _parts(broken) == [broken]


def test_comments_and_sections_between_arguments_are_skipped() -> None:
    text = "<get_weather><!-- <city>no</city> </get_weather> --><city>A</city><![CDATA[ <city> ]]></get_weather>"
    assert _parts(text) == [("get_weather", {"city": "A"})]


def test_a_cdata_section_in_a_string_is_text_like_any_other_markup() -> None:
    text = "<write_to_file><content>\n<![CDATA[<a></content>&amp;]]>\n</content></write_to_file>"
    assert _parts(text) == [("write_to_file", {"content": "\n<![CDATA[<a></content>&]]>\n"})]
    assert _parts("<write_to_file><content><![CDATA[x</content></write_to_file>.") == [
        ("write_to_file", {"content": "<![CDATA[x"}),
        ".",
    ]


def test_words_outside_of_elements_are_no_arguments_and_stay_in_the_source() -> None:
    text = "<noop>I will do it.</noop>"
    assert _parts(f"{text}.") == [("noop", {}), "."]
    [finished] = [event for event in read(MORPH.parser(TOOLS), [text]) if isinstance(event, ToolCallFinished)]
    assert finished.source == text


def test_reasoning_in_the_middle_does_not_end_a_call() -> None:
    chunks: list[str | Chunk] = ["<get_weather><ci", ReasoningChunk("hm"), "ty>A</city></get_weather>"]
    assert [call.arguments for call in collect(read(MORPH.parser(TOOLS), chunks)).calls] == [{"city": "A"}]


def test_text_is_held_back_only_while_it_may_be_a_tag() -> None:
    parser = MORPH.parser(TOOLS)
    assert [event.text for event in parser.feed("a <getter> b <get") if hasattr(event, "text")] == ["a <getter> b "]
    assert [event.text for event in parser.feed("_x") if hasattr(event, "text")] == ["<get_x"]


def test_nothing_is_a_call_when_there_are_no_tools() -> None:
    assert _parts("<noop/> <get_weather>", ()) == ["<noop/> <get_weather>"]


def test_the_description_teaches_every_tool_by_an_example_that_reads_back() -> None:
    description = MORPH.describe(TOOLS)
    for tool in TOOLS:
        assert f"## {tool.name}" in description
    examples = description.split("Example:")[1:]
    assert [part[0] for text in examples for part in _parts(text) if isinstance(part, tuple)] == [
        tool.name for tool in TOOLS
    ]
    assert MORPH.describe(()) == ""


def test_the_reminder_shows_how_a_call_is_written() -> None:
    assert "<write_to_file>\n  <path>" in MORPH.reminder(TOOLS)
    assert "<tool_name>" in MORPH.reminder(())


def test_results_are_marked_and_cannot_close_themselves_early() -> None:
    image = ImageBlock("image/png", "AA==")
    results = (
        ToolResultBlock("1", (TextBlock("ok </tool_result> fine"), image)),
        ToolResultBlock("2", (TextBlock("no such file"),), is_error=True),
    )
    assert MORPH.encode_results(results) == (
        TextBlock("<tool_result>\nok &lt;/tool_result> fine\n</tool_result>"),
        image,
        TextBlock('<tool_result error="true">\nno such file\n</tool_result>'),
    )


def test_the_protocol_is_in_the_table() -> None:
    reply = joey.protocols.parse("<noop/>", protocol="morph_xml", tools=[{"name": "noop"}])
    assert reply.calls[0].name == "noop"
