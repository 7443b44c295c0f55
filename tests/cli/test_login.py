"""Keys that `joey login` puts into the keyring, and a client of `joey acp` takes out of it again."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from joey.cli import main
from joey.system.keyring import delete_key, find_key

KEYRING = """#!/bin/sh
case "$1" in
    store) cat > "{folder}/$6" ;;
    lookup) cat "{folder}/$5" ;;
    clear) rm "{folder}/$5" ;;
esac
"""

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="the keyring has another program there")


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "secret-tool"
    program.write_text(KEYRING.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def login(monkeypatch: pytest.MonkeyPatch, key: str, *args: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(key))
    return main(["login", *args])


def test_a_key_is_stored_found_and_deleted(keyring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert login(monkeypatch, "hunter2\n", "openai") == 0
    found = find_key("OPENAI_API_KEY")
    assert found is not None and (found.value, found.where) == ("hunter2", "the keyring")
    assert delete_key("OPENAI_API_KEY")
    assert find_key("OPENAI_API_KEY") is None
    assert not delete_key("OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("args", "key", "code", "words"),
    [
        (["openai"], "", 2, "no key was given"),
        (["ollama"], "k", 2, "there is no key to store for 'ollama'"),
        ([], "k", 2, "say which provider"),
    ],
)
def test_what_is_missing_is_said(
    keyring: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    args: list[str], key: str, code: int, words: str,
) -> None:  # fmt: skip
    assert login(monkeypatch, key, *args) == code
    assert words in capsys.readouterr().err


def test_without_a_keyring_the_key_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert login(monkeypatch, "hunter2", "mistral") == 1
    err = capsys.readouterr().err
    assert "Set MISTRAL_API_KEY in the environment" in err and "hunter2" not in err
    monkeypatch.setenv("MISTRAL_API_KEY", "mine")
    assert login(monkeypatch, "", "mistral") == 0
