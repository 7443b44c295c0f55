"""The grammars of the dialects, both ways: what one admits is read as valid calls, what is written is admitted."""

from __future__ import annotations

import random
from typing import Any

import jsonschema
import pytest

from dialect_cases import tools_of
from gbnf import Grammar
from joey import protocols
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols.dialects.protocol import DialectProtocol
from joey.toolspec import ToolChoice

TOOLS = list(tools_of({"tools": "std"}))
SCHEMAS = {tool.name: tool.schema for tool in TOOLS}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "get_weather": {"city": 'Köln "x"', "days": 2},
    "write_file": {"path": "it's", "content": "a\n<b>\n\\\n"},
    "run": {"command": "x", "timeout": 2.5, "background": True},
    "search": {"query": "q", "filters": {"lang": "py", "stars": {"min": 1}}, "tags": ["a", "b c"], "limit": 3},
    "update_row": {"id": 1, "score": 0.5, "active": False, "note": None, "items": [{"k": "a", "n": 1}]},
    "ping": {},
}
INDENTED = "granite3"
"""Its template indents calls; its grammar has them on one line."""


def dialect(name: str) -> DialectProtocol:
    protocol = protocols.get(name)
    assert isinstance(protocol, DialectProtocol)
    return protocol


def check(name: str, text: str) -> int:
    """Read what a grammar admits; the number of calls in it, all of them valid."""
    reply = protocols.parse(text, protocol=name, tools=TOOLS)
    assert not reply.malformed, text
    for call in reply.calls:
        jsonschema.validate(call.arguments, SCHEMAS[call.name])
    return len(reply.calls)


@pytest.mark.parametrize("name", protocols.dialect_names())
def test_a_grammar_admits_what_is_written_and_is_read_as_valid_calls(name: str) -> None:
    protocol, rng = dialect(name), random.Random(name)
    required = Grammar(protocol.grammar(TOOLS, ToolChoice("required", parallel=False)))
    auto = Grammar(protocol.grammar(TOOLS[:2], ToolChoice()))
    for tool, arguments in ARGUMENTS.items() if name != INDENTED else ():
        written = protocol.encode_call(ToolUseBlock("call00001", tool, arguments), TOOLS).text
        assert not required.refusal(written)
        assert tool != "get_weather" or not auto.refusal(written)
    assert check(name, required.sample(rng, 100)) == 1
    check(name, auto.sample(rng, 100))


@pytest.mark.parametrize("name", protocols.dialect_names())
def test_a_reply_that_must_call_may_make_several_calls_where_the_dialect_can(name: str) -> None:
    protocol, rng = dialect(name), random.Random(name)
    several = Grammar(protocol.grammar(TOOLS, ToolChoice("required")))
    calls = [ToolUseBlock(f"call0000{at}", "get_weather", {"city": "Paris"}) for at in (1, 2)]
    written = "".join(block.text for block in protocol.encode_turn(calls, TOOLS) if isinstance(block, TextBlock))
    if name != INDENTED and check(name, written) == 2 and protocol.style.text == "%R":
        assert not several.refusal(written)
    assert check(name, several.sample(rng, 100)) >= 1


@pytest.mark.parametrize("name", ["hermes", "mistral_v11", "minimax_m2", "pythonic", "harmony"])
def test_a_reply_without_tools_is_text_without_markers(name: str) -> None:
    grammar, rng = Grammar(dialect(name).grammar(TOOLS, ToolChoice("none"))), random.Random(name)
    assert all(check(name, grammar.sample(rng, 150)) == 0 for _ in range(5))


@pytest.mark.parametrize("name", ["qwen3_coder", "deepseek_v32", "gemma4", "functiongemma", "glm47"])
def test_a_value_that_holds_the_own_markers_is_admitted_as_it_is_written(name: str) -> None:
    protocol = dialect(name)
    grammar = Grammar(protocol.grammar(TOOLS, ToolChoice("required")))
    marked = 'a </parameter>\n</function> <|"|> ]]> </｜DSML｜parameter> </arg_value></tool_call>'
    arguments = {"path": "x", "content": marked}
    assert not grammar.refusal(protocol.encode_call(ToolUseBlock("c1", "write_file", arguments), TOOLS).text)


def test_a_reply_that_begins_inside_reasoning_closes_it_before_a_required_call() -> None:
    protocol = dialect("qwen3_5").with_options(prompt_tail="<think>\n")
    grammar = Grammar(protocol.grammar(TOOLS, ToolChoice("one", "ping")))
    call = protocol.encode_call(ToolUseBlock("c1", "ping", {}), TOOLS).text
    assert grammar.admits(f"Hm.\n</think>\n\n{call}")
    assert not grammar.admits(call)
