"""Which dialect a model writes: by its template, its name, a reply."""

from __future__ import annotations

import pytest

from dialect_cases import cases_of, dialect_names, renders_of, tools_of
from joey.protocols.detect import detect, from_model, from_reply, from_template
from joey.protocols.dialects.detect import MODELS
from joey.protocols.dialects.table import DIALECTS

SAME_FORM = {"qwen3_5": "step3p5"}
"""Dialects that write the same and whose templates are told apart by the model's name only."""


@pytest.mark.parametrize("name", [name for name in dialect_names() if renders_of(name)])
def test_a_rendering_of_a_template_shows_its_dialect(name: str) -> None:
    row = next((row for row in renders_of(name) if row["category"] in ("call", "turn_after", "results")), None)
    if row is None:
        pytest.skip("no rendering with a call")
    best = from_template(row["rendered"])[0]
    assert best.name in (name, SAME_FORM.get(name)) and best.evidence


@pytest.mark.parametrize("name", dialect_names())
def test_a_reply_that_calls_a_tool_shows_which_dialects_could_have_written_it(name: str) -> None:
    case = next(case for case in cases_of(name) if case["category"] in ("one", "several"))
    found = from_reply(case["text"], tools_of(case))
    assert name in [each.name for each in found if each.score == found[0].score]


def test_a_reply_without_calls_shows_nothing() -> None:
    assert from_reply("The tag <tool_call> begins a call. [1] {2}") == []


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder"),
        ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "qwen2_5_coder"),
        ("openai/gpt-oss-120b", "harmony"),
        ("moonshotai/Kimi-K2-Thinking", "kimi_k2"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek_v32"),
        ("zai-org/GLM-4.7-Flash", "glm47"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral_v11_callid"),
        ("a-model-that-nobody-knows", None),
    ],
)
def test_a_name_that_is_known_shows_the_dialect(model: str, dialect: str | None) -> None:
    assert [each.name for each in from_model(model)] == ([dialect] if dialect else [])


def test_every_dialect_in_the_list_of_names_exists() -> None:
    assert {dialect for _, dialect in MODELS} <= set(DIALECTS)


def test_the_name_decides_between_templates_that_write_the_same() -> None:
    row = renders_of("qwen3_5")[0]
    assert detect(template=row["rendered"], model="Qwen/Qwen3.5-4B")[0].name == "qwen3_5"
