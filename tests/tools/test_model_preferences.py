from __future__ import annotations

import pytest

from joey.tools.toolset import ToolChoices, choices_for


@pytest.mark.parametrize(
    ("model", "include"),
    [
        ("openai/gpt-5.2", ("apply_patch",)),
        ("openrouter/openai/gpt-4.1-mini", ("apply_patch",)),
        ("openai/codex-mini", ("apply_patch",)),
        ("openai/gpt-5.3-codex", ("apply_patch",)),
        ("openai/gpt-4o", ()),
        ("openai/o3", ()),
        ("ollama/notgpt-5", ()),
        ("xai/grok-4", ("search_replace",)),
        ("minimax/MiniMax-M2", ("search_and_replace",)),
        ("google/gemini-3-pro", ("edit",)),
        ("anthropic/claude-sonnet-4-5", ()),
    ],
)
def test_families_of_models_get_the_edit_tool_they_know(model: str, include: tuple[str, ...]) -> None:
    assert choices_for(model).include == include


def test_what_the_user_chose_stays() -> None:
    chosen = choices_for("openai/gpt-5", ToolChoices(include=("write_to_file",), exclude=("apply_patch",)))
    assert chosen.include == ("write_to_file",)
    assert chosen.exclude == ("apply_patch", "apply_diff")
