"""What an ignore file lists is never shown: by no tool that reads, through no link, in no letter case."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.messages import TextBlock, ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.policy.paths import Workspace
from joey.task.environment import project_structure
from joey.task.mentions import WorkspaceSources
from joey.task.profiles.small.details import brief_details
from joey.tools.base import ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.toolset import ToolChoices, build_toolset

NEEDLE = "NEEDLE"
INSIDE = "inside_of_it"
"""In the name of each file that lies in an ignored folder."""


class Ignoring:
    def __init__(self, folder: Path) -> None:
        self.work, self.outside = folder / "work", folder / "outside"
        for name in ("Secret", "target", "open", "open/Private", "deep/er"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        self.outside.mkdir()
        hidden = [
            f"Secret/{INSIDE}.py", f"target/{INSIDE}.py", f"open/Private/{INSIDE}.py", f"{INSIDE}.KEY",
            f"deep/er/{INSIDE}.key", f"Secret/no-text-\udcff-{INSIDE}.py",
        ]  # fmt: skip
        for name in hidden:
            (self.work / name).write_text(f"def {NEEDLE}():\n    return 1\n")
        (self.work / "open/plain.py").write_text("def plain():\n    return 2\n")
        (self.work / "to-folder").symlink_to("Secret")
        (self.work / f"to-{INSIDE}.py").symlink_to(f"Secret/{INSIDE}.py")
        (self.work / "open/up").symlink_to("../Secret", target_is_directory=True)
        (self.work / "alias").symlink_to("target")  # the link is listed; what it leads to has another name
        (self.outside / "back").symlink_to(self.work / "Secret")
        (self.work / "round").symlink_to(self.outside)
        (self.work / ".joeyignore").write_text("secret/\n*.Key\nopen/private/**\nalias\n")
        self.paths = Workspace.of(self.work)

    @property
    def context(self) -> ToolContext:
        return ToolContext(self.work, self.work.parent / "storage", ignored=self.paths.hides)

    async def call(self, name: str, **arguments: object) -> ToolResult:
        tools = builtin_tools(BuiltinOptions())
        choices = ToolChoices(features=frozenset({"codebase_index"}))
        resolved = Registry(build_toolset(CODE, tools, choices=choices)).resolve(ToolUseBlock("1", name, arguments))
        assert isinstance(resolved, ResolvedCall), resolved
        plan = await resolved.tool.plan(resolved.params, self.context)
        return plan.refusal or await plan.execute()


@pytest.fixture
def ignoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ignoring:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Ignoring(tmp_path)


PLACES = [
    ".", "Secret", "secret", "SECRET/", "./Secret/../Secret", "to-folder", "to-folder/", "target", "alias", "open",
    "open/up", "open/Private", "round", "round/back", "deep", f"Secret/{INSIDE}.py", f"to-{INSIDE}.py",
    f"to-folder/{INSIDE}.py", f"alias/{INSIDE}.py", f"target/{INSIDE}.py", f"round/back/{INSIDE}.py", f"{INSIDE}.KEY",
    f"open/up/{INSIDE}.py", f"deep/er/{INSIDE}.key", f"open/Private/{INSIDE}.py",
]  # fmt: skip


def shows_nothing(result: ToolResult, place: str) -> None:
    text = result.text.replace(place, "") if place else result.text
    assert NEEDLE not in text, text
    assert INSIDE not in text, text


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("pattern", [None, "*", "**/*.py", f"*{INSIDE}*"])
async def test_searching_finds_nothing_in_it(ignoring: Ignoring, place: str, pattern: str | None) -> None:
    for regex in (NEEDLE, "return 1", "(?s)def.*"):
        shows_nothing(await ignoring.call("search_files", path=place, regex=regex, file_pattern=pattern), place)


@pytest.mark.parametrize("place", PLACES)
async def test_listing_and_reading_show_nothing_of_it(ignoring: Ignoring, place: str) -> None:
    shows_nothing(await ignoring.call("list_files", path=place, recursive=True), place)
    shows_nothing(await ignoring.call("list_files", path=place), place)
    shows_nothing(await ignoring.call("read_file", path=place), place)
    shows_nothing(await ignoring.call("read_file", path=f"{place}/missing.py"), place)


@pytest.mark.parametrize("place", PLACES)
async def test_mentioning_it_shows_nothing_of_it(ignoring: Ignoring, place: str) -> None:
    blocks = await WorkspaceSources(ignoring.paths).path(place) or ()
    shows_nothing(ToolResult(tuple(block for block in blocks if isinstance(block, TextBlock))), place)


@pytest.mark.parametrize("place", [".", "Secret", "to-folder", "alias", "target", "open"])
async def test_the_index_holds_nothing_of_it(ignoring: Ignoring, place: str) -> None:
    shows_nothing(await ignoring.call("codebase_search", query="def return 1", path=place), place)


async def test_what_is_ignored_after_it_was_indexed_is_not_found_any_more(ignoring: Ignoring) -> None:
    rules = ignoring.work / ".joeyignore"
    text = rules.read_text()
    rules.unlink()
    ignoring.paths = Workspace.of(ignoring.work)
    assert INSIDE in (await ignoring.call("codebase_search", query="def return 1")).text
    rules.write_text(text)
    ignoring.paths = Workspace.of(ignoring.work)
    shows_nothing(await ignoring.call("codebase_search", query="def return 1"), "")


def test_the_project_as_the_model_is_informed_of_it_has_nothing_of_it(ignoring: Ignoring) -> None:
    for text in (project_structure(ignoring.context), brief_details(ignoring.context)):
        assert INSIDE not in text and "plain.py" in text


async def test_what_is_not_listed_is_found(ignoring: Ignoring) -> None:
    assert "plain" in (await ignoring.call("search_files", path=".", regex="plain")).text
    assert "plain.py" in (await ignoring.call("list_files", path="open")).text
