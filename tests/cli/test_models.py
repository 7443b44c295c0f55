from __future__ import annotations

import pytest

from joey.cli import main


def test_every_provider_says_whether_it_is_ready(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://elsewhere:1/v1")
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "ready: ANTHROPIC_API_KEY is set" in lines["anthropic"]
    assert "not ready: set OPENAI_API_KEY" in lines["openai"]
    assert "not ready: set OPENROUTER_API_KEY" in lines["openrouter"]
    assert "needs no key" in lines["ollama"] and "http://elsewhere:1/v1" in lines["ollama"]
    assert "secret" not in out


def test_a_known_model_shows_price_and_window(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "anthropic/claude-sonnet-4-5"]) == 0
    out = capsys.readouterr().out
    assert "$3 in, $15 out, $3.75 cache write, $0.3 cache read per million tokens" in out
    assert "200,000 tokens" in out


def test_an_unknown_model_has_no_invented_price(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "ollama/my-own"]) == 0
    assert "price    not known" in capsys.readouterr().out


def test_what_sets_a_model_apart_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "openai/o1-mini"]) == 0
    out = capsys.readouterr().out
    assert "system                 none (usually system)" in out
    assert "tools                  False (usually True)" in out


def test_what_sets_a_model_apart_is_shown_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "openai/gpt-5.2"]) == 0
    out = capsys.readouterr().out
    assert "max_completion_tokens" in out and "ImageLimits(" not in out


def test_a_wrong_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "claude"]) == 2
    assert "is not of the form provider/model; providers: anthropic" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "near"), [("anthropic/claude-sonnet-55", "anthropic/claude-sonnet-5-5"), ("anthropic/nope", "")]
)
def test_a_model_that_the_catalogue_does_not_know_is_not_ready(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, near: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert main(["models", name]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"{name}: unknown. The catalogue does not know {name}") and "ready" not in first
    assert (f"did you mean {near}?" in first) is bool(near)


def test_a_model_of_a_server_of_the_users_own_may_have_any_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert main(["models", "anthropic/nope"]) == 0
    assert "unknown." not in capsys.readouterr().out.splitlines()[0]


def test_a_model_without_its_provider_is_suggested_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "claude-sonnet-5-5"]) == 2
    assert "Did you mean anthropic/claude-sonnet-5-5?" in capsys.readouterr().err


def test_the_model_of_tasks_here_is_named_with_who_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOEY_MODEL", "ollama/qwen3")
    main(["models"])
    assert capsys.readouterr().out.endswith("tasks here use ollama/qwen3 ($JOEY_MODEL)\n")
