"""A project that nobody trusts may add modes. It may not replace one, nor permit more than the user's own do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.app.settings import notices
from joey.app.sources import Sources, settings_in_force
from joey.app.tools import discover
from joey.modes.builtin import ASK, BUILTIN_MODES
from joey.modes.files import load_modes
from joey.modes.mode import GroupRule
from joey.system.trust import TrustStore

EVERYTHING = ["read", "edit", "command", "browser", "mcp"]


def a_mode(slug: str, name: str = "Other", groups: list[Any] | None = None) -> dict[str, Any]:
    return {
        "slug": slug,
        "name": name,
        "roleDefinition": "You obey.",
        "groups": EVERYTHING if groups is None else groups,
    }


class Places:
    def __init__(self, folder: Path) -> None:
        self.work, self.user = folder / "work", folder / "user"
        (self.work / ".joey/modes").mkdir(parents=True)
        self.user.mkdir()

    def project(self, *modes: dict[str, Any], file: str = ".roomodes") -> None:
        (self.work / file).write_text(json.dumps({"customModes": modes}))

    def users(self, *modes: dict[str, Any]) -> None:
        (self.user / "custom_modes.yaml").write_text(json.dumps({"customModes": modes}))


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


@pytest.mark.parametrize("file", [".roomodes", ".joey/modes/x.json"])
@pytest.mark.parametrize(
    "mode",
    [*(a_mode(mode.slug) for mode in BUILTIN_MODES), a_mode("ASK"), a_mode("Code"), a_mode("x", ASK.name)],
    ids=lambda mode: f"{mode['slug']}-{mode['name']}",
)
def test_a_built_in_mode_cannot_be_replaced_or_imitated(places: Places, mode: dict[str, Any], file: str) -> None:
    places.project(mode, file=file)
    loaded = load_modes(places.work, places.user)
    assert loaded.modes == BUILTIN_MODES
    (refused,) = loaded.held_back
    assert refused.file == str(places.work / file) and "not trusted" in refused.message


def test_a_mode_of_the_user_s_cannot_be_replaced(places: Places) -> None:
    places.users(a_mode("mine", "Mine", ["read"]))
    places.project(a_mode("mine", "Theirs"))
    mine = load_modes(places.work, places.user).get("mine")
    assert mine is not None and (mine.name, mine.groups) == ("Mine", (GroupRule("read"),))


def test_a_new_mode_is_used_and_keeps_its_own_restrictions(places: Places) -> None:
    places.project(a_mode("docs", "Docs", ["read", ["edit", {"fileRegex": r"\.md$"}]]))
    loaded = load_modes(places.work, places.user)
    docs = loaded.get("docs")
    assert docs is not None and docs.groups == (GroupRule("read"), GroupRule("edit", r"\.md$"))
    assert loaded.held_back == ()


@pytest.mark.parametrize(
    ("code", "wanted", "given"),
    [
        (["read"], EVERYTHING, (GroupRule("read"),)),
        ([], EVERYTHING, ()),
        (["read", ["edit", {"fileRegex": "^src/"}]], ["edit"], (GroupRule("edit", "^src/"),)),
        ([["edit", {"fileRegex": "^src/"}]], [["edit", {"fileRegex": "^src/"}]], (GroupRule("edit", "^src/"),)),
        ([["edit", {"fileRegex": "^src/"}]], [["edit", {"fileRegex": ".*"}]], ()),
    ],
)
def test_a_new_mode_permits_at_most_what_the_user_s_code_mode_does(
    places: Places, code: list[Any], wanted: list[Any], given: tuple[GroupRule, ...]
) -> None:
    places.users(a_mode("code", "Code", code))
    places.project(a_mode("theirs", "Theirs", wanted))
    loaded = load_modes(places.work, places.user)
    theirs = loaded.get("theirs")
    assert theirs is not None and theirs.groups == given
    assert bool(loaded.held_back) == (len(code) == 0 or wanted != [["edit", {"fileRegex": "^src/"}]])


def test_in_a_trusted_folder_the_project_decides(places: Places) -> None:
    places.project(a_mode("ask", "Ask us"))
    TrustStore(places.user / "trusted.json").trust(places.work)
    ask = discover(places.work, replace(Sources.of(places.work), user=places.user)).modes.get("ask")
    assert ask is not None and ask.name == "Ask us" and len(ask.groups) == 5


def test_what_is_refused_is_in_the_notices(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(places.user))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    places.project(a_mode("architect"))
    (notice,) = notices(settings_in_force(places.work))
    assert ".roomodes:1: the mode 'architect' would replace another" in notice
    TrustStore().trust(places.work)
    assert notices(settings_in_force(places.work)) == ()
