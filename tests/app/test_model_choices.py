"""Which models can be used at once, and how they are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.app.model_choices import ModelChoice
from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.terminal.screen.picker import ModelPicker
from joey.terminal.slash import list_models


@pytest.mark.parametrize(
    ("key", "own", "other"), [("ANTHROPIC", "anthropic/claude-", "openai/"), ("OPENAI", "openai/gpt-", "anthropic/")]
)
def test_only_models_whose_key_is_set_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, own: str, other: str
) -> None:
    for each in ("ANTHROPIC", "OPENAI"):
        monkeypatch.delenv(f"{each}_API_KEY", raising=False)
    monkeypatch.setenv(f"{key}_API_KEY", "x" * 20)
    found = Services(TaskOptions(tmp_path)).model_choices()
    assert any(each.name.startswith(own) for each in found)
    assert not any(each.name.startswith(other) for each in found)
    assert all(f"{key}_API_KEY is set" in each.about for each in found if each.name.startswith(own))


def test_the_picker_has_the_model_of_now_first_and_finds_by_words() -> None:
    models = [ModelChoice("openai/gpt-6.1-sol", "x"), ModelChoice("anthropic/claude-opus-5-5", "y")]
    picker = ModelPicker(models, "anthropic/claude-opus-5-5")
    assert [name for _, name in picker.matches("")] == ["anthropic/claude-opus-5-5", "openai/gpt-6.1-sol"]
    assert "now · y" in picker.matches("")[0][0].plain
    assert [name for _, name in picker.matches("SOL gpt")] == ["openai/gpt-6.1-sol"]


def test_in_lines_they_are_listed() -> None:
    assert "  openai/x " in list_models([ModelChoice("openai/x", "about")])
    assert "No model can be used yet" in list_models([])
