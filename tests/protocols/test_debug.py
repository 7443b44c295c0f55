from __future__ import annotations

import pytest

from joey.chunks import ToolCallChunk
from joey.errors import UsageError
from joey.protocols import debug, get
from joey.testing.streams import read

REPLY = [
    "Hi <tool_",
    'call>{"name": "f", "argum',
    'ents": {"a": "\x1b[31m"}}</tool_call>\nbye <tool_call>{x</tool_call>',
]


def watched(mode: str, style: str = "bg") -> str:
    lines: list[str] = []
    read(debug.wrap(get("json_mix").parser(()), mode, style, lines.append), REPLY)
    assert all(line.endswith("\n") for line in lines)
    return "".join(lines)


def test_off_is_the_parser_itself() -> None:
    parser = get("json_mix").parser(())
    assert debug.wrap(parser, "off", "bg", print) is parser


def test_watching_changes_nothing() -> None:
    plain = read(get("json_mix").parser(()), REPLY)
    parser = debug.wrap(get("json_mix").parser(()), "parse", "bg", len)
    assert read(parser, REPLY) == plain
    assert parser.finish() == []
    assert parser.arguments("call_1") == {"a": "\x1b[31m"}


def test_stream_shows_every_chunk_before_its_events() -> None:
    lines = watched("stream").splitlines()
    assert lines[0] == 'raw   {"type": "text_chunk", "text": "Hi <tool_"}'
    assert lines[1] == '  out {"type": "text_started"}'
    assert lines[2] == '  out {"type": "text_delta", "text": "Hi "}'
    assert lines[3].startswith("raw ")
    assert lines[-1] == '  out {"type": "stream_finished", "reason": "tool_calls", "detail": ""}'


def test_parse_ends_with_the_reply_its_calls_highlighted() -> None:
    summary = watched("parse", "underline").split("--- the reply")[1]
    assert '\nHi \x1b[4m<tool_call>{"name": "f", "arguments": {"a": "\\x1b[31m"}}</tool_call>\x1b[0m\nbye ' in summary
    assert 'call_1: f {"a": "\\u001b[31m"}' in summary
    assert "call_2: no name, malformed: the call cannot be read: expected ':' at character 2" in summary


def test_nothing_the_model_says_reaches_the_terminal_as_a_control_sequence() -> None:
    assert "\x1b[31m" not in watched("parse")
    assert debug.safe("a\x9b\x07\ud800\tb\n") == "a\\x9b\\x07\\ud800\tb\n"


@pytest.mark.parametrize("style", list(debug.STYLES))
def test_a_style_ends_where_the_call_or_its_line_ends(style: str) -> None:
    start = debug.STYLES[style]
    assert debug.highlight("a\n\nb", style) == f"{start}a\x1b[0m\n\n{start}b\x1b[0m"


def test_native_chunks_can_be_watched_too() -> None:
    assert debug.render_chunk(ToolCallChunk(0, "x", "f", "{}")).startswith(
        'raw   {"type": "tool_call_chunk", "index": 0'
    )


def test_the_environment_chooses_and_a_wrong_choice_is_refused() -> None:
    assert debug.settings({}) == ("off", "bg")
    assert debug.settings({"JOEY_DEBUG_PARSER": "parse", "JOEY_DEBUG_PARSER_STYLE": "bold"}) == ("parse", "bold")
    with pytest.raises(UsageError, match="JOEY_DEBUG_PARSER must be one of off, stream, parse, got 'on'"):
        debug.settings({"JOEY_DEBUG_PARSER": "on"})
    with pytest.raises(UsageError, match="JOEY_DEBUG_PARSER_STYLE must be one of bg, inverse, underline, bold"):
        debug.settings({"JOEY_DEBUG_PARSER_STYLE": "pink"})
