"""The laws, each a way to draw an input and a check of it. They take microseconds, so that millions can be tried.

A law that needs more (a shell, a disk, a schema's validator) is a property test: `pytest -m property`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dialect_fuzz import assert_laws, fuzzed
from fuzz.inputs import (
    FRAMES,
    JSON_MARKS,
    SHELL_MARKS,
    WORDS,
    any_schema,
    cuts,
    damaged,
    json_object,
    json_text,
    json_value,
    line_with_denied,
    pieces,
    schema,
)
from joey.chunks import ToolCallChunk
from joey.events import STREAM_EVENTS, ToolCallFinished
from joey.frames import framed, neutral, original
from joey.messages import MESSAGES, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.policy import Settings, Workspace
from joey.policy.ignore import IgnoreRules
from joey.policy.shell.lines import judge_line
from joey.policy.shell.plain import NotPlainError, read_plain
from joey.policy.verdict import combine
from joey.protocols import Protocol, collect, get
from joey.protocols.dialects.table import DIALECTS
from joey.protocols.json.partial import partial_value
from joey.protocols.json.relaxed import loads
from joey.protocols.json.relaxed.reader import RelaxedReader
from joey.protocols.json.repair import UnreadableError, read_arguments, read_json
from joey.protocols.json.stream import JsonReader
from joey.schema.coerce import coerce
from joey.schema.normalise import normalise
from joey.testing import check_laws, cut_at, read
from joey.tools.editing.blocks import BlockError, format_block, read_blocks
from joey.toolspec import ToolSpec
from joey.wire import encode


@dataclass(frozen=True, slots=True)
class Property:
    """`check` raises if the law does not hold; both get the same source of chance, one after the other."""

    draw: Callable[[random.Random], Any]
    check: Callable[[Any, random.Random], None]

    def problem(self, name: str, number: int) -> str:
        """What is wrong with an input; empty if nothing is."""
        rng = random.Random(f"{name}:{number}")
        try:
            self.check(self.draw(rng), rng)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            return f"{type(error).__name__}: {error}"[:300]
        return ""

    def shown(self, name: str, number: int) -> Any:
        return self.draw(random.Random(f"{name}:{number}"))


# JSON


def _json_noise(rng: random.Random) -> str:
    return pieces(rng, JSON_MARKS) if rng.random() < 0.4 else damaged(rng, json_text(rng), JSON_MARKS)


def _read_json(parts: Sequence[str]) -> tuple[JsonReader, str]:
    reader = JsonReader()
    found = [piece for part in parts for piece in reader.feed(part)] + reader.finish()
    return reader, "".join(raw for _, _, raw, _ in found)


def _a_cut_changes_nothing_and_nothing_is_lost(text: str, rng: random.Random) -> None:
    outcomes = []
    for parts in ([text], cut_at(text, cuts(rng, text))):
        reader, raw = _read_json(parts)
        assert raw == text, "the pieces do not put the text together again"
        outcomes.append((reader.complete, reader.fault, reader.lenient, reader.snapshot()))
    assert repr(outcomes[0]) == repr(outcomes[1]), f"{outcomes[0]} and, cut, {outcomes[1]}"


def _what_json_writes_is_read(text: str, rng: random.Random) -> None:
    reader, _ = _read_json(cut_at(text, cuts(rng, text)))
    assert reader.complete
    assert reader.value() == json.loads(text) == loads(text)


def _a_snapshot_is_the_value_of_the_prefix(text: str, rng: random.Random) -> None:
    reader, fed = JsonReader(), ""
    for part in cut_at(text, cuts(rng, text)):
        reader.feed(part)
        fed += part
        assert reader.snapshot() == partial_value(fed, None), fed


def _relaxed(text: str, rng: random.Random) -> None:
    repair = rng.random() < 0.5
    outcomes = []
    for parts in ([text], cut_at(text, cuts(rng, text))):
        reader = RelaxedReader(repair=repair)
        for part in parts:
            reader.read(part)
        reader.finish()
        outcomes.append((None, []) if reader.fault else (repr(reader.value), sorted(reader.repairs)))
    assert outcomes[0] == outcomes[1], f"{outcomes[0]} and, cut, {outcomes[1]}"


def _arguments_are_an_object_or_refused(text: str, rng: random.Random) -> None:
    try:
        found, _ = read_arguments(read_json(text))
    except UnreadableError:
        return
    assert isinstance(found, dict)


# Protocols

TOOLS = (
    ToolSpec(
        "write",
        "",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "n": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "string"}},
                "o": {"type": "object", "properties": {"content": {"type": "string"}}},
            },
        },
    ),
    ToolSpec("run", "", {"type": "object", "properties": {"command": {"type": "string"}}}),
    ToolSpec("ping"),
)
_TAGS = tuple(
    f"<{slash}{name}>"
    for name in ("write", "run", "ping", "path", "content", "kind", "n", "list", "o", "command", "item")
    for slash in ("", "/")
)
_GOOD = ToolUseBlock("c1", "write", {"path": "a.py", "content": "x = '</content>'\n", "n": 3, "list": ["a", "b"]})
_AROUND_CALLS = (
    *_TAGS, "<ping/>", "<wri", "</te", "&lt;", "&#", "<![CDATA[", "]]>", "<!-- ", " -->", "<", ">", "/", "```xml\n",
    "~~~\n", "> ", "``", "<tool_call>", "</tool_call>", '{"name": "run", "arguments": {', '"command": "ls"', "}}", "{",
    "}", '"', "name: ", "- a\n", "  path: |\n", "<think>", "</think>", '<json_parameter name="n">',
    "</json_parameter>", "5", " ", "\n", "\r\n", "x", "é", "\ud83c", "\x00",
)  # fmt: skip


@cache
def _good_call(name: str) -> str:
    block = get(name).encode_call(_GOOD, TOOLS)
    return (
        block.text if isinstance(block, TextBlock) else json.dumps({"name": _GOOD.name, "arguments": _GOOD.arguments})
    )


def _reply(name: str) -> Property:
    protocol: Protocol = get(name)

    def draw(rng: random.Random) -> str:
        parts = (*_AROUND_CALLS, _good_call(name))
        return pieces(rng, parts) if rng.random() < 0.5 else damaged(rng, _good_call(name), parts)

    def check(text: str, rng: random.Random) -> None:
        outcomes = []
        for parts in ([text], cut_at(text, cuts(rng, text))):
            events = read(protocol.parser(TOOLS), parts)
            check_laws(events, text)
            outcomes.append(collect(events))
        assert outcomes[0] == outcomes[1], f"{outcomes[0]} and, cut, {outcomes[1]}"

    return Property(draw, check)


def _native(text: str, rng: random.Random) -> None:
    native, outcomes = get("native"), []
    places = cuts(rng, text)
    if any(place and text.startswith(text[:place], place) for place in places):
        return  # one that is taken for the same arguments sent again
    for parts in ([text], cut_at(text, places)):
        chunks = [ToolCallChunk(0, "t1", "write"), *(ToolCallChunk(0, arguments=part) for part in parts)]
        events = read(native.parser(TOOLS), chunks)
        check_laws(events)
        outcomes.append(collect(events))
    assert outcomes[0] == outcomes[1], f"{outcomes[0]} and, cut, {outcomes[1]}"


def _dialect(rng: random.Random) -> tuple[str, str]:
    name = rng.choice(_DIALECTS)
    return name, fuzzed(name, rng.getrandbits(48))


_DIALECTS = tuple(DIALECTS)


def _dialect_laws(drawn: tuple[str, str], rng: random.Random) -> None:
    name, text = drawn
    assert_laws(name, text, rng, by_character=False)


# Schemas

_FIXED = (
    {"type": "boolean"},
    {"type": ["number", "null"]},
    {"type": "object", "properties": {"a": {"type": "integer"}, "path": {"type": "string"}}},
    {"type": "array", "items": {"type": "string"}},
)


def _coerced(drawn: tuple[Any, Any], rng: random.Random) -> None:
    value, any_kind = drawn
    coerce(value, any_kind)
    fixed = rng.choice(_FIXED)
    once = coerce(value, fixed)
    assert repr(coerce(once, fixed)) == repr(once), f"{value!r} as {fixed}"


def _normal(drawn: Any, rng: random.Random) -> None:
    once = normalise({"type": "object", "properties": {"x": drawn}}).schema
    again = normalise(once)
    assert again.schema == once and again.notes == (), f"{once} and {again}"


# Policy

_WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home", expand=lambda _text: ())
_EVERYTHING_BUT = Settings(allow=("*",), deny=("denied",))
_SOME = Settings(
    allow=("echo", "cat", "true", "env", "bash", "xargs", "find", "timeout", "let", "eval", "trap"), deny=()
)
_PROFILES = (_EVERYTHING_BUT, _SOME, Settings.for_profile("all"), Settings.for_profile("read-only"))


def _decision(line: str, settings: Settings) -> str:
    return combine(judge_line(line, settings, _WORKSPACE, _WORKSPACE.root)).decision


def _plain(line: str, rng: random.Random) -> None:
    """Each command's source is in the line, and read alone it is the same command."""
    try:
        commands = read_plain(line)
    except NotPlainError:
        return
    for command in commands:
        assert command.words and command.source in line
        (alone,) = read_plain(command.source)
        assert (alone.words, alone.redirects) == (command.words, command.redirects), command.source


def _judged(line: str, rng: random.Random) -> None:
    assert _decision(line, rng.choice(_PROFILES)) in ("allow", "ask", "deny")


def _denied(line: str, rng: random.Random) -> None:
    assert _decision(line, _EVERYTHING_BUT) != "allow"
    assert _decision(line, _SOME) != "allow"


_PATTERNS = (
    "*", "**", "/", "a", "b.py", ".env", "!", "?", "[ab]", "[!a]", "\\", " ", "#", "\n", "é", "build/", "/**", "**/",
    "[", "]",
)  # fmt: skip
_NAMES = ("a", "b.py", "build", "B.PY", "é", ".env", "c d", "e\u0301")


def _ignored(drawn: tuple[str, str], rng: random.Random) -> None:
    """Letter case hides nothing and shows nothing, and what is in a hidden folder is hidden."""
    text, path = drawn
    rules = IgnoreRules.read({".joeyignore": text})
    hidden = rules.hiding(path)
    assert rules.hiding(path.swapcase()) == hidden, (text, path)
    assert not text.strip() or rules.hiding(".JoeyIgnore") == ".joeyignore"


# Words


def _frames(text: str, rng: random.Random) -> None:
    assert original(neutral(text)) == text
    name = rng.choice(("user_message", "feedback", "answer", "mentioned"))
    inside = framed(name, text)[len(name) + 3 : -len(name) - 4]
    assert f"<{name}" not in inside and f"</{name}" not in inside and original(inside) == text


def _sent(drawn: Mapping[str, Any], rng: random.Random) -> None:
    text = pieces(rng, WORDS, 4)
    event = ToolCallFinished("c1", "write", dict(drawn), text, (text,))
    assert STREAM_EVENTS.decode(json.loads(json.dumps(encode(event)))) == event
    blocks = (TextBlock(text), ToolUseBlock("c1", text, drawn), ToolResultBlock("c1", (TextBlock(text),), True))
    message = Message("user", blocks)
    assert MESSAGES.decode(json.loads(json.dumps(encode(message)))) == message


_DIFF = (
    "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", ":start_line:3\n", ":end_line:4\n", "-------\n",
    "\\=======\n", "\\<<<<<<< SEARCH\n", "a\n", "  b\n", "\n", "<<<<<<<", ">>>>>>>", "======\n", "\r\n",
    "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
)  # fmt: skip


def _blocks(text: str, rng: random.Random) -> None:
    """Blocks that were read are read again from what is written of them."""
    found = read_blocks(text)
    if isinstance(found, BlockError):
        assert found.message and 1 <= found.line <= text.count("\n") + 1
    else:
        assert read_blocks("\n".join(map(format_block, found))) == found


PROPERTIES: Mapping[str, Property] = {
    "json_stream": Property(_json_noise, _a_cut_changes_nothing_and_nothing_is_lost),
    "json_values": Property(json_text, _what_json_writes_is_read),
    "json_partial": Property(json_text, _a_snapshot_is_the_value_of_the_prefix),
    "json_relaxed": Property(_json_noise, _relaxed),
    "json_repair": Property(_json_noise, _arguments_are_an_object_or_refused),
    "native": Property(_json_noise, _native),
    **{name: _reply(name) for name in ("xml", "json_mix", "morph_xml", "yaml_xml", "tool_choice")},
    "dialects": Property(_dialect, _dialect_laws),
    "coerce": Property(lambda rng: (json_value(rng), any_schema(rng)), _coerced),
    "normalise": Property(schema, _normal),
    "plain_lines": Property(lambda rng: pieces(rng, SHELL_MARKS, 12), _plain),
    "verdicts": Property(lambda rng: pieces(rng, SHELL_MARKS, 12), _judged),
    "denied_programs": Property(line_with_denied, _denied),
    "ignore_files": Property(lambda rng: (pieces(rng, _PATTERNS, 8), "/".join(rng.choices(_NAMES, k=3))), _ignored),
    "frames": Property(lambda rng: pieces(rng, FRAMES, 10), _frames),
    "wire": Property(json_object, _sent),
    "diff_blocks": Property(lambda rng: pieces(rng, _DIFF, 10), _blocks),
}
