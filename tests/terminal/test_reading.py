"""Reading the conversation: diffs, search, copying a reply, and what stays on the terminal afterwards."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import RenderableType
from textual import events

from joey.events import TextDelta, TextFinished, TextStarted
from joey.messages import ShownDiff
from joey.terminal.drawing import Look, draw, draw_shown
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.diffs import MAX_LINES, MAX_NUMBERED, changed_words, draw_code_diff
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.transcript_view import EntryView, TranscriptView
from joey.terminal.scrollback import MAX_LINES as MAX_LEFT
from joey.terminal.scrollback import matches, print_conversation, replies
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


# Search


def test_words_are_found_in_everything_that_was_shown() -> None:
    card = Card("c", "execute_command", "done", {("command",): Growing("make test")}, result="3 Passed")
    card.shown = (ShownDiff("a.py", "+needle"),)
    entries = [UserText("go"), card, ModelText(Growing("It passed.")), UserCommand("ls passed", shared=True)]
    assert matches(entries, "PASSED") == [1, 2, 3]
    assert matches(entries, "needle") == [1] and matches(entries, "make test") == [1]
    entries[1].dropped = True
    assert matches(entries, "needle") == []


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
