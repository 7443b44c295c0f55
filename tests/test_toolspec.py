from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.errors import UsageError
from joey.toolspec import ToolChoice, ToolSpec
from vectors_data import cases

OTHERWISE = {
    "convertOpenAIToolChoiceToAnthropic-6": "an unknown choice is refused, not taken for auto without a word",
    "convertOpenAIToolChoiceToAnthropic-9": "an unknown choice is refused, not taken for auto without a word",
}

CHOICES = st.builds(ToolChoice, st.sampled_from(["none", "auto", "required"]), st.none(), st.booleans()) | st.builds(
    ToolChoice, st.just("one"), st.text(min_size=1), st.booleans()
)


@pytest.mark.parametrize("case", cases("roo/native_loop", set="convertOpenAIToolToAnthropic"), ids=lambda c: c["id"])
def test_a_tool_object_becomes_an_anthropic_tool(case: Any) -> None:
    if "error" in case["expected"]:
        with pytest.raises(UsageError):
            ToolSpec.read(case["args"][0])
    else:
        assert ToolSpec.read(case["args"][0]).to_anthropic() == case["expected"]


@pytest.mark.parametrize("case", cases("roo/native_loop", set="convertOpenAIToolsToAnthropic"), ids=lambda c: c["id"])
def test_tools_keep_their_order(case: Any) -> None:
    assert [ToolSpec.read(tool).to_anthropic() for tool in case["args"][0]] == case["expected"]


@pytest.mark.parametrize(
    "case", cases("roo/native_loop", set="convertOpenAIToolChoiceToAnthropic"), ids=lambda c: c["id"]
)
def test_a_choice_becomes_an_anthropic_choice(case: Any) -> None:
    if case["id"] in OTHERWISE:
        with pytest.raises(UsageError, match="is unknown; expected"):
            ToolChoice.from_openai(*case["args"])
        return
    choice = ToolChoice.from_openai(*case["args"])
    # The recorded system leaves `none` out, and then the model may call after all.
    assert choice.to_anthropic() == ({"type": "none"} if choice.mode == "none" else case["expected"])


def test_a_tool_is_the_same_from_either_shape() -> None:
    tool = ToolSpec("read_file", "Read it.", {"type": "object", "properties": {"path": {"type": "string"}}})
    assert ToolSpec.read(tool.to_openai()) == tool
    assert ToolSpec.read(tool.to_anthropic()) == tool
    assert ToolSpec.read({**tool.to_anthropic(), "type": "custom"}) == tool


@pytest.mark.property
@given(CHOICES)
def test_a_choice_survives_both_shapes(choice: ToolChoice) -> None:
    parameters = choice.to_openai()
    assert ToolChoice.from_openai(parameters.get("tool_choice"), parameters.get("parallel_tool_calls")) == choice
    if choice.mode != "none":  # where no call is made, Anthropic has no word on parallel ones
        assert ToolChoice.from_anthropic(choice.to_anthropic()) == choice
    else:
        assert ToolChoice.from_anthropic(choice.to_anthropic()).mode == "none"


def test_the_default_choice_says_nothing_to_openai() -> None:
    assert ToolChoice().to_openai() == {}
    assert ToolChoice.from_anthropic(None) == ToolChoice()


@pytest.mark.parametrize("choice", ["any", {"type": "tool"}, 5, {"type": ["any"]}])
def test_a_wrong_anthropic_choice_is_refused(choice: Any) -> None:
    with pytest.raises(UsageError):
        ToolChoice.from_anthropic(choice)


def test_one_tool_needs_its_name() -> None:
    with pytest.raises(UsageError, match="if and only if"):
        ToolChoice("one")
    with pytest.raises(UsageError, match="needs that tool's 'name'"):
        ToolChoice.from_openai({"type": "function", "function": {}})
