from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from joey.app.models import catalogue, keep_answers, kept_answers
from joey.app.opening import reasoning_of
from joey.app.settings import default_model
from joey.app.tasks import TaskOptions, make_config, prepare_task
from joey.config import read_config
from joey.config.keys import EFFORTS
from joey.errors import UsageError
from joey.providers import MissingKeyError, OverloadedError, ReasoningOptions
from joey.providers.catalogue import EFFORTS as KNOWN
from joey.providers.discovery import FoundModels, usual_addresses
from joey.usage import Usage
from models_kit import serving


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "joey"


def settings(tmp_path: Path, text: str = "", **flags: Any) -> Any:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return read_config(tmp_path / "w", tmp_path, trusted=False, flags=flags, environment={})


def test_the_efforts_of_settings_are_those_of_the_catalogue() -> None:
    assert EFFORTS == KNOWN


def test_what_a_server_reported_is_kept_and_used_for_its_models(tmp_path: Path, state: Path) -> None:
    address = usual_addresses(os.environ)["ollama"]
    path = keep_answers({"ollama": FoundModels(address, {"mine": {"window": 4096, "tools": False}})})
    assert path == state / "models.json" and path.stat().st_mode & 0o077 == 0
    keep_answers(
        {"openrouter": FoundModels("https://openrouter.ai/api/v1", {"a/b": {"price": {"input": 1, "output": 2}}})}
    )
    known = catalogue(settings(tmp_path))
    facts = known.facts("ollama/mine")
    assert facts.abilities.context_window == 4096 and not facts.abilities.tools
    assert known.facts("vllm/mine").abilities.context_window is None
    price = known.facts("openrouter/a/b").price
    assert price is not None and (price.input, price.output) == (1, 2)
    assert address in facts.sources[-1].url


def test_another_servers_answer_says_nothing_of_this_one(tmp_path: Path) -> None:
    keep_answers({"ollama": FoundModels("http://10.0.0.9:11434/v1", {"mine": {"window": 4096}})})
    assert catalogue(settings(tmp_path)).facts("ollama/mine").abilities.context_window is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"servers": {"ollama": {}}}', '{"servers": 1}', "\x00"])
def test_a_file_that_cannot_be_read_counts_as_none(text: str, state: Path) -> None:
    state.mkdir(parents=True)
    (state / "models.json").write_text(text, encoding="utf-8")
    assert kept_answers() == {}


def test_odd_values_in_the_file_are_left_out(state: Path) -> None:
    state.mkdir(parents=True)
    models = '{"m": {"window": "big", "tools": 1, "images": true, "system": "none"}}'
    text = f'{{"servers": {{"vllm": {{"address": "a", "read": "r", "models": {models}}}}}}}'
    (state / "models.json").write_text(text, encoding="utf-8")
    assert kept_answers()["vllm"].models == {"m": {"images": True}}


OWN = """
[models."gpt-6.1-sol"]
window = 1000
effort = "max"

[models."ollama/mine"]
efforts = []
dialect = "qwen3_coder"

[prices."gpt-6.1-sol"]
input = 7
output = 8

[reasoning]
effort = "minimal"
budget = 2048
"""


def test_the_user_knows_better(tmp_path: Path) -> None:
    known = catalogue(settings(tmp_path, OWN))
    facts = known.facts("openai/gpt-6.1-sol")
    assert facts.abilities.context_window == 1000 and facts.price is not None and facts.price.input == 7
    assert facts.abilities.api == "responses" and facts.sources[-1].url == "your settings"
    assert known.facts("ollama/mine").abilities.dialect == "qwen3_coder"


@pytest.mark.parametrize(
    ("model", "flags", "options"),
    [
        ("openai/gpt-6.1-sol", {}, ReasoningOptions("max", 2048)),  # as is set for this model
        ("openai/gpt-6-sol", {}, ReasoningOptions("low", 2048)),  # the nearest to minimal that it has
        ("openai/gpt-6.1-sol", {"reasoning.effort": "high"}, ReasoningOptions("high", 2048)),  # the flag comes first
        ("anthropic/claude-opus-5-5", {}, ReasoningOptions("low")),  # takes no budget
        ("anthropic/claude-haiku-4-5", {}, ReasoningOptions(None, 2048)),  # takes no effort
        ("ollama/unknown", {}, ReasoningOptions("minimal", 2048)),
    ],
)
def test_how_much_a_model_thinks(model: str, flags: Any, options: ReasoningOptions, tmp_path: Path) -> None:
    config = settings(tmp_path, OWN, **flags)
    facts = catalogue(config).facts(model)
    assert reasoning_of(config, model, facts, facts.abilities) == options


def test_an_effort_for_a_model_that_takes_none_is_refused_where_it_was_asked_for(tmp_path: Path) -> None:
    config = settings(tmp_path, "", **{"reasoning.effort": "high"})
    facts = catalogue(config).facts("openai/gpt-4o")
    with pytest.raises(UsageError, match="--effort: openai/gpt-4o takes no reasoning effort"):
        reasoning_of(config, "openai/gpt-4o", facts, facts.abilities)
    assert reasoning_of(settings(tmp_path), "openai/gpt-4o", facts, facts.abilities) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[models."m"]\nwindows = 1', "has no 'windows'; it takes: window"),
        ('[models."m"]\nwindow = 0', "window of models.m must be a whole number of 1 or more"),
        ('[models."m"]\nefforts = ["much"]', "efforts of models.m must be a list of none, minimal"),
        ("[models]\nm = 1", "models.m must be a table"),
        ("models = 1", "models is a table"),
    ],
)
def test_a_mistake_in_the_table_of_models_names_its_place(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=problem):
        settings(tmp_path, text)


def test_a_task_is_made_of_what_is_known_and_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "joey").mkdir(parents=True)
    own = '[models."vllm/mine"]\nwindow = 50000\ndialect = "qwen3_coder"\neffort = "low"\n'
    own += '[prices."vllm/mine"]\ninput = 1\noutput = 2\n'
    (tmp_path / "config" / "joey" / "config.toml").write_text(own, encoding="utf-8")
    (tmp_path / "work").mkdir()
    flags: dict[str, Any] = {"model": "vllm/mine", "fallback_models": ("ollama/other",)}
    setup = prepare_task(TaskOptions(tmp_path / "work", flags))
    model = make_config(setup, lambda *_: None).model
    assert model.protocol.name == "qwen3_coder" and model.replies.context_window == 50000
    assert model.replies.reasoning == ReasoningOptions("low")
    assert model.cost(Usage(1_000_000, 1_000_000)) == 3.0
    assert model.provider.can_fall_back and model.provider.fall_back(OverloadedError("busy")) == "ollama/other"
    assert model.cost(Usage(1_000_000)) is None
    setup = prepare_task(TaskOptions(tmp_path / "work", {"model": "vllm/mine", "protocol": "native"}))
    assert make_config(setup, lambda *_: None).model.protocol.name == "native"


def test_without_a_key_the_model_of_a_server_on_this_machine_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({"/v1/models": {"data": [{"id": "found"}]}}) as url:
        elsewhere = {f"{name.upper()}_BASE_URL": "http://127.0.0.1:1/v1" for name in ("ollama", "llamacpp", "lmstudio")}
        monkeypatch.setattr("joey.app.settings._local_model_is_there", lambda: False)
        assert default_model({**elsewhere, "VLLM_BASE_URL": url, "PATH": ""}) == "vllm/found"
    nowhere = {**elsewhere, "VLLM_BASE_URL": "http://127.0.0.1:1/v1", "PATH": ""}
    with pytest.raises(MissingKeyError, match="no model is configured"):
        default_model(nowhere)
