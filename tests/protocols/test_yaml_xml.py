"""`yaml_xml`: what the newest release of the parser project answered, the laws, and calls there and back."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from joey.app.parsing import reply_as_json
from joey.chunks import StopChunk
from joey.events import ToolCallDelta
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Reply, collect, get
from joey.protocols.yaml_xml.reader import YamlError, loads
from joey.testing import check_laws, cut_at, read
from joey.toolspec import ToolSpec
from vectors_data import ROOT

BETTER = (
    # Cases that are answered otherwise, on purpose: a pattern of their ids, and why.
    (r"truncate/.*|test/00(09|17|68|72|81)", "a call that was cut is malformed, never run"),
    (r"test/00(03|04|05|06|07|46)", "no argument is dropped: the validator says what is wrong with it"),
    (r"test/00(11|12|13|41|50|51|53)", "names that only JavaScript must fear are names"),
    (r"test/00(61|63)", "elements are read as in morph_xml: white space counts, and each is closed"),
    (r"one_call/dup_text", "the last value is one line, without a line break"),
    (r"multi/nested", "a closing tag in a block that goes on is text"),
)
SAVE = ToolSpec(
    "save",
    "Save it.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "path": {"type": "string"},
            "count": {"type": "integer"},
            "tags": {"type": "array"},
            "options": {"type": "object"},
        },
    },
)
PING = ToolSpec("ping", "Is it there?")


def replies(text: str, tools: list[ToolSpec], chunks: list[str] | None = None) -> Reply:
    """The reply, the same whole, by character and in pieces."""
    outcomes = []
    for pieces in ([text], list(text), chunks or cut_at(text, [len(text) // 3, len(text) // 2])):
        events = read(get("yaml_xml").parser(tools), pieces)
        check_laws(events, text)
        outcomes.append(collect(events))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    return outcomes[0]


def rows() -> list[Any]:
    lines = (ROOT / "ai-sdk-tool" / "yaml_xml.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_recorded_replies_are_read_as_recorded_or_better() -> None:
    wrong = []
    for row in rows():
        tools = [ToolSpec.read({"name": tool["name"], "parameters": tool["schema"]}) for tool in row["tools"]]
        content = reply_as_json(replies(row["text"], tools, row["chunks"]), ())["content"]
        got = [{key: part[key] for key in ("type", "text", "name", "input") if key in part} for part in content]
        name = row["id"].removeprefix("yaml_xml/")
        if got != row["expected"]["content"] and not any(re.fullmatch(pattern, name) for pattern, _ in BETTER):
            wrong.append((name, got))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: -2.5e1\nc: 010\nd: 0x10\ne: no", {"a": 1, "b": -25.0, "c": 10, "d": 16, "e": "no"}),
        ("a: ~\nb:\nc: True # yes", {"a": None, "b": None, "c": True}),
        ("- a\n- b: 1\n  c: 2\n- - x\n  - y", ["a", {"b": 1, "c": 2}, ["x", "y"]]),
        ("a:\n- 1\n- 2\nb: 3", {"a": [1, 2], "b": 3}),
        ("a: {x: 1, 'y z': [b, \"c\"]}", {"a": {"x": 1, "y z": ["b", "c"]}}),
        ('a: ["b",\n  "c"]\nd: 1', {"a": ["b", "c"], "d": 1}),
        ("a: |\n  x\n   y\n\nb: 1", {"a": "x\n y\n", "b": 1}),
        ("a: |-\n  x\n", {"a": "x"}),
        ("a: |+\n  x\n\nb: >\n  y\n  z\n\n  w\n", {"a": "x\n\n", "b": "y z\nw\n"}),
        ("a: two\n  lines\nb: http://x/#y", {"a": "two lines", "b": "http://x/#y"}),
        ("---\na: &n 5\nb: *n", {"a": 5, "b": 5}),
        ("", None),
    ],
)
def test_yaml_is_read(text: str, value: Any) -> None:
    assert loads(text) == value


@pytest.mark.parametrize(
    "text", ["a: b: c", "a: 1\na: 2", "a: [1", "a\nb: 1", "a: 1\n  b: 2", "a: @x", "[" * 500, "a: *no"]
)
def test_what_is_no_yaml_is_refused(text: str) -> None:
    with pytest.raises(YamlError):
        loads(text)


def test_a_block_grows_line_by_line() -> None:
    parser = get("yaml_xml").parser([SAVE])
    parser.feed("<save>\npath: a\ntext: |\n  one\n")
    events = parser.feed("  two <b>\n")
    assert [(event.path, event.text) for event in events if isinstance(event, ToolCallDelta)] == [
        (("text",), "\ntwo <b>")
    ]
    assert parser.arguments("call_1") == {"text": "one\ntwo <b>"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("text: |\n  hello</save>", "hello"),
        ("text: |\n  a</save> b\n</save>", "a</save> b\n"),
        ("text: |\n  a</save>\npath: x\n</save>", "a</save>\n"),
        ("text: |-\n  a\n\n</save>", "a"),
        ("text: |\n</save>", ""),
    ],
)
def test_where_a_block_and_its_call_end(body: str, text: str) -> None:
    assert [call.arguments["text"] for call in replies(f"<save>\n{body}", [SAVE]).calls] == [text]


def test_a_call_that_was_cut_is_malformed() -> None:
    for stop in ("length", "end"):
        reply = collect(read(get("yaml_xml").parser([SAVE]), ["<save>\npath: a\n", StopChunk(stop)]))
        assert reply.calls == () and len(reply.malformed) == 1


def test_what_is_only_quoted_is_text() -> None:
    for text in ("See:\n```\n<ping/>\n```\n", "Use `<ping/>` for it.", "> <ping/>\n"):
        assert replies(text, [PING]).calls == ()


def test_any_call_comes_back_equal() -> None:
    rng = random.Random(7)
    bits = [
        "a",
        "\n",
        "\n\n",
        "  ",
        "</save>",
        "<save>",
        "text: |",
        "path: x",
        ": ",
        "#",
        "'",
        '"',
        "\\",
        "- ",
        "|",
        "\t",
    ]
    bits += ["\r\n", "é", "日本", "{", "}", "]", "null", "1", "\x85", "---", "&a ", "*a", "```"]
    for _ in range(400):
        texts = ["".join(rng.choice(bits) for _ in range(rng.randint(0, 7))) for _ in range(3)]
        arguments = {"text": texts[0], "path": texts[1], "count": rng.randint(-9, 9), "tags": [texts[2], 1, None]}
        arguments = {key: arguments[key] for key in rng.sample(sorted(arguments), rng.randint(0, 4))}
        block = get("yaml_xml").encode_call(ToolUseBlock("c1", "save", arguments), [SAVE])
        assert isinstance(block, TextBlock)
        reply = replies(f"Now.\n{block.text}\nDone.", [SAVE, PING])
        assert [call.arguments for call in reply.calls] == [arguments], block.text
        assert reply.text == "Now.\n\nDone."


def test_whatever_comes_is_read_without_loss() -> None:
    rng = random.Random(8)
    bits = [
        "<save>",
        "</save>",
        "<ping/>",
        "<tool_call>",
        '{"name": "ping"}',
        "\n",
        "  ",
        "text: |",
        "path: ",
        "- ",
        "[",
        "{",
    ]
    bits += [
        "}",
        "]",
        '"',
        "'",
        "a",
        "&x ",
        "*x",
        "|+",
        ">-",
        "#",
        ":",
        "\t",
        "\r",
        "`",
        "```",
        "</tool_call>",
        "---",
        "\ud800",
    ]
    for _ in range(600):
        replies("".join(rng.choice(bits) for _ in range(rng.randint(1, 25))), [SAVE, PING])


def test_the_work_grows_with_the_text_and_no_faster() -> None:
    def looked_at(lines: int) -> float:
        text = "<save>\ntext: |\n" + "  x = a < b  # </sav \n\n" * lines + "</save>"
        parser = get("yaml_xml").parser([SAVE])
        events = read(parser, [text[at : at + 4] for at in range(0, len(text), 4)])
        assert len(collect(events).calls) == 1
        return float(parser.scanned) / len(text)  # type: ignore[attr-defined]

    assert looked_at(2000) <= max(6, looked_at(100) * 1.3)
