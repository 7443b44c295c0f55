"""Questions of the terminal's own: what is typed into them is no answer, and none of it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from joey.app.services import TaskLine
from joey.permissions import Granted, Permission
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.picker import TaskPicker
from joey.terminal.screen.prompt import Prompt
from screen_kit import ScratchServices, on_screen, until

WAYS = pytest.mark.parametrize("typed", ["you know", "no, yes", "yn", "nn", "yes\nsir"])
"""What somebody types who did not look up."""


def terminal(folder: Path) -> Interactive:
    return Interactive(ScratchServices(folder, []), gate=KeyGate(quiet=0.1, hold=0.15))


async def type_at_once(app: Interactive, pilot: Pilot[None], text: str) -> None:
    """Keys as a fast typist or a terminal under load sends them: all before the first one is handled."""
    for character in text:
        key = {"\n": "enter", " ": "space", ",": "comma"}.get(character, character)
        app.post_message(events.Key(key, None if character == "\n" else character))
    await pilot.pause(0.4)


async def note(app: Interactive, pilot: Pilot[None], shown: str = "y adds it") -> Path:
    app.query_one(Prompt).put("# tests live next to the code")
    await pilot.press("enter")
    await until(pilot, shown)
    return app.session.services.folder / "AGENTS.md"


@WAYS
async def test_words_typed_at_a_note_are_no_answer_and_stand_in_the_input(tmp_path: Path, typed: str) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        file = await note(app, pilot)
        await type_at_once(app, pilot, typed)
        written = typed.replace("\n", "")
        assert app.query_one(Prompt).text == written and not file.exists()
        assert f"In the input: {written}" in await until(pilot, "Esc goes back to it")
        await pilot.press("escape", "escape")
        await until(pilot, "Esc goes back to it", gone=True)
        assert app.query_one(Prompt).text == written and not file.exists()
        assert "went wrong" not in on_screen(app)


async def test_what_was_begun_before_the_dialog_opened_is_continued_in_the_input(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.query_one(Prompt).put("# tests live next to the code")
        await type_at_once(app, pilot, "\nyes and no")
        assert app.query_one(Prompt).text == "yes and no"
        await pilot.press("backspace", "ctrl+c")
        await until(pilot, "y adds it")
        await pilot.press("y")
        await until(pilot, "Add this to", gone=True)
        await until(pilot, "AGENTS.md")
        assert (app.session.services.folder / "AGENTS.md").exists()


async def test_a_key_answers_a_note_once(tmp_path: Path) -> None:
    for key, adds in (("y", True), ("n", False), ("escape", False)):
        app = terminal(tmp_path / key)
        async with app.run_test() as pilot:
            file = await note(app, pilot)
            await pilot.press(key, *(["enter"] if adds else []))
            await until(pilot, "Add this to", gone=True)
            await pilot.pause(0.3)
            assert file.exists() is adds and app.query_one(Prompt).text == ""
            assert "went wrong" not in on_screen(app)


async def test_a_paste_at_a_note_goes_into_the_input(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        file = await note(app, pilot)
        app.post_message(events.Paste("yes, please"))
        await until(pilot, "In the input: yes, please")
        assert app.query_one(Prompt).text == "yes, please" and not file.exists()


class Permissions:
    """Two that hold, and those that were taken back."""

    def __init__(self) -> None:
        self.granted = [
            Granted(Permission("command", "pytest -q"), "project"),
            Granted(Permission("command", "rm -rf build"), "task"),
        ]
        self.revoked: list[Granted] = []

    def open(self, app: Interactive) -> None:
        app.session.revoke = self.revoked.append  # type: ignore[method-assign,assignment]
        app.show_permissions(self.granted)


@WAYS
async def test_words_typed_at_a_permission_revoke_nothing_and_stand_in_the_input(tmp_path: Path, typed: str) -> None:
    app, permissions = terminal(tmp_path), Permissions()
    async with app.run_test() as pilot:
        permissions.open(app)
        await until(pilot, "Enter or Delete revokes")
        await pilot.press("enter")
        await until(pilot, "y revokes")
        await type_at_once(app, pilot, typed.replace("\n", ""))
        assert not permissions.revoked and app.query_one(Prompt).text == typed.replace("\n", "")
        await pilot.press("escape", "escape", "escape")
        assert "went wrong" not in await until(pilot, "Not asked about again", gone=True)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_keys_of_the_list_of_permissions_are_seen_whole(tmp_path: Path, size: tuple[int, int]) -> None:
    app, permissions = terminal(tmp_path), Permissions()
    async with app.run_test(size=size) as pilot:
        permissions.open(app)
        await until(pilot, "Esc goes back")
        await pilot.press("enter")
        await until(pilot, "n or Esc: no")
        await pilot.press("y")
        await until(pilot, "pytest -q", gone=True)
        assert permissions.revoked == permissions.granted[:1]


async def test_a_list_that_was_chosen_from_twice_at_once_ends_once(tmp_path: Path) -> None:
    app, chosen = terminal(tmp_path), list[str | None]()
    tasks: Sequence[TaskLine] = [TaskLine("1", "completed", "One", Path("/x"), 0.0)]
    async with app.run_test() as pilot:
        app.push_screen(TaskPicker(tasks, "/x"), chosen.append)
        await until(pilot, "One")
        await type_at_once(app, pilot, "\n\n\n")
        await until(pilot, "One", gone=True)
        assert chosen == ["1"] and "went wrong" not in on_screen(app)


async def test_without_colour_the_chosen_line_of_a_list_is_underlined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = terminal(tmp_path)
    tasks = [TaskLine(name, "completed", name, Path("/x"), 0.0) for name in ("One", "Two")]
    async with app.run_test() as pilot:
        app.push_screen(TaskPicker(tasks, "/x"))
        await until(pilot, "Two")
        assert "One" in underlined(app) and "Two" not in underlined(app)
        await pilot.press("down")
        await pilot.pause(0.1)
        assert "Two" in underlined(app) and "One" not in underlined(app)


def underlined(app: Interactive) -> str:
    segments = [segment for strip in app.screen._compositor.render_strips() for segment in strip]
    return "".join(segment.text for segment in segments if segment.style and segment.style.underline)


async def test_keys_that_are_ahead_of_the_menu_take_nothing_from_it(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.press("slash", "u")
        await until(pilot, "/unqueue")
        await type_at_once(app, pilot, "ndo now\n")
        await until(pilot, "There is no task to undo changes of.")
        assert not app.query_one(Prompt).text
