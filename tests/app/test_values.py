"""Models that no task could begin with are refused where they are named."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.errors import JoeyError
from joey.terminal.plain.app import Plain
from joey.terminal.slash import run_command


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.chdir(tmp_path)
    return Services(TaskOptions(tmp_path))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("foo/bar", "There is no provider 'foo'"),
        ("antropic/claude", "did you mean 'anthropic'?"),
        ("openai/gpt-6", "No API key for openai; set OPENAI_API_KEY"),
        ("local/nope", "neither a model that Joey knows"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused_with_the_reason(services: Services, model: str, why: str) -> None:
    front = Plain(services, services.first_choices(), io.StringIO())
    before = front.session.status.model
    assert why in run_command(front, f"/model {model}")
    assert front.session.status.model == before
    assert run_command(front, "/model ollama/qwen3") == "The model is now ollama/qwen3."


def test_the_terminal_does_not_open_with_a_model_of_no_provider(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOEY_MODEL", "foo/bar")
    with pytest.raises(JoeyError, match=r"\$JOEY_MODEL: there is no provider 'foo'"):
        services.first_choices()
