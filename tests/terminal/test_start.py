"""How the terminal starts: the first frame, the first screen, a first message, and choosing a task to resume."""

from __future__ import annotations

import os
import pty
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input

from joey.app.services import Choices, TaskLine
from joey.cli import with_command
from joey.system.place import NamedPlace, place_of
from joey.terminal.first_frame import PLACEHOLDER, first_frame, frame
from joey.terminal.notify import WindowTitle
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.picker import TaskPicker, matching, task_line
from joey.terminal.screen.typeahead import TypeaheadApp
from joey.terminal.welcome import welcome
from joey.testing.script import reply
from screen_kit import ScratchServices, on_screen, say, until
from task_kit import done


@pytest.mark.parametrize(
    ("args", "command"),
    [
        ([], ["interactive"]),
        (["fix the tests"], ["interactive", "fix the tests"]),
        (["--model", "a/b", "go"], ["interactive", "--model", "a/b", "go"]),
        (["-c"], ["interactive", "-c"]),
        (["-p", "fix it"], ["run", "fix it"]),
        (["-c", "--print", "fix it"], ["run", "-c", "fix it"]),
        (["tasks", "-p"], ["tasks", "-p"]),
        (["taks"], ["taks"]),
    ],
)
def test_what_is_typed_without_a_command(args: list[str], command: list[str]) -> None:
    assert with_command(args) == command


# Where it works


def test_a_folder_is_named_as_a_person_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "src").mkdir()
    assert str(place_of(tmp_path / "src")) == "~/src"
    assert place_of(tmp_path).folder == "~"
    assert place_of(Path("/usr")).folder == "/usr"


def test_the_branch_is_read_from_the_repository_around_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/feature/x\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    assert place_of(inner).branch == "feature/x"
    (tmp_path / ".git/HEAD").write_text("0123456789abcdef\n")
    assert place_of(inner).branch == "01234567"
    (inner / ".git").write_text("gitdir: ../tree\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/HEAD").write_text("ref: refs/heads/side\n")
    assert place_of(inner).branch == "side"


@pytest.mark.parametrize("head", [b"", b"\xff\xfe", None])
def test_an_odd_repository_has_some_branch_or_none(tmp_path: Path, head: bytes | None) -> None:
    (tmp_path / ".git").mkdir()
    if head is not None:
        (tmp_path / ".git/HEAD").write_bytes(head)
    assert place_of(tmp_path).branch == ""


# The first frame


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (20, 5), (4, 2)])
def test_the_first_frame_fills_the_screen_and_no_more(width: int, height: int) -> None:
    drawn = frame(welcome(NamedPlace("~/a\x1b[2Jb" * 9, "main"), "a/b", ""), "~/a\x1b[2Jb", "starting", width, height)
    lines = drawn.removeprefix("\x1b[2m").removesuffix("\x1b[0m").split("\n")
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)
    assert (PLACEHOLDER in drawn) is (width >= 80)


def test_every_key_that_is_pressed_at_the_first_frame_is_kept_also_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    controller, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    with os.fdopen(terminal, "r+b", buffering=0) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(sys, "stdout", stream)
        with first_frame("Joey", "~", "starting") as settings:
            os.write(controller, b"ab\x03\x1a\x1cc\r")
            assert os.read(terminal, 20) == b"ab\x03\x1a\x1cc\r"
        assert settings == before == termios.tcgetattr(terminal)
    os.close(controller)


async def test_the_first_screen_says_where_it_is_what_it_may_do_and_how_to_go_on(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []), Choices("code", "a/b"))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await until(pilot, "folder     ~/project (main)")
        for part in ("model      a/b", "approvals  ask", "/ commands · @ files · ? keys", " ~/project (main) ─╯"):
            assert part in screen


async def test_the_folder_and_the_profile_stay_in_view(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, [reply("word\n\n" * 60), done()]), Choices("code", "a/b"))
    async with app.run_test(size=(60, 24)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        screen = await until(pilot, "approvals", gone=True)
        assert "~/project (main) ─╯" in screen
        assert "approve: all" in screen.splitlines()[-1], "the profile of the task that runs"


class SlowToStart(TypeaheadApp):
    """The user types before there is an input."""

    def on_load(self) -> None:
        for key in "now":
            self.post_message(Key(key, key))

    def compose(self) -> ComposeResult:
        yield Input()


class SwitchedBranch(ScratchServices):
    branch = "main"

    def place(self) -> NamedPlace:
        return NamedPlace("~/project", self.branch)


async def test_the_branch_in_view_is_the_one_that_a_command_switched_to(tmp_path: Path) -> None:
    services = SwitchedBranch(tmp_path, [done("I switched the branch.")])
    app = Interactive(services)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, "~/project (main) ─╯")
        services.branch = "feature"
        await say(pilot, "switch")
        await until(pilot, "~/project (feature) ─╯")


async def test_what_is_typed_before_the_input_is_there_is_typed_into_it() -> None:
    app = SlowToStart()
    async with app.run_test() as pilot:
        await pilot.press("x")
        assert app.query_one(Input).value == "nowx"


async def test_a_prompt_of_the_command_line_is_the_first_message(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, [done()]), first="build it")
    async with app.run_test() as pilot:
        await until(pilot, "Enter accepts")
        assert "› build it" in on_screen(app)


# Choosing a task

TASKS = [
    TaskLine("20261116-1", "open", "Add an endpoint", Path("/here"), 1_794_000_000.0),
    TaskLine("20261115-2", "completed", "Rename\nthe parser", Path("/there"), 1_793_900_000.0),
]


@pytest.mark.parametrize(
    ("words", "found"), [("", 2), ("ENDPOINT", 1), ("the rename", 1), ("2026111", 2), ("/there", 1), ("x y", 0)]
)
def test_a_search_finds_every_word_anywhere(words: str, found: int) -> None:
    assert len(matching(TASKS, words)) == found


def test_a_task_is_one_line_with_its_date() -> None:
    line = task_line(TASKS[1], "/here").plain
    assert line.startswith("2026-11-") and "completed" in line and line.endswith("/there")
    assert "\n" not in line and "/here" not in task_line(TASKS[0], "/here").plain


async def test_every_list_of_tasks_has_the_same_title(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [done()])
    await services.kit.run("Please fix @/src/a.py\n\nIt fails.")
    [task] = services.tasks()
    assert services.kit.task is not None
    assert task.title == services.kit.store.find(services.kit.task.id).title == "Fix src/a.py"
    assert "Fix src/a.py" in task_line(task, "").plain and matching([task], "fails") == [task]


async def test_a_task_is_chosen_and_resumed(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [done("d1"), done("d2")])
    app = Interactive(services)
    async with app.run_test(size=(100, 30)) as pilot:
        for text in ("first thing", "second thing"):
            await say(pilot, text)
            await until(pilot, "Enter accepts")
            await pilot.pause(0.6)
            await pilot.press("enter")
            await until(pilot, "Enter accepts", gone=True)
            await say(pilot, "/new")
            await until(pilot, "starts a new task")
        await say(pilot, "/sessions")
        await pilot.pause(0.1)
        assert isinstance(app.screen, TaskPicker)
        screen = await until(pilot, "2 of 2 tasks")
        assert "Second thing" in screen
        await pilot.press(*"first")
        await until(pilot, "1 of 2 tasks")
        await pilot.press("enter")
        await until(pilot, "type a message to continue")
        assert "› first thing" in on_screen(app)
        assert app.session.choices.resume == services.tasks()[1].task_id


async def test_keys_in_the_list_of_tasks_that_come_at_once_take_effect_in_their_order(tmp_path: Path) -> None:
    class Listed(ScratchServices):
        def tasks(self) -> Sequence[TaskLine]:
            return TASKS

    app = Interactive(Listed(tmp_path, []), first="/resume")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, "2 of 2 tasks")
        for key in (*"xyz", *["backspace"] * 3, *"rename"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await until(pilot, "1 of 2 tasks")
        assert app.screen.query_one(Input).value == "rename"


async def test_escape_leaves_the_list_and_nothing_is_resumed(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []), first="/resume")
    async with app.run_test() as pilot:
        await until(pilot, "0 of 0 tasks")
        await pilot.press("enter", "escape")
        await until(pilot, "0 of 0 tasks", gone=True)
        assert app.session.choices.resume is None


class SlowList(ScratchServices):
    """Tasks are read slowly. What the user types at the start, and meanwhile."""

    at_start: Callable[[], object] = staticmethod(lambda: None)
    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def notices(self) -> Sequence[str]:
        self.at_start()
        return []

    def tasks(self) -> Sequence[TaskLine]:
        self.meanwhile()
        time.sleep(0.1)
        return TASKS


@pytest.mark.parametrize("when", ["at_start", "meanwhile"])
async def test_what_is_typed_before_the_list_of_tasks_is_there_is_a_search_and_never_sent(
    tmp_path: Path, when: str
) -> None:
    def type_and_send() -> None:
        for key in (*"rename", "enter", *" the", "enter"):
            app.post_message(Key(key, key if len(key) == 1 else None))

    services = SlowList(tmp_path, [done()])
    setattr(services, when, type_and_send)
    app = Interactive(services, first="/resume")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await until(pilot, "1 of 2 tasks")
        assert "rename the" in screen and isinstance(app.screen, TaskPicker)
        await pilot.press("escape")
        await until(pilot, "1 of 2 tasks", gone=True)
        assert "› " not in on_screen(app) and not services.events and app.session.choices.resume is None


# The window's title


def test_the_title_is_written_once_and_given_back() -> None:
    written: list[str] = []
    title = WindowTitle(written.append)
    title.show("", "~/project")
    title.show("Fix\x1b]2;evil\x07 the parser\nand more", "~/project")
    title.show("Fix\x1b]2;evil\x07 the parser\nand more", "~/project")
    title.give_back()
    title.give_back()
    assert len(written) == 3
    assert written[0] == "\x1b[22;2t\x1b]2;~/project · joey\x07"
    assert written[1].count("\x1b") == 1 and written[1].endswith(" the parser · joey\x07")
    assert written[2] == "\x1b[23;2t"
