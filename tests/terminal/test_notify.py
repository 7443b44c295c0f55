"""Telling the user that it is their turn, and the theme that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.theme import BUILTIN_THEMES

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.config.keys import THEMES
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    Event,
    QuestionRequested,
    TaskFinished,
    TaskStarted,
    TextDelta,
)
from joey.terminal.notify import Notifier, codes_for, start, words_for
from joey.terminal.screen.app import Interactive
from screen_kit import ScratchServices, say, until
from task_kit import done

APPROVAL = ApprovalRequested("a", "c", "execute_command", {}, "why")


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (APPROVAL, "Approval required: execute_command"),
        (QuestionRequested("q", "Which\nport?"), "Which port?"),
        (CompletionRequested("c", "…"), "Task completed"),
        (TaskFinished("completed"), "Task completed"),
        (TaskFinished("error", "no network"), "Task ended: error. no network"),
        (TextDelta("a; b"), ""),
    ],
)
def test_the_words_say_why_it_is_the_users_turn(event: Event, words: str) -> None:
    assert words_for(event) == words


def test_each_terminal_gets_what_it_shows() -> None:
    assert codes_for("bell", "x", {}) == "\a"
    assert codes_for("osc9", "a; b", {}) == "\x1b]9;Joey: a, b\a"
    assert codes_for("osc777", "x", {}) == "\x1b]777;notify;Joey;x\a"
    assert codes_for("off", "x", {"TERM_PROGRAM": "iTerm.app"}) == ""
    assert codes_for("auto", "x", {"TERM": "xterm-256color"}) == "\a"
    assert "\x1b]9;" in codes_for("auto", "x", {"TERM_PROGRAM": "WezTerm"})
    assert "\x1b]777;" in codes_for("auto", "x", {"TERM": "foot-extra"})


def test_a_user_who_looks_at_the_terminal_is_not_told_unless_they_want_it() -> None:
    written: list[str] = []
    ran: list[Sequence[str]] = []
    notifier = Notifier("bell", "notify-send 'My Joey'", write=written.append, run=ran.append)
    notifier.tell(APPROVAL, focused=True)
    notifier.tell(TextDelta("x"), focused=False)
    assert (written, ran) == ([], [])
    notifier.tell(APPROVAL, focused=False)
    assert (written, ran) == (["\a"], [["notify-send", "My Joey", "Approval required: execute_command"]])
    replace(notifier, always=True, command="broken '").tell(APPROVAL, focused=True)
    assert written == ["\a", "\a"] and len(ran) == 1


def test_the_models_words_are_no_option_of_the_users_command() -> None:
    ran: list[Sequence[str]] = []
    Notifier(command="notify-send Joey", run=ran.append).tell(QuestionRequested("q", "--action=x"), focused=False)
    assert ran == [["notify-send", "Joey", " --action=x"]]


def test_a_command_that_is_not_there_is_no_trouble() -> None:
    start(["/nowhere/notify"])


async def test_the_terminal_tells_when_it_waits_and_is_not_looked_at(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    written: list[str] = []
    app.notifier = Notifier("osc9", write=written.append)
    async with app.run_test() as pilot:
        app.watch_task("t", TaskStarted("go", "code", "m", "native"))
        app.watch_task("t", APPROVAL)
        await until(pilot, "Approval required")
        assert written == []
        app.app_focus = False
        app.watch_task("t", TextDelta("more"))
        app.watch_task("t", TaskFinished("completed"))
        await pilot.pause(0.1)
        assert written == ["\x1b]9;Joey: Task completed\a"]


async def test_who_accepts_a_result_is_not_told_that_the_task_is_completed(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, [done()]))
    written: list[str] = []
    app.notifier = Notifier("osc9", always=True, write=written.append)
    async with app.run_test() as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await pilot.pause(0.6)
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await pilot.pause(0.2)
        assert written == ["\x1b]9;Joey: Task completed\a"]


# Themes


def test_every_theme_is_one_that_textual_has() -> None:
    assert {f"textual-{name}" if name in ("dark", "light") else name for name in THEMES} <= set(BUILTIN_THEMES)


async def test_a_theme_is_kept_for_the_next_time(tmp_path: Path) -> None:
    first = ScratchServices(tmp_path, [])
    app = Interactive(first)
    async with app.run_test() as pilot:
        await say(pilot, "/theme")
        await until(pilot, "gruvbox")
        await say(pilot, "/theme nord")
        await until(pilot, "The theme is nord")
        assert app.theme == "nord"
        await say(pilot, "/theme nrd")
        await until(pilot, "There is no theme 'nrd'. Did you mean 'nord'?")
        assert first.kept == {"terminal.theme": "nord"}
    second = ScratchServices(tmp_path / "second", [])
    second.kept = first.kept
    app = Interactive(second)
    async with app.run_test() as pilot:
        assert app.theme == "nord"
        await say(pilot, "/theme auto")
        await until(pilot, "The theme is auto")
        assert app.theme in ("textual-dark", "textual-light") and second.kept == {"terminal.theme": "auto"}


def test_what_is_kept_is_a_setting_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    services = Services(TaskOptions(tmp_path))
    assert services.setting("terminal.theme") == "auto"
    services.keep_setting("terminal.theme", "light")
    assert services.setting("terminal.theme") == "light"
    assert 'theme = "light"' in (tmp_path / "config" / "joey" / "config.toml").read_text()
