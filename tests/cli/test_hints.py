"""What the command line suggests where something was typed in a way that does not work."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from joey.cli import main

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["fix", "the", "tests"], 'quote a prompt of several words: joey "…"'),
        (["run", "fix", "the", "tests"], 'quote a prompt of several words: joey "…"'),
        (["version"], "did you mean `joey --version`?"),
        (["taks", "show"], "did you mean `joey tasks`?"),
        (["config", "set", "approvals.allow", "pytest"], """write it as '["pytest"]'"""),
    ],
)
def test_a_hint_says_how_to_type_it(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: list[str], hint: str
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(typed) == 2
    assert hint in capsys.readouterr().err


def test_a_setting_that_a_variable_overrides_is_reported_when_it_is_written(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("JOEY_MODEL", "ollama/other")
    assert main(["config", "set", "model", "ollama/mine"]) == 0
    assert "note: $JOEY_MODEL sets it to ollama/other, which counts more" in capsys.readouterr().err
    monkeypatch.delenv("JOEY_MODEL")
    assert main(["config", "set", "model", "ollama/mine"]) == 0
    assert capsys.readouterr().err == ""


def test_a_wrong_address_is_a_matter_of_the_flag_that_names_it(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["run", "x", "--model", "ollama/m", "--base-url", "127.0.0.1:9911"]) == 2
    err = capsys.readouterr().err
    assert "--base-url: '127.0.0.1:9911' is no address of a server" in err and "--model:" not in err
