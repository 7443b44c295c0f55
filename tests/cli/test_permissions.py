"""`joey permissions`: what was allowed with an answer, listed and revoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joey.app.permissions import project_permissions
from joey.cli import main
from joey.journal.journal import Journal
from joey.journal.records import PermissionGranted, TaskOpened
from joey.journal.store import TaskStore
from joey.permissions import Permission


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_they_are_listed_and_revoked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["permissions"]) == 0
    assert "nothing" in capsys.readouterr().out
    project_permissions(folder).add(Permission("command", "pytest -q"))
    store = TaskStore(folder.parent / "state" / "joey" / "tasks")
    with Journal(store.journal_path("20260101-000000-aa")) as journal:
        journal.append(TaskOpened("20260101-000000-aa", "Do it.", str(folder), "code", "m", "native"))
        journal.append(PermissionGranted(Permission("writes")))
    assert main(["permissions"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "1  in this project" in first and first.endswith("exactly `pytest -q`")
    assert "2  in task 20260101-000000-aa" in second and second.endswith("changing files of the workspace")
    assert main(["permissions", "revoke", "2"]) == 0
    assert main(["permissions", "--json"]) == 0
    *_, line = capsys.readouterr().out.splitlines()
    assert json.loads(line)["kind"] == "command"
    assert main(["permissions", "revoke", "all"]) == 0
    assert project_permissions(folder).listed() == ()


@pytest.mark.parametrize("words", [["revoke"], ["revoke", "7"], ["list", "1"]])
def test_what_there_is_not_cannot_be_revoked(
    folder: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["permissions", *words]) == 2
    assert "joey permissions" in capsys.readouterr().err
