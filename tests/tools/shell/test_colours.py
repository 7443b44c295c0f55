"""Colours of commands: people see them, models and files do not have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.shell.colours import without_colours
from joey.tools.shell.output import HEAD, TAIL, CommandOutput, LiveText
from joey.tools.shell.screen import ROWS, TerminalScreen, as_seen

RED, GREEN, END = "\x1b[31m", "\x1b[32m", "\x1b[0m"


def painted(text: str) -> str:
    screen = TerminalScreen(colours=True)
    return screen.feed(text) + screen.finish()


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        (f"{RED}no{END} yes", f"{RED}no{END} yes"),
        (f"{RED}one\ntwo{END}", f"{RED}one{END}\n{RED}two{END}"),
        ("\x1b[1;31mx\x1b[39my\x1b[my", "\x1b[1;31mx\x1b[0m\x1b[1my\x1b[0my"),
        ("\x1b[38;5;208mo\x1b[48;2;1;2;3mp", "\x1b[38;5;208mo\x1b[0m\x1b[48;2;1;2;3;38;5;208mp\x1b[0m"),
        (f"{RED}50%\r{GREEN}100%{END}", f"{GREEN}100%{END}"),
        (f"{RED}abc{END}\rX", f"X{RED}bc{END}"),
        (f"{RED}abc{END}\r\x1b[Kd", "d"),
        (f"{RED}世{END}x", f"{RED}世{END}x"),
        (f"\x1b]0;title\x07{RED}a\x1b[5nb", f"{RED}ab{END}"),
        ("\x1b[38mx\x1b[38;5my\x1b[999999mz", "xyz"),
    ],
)
def test_a_row_keeps_its_colours_and_stands_for_itself(printed: str, seen: str) -> None:
    assert painted(printed) == seen


STREAM = st.lists(
    st.sampled_from(["a", "bc", "世", "\n", "\r", "\b", "\x1b[K", "\x1b[A", "\x1b[2J", RED, GREEN, END, "\x1b[1;4m"])
).map("".join)


@pytest.mark.property
@given(STREAM, st.integers(0, 60))
def test_without_its_colours_it_is_what_it_would_be_without_colours(text: str, cut: int) -> None:
    screen = TerminalScreen(colours=True)
    in_parts = screen.feed(text[:cut]) + screen.feed(text[cut:]) + screen.finish()
    assert in_parts == painted(text)
    assert without_colours(in_parts) == as_seen(text)


def test_colours_scroll_off_with_their_rows() -> None:
    screen = TerminalScreen(colours=True)
    gone = screen.feed(f"{RED}first{END}\n" + "plain\n" * (ROWS + 5))
    assert gone.startswith(f"{RED}first{END}\nplain\n") and gone.count("\x1b") == 2


def test_the_user_gets_both_ends_in_colour_and_everybody_else_plain_text(tmp_path: Path) -> None:
    output = CommandOutput(tmp_path)
    lines = [f"{GREEN}ok{END} line {n}\n" for n in range(20_000)]
    for start in range(0, len(lines), 100):
        output.feed("".join(lines[start : start + 100]).encode())
    output.finish()
    shown = output.for_user()
    assert shown.startswith(lines[0]) and shown.endswith(lines[-1])
    head, _, rest = shown.partition("\n[...")
    omitted, _, tail = rest.partition(" characters omitted...]\n")
    assert len(without_colours(head)) == HEAD and len(without_colours(tail)) == TAIL
    assert HEAD + TAIL + int(omitted) == len(without_colours("".join(lines)))
    assert "\x1b" not in output.preview()
    assert output.artifact is not None and "\x1b" not in output.artifact.read_text()


def test_what_comes_live_has_colours_and_nothing_else_that_a_terminal_obeys() -> None:
    pieces: list[str] = []
    live = LiveText(pieces.append)
    live.add(f"\x1b]0;title\x07\x1b[2J{RED}no{END}\x1b[1")
    live.flush()
    live.add(";32mgo")
    live.flush()
    assert pieces == [f"{RED}no{END}", "\x1b[1;32mgo"]


def test_what_is_skipped_live_takes_no_half_of_a_colour_with_it() -> None:
    pieces: list[str] = []
    live = LiveText(pieces.append)
    for n in range(8):
        pieces.clear()
        live.add("x" * n + RED + "y" * (16 * 1024 - 2))
        live.flush()
        assert pieces[0].endswith("skipped...]\n" + "y" * (16 * 1024 - 2))
