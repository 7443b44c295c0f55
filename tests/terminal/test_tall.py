"""Long entries are laid out where they are looked at, and look there as they would as a whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich._wrap import divide_line
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from textual.visual import RichVisual

from joey.terminal.drawing import Look, inked
from joey.terminal.quoted import Quoted
from joey.terminal.screen import tall as tall_module
from joey.terminal.screen import transcript_view
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.tall import PIECE, count_rows, tall
from joey.terminal.screen.transcript_view import EntryView, TranscriptView
from joey.terminal.transcript import Growing, UserCommand, UserText
from screen_kit import ScratchServices, on_screen, until

CONSOLE = Console(width=40, color_system=None, legacy_windows=False)
LINES = st.lists(st.text("ab  \t界-", max_size=100), min_size=1, max_size=20)


def rows(drawn: RenderableType, width: int) -> list[str]:
    lines = CONSOLE.render_lines(drawn, CONSOLE.options.update(width=width), pad=False)
    return ["".join(part.text for part in line).rstrip() for line in lines]


@pytest.mark.property
@settings(max_examples=100)
@given(LINES, st.integers(4, 60))
def test_rows_are_counted_as_they_are_drawn(lines: list[str], width: int) -> None:
    text = Text("\n".join(lines))
    for drawn in (text, Padding(text, (0, 0, 0, 2)), Quoted(text), Padding(Quoted(text, "? ", "  "), (1, 0, 1, 1))):
        assert count_rows(drawn, width, CONSOLE, CONSOLE.options) == len(rows(drawn, width))


@pytest.mark.property
@settings(max_examples=200)
@given(st.lists(st.text("abc   \t-", max_size=60), min_size=1, max_size=20), st.integers(2, 20))
def test_rows_of_usual_letters_are_counted_as_they_are_drawn(lines: list[str], width: int) -> None:
    text = Text("\n".join(lines))
    assert count_rows(text, width, CONSOLE, CONSOLE.options) == len(rows(text, width))


def test_the_pieces_are_the_whole() -> None:
    many = 3 * PIECE + 7
    body = inked("\n".join(f"line {n} " + "word " * (n % 12) for n in range(many)), "dim")
    drawn = Group(Quoted(Text("a headline"), "", "  "), Padding(Quoted(body, "› ", "  "), (0, 0, 0, 2)))
    pieces = tall(drawn)
    assert pieces is not None and len(pieces.pieces) == 5
    assert [row for piece in pieces.pieces for row in rows(piece, 30)] == rows(drawn, 30)
    assert pieces.height(30, CONSOLE, CONSOLE.options) == len(rows(drawn, 30))
    assert tall(Group(Text("a\n" * 100))) is None


def test_a_place_is_found_in_the_row_where_it_is_drawn() -> None:
    drawn = Padding(Text("\n".join(f"line {n} has a needle here" for n in range(2_500))), (0, 0, 0, 2))
    pieces = tall(drawn)
    assert pieces is not None
    options = CONSOLE.options.update(width=20)
    for nth in (0, 499, 500, 1_777, 2_499):
        row = pieces.find(re.compile("needle"), nth).found_row(CONSOLE, options)
        assert "needle" in rows(drawn, 20)[row] and sum("needle" in each for each in rows(drawn, 20)[:row]) == nth


async def test_unfolding_lays_out_what_is_in_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out = list[RichVisual]()

    class Counted(RichVisual):
        def __init__(self, widget: EntryView, renderable: RenderableType) -> None:
            super().__init__(widget, renderable)
            laid_out.append(self)

    monkeypatch.setattr(transcript_view, "RichVisual", Counted)
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 24)) as pilot:
        output = "\n".join(f"output {n}{' needle' if n == 8_000 else ''}" for n in range(12_000))
        command = UserCommand("seq", True)
        command.output = Growing(output)
        app.transcript.entries += [UserText("first"), command]
        app.query_one(TranscriptView).catch_up()
        await until(pilot, "output 11999")
        assert "more lines" in on_screen(app)
        await pilot.press("ctrl+o")
        await until(pilot, "more lines", gone=True)
        assert "output 11999" in await until(pilot, "output 11990")
        assert 0 < len(laid_out) < 6, "of 25 pieces"
        await pilot.press("ctrl+f", *"needle")
        await until(pilot, "output 8000 needle")
        assert len(laid_out) < 40, "a few for each key of the search"
        await pilot.press("escape", "ctrl+o")
        await until(pilot, "more lines")


LOGS = {
    "that wraps": "src/part/file_{n}.py:{n}: " + "words of a log " * 8,
    "with tabs": "ok\t{n}\tand more",
}


@pytest.mark.parametrize("line", LOGS.values(), ids=LOGS)
async def test_an_output_of_33_000_lines_is_unfolded_and_folded_by_looking_at_a_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    wrapped, counted, drawn = list[str](), list[int](), list[int]()

    def divided(text: str, width: int) -> list[int]:
        wrapped.append(text)
        return divide_line(text, width)

    def rows_counted(piece: RenderableType, width: int, console: Console, options: ConsoleOptions) -> int:
        counted.append(width)
        return count_rows(piece, width, console, options)

    def letters(self: EntryView, look: Look, width: int) -> list[int]:
        drawn.append(width)
        return []

    monkeypatch.setattr(tall_module, "divide_line", divided)
    monkeypatch.setattr(tall_module, "count_rows", rows_counted)
    monkeypatch.setattr(EntryView, "letters", letters)
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 60)) as pilot:
        command = UserCommand("make", True)
        command.output = Growing("\n".join(line.format(n=n) for n in range(33_000)))
        app.transcript.entries += [command]
        app.query_one(TranscriptView).catch_up()
        await until(pilot, "more lines")
        await pilot.press("ctrl+o")
        await until(pilot, "more lines", gone=True)
        await pilot.press("pageup", "pageup")
        await pilot.pause(0.1)
        pieces = 2 + 33_000 // PIECE
        calls_of_a_piece = 2  # itself, and the text in it
        widths = 2
        assert 0 < len(counted) <= pieces * calls_of_a_piece * widths, "once for each width, however often it is drawn"
        await pilot.press("ctrl+o")
        await until(pilot, "more lines")
    assert not wrapped and not drawn


def test_a_long_file_that_is_being_written_is_not_highlighted_with_each_piece() -> None:
    look = ScreenLook(in_full=True)
    short, long = ("\n".join(f"x = {n}" for n in range(many)) for many in (900, 1_100))
    assert not isinstance(look.code(short, "a.py"), Text)
    whole = look.code(long, "a.py")
    assert isinstance(whole, Text) and whole.plain == long
