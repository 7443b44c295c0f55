"""What the keyboard sends: any bytes, cut anywhere, with pastes that hold anything."""

from __future__ import annotations

import os
import pty
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.message import Message
from textual.pilot import Pilot

from joey.events import ApprovalAnswered
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.driver import LastingDriver
from joey.terminal.screen.keyboard import Keyboard
from joey.testing.script import reply
from screen_kit import ScratchServices, say, until
from task_kit import call, done
from typist_kit import RandomModel, Tmux

EVIL = "log:\n\x1b[31mred\x1b[0m\ny\n\x1b]0;title\x07é\x07rest\x1b\n\x1b[200~inner\n"
TEXT = "log:\nred\ny\nérest\ninner\n"
PASTE = f"\x1b[200~{EVIL}\x1b[201~".encode()


def unexpected(error: Exception) -> None:
    raise error


def read(*pieces: bytes) -> list[Message]:
    keyboard = Keyboard(unexpected)
    return [message for piece in pieces for message in keyboard.read(piece)]


def shown(messages: Sequence[Message]) -> list[str]:
    """Each key by its name, each paste by its text."""
    return [
        each.key if isinstance(each, events.Key) else f"paste {each.text}"
        for each in messages
        if isinstance(each, (events.Key, events.Paste))
    ]


@pytest.mark.parametrize("wrong", [b"\xff", b"\xe9", b"\xc3", b"\xf0\x9f\x98"])
def test_a_byte_that_is_no_text_is_a_sign_between_the_others(wrong: bytes) -> None:
    assert shown(read(b"a" + wrong + b"b")) == ["a", "replacement_character", "b"]


def test_whatever_is_in_a_paste_is_text() -> None:
    assert shown(read(b"a" + PASTE + b"b")) == ["a", f"paste {TEXT}", "b"]


@pytest.mark.parametrize("cut", range(1, len(PASTE)))
def test_a_paste_may_be_cut_anywhere(cut: int) -> None:
    assert shown(read(PASTE[:cut], PASTE[cut:] + b"y")) == [f"paste {TEXT}", "y"]


def test_a_paste_may_come_byte_by_byte() -> None:
    assert shown(read(*(PASTE[at : at + 1] for at in range(len(PASTE))))) == [f"paste {TEXT}"]


def test_the_lines_of_a_paste_may_end_in_any_way() -> None:
    assert shown(read(b"\x1b[200~a\r\nb\rc\nd\x1b[201~")) == ["paste a\nb\nc\nd"]


def test_a_large_paste_costs_no_more_than_its_length() -> None:
    text, began = "a line of text\n" * 200_000, time.process_time()
    whole = f"\x1b[200~{text}\x1b[201~".encode()
    pieces = [whole[at : at + 4096] for at in range(0, len(whole), 4096)]
    assert shown(read(*pieces)) == [f"paste {text}"]
    assert time.process_time() - began < 10


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_mark_may_even_be_cut_behind_its_escape_for_a_while() -> None:
    clock = Clock()
    keyboard = Keyboard(unexpected, clock)
    assert shown([*keyboard.read(b"\x1b")]) == []
    clock.now = 0.5
    assert shown([*keyboard.tick()]) == ["escape"]
    assert shown([*keyboard.read(b"[200~y\n\x1b[201~")]) == ["paste y\n"]


def test_other_keys_are_what_they_were() -> None:
    clock = Clock()
    keyboard = Keyboard(unexpected, clock)
    assert shown([*keyboard.read(b"\x1b[A\x1b[2~\x1b[1;5F")]) == ["up", "insert", "ctrl+end"]
    assert shown([*keyboard.read(b"\x1b[2"), *keyboard.read(b"~\x1b"), *keyboard.read(b"[B")]) == ["insert", "down"]


def test_keys_that_cannot_be_read_are_reported_and_the_next_ones_are_read() -> None:
    failed: list[Exception] = []
    keyboard = Keyboard(failed.append)
    assert shown([*keyboard.read(b"a\x1b[99999999;2ub"), *keyboard.read(b"c")]) == ["a", "c"]
    assert [type(each) for each in failed] == [ValueError] or [type(each) for each in failed] == [OverflowError]


def drive(app: Interactive, data: bytes, broken: list[Exception]) -> LastingDriver:
    """A driver that reads these bytes from a terminal to its end."""
    controller, terminal = pty.openpty()
    driver = LastingDriver(app, size=(80, 24))
    driver.fileno, driver.broken = terminal, broken.append
    os.set_blocking(controller, True)
    os.write(controller, data + b"\n")
    driver.exit_event.set()
    driver.run_input_thread()
    os.close(controller)
    os.close(terminal)
    return driver


async def test_any_error_while_reading_is_reported_and_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_keyboard: Keyboard, _data: bytes, *, final: bool = False) -> Sequence[Message]:
        raise RuntimeError("nobody expected this")

    monkeypatch.setattr(Keyboard, "read", fails)
    broken: list[Exception] = []
    drive(Interactive(ScratchServices(tmp_path, [])), b"a", broken)
    assert [str(each) for each in broken] == ["nobody expected this"]


@pytest.mark.expects_errors
async def test_where_no_key_can_be_read_joey_ends_in_order_and_keeps_the_draft(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))

    async def lose_the_keyboard(pilot: Pilot[None]) -> None:
        await pilot.press(*"draft")
        app._end_by_error(RuntimeError("no keyboard"))

    await app.run_async(headless=True, size=(80, 24), auto_pilot=lose_the_keyboard)
    assert "RuntimeError: no keyboard (details: " in app.failure
    assert "\n" not in app.failure
    assert app.session.history.read() == ["draft"]


async def test_a_paste_answers_nothing(tmp_path: Path) -> None:
    services = ScratchServices(
        tmp_path, [reply("", call("w", "write_to_file", path="a.txt", file_text="a\n")), done()], "ask"
    )
    app = Interactive(services)

    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "go")
        await until(pilot, "yes, once")
        app.post_message(events.Paste("y"))
        await pilot.pause(0.6)
        await pilot.press("ctrl+c")
        await until(pilot, "yes, once")
        await pilot.pause(0.6)
        await pilot.press("y")  # it is held
        app.post_message(events.Paste("es, but\nanother way\n"))
        await pilot.pause(0.6)
        await until(pilot, "yes, but")
        assert not [each for each in services.events if isinstance(each, ApprovalAnswered)]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_terminal_lives_on_after_such_bytes_and_pastes(tmp_path: Path) -> None:
    folder, home, model = tmp_path / "project", tmp_path / "home", RandomModel(1)
    folder.mkdir()
    home.mkdir()
    variables = {"HOME": str(home), "OPENAI_API_KEY": "x", "XDG_STATE_HOME": str(home / "state"), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m joey --model openai/m --base-url {model.url} --api chat"
    terminal = Tmux(tmp_path / "tmux", command, folder, variables)
    try:
        terminal.wait_for("code mode")
        terminal.keys("-H", "61", "ff", "62")
        terminal.wait_for("a�b")
        terminal.keys("-H", *(f"{byte:02x}" for byte in PASTE))
        screen = terminal.wait_for("a�blog:")
        assert "red" in screen
        assert "érest" in screen
        assert not model.requests
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()
