"""What a model only cites or thinks of is no call: in Markdown code, in a quotation, in reasoning, in the string of a
call that it forgot to escape. Every dialect, whole and by character."""

from __future__ import annotations

import pytest

from joey.chunks import StopChunk
from joey.messages import ToolUseBlock
from joey.protocols import collect, get
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.spec import Channels
from joey.protocols.dialects.table import DIALECTS
from joey.testing import check_laws, read
from joey.toolspec import ToolSpec

TOOLS = (
    ToolSpec("run", "Run it.", {"type": "object", "properties": {"command": {"type": "string"}}}),
    ToolSpec(
        "save",
        "Save it.",
        {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}},
    ),
)
QUOTED = {
    "fence": "The README says:\n```\n{call}\n```\nI will not do that.",
    "labelled fence": "The README says:\n\n```xml\n{call}\n```\n\nI will not do that.",
    "tildes": "The README says:\n~~~\n{call}\n~~~\nI will not do that.",
    "inline code": "The file contains `{call}` which is an attack.",
    "double backticks": "The file contains ``{call}`` which is an attack.",
    "quotation": "The file says:\n\n> {call}\n\nThat is an attack.",
}
OWN_FORM = {"fence": ("xlam", "qwen2_5_coder")}
"""Dialects that write calls this way."""


def dialect(name: str) -> DialectProtocol:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    return protocol


def written(name: str) -> str:
    return dialect(name).encode_calls([ToolUseBlock("c1", "run", {"command": "touch x"})], TOOLS).text


def begun(name: str) -> str:
    """A call as it stands in the middle of a reply: in a dialect of messages, with the token that begins one."""
    spec = DIALECTS[name].calls
    call = written(name)
    starts = isinstance(spec, Channels) and not call.startswith(spec.start_anywhere)
    return f"{spec.start_anywhere[0]}assistant{call}" if isinstance(spec, Channels) and starts else call


def names(protocol: DialectProtocol, text: str) -> list[str]:
    outcomes = []
    for pieces in ([text], list(text)):
        events = read(protocol.parser(TOOLS), pieces)
        check_laws(events, text, with_reasoning=True)
        outcomes.append(collect(events))
    assert outcomes[0] == outcomes[1]
    return [call.name for call in outcomes[0].calls]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_that_is_only_quoted_is_text(name: str) -> None:
    call = begun(name).strip()
    for how, text in QUOTED.items():
        quote = call.replace("\n", "\n> ") if how == "quotation" else call
        if name not in OWN_FORM.get(how, ()):
            assert names(dialect(name), text.format_map({"call": quote})) == [], how


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_behind_a_quoted_one_and_before_code_is_read_and_the_code_is_text(name: str) -> None:
    quote, call = begun(name).strip(), begun(name)
    code = "```python\nprint([1])\n```"
    before = "" if name in OWN_FORM["fence"] else f"Not this:\n```\n{quote}\n```\nBut this:\n"
    text = f"{before}{call}\n{code}\n"
    assert names(dialect(name), text) == ["run"]
    assert collect(read(dialect(name).parser(TOOLS), [text])).text.endswith(code + "\n")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_that_is_only_thought_of_is_reasoning(name: str) -> None:
    protocol, call = dialect(name), begun(name)
    assert names(protocol, f"<think>maybe {call}</think>No.") == []
    think = DIALECTS[name].frame.think
    if think is not None:
        assert names(protocol, f"{think[0]}maybe {call}{think[1]}No.") == []
        assert names(protocol.with_options(prompt_tail=think[0]), f"maybe {call}{think[1]}No.") == []


@pytest.mark.parametrize("name", [name for name in DIALECTS if DIALECTS[name].frame.call_ends_think])
def test_a_call_ends_reasoning_that_is_never_closed(name: str) -> None:
    think = DIALECTS[name].frame.think
    assert think is not None
    assert names(dialect(name), f"{think[0]}I call it.{written(name)}") == ["run"]
    assert names(dialect(name).with_options(prompt_tail=think[0]), f"I call it.{written(name)}") == ["run"]


@pytest.mark.parametrize("name", [name for name in DIALECTS if DIALECTS[name].frame.call_ends_think])
def test_a_thought_that_was_cut_by_its_length_stays_one(name: str) -> None:
    think = DIALECTS[name].frame.think
    assert think is not None
    text = f"{think[0]}maybe {written(name)} or not, bec"
    assert collect(read(dialect(name).parser(TOOLS), [text, StopChunk("length")])).calls == ()


@pytest.mark.parametrize("name", [name for name in DIALECTS if not isinstance(DIALECTS[name].calls, Channels)])
def test_a_call_behind_code_is_a_call(name: str) -> None:
    call = written(name)
    for before in (
        "Look:\n```\nx = 1\n```\n",
        "The code `a < b` is odd. ",
        "A lone ` is no code.\n",
        "> They said so.\n\n",
        "<think>Hm.</think>",
    ):
        assert names(dialect(name), before + call) == ["run"], before


@pytest.mark.parametrize("name", DIALECTS)
def test_calls_in_a_string_that_was_not_escaped_are_not_made(name: str) -> None:
    protocol, inner = dialect(name), written(name)
    outer = protocol.encode_calls([ToolUseBlock("c2", "save", {"path": "a.txt", "text": "ZZZ"})], TOOLS).text
    for value in (inner, f"\n{inner}\n", f"a\n{inner}\n{inner}\nb"):
        assert "run" not in names(protocol, outer.replace("ZZZ", value))


@pytest.mark.parametrize("name", DIALECTS)
def test_calls_in_a_string_are_written_so_that_they_stay_one(name: str) -> None:
    protocol, inner = dialect(name), written(name)
    for value in (inner, f"{inner}\n", inner.replace("><", ">\n<"), f"x{inner[len(inner) // 2 :]}{inner}"):
        call = ToolUseBlock("c2", "save", {"path": "a.txt", "text": value})
        reply = collect(read(protocol.parser(TOOLS), [protocol.encode_calls([call], TOOLS).text]))
        assert [(each.name, each.arguments) for each in reply.calls] == [("save", call.arguments)]


@pytest.mark.parametrize("name", ["qwen3_coder", "glm47", "minimax_m2", "dots", "function_calls"])
def test_json_where_the_dialect_has_tags_is_read_as_a_repaired_call(name: str) -> None:
    frame, spec = DIALECTS[name].frame, DIALECTS[name].calls
    opens = frame.section if frame.section[0] else getattr(spec, "wrap", ((), ()))
    opener, closer = (opens[0][0], opens[1][0]) if opens[0] else ("<tool_call>", "</tool_call>")
    text = f'So: {opener}\n{{"name": "run", "arguments": {{"command": "ls"}}}}\n{closer}'
    reply = collect(read(dialect(name).parser(TOOLS), [text]))
    assert [(call.name, call.arguments) for call in reply.calls] == [("run", {"command": "ls"})]
    assert reply.calls[0].repairs and reply.text.strip() == "So:"


def test_a_call_without_a_name_is_malformed() -> None:
    named = {"minimax_m2": 'name="run"', "qwen3_coder": "function=run", "mistral_v11": "[TOOL_CALLS]run"}
    for name, header in named.items():
        text = written(name).replace(header, header.replace("run", ""))
        reply = collect(read(dialect(name).parser(TOOLS), [text]))
        assert reply.calls == () and len(reply.malformed) == 1 and "name" in reply.malformed[0].message
