"""Reading the conversation: diffs, search, copying a reply, and what stays on the terminal afterwards."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from rich.text import Text
from textual import events
from textual.pilot import Pilot

from joey.events import TextDelta, TextFinished, TextStarted
from joey.messages import ShownDiff, ShownText
from joey.terminal.drawing import Look, body, draw, draw_shown
from joey.terminal.screen import search
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.diffs import MAX_LINES, MAX_NUMBERED, changed_words, draw_code_diff
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.places import FoundPlace, Marked, places
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.transcript_view import EntryView, TranscriptView
from joey.terminal.scrollback import MAX_LINES as MAX_LEFT
from joey.terminal.scrollback import print_conversation, replies
from joey.terminal.transcript import Card, Entry, Growing, ModelText, Note, Transcript, UserCommand, UserText
from joey.tools.builtin import builtin_display
from screen_kit import ScratchServices, on_screen, say, until
from task_kit import done

DIFF = """\
--- a/server.py
+++ b/server.py
@@ -5,3 +5,4 @@
     def do_GET(self):
-        self.send_error(404)
+        self.send_response(200)
+        self.end_headers()
\x20
@@ -98,2 +99,2 @@ def main
-PORT = 8000
+PORT = 8080
 serve(PORT)
"""


def terminal(folder: Path) -> Interactive:
    return Interactive(ScratchServices(folder, []))


# Diffs


def test_a_diff_has_the_line_numbers_of_both_sides() -> None:
    drawn = draw_code_diff(DIFF, "server.py", dark=True)
    assert drawn is not None
    assert [line.rstrip() for line in drawn.plain.split("\n")] == [
        "  ⋯",
        "  5      def do_GET(self):",
        "  6 -        self.send_error(404)",
        "  6 +        self.send_response(200)",
        "  7 +        self.end_headers()",
        "  8",
        "  ⋯ def main",
        " 98 -PORT = 8000",
        " 99 +PORT = 8080",
        "100  serve(PORT)",
    ]


def test_the_words_that_changed_are_marked_in_both_lines() -> None:
    old, new = changed_words("self.send_error(404)", "self.send_response(200)")
    assert ["self.send_error(404)"[start:end] for start, end in old] == ["send_error", "404"]
    assert ["self.send_response(200)"[start:end] for start, end in new] == ["send_response", "200"]
    assert changed_words("import os", "class Hello(Handler):") == ((), ())
    assert changed_words("a" * 500, "a" * 499) == ((), ())


def test_code_in_a_diff_is_highlighted_by_the_name_of_the_file() -> None:
    drawn = draw_code_diff(DIFF, "server.py", dark=False)
    assert drawn is not None
    word = drawn.plain.index("def do_GET")
    inks = {str(span.style) for span in drawn.spans if span.start <= word < span.end}
    assert any("blue" in ink for ink in inks), inks
    unknown = draw_code_diff(DIFF, "notes", dark=False)
    assert unknown is not None and not any("blue" in str(span.style) for span in unknown.spans)


@pytest.mark.parametrize("diff", ["no diff at all", "", "@@ -1 +1 @@\n" + "+x\n" * (MAX_NUMBERED + 1)])
def test_what_is_no_diff_or_too_long_is_shown_plainly(diff: str) -> None:
    assert draw_code_diff(diff, "a.py", dark=True) is None
    assert draw_shown(ShownDiff("a.py", diff), ScreenLook()).plain.startswith(diff[:10].strip())


def test_a_long_diff_has_numbers_but_no_colours_of_code() -> None:
    drawn = draw_code_diff("@@ -0,0 +1,1001 @@\n" + "+def f(): 1\n" * (MAX_LINES + 1), "a.py", dark=True)
    assert drawn is not None and drawn.plain.splitlines()[-1] == f"{MAX_LINES + 1} +def f(): 1"
    assert not any("blue" in str(span.style) for span in drawn.spans)


def test_a_long_diff_is_folded_and_says_how_much_is_hidden() -> None:
    diff = "@@ -1,0 +1,40 @@\n" + "".join(f"+line {number}\n" for number in range(40))
    assert "… 24 more lines" in draw_shown(ShownDiff("a.py", diff), ScreenLook()).plain
    in_full = draw_shown(ShownDiff("a.py", diff), ScreenLook(in_full=True)).plain
    assert in_full.startswith("a.py\n") and "+line 39" in in_full


def test_a_call_that_changed_files_which_its_headline_does_not_name_names_each() -> None:
    card = Card("c", "new_task", "done", {("message",): Growing("write a part")})
    card.shown = (ShownDiff("b.py", "@@ -0,0 +1 @@\n+b"), ShownDiff("empty.txt", ""))
    parts = [each.plain for each in body(card, ScreenLook()) if isinstance(each, Text)]
    assert parts == ["b.py", "1 +b", "empty.txt"]
    write = Card("c", "write_to_file", "done", {("path",): Growing("b.py")})
    write.display, write.shown = builtin_display("write_to_file"), card.shown[:1]
    assert [each.plain for each in body(write, ScreenLook()) if isinstance(each, Text)] == ["1 +b"]


# Search


def test_words_are_found_in_everything_that_was_shown() -> None:
    card = Card("c", "execute_command", "done", {("command",): Growing("make test")}, result="1\n2\n3 of 500")
    card.shown = (ShownDiff("a.py", "+needle"),)
    entries = [UserText("go"), card, ModelText(Growing("It passed.")), UserCommand("ls passed", shared=True)]
    assert [place.at for place in places(entries, "PASSED")] == [2, 3]
    assert places(entries, "of 500") == [], "the card does not show it"
    assert places(entries, "needle") == places(entries, "make test") == [(1, 0)]
    entries[1].dropped = True
    assert places(entries, "needle") == [] == places(entries, " ")


def test_each_place_of_the_words_counts_and_the_output_of_a_command_once() -> None:
    card = Card("c", "execute_command", "done", display=builtin_display("execute_command"))
    card.arguments, card.result = {("command",): Growing("make")}, "Output:\none\nhit\nhit"
    card.output.add("one\nhit\nhit")
    card.shown = (ShownText("one\nhit\nhit"),)
    assert places([UserText("hit, and hit"), card], "hit") == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_of_very_many_places_the_last_are_found() -> None:
    entries = [UserText("e " * 300) for _ in range(10)]
    found = places(entries, "E")
    assert len(found) == 1_000 and (found[0], found[-1]) == ((6, 200), (9, 299)) and found == sorted(found)


@pytest.mark.parametrize(
    ("source", "words", "count"),
    [
        ("Here is a **bold** word", "bold word", 1),
        ("Here is a **bold**word", "boldword", 1),
        ("Use `snake_case` and *stress*, not `a_b`", "snake_case and stress, not", 1),
        ("See [the page](https://a.example/b) now", "the page (https://a.example/b) now", 1),
        ("a &amp; b", "a & b", 1),
        ("- one\n- two", "• one", 1),
        ("Here is a **bold** word", "**bold**", 0),
        ("word " * 200 + "n" * 90, "n" * 90, 1),
    ],
)
def test_words_are_found_as_they_are_drawn_and_not_as_markdown_writes_them(source: str, words: str, count: int) -> None:
    assert len(places([ModelText(Growing(source), is_open=False)], words)) == count


async def test_the_place_that_is_counted_is_in_view_whatever_else_would_go_to_the_end(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.entries += [Note(f"line {n}{' needle' if n == 30 else ''}.") for n in range(60)]
        view = app.query_one(TranscriptView)
        view.catch_up()
        await until(pilot, "line 59.")
        view.on_resize()  # the bar of the search opens
        view.bring(places(app.transcript.entries, "needle")[0], "needle")
        view.catch_up()  # something has changed meanwhile
        await until(pilot, "line 30 needle.")
        await pilot.pause(0.2)
        assert "line 30 needle." in on_screen(app) and not view.is_at_end


async def test_searching_shows_the_line_and_marks_the_words(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        long_answer = "\n\n".join(f"Line {n} of a long answer." for n in range(1, 120))
        pasted = "\n".join(f"pasted line {n} " + "x" * 60 + f" end {n}" for n in range(300))
        app.transcript.entries += [UserText(pasted), ModelText(Growing(long_answer), is_open=False)]
        app.query_one(TranscriptView).catch_up()
        await until(pilot, "Line 119 of")
        await pilot.press("ctrl+f", *"line 77 of")
        await until(pilot, "Line 77 of")
        assert "1 of 1" in on_screen(app) and marked(app) == ["Line 77 of"]
        for key in ["backspace"] * 10 + [*"pasted line 20"]:
            await pilot.press(key)
        await until(pilot, "11 of 11")
        await until(pilot, "pasted line 209")  # folded until now
        await pilot.press("enter")
        await until(pilot, "10 of 11")
        await until(pilot, "pasted line 208")
        for key in ["backspace"] * 14 + [*"200 xx"]:
            await pilot.press(key)
        await until(pilot, "1 of 1")
        await pilot.press("escape")
        await until(pilot, "1 of 1", gone=True)
        assert "pasted line 200" in on_screen(app) and not marked(app)  # it stays where it was


async def test_keys_that_follow_each_other_are_one_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PAUSE", 3_600)
    app, words = terminal(tmp_path), list[str]()
    async with app.run_test() as pilot:
        app.transcript.entries += [Note(f"line {n}, a needle.") for n in range(2)]
        bar = app.query_one(search.SearchBar)
        find = bar._find

        def counted(typed: str) -> list[FoundPlace]:
            words.append(typed)
            return find(typed)

        monkeypatch.setattr(bar, "_find", counted)
        await pilot.press("ctrl+f", *"needle", "enter")
        assert "1 of 2" in await until(pilot, "line 0") and words == ["needle"], "Enter does not wait"


def test_words_that_are_in_every_row_are_marked_in_each() -> None:
    """A row looks at its own places only: at those of all rows, this would take an hour."""
    rows = Marked(Text("hello\n" * 50_000), re.compile("hello"), 0)._marks([[Segment("hello")]] * 50_000)
    assert len(rows) == 50_000 and all([mark[:2] for mark in row] == [(0, 5)] for row in rows)


def marked(app: Interactive) -> list[str]:
    """The words that are reversed in the conversation."""
    strips = (strip for entry in app.query(EntryView) for strip in entry.render_lines(entry.size.region))
    return [part.text for strip in strips for part in strip if part.style and part.style.reverse]


async def test_searching_brings_old_entries_into_view_one_after_the_other(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        app.transcript.entries += [Note(f"line {n}{' needle' if n % 1_000 == 500 else ''}.") for n in range(3_000)]
        app.query_one(TranscriptView).catch_up()
        await until(pilot, "line 2999.")
        await pilot.press("ctrl+f", *"needle")
        await until(pilot, "line 2500 needle.")
        assert "3 of 3" in on_screen(app)
        await pilot.press("enter")
        await until(pilot, "line 1500 needle.")
        await pilot.press("enter")
        await until(pilot, "line 500 needle.")
        assert [view.entry.text for view in app.query(EntryView).filter(".found")] == ["line 500 needle."]  # type: ignore[attr-defined]
        await pilot.press("down")
        await until(pilot, "line 1500 needle.")
        await pilot.press("x")
        await until(pilot, "no match")
        await pilot.press("escape")
        await until(pilot, "no match", gone=True)
        assert app.query_one(Prompt).has_focus and not app.query(EntryView).filter(".found")


async def test_keys_that_come_at_once_go_where_the_keys_before_them_lead(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        for key in ("ctrl+f", "x", "y", "escape", "n", "o"):  # all of them before anything else has its turn
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, "search the conversation", gone=True)
        for _ in range(100):
            if app.query_one(Prompt).text == "no":
                break
            await pilot.pause(0.02)
        assert app.query_one(Prompt).text == "no"


async def test_ctrl_c_clears_what_was_typed_before_it_and_nothing_behind_it(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        for key in ("a", "b", "ctrl+c", "n", "o"):  # all of them before anything else has its turn
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        for _ in range(100):
            if app.query_one(Prompt).text == "no":
                break
            await pilot.pause(0.02)
        assert app.query_one(Prompt).text == "no" and "quits" not in on_screen(app)


# Scrolling


@pytest.mark.parametrize("keys", [["slash", "c", "o", "s", "t", "enter"], ["x", "enter"], ["end"], ["x", "ctrl+end"]])
async def test_sending_and_the_end_key_go_to_the_end_and_until_then_it_says_that_there_is_more(
    tmp_path: Path, keys: list[str]
) -> None:
    app = Interactive(ScratchServices(tmp_path, [done()]))
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.entries += [Note(f"line {n}.") for n in range(300)]
        app.query_one(TranscriptView).catch_up()
        await until(pilot, "line 299.")
        assert "more below" not in on_screen(app)
        await pilot.press("pageup", "pageup")
        await until(pilot, "there is more below")
        assert "line 299." not in on_screen(app)
        await pilot.press(*keys)
        await until(pilot, "there is more below", gone=True)
        for _ in range(100):  # the menu goes away, and the end is brought into view once more
            if app.query_one(TranscriptView).is_vertical_scroll_end:
                return
            await pilot.pause(0.02)
        raise AssertionError(on_screen(app))


# Copying


def test_a_reply_is_all_of_its_texts_and_a_result_is_one_too() -> None:
    transcript = Transcript()
    for text in ("First.", "Second, " * 2_000):
        for event in (TextStarted(), TextDelta(text), TextFinished()):
            transcript.apply("t", event)
        transcript.add(UserText("more"))
    result = Card("d", "attempt_completion", "done", {("result",): Growing("All done.")})
    result.display = builtin_display("attempt_completion")
    transcript.add(result)
    assert [text[:7] for text in replies(transcript.entries)] == ["First.", "Second,", "All don"]
    long = [ModelText(Growing("a")), ModelText(Growing("b")), UserText("x"), ModelText(Growing("c"))]
    assert replies(long) == ["a\n\nb", "c"]


async def test_the_last_reply_or_an_earlier_one_is_copied(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await say(pilot, "/copy")
        await until(pilot, "no reply yet")
        app.transcript.entries += [ModelText(Growing("one")), UserText("more"), ModelText(Growing("two"))]
        await say(pilot, "/copy")
        await until(pilot, "Copied")
        assert app.clipboard == "two"
        await say(pilot, "/copy 2")
        await pilot.pause()
        assert app.clipboard == "one"
        await say(pilot, "/copy 3")
        await until(pilot, "no reply 3")
        await say(pilot, "/copy it")
        await until(pilot, "Type /copy")


# What stays on the terminal


def left(*entries: object) -> str:
    out = io.StringIO()
    print_conversation(entries, ScreenLook(), out, width=60)  # type: ignore[arg-type]
    return out.getvalue()


def test_the_end_of_the_conversation_stays_on_the_terminal() -> None:
    text = left(UserText("go"), Note("a note"), ModelText(Growing("**Done**, \x1b[31mreally.")))
    assert "› go" in text and "a note" in text and "Done" in text and "**" not in text and "\x1b[31m" not in text
    assert left(Note("Joey. Type a task")) == ""
    many = left(*(UserText(f"message {number}") for number in range(MAX_LEFT)))
    assert f"… {MAX_LEFT // 2} earlier entries" in many and f"message {MAX_LEFT - 1}" in many
    assert len(many.splitlines()) == MAX_LEFT + 1


def test_only_what_stays_on_the_terminal_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Entry] = []

    def counting(entry: Entry, look: Look) -> RenderableType:
        drawn.append(entry)
        return draw(entry, look)

    monkeypatch.setattr("joey.terminal.scrollback.draw", counting)
    assert "… 4900 earlier entries" in left(*(UserText(f"message {number}") for number in range(5_000)))
    assert len(drawn) == MAX_LEFT // 2


# The place that is read


def _first_words(app: Interactive) -> list[str]:
    """Which rows of the conversation are in view, but for the scroll bar."""
    rows = on_screen(app).split("\n")[: app.query_one(TranscriptView).size.height]
    return [row[:-2].strip() for row in rows if row[:-2].strip()]


async def _long_conversation(app: Interactive, pilot: Pilot[None]) -> None:
    for number in range(12):
        app._touch(app.transcript.add(UserText(f"message {number}")))
        app._touch(app.transcript.add(ModelText(Growing(f"reply {number} " + "with many words in it " * 30))))
        output = "\n".join(f"line {row} of {number}" for row in range(60))
        app._touch(app.transcript.add(UserCommand("seq", True, "done", Growing(output))))
    await until(pilot, "line 59 of 11")
    await pilot.press("pageup", "pageup")
    await until(pilot, "there is more below")
    await pilot.pause(0.1)


async def test_a_window_of_another_size_shows_the_same_place_and_does_not_drift(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 24)) as pilot:
        await _long_conversation(app, pilot)
        before = _first_words(app)
        for _ in range(3):
            for size in ((120, 40), (50, 12), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause(0.15)
        assert _first_words(app) == before


async def test_the_words_at_the_top_of_a_long_reply_stay_there_however_its_lines_wrap(tmp_path: Path) -> None:
    items = "".join(
        f"{n}. Item {n} has so many words that it takes two rows of a small window, yes\n" for n in range(1, 31)
    )
    reply = items + "\n" + "- a\n" * 60
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(60, 20)) as pilot:
        app._touch(app.transcript.add(ModelText(Growing(reply), is_open=False)))
        await until(pilot, "• a")
        view = app.query_one(TranscriptView)
        while "Item 20 has" not in _first_words(app)[0]:
            view.scroll_relative(y=-1, animate=False, immediate=True)
            await pilot.pause()
        before = _first_words(app)
        await pilot.resize_terminal(120, 20)
        await pilot.pause(0.2)
        assert "Item 20 has" in _first_words(app)[0]
        await pilot.press("ctrl+o")
        await pilot.pause(0.2)
        assert "Item 20 has" in _first_words(app)[0]
        await pilot.press("ctrl+o")
        await pilot.resize_terminal(60, 20)
        await pilot.pause(0.2)
        assert _first_words(app) == before


async def test_unfolding_everything_keeps_the_entry_that_is_in_view_and_folding_brings_the_place_back(
    tmp_path: Path,
) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 24)) as pilot:
        await _long_conversation(app, pilot)
        before = _first_words(app)
        heads = [row for row in before if row.startswith(("›", "!"))]
        await pilot.press("ctrl+o")
        await pilot.pause(0.2)
        unfolded = _first_words(app)
        assert heads and heads[0] in unfolded and unfolded != before
        assert unfolded.index(heads[0]) <= before.index(heads[0]), "it stays in its row"
        await pilot.press("ctrl+o")
        await pilot.pause(0.2)
        assert _first_words(app) == before
        await pilot.press("ctrl+end")
        assert "line 59 of 11" in await until(pilot, "there is more below", gone=True)


async def test_a_search_that_finds_nothing_says_that_an_output_is_not_searched_whole(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(80, 24)) as pilot:
        for output, words in (("1\n2", "no match"), ("1\n[...59501 lines omitted...]\n60000", "not searched whole")):
            app._touch(app.transcript.add(UserCommand("seq", True, "done", Growing(output))))
            await pilot.press("ctrl+f", *"31415")
            assert ("not searched" in await until(pilot, words)) is ("omitted" in output)
            await pilot.press("escape")


# What is drawn while the machine is busy


async def test_what_is_laid_out_between_two_changes_does_not_keep_the_height_of_the_first(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        reply = ModelText()
        app.transcript.entries.append(reply)
        view = app.query_one(TranscriptView)
        view.catch_up()
        await pilot.pause()
        shown = next(each for each in app.query(EntryView) if each.entry is reply)
        requested = view.size, app.size, Fraction(view.size.width), Fraction(1)
        for words, height in (("a", 1), ("a reply\nof two lines", 2), ("a reply", 1)):
            shown.update(Text(words))  # others that are idle before this one have the screen laid out
            assert shown._get_box_model(*requested).height == height


async def test_a_key_that_comes_while_the_screen_is_taken_down_is_no_error(tmp_path: Path) -> None:
    app = terminal(tmp_path)
    async with app.run_test() as pilot:
        await pilot.pause()
        await app.query("*").remove()
        app.on_text_area_changed()
