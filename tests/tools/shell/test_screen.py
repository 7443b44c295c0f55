from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.tools.shell.screen import ROWS, TerminalScreen, as_seen
from vectors_data import cases

STAYS = "a terminal's backspace only moves back: what is not written over stays on the screen"
EXCEPTIONS = {
    "truncateOutput > processBackspaces > should handle backspaces with newlines": STAYS,
    "truncateOutput > processBackspaces > should handle consecutive backspaces": STAYS,
    "truncateOutput > processBackspaces > should handle backspaces at end of input": STAYS,
    "truncateOutput > processBackspaces > should handle complex mixed content with backspaces": STAYS,
}


@pytest.mark.parametrize(
    "case",
    cases("roo/functions", fn="processBackspaces") + cases("roo/functions", fn="processCarriageReturns"),
    ids=lambda case: case["test"],
)
def test_returns_and_backspaces_look_as_recorded(case: Any) -> None:
    text, seen = case["args"][0], as_seen(case["args"][0])
    assert seen == teletype(text)
    if case["test"] in EXCEPTIONS:
        assert seen != case["out"], "no longer an exception"
    elif seen != case["out"]:
        # The same reason in a case not listed here: the recording deletes where a terminal only moves.
        assert case["fn"] == "processBackspaces" and len(case["out"]) < len(seen)


def teletype(text: str) -> str:
    """What is on the paper in the end, one character at a time: a second opinion, too slow to be the first."""
    rows: list[list[str]] = [[]]
    row = column = 0
    for character in text:
        if character == "\n":
            rows.append([])
            row, column = row + 1, 0
        elif character == "\r":
            column = 0
        elif character == "\b":
            column = max(0, column - 1)
        else:
            for cell in (character, "") if unicodedata.east_asian_width(character) in "WF" else (character,):
                cells = rows[row]
                cells += [" "] * (column + 1 - len(cells))
                if cells[column] == "" and cell and column:
                    cells[column - 1] = " "
                cells[column] = cell
                column += 1
                if cells[column : column + 1] == [""]:
                    cells[column] = " "
    return "\n".join("".join(cells) for cells in rows)


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("plain\n", "plain\n"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("working |\b/\b-\bdone\n", "working done\n"),
        ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
        ("\x1b]0;a title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "text link\n"),
        ("old text\r\x1b[Knew\n", "new\n"),
        ("abc\x1b[2Dx\n", "axc\n"),
        ("one: 0\ntwo: 0\n\x1b[2A\x1b[2Kone: 9\n\x1b[2Ktwo: 8\n", "one: 9\ntwo: 8\n"),
        ("above\n\x1b[2J\x1b[Hbelow\n", "above\n\nbelow\n"),
        ("a\x00b\x07c\x7f\n", "abc\n"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("no newline", "no newline"),
        ("half a sequence \x1b[3", "half a sequence "),
    ],
)
def test_output_looks_as_on_a_terminal(printed: str, seen: str) -> None:
    assert as_seen(printed) == seen


def test_rows_that_scrolled_off_are_final() -> None:
    screen = TerminalScreen()
    gone = screen.feed("".join(f"{number}\n" for number in range(ROWS + 10)))
    assert gone == "".join(f"{number}\n" for number in range(11))
    assert screen.feed("\x1b[999A\rX") == ""
    assert screen.visible.startswith("X1\n")


def test_memory_is_bounded_without_line_ends() -> None:
    screen = TerminalScreen()
    total = 0
    for _ in range(100):
        total += len(screen.feed("x" * 10_000))
        assert len(screen.visible) <= 80_000
    assert total + len(screen.visible) == 1_000_000


@pytest.mark.parametrize(
    ("stream", "seen"),
    [
        ("世界\rab", "ab界"),
        ("世界\ra", "a 界"),
        ("a世b\r\x1b[3Cx", "a世x"),
        ("a世b\r\x1b[2Cx", "a xb"),
        ("進捗 10%\r進捗 100%", "進捗 100%"),
        ("👋 hi\b\bHI", "👋 HI"),
        ("ab\r世", "世"),
    ],
)
def test_a_wide_character_takes_two_columns(stream: str, seen: str) -> None:
    assert as_seen(stream) == seen
    assert as_seen(f"{stream}\n{'x' * 10}\n" * (ROWS + 5)).startswith(seen)


TERMINAL_TEXT = st.lists(
    st.sampled_from(
        ["a", "bc", "é", "😀", "\n", "\r", "\b", "\r\n", "\t", "\x1b[K", "\x1b[A", "\x1b[2J", "\x1b[31m", "\x1b"]
    )
    | st.text(max_size=3)
).map("".join)


@pytest.mark.property
@given(TERMINAL_TEXT, st.lists(st.integers(0, 200)))
def test_how_the_stream_is_cut_changes_nothing(text: str, cuts: list[int]) -> None:
    screen, seen, start = TerminalScreen(), "", 0
    for cut in sorted(min(cut, len(text)) for cut in cuts):
        seen += screen.feed(text[start:cut])
        start = cut
    seen += screen.feed(text[start:])
    assert seen + screen.finish() == as_seen(text)


@pytest.mark.property
@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\r\b")))
def test_a_slow_teletype_agrees(text: str) -> None:
    assert as_seen(text) == teletype(text)
