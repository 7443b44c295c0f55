from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.providers.encoding import ids
from vectors_data import cases

FUNCTIONS: dict[str, Any] = {
    "sanitizeToolUseId": ids.sanitised,
    "truncateOpenAiCallId": ids.shortened,
    "sanitizeOpenAiCallId": lambda call_id: ids.shortened(ids.sanitised(call_id)),
}
LEGAL: dict[ids.MakeId, str] = {
    ids.anthropic_id: r"[A-Za-z0-9_-]+",
    ids.openai_id: r"[A-Za-z0-9_-]{1,64}",
    ids.mistral_id: r"[A-Za-z0-9]{9}",
}


@pytest.mark.parametrize(
    "case", [case for name in FUNCTIONS for case in cases("roo/native_loop", set=name)], ids=lambda c: c["id"]
)
def test_ids_are_made_legal_as_recorded(case: Any) -> None:
    assert FUNCTIONS[case["set"]](*case["args"]) == case["expected"]


@pytest.mark.parametrize("case", cases("roo/functions", fn="normalizeMistralToolCallId"), ids=lambda c: repr(c["args"]))
def test_mistral_ids_are_made_legal(case: Any) -> None:
    """The recorded system cuts and pads, so that `abc` and `abc0` become one; only a legal id stays as it is."""
    found = ids.mistral_id(*case["args"])
    assert re.fullmatch(LEGAL[ids.mistral_id], found)
    assert (found == case["out"]) is (case["args"][0] == case["out"])


@pytest.mark.parametrize(
    ("rule", "one", "other"),
    [
        (ids.mistral_id, "toolu_01AbCdEfGh", "toolu_01AbCdEfGi"),
        (ids.mistral_id, "abc", "abc0"),
        (ids.anthropic_id, "tool.a", "tool:a"),
        (ids.openai_id, "tool.a", "tool_a"),
        (ids.openai_id, "a" * 64 + "b", "a" * 64 + "c"),
    ],
)
def test_ids_that_look_alike_when_legal_stay_apart(rule: ids.MakeId, one: str, other: str) -> None:
    assert rule(one) != rule(other)


@pytest.mark.property
@pytest.mark.parametrize("rule", LEGAL, ids=["anthropic", "openai", "mistral"])
@given(originals=st.sets(st.text(alphabet="ab._:", min_size=1, max_size=4) | st.text(min_size=1, max_size=90)))
def test_different_ids_stay_different_and_legal_ones_as_they_are(rule: ids.MakeId, originals: set[str]) -> None:
    made = {original: rule(original) for original in originals}
    assert len(set(made.values())) == len(made)
    for found in made.values():
        assert re.fullmatch(LEGAL[rule], found)
        assert rule(found) == found
