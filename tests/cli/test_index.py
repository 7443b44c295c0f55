from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codebase_kit import WordModel, function
from joey.cli import main
from joey.tools.index import model


class Here:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def joey(self, *args: str) -> tuple[int, str, str]:
        code = main(["index", *args])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def json(self, *args: str) -> Any:
        return json.loads(self.joey(*args, "--json")[1])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(model, "load", lambda: (WordModel(), ""))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "users.py").write_text(function("delete_user"))
    return Here(folder, capsys)


def test_an_index_is_built_and_tells_its_size(here: Here) -> None:
    code, out, err = here.joey()
    assert code == 0 and out.startswith("1 pieces of 1 files, 0.1 MB in ")
    assert "1 files read, 0 dropped, 1 pieces embedded" in out
    assert "files read: 1 of 1" in err
    assert "0 files read" in here.joey()[1]


def test_the_status_tells_age_and_what_has_changed(here: Here) -> None:
    assert here.joey("--status") == (1, "This folder has no index; `joey index` builds one.\n", "")
    here.joey()
    (here.folder / "new.py").write_text(function("other"))
    (here.folder / "users.py").unlink()
    code, out, _ = here.joey("--status")
    assert code == 0 and "less than a minute ago" in out
    assert "1 files added or changed, 1 deleted" in out
    facts = here.json("--status")
    assert facts["files"] == 1 and facts["files_that_differ"] == 2 and facts["bytes"] > 10_000


def test_it_can_be_searched_manually(here: Here) -> None:
    code, out, _ = here.joey("search", "erase a user")
    assert code == 0 and "File path: users.py" in out
    found = here.json("search", "erase a user", "--path", ".", "--limit", "3")["found"]
    assert [(each["path"], each["first"], each["name"]) for each in found] == [("users.py", 1, "delete_user")]
    assert here.joey("search", "zebra")[0] == 1


def test_it_can_be_thrown_away(here: Here) -> None:
    here.joey()
    assert "Deleted the index in" in here.joey("--clear")[1]
    assert "This folder has no index" in here.joey("--clear")[1]
    assert here.joey("--status")[0] == 1


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("search",), "no question given"),
        (("build", "delete user"), 'joey index search "delete user"'),
        (("search", "x", "--path", "../.."), "../.. does not exist in"),
        (("--workspace", "nowhere"), "is not a folder"),
        (("--workspace", "/"), "root of the file system"),
    ],
)
def test_wrong_usage_is_reported(here: Here, args: tuple[str, ...], expected: str) -> None:
    code, _, err = here.joey(*args)
    assert code == 2 and expected in err


def test_without_the_extra_the_build_says_how_to_get_it(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "load", lambda: (None, "numpy is missing: pip install 'joey[search]'"))
    assert "Results are ranked by keywords only: numpy is missing: pip install 'joey[search]'" in here.joey()[1]


def test_ignore_files_hold(here: Here) -> None:
    (here.folder / ".joeyignore").write_text("users.py\n")
    assert "0 pieces of 0 files" in here.joey()[1]
