"""The two halves of the proof: what a grammar admits is read as legal calls, and what is written is admitted.

Two things are beyond a grammar, and left out here: keys of free objects that must differ (`json_mix` and JSON in
`morph_xml` refuse a key given twice), and `oneOf` with branches that overlap, which is read as `anyOf`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gbnf import Grammar, Machine
from joey import protocols
from joey.messages import TextBlock, ToolUseBlock
from joey.schema.example import example_call
from joey.tools.builtin import builtin_tools
from joey.toolspec import ToolChoice, ToolSpec
from random_tools import TRICKY, calls, texts

FEW = settings(max_examples=max(1, settings.default.max_examples // 4 if settings.default else 15))
PROTOCOLS = [name for name in protocols.text_names() if protocols.get(name).grammar(()) is not None]
SPECS = [each.spec for each in builtin_tools()]
BUILT_IN = {
    (protocol, mode): Grammar(protocols.get(protocol).grammar(SPECS, ToolChoice(mode, parallel=mode == "auto")) or "")
    for protocol in PROTOCOLS
    for mode in ("required", "auto")
}
PROSE = (
    "I will look.\n", "If a < b && `c` > d\n", "```python\nx = '<read_file>'\n```\n", "~~~~\n```\n~~~~\n",
    "<b>bold</b> <read_fil> </read_file> \n", "\n\n", "é😀\n", "> ```\n> <tool_call\n> ```\n",
)  # fmt: skip


def encoded(protocol: str, spec: ToolSpec, arguments: dict[str, Any]) -> str:
    """The call, its arguments in the schema's order."""
    ordered = {name: arguments[name] for name in spec.parameters if name in arguments}
    block = protocols.get(protocol).encode_call(ToolUseBlock("", spec.name, ordered), [spec])
    assert isinstance(block, TextBlock)
    return block.text


def check_reply(text: str, protocol: str, specs: Sequence[ToolSpec]) -> int:
    """Read a reply that a grammar admits; the number of calls in it, all of them legal."""
    reply = protocols.parse(text, protocol=protocol, tools=specs)
    assume(not any("is given twice" in error.message for error in reply.malformed))
    assert reply.malformed == ()
    by_name = {spec.name: spec for spec in specs}
    for call in reply.calls:
        # The closing tag of a last value may be forgotten.
        assert all(repair.startswith("took </") for repair in call.repairs)
        jsonschema.validate(call.arguments, _without_one_of(by_name[call.name].schema))
    return len(reply.calls)


def _without_one_of(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {"anyOf" if key == "oneOf" else key: _without_one_of(each) for key, each in schema.items()}
    return [_without_one_of(each) for each in schema] if isinstance(schema, list) else schema


def in_reach(value: Any) -> bool:
    """Whether all numbers are of a size that the grammars write."""
    if isinstance(value, dict):
        return all(map(in_reach, value.values()))
    if isinstance(value, list):
        return all(map(in_reach, value))
    return not isinstance(value, float) or value == 0 or 1e-307 <= abs(value) < 1e308


# Built-in tools


@pytest.mark.property
@pytest.mark.parametrize("protocol", PROTOCOLS)
@FEW
@given(st.integers(0, 2**32))
def test_a_reply_that_must_be_a_call_of_a_built_in_tool_is_read_as_one(protocol: str, seed: int) -> None:
    text = BUILT_IN[protocol, "required"].sample(random.Random(seed))
    assert check_reply(text, protocol, SPECS) == 1
    assert protocols.parse(text, protocol=protocol, tools=SPECS).text == ""


@pytest.mark.property
@pytest.mark.parametrize("protocol", PROTOCOLS)
@FEW
@given(st.integers(0, 2**32))
def test_text_with_calls_of_built_in_tools_is_read_without_a_mistake(protocol: str, seed: int) -> None:
    wishes = [*TRICKY, *PROSE, *(encoded(protocol, spec, dict(example_call(spec))) for spec in SPECS[:6])]
    check_reply(BUILT_IN[protocol, "auto"].wander(random.Random(seed), wishes), protocol, SPECS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_the_example_of_a_built_in_tool_is_admitted_alone_and_amid_text(protocol: str, spec: ToolSpec) -> None:
    call = encoded(protocol, spec, dict(example_call(spec)))
    assert not BUILT_IN[protocol, "required"].refusal(call)
    for prose in PROSE:
        if protocol == "morph_xml" and "<read_file>" in prose:
            continue  # it knows no code: the tag of a tool is the beginning of a call everywhere
        assert not BUILT_IN[protocol, "auto"].refusal(f"{prose}{call}\n{prose}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_long_call_is_read_with_few_stacks(protocol: str) -> None:
    """The stacks that are open at once are what sampling costs a server for each token."""
    [write] = [spec for spec in SPECS if spec.name == "write_to_file"]
    body = "def f(x):\n    return x < 3 and '</file_text' != '<path>'\n" * 40
    machine = Machine(BUILT_IN[protocol, "required"])
    assert machine.read(encoded(protocol, write, {"path": "a.py", "file_text": body})) is None and machine.complete
    assert machine.max_stacks <= len(SPECS) + 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_grammars_of_all_built_in_tools_stay_small(protocol: str) -> None:
    for mode in ("required", "auto"):
        text = protocols.get(protocol).grammar(SPECS, ToolChoice(mode)) or ""
        assert text.count("\n") < 120 * len(SPECS) and len(text) < 10_000 * len(SPECS)


# Any tools


@pytest.mark.property
@pytest.mark.parametrize("protocol", PROTOCOLS)
@FEW
@given(calls(), calls("tool_two"), st.integers(0, 2**32))
def test_a_call_of_any_tool_that_is_admitted_is_read_and_valid(
    protocol: str, one: tuple[ToolSpec, Any], other: tuple[ToolSpec, Any], seed: int
) -> None:
    specs, rng = [one[0], other[0]], random.Random(seed)
    required = Grammar(protocols.get(protocol).grammar(specs, ToolChoice("required", parallel=False)) or "")
    several = Grammar(protocols.get(protocol).grammar(specs, ToolChoice("required")) or "")
    for budget in (20, 150):
        assert check_reply(required.sample(rng, budget), protocol, specs) == 1
        assert check_reply(several.sample(rng, budget), protocol, specs) >= 1
    auto = Grammar(protocols.get(protocol).grammar(specs, ToolChoice()) or "")
    wishes = [*TRICKY, *(encoded(protocol, spec, arguments) for spec, arguments in (one, other))]
    check_reply(auto.wander(rng, wishes, 100), protocol, specs)


@pytest.mark.property
@pytest.mark.parametrize("protocol", PROTOCOLS)
@FEW
@given(calls(), texts, texts)
def test_a_call_of_any_tool_that_is_written_is_admitted(
    protocol: str, drawn: tuple[ToolSpec, dict[str, Any]], before: str, after: str
) -> None:
    spec, arguments = drawn
    assume(in_reach(arguments))
    text = encoded(protocol, spec, arguments)
    read = protocols.parse(text, protocol=protocol, tools=[spec])
    # Morph-XML writes without a look at the schema. What its own reader takes otherwise need not be admitted.
    assume(protocol != "morph_xml" or [call.arguments for call in read.calls] == [arguments])
    assert not Grammar(protocols.get(protocol).grammar([spec], ToolChoice("required")) or "").refusal(text)
    auto = Grammar(protocols.get(protocol).grammar([spec], ToolChoice()) or "")
    if auto.admits(f"{before}\n{text}\n{after}"):
        assert check_reply(f"{before}\n{text}\n{after}", protocol, [spec]) >= int(auto.admits(before + "\n"))
