from __future__ import annotations

import io

from rich.console import Console, RenderableType

from joey.events import (
    ApprovalRequested,
    TextDelta,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolRunFinished,
)
from joey.messages import ShownDiff, TextBlock, ToolResult
from joey.terminal.picture import Picture, picture_of


def printed(what: RenderableType | None) -> str:
    assert what is not None
    out = io.StringIO()
    Console(file=out, width=60).print(what)
    return out.getvalue()


def growing() -> Picture:
    picture = Picture()
    picture.add(TextDelta("I write it.\n\n"))
    picture.add(ToolCallStarted("c1", "write_to_file"))
    picture.add(ToolCallDelta("c1", ("path",), "a.py", ""))
    picture.add(ToolCallDelta("c1", ("file_text",), "one\ntwo\nthr", ""))
    return picture


def test_an_argument_is_shown_while_it_grows() -> None:
    picture = growing()
    assert "… write_to_file" in printed(picture.render())
    assert "thr " in printed(picture.render())
    picture.add(ToolCallDelta("c1", ("file_text",), "ee\n", ""))
    picture.add(ToolCallFinished("c1", "write_to_file", {}))
    assert "✓ write_to_file" in printed(picture.render())
    assert "three " in printed(picture.render())


def test_where_room_is_short_the_growing_end_is_seen() -> None:
    shown = printed(growing().render(most_lines=1))
    assert "thr" in shown
    assert "one" not in shown
    assert "(2 lines above)" in shown


def test_a_broken_call_is_marked_as_such() -> None:
    picture = growing()
    picture.add(ToolCallMalformed("c1", "write_to_file", "{", "the JSON never closed"))
    assert "✗ write_to_file" in printed(picture.render())


def test_two_calls_that_grow_at_once_are_two_panels() -> None:
    picture = growing()
    picture.add(ToolCallStarted("c2", "read_file"))
    picture.add(ToolCallDelta("c1", ("file_text",), "ee", ""))
    picture.add(ToolCallDelta("c2", ("path",), "b.py", ""))
    shown = printed(picture.render())
    assert shown.index("three") < shown.index("… read_file") < shown.index("b.py")


def test_a_question_shows_the_change_but_not_a_new_file_twice() -> None:
    def asking(diff: str) -> str:
        return printed(picture_of(ApprovalRequested("r", "c", "edit", {}, "why", (ShownDiff("a.py", diff),))))

    assert "-old" in asking("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old\n+new\n")
    assert "a new file of 2 lines" in asking("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+one\n+two\n")


def test_what_was_read_is_shown_in_part_and_the_rest_in_one_line() -> None:
    result = ToolResult((TextBlock("\n".join(f"line {number}" for number in range(30))),))
    assert "line 9 …" in printed(picture_of(ToolRunFinished("c", "read_file", result)))
    assert printed(picture_of(ToolRunFinished("c", "execute_command", result))).strip() == "↳ line 0 …"
