"""Is there a browser? Asked without starting one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from joey.app.sources import settings_in_force
from joey.app.tools import discover, tools_of
from joey.modes.builtin import CODE
from joey.system.installation import add_extra
from joey.tools.browser.chromium import find_chromium, why_no_browser


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that is all there is."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path) -> Path:
    path.touch(mode=0o755)
    return path


def test_a_browser_is_found_by_its_names_or_by_the_users_choice(programs: Path) -> None:
    edge = program(programs / "microsoft-edge")
    assert find_chromium() == str(edge)
    chromium, other = program(programs / "chromium"), program(programs / "my browser")
    assert find_chromium() == str(chromium)
    assert find_chromium("microsoft-edge") == str(edge) and find_chromium(str(other)) == str(other)
    assert find_chromium(str(programs / "gone")) is None


@pytest.mark.usefixtures("programs")
def test_what_is_missing_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no Chromium was found" in (why_no_browser() or "") and "browser.program" in (why_no_browser() or "")
    assert "browser.program names gone" in (why_no_browser("gone") or "")
    monkeypatch.setitem(sys.modules, "playwright", None)  # as if it were not installed
    assert why_no_browser() == f"Playwright is not installed: {add_extra('browser')}"


@pytest.mark.parametrize(
    ("present", "sees_images", "offered"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_the_tool_is_offered_where_there_is_a_browser_and_a_model_that_sees(
    programs: Path, monkeypatch: pytest.MonkeyPatch, present: bool, sees_images: bool, offered: bool
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(programs / "config"))
    if present:
        program(programs / "chromium")
    config = settings_in_force(programs)
    toolset = tools_of(discover(programs), "anthropic/claude", config, sees_images=sees_images)(CODE)
    assert ("browser_action" in [each.name for each in toolset.offered]) is offered
    withheld = {each.name: each.reason for each in toolset.withheld}
    assert offered or "joey doctor" in withheld["browser_action"]
